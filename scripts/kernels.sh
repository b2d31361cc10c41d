#!/usr/bin/env bash
# Boots Debian's kernels in QEMU and checks every algorithm in each: docs/kernels.md.
#
#   scripts/kernels.sh [--only SERIES]... [--no-page] [--no-lockdown]
#   scripts/kernels.sh [--only SERIES]... --reordering SECONDS
#   scripts/kernels.sh [--only SERIES]... --hostile HEADERS [--first NUMBER]
#
# SERIES is such as 6.12; by default 6.1, 6.6, 6.12, 6.18 and all later ones that the mirror has. --no-page prints
# the tables. --no-lockdown boots each kernel once, and not again with lockdown=confidentiality. --reordering runs
# each algorithm that long over a path that reorders, and nothing else: half an hour for 60 seconds. --hostile runs that
# many hostile headers for 30 seconds each, from a number on, and nothing else: the first twelve decide constants, all others
# random values.
#
# INSTALL=1                  install what is missing (root)
# FAIRPACE_REQUIRE_KERNEL=1  what would be skipped, because there is no QEMU or no mirror, is a failure
#
# scripts/fetch-kernel.sh fetches the packages. All else is in the target folder's `kernels`.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
# shellcheck source=scripts/fetch-kernel.sh
source scripts/fetch-kernel.sh

# Seconds that one guest may take: emulated, and on a busy machine, the check takes one to two minutes.
limit=600
# Algorithms that a guest runs one after the other, at most.
most_algorithms=40
# The kernel's modules that the check needs, where they are not built in. None needs another one.
modules="veth tun sch_netem sch_tbf sch_ingress cls_u32 act_mirred"
all_series=(6.1 6.6 6.12 6.18)
# From here on, each series that the mirror has is checked.
newer_than=6.18

only=()
page=(--out docs/kernels.md)
lockdown=yes
reordering=
hostile=
first=0
while [ $# -gt 0 ]; do
	case $1 in
	--only)
		only+=("${2:?--only needs a series}")
		shift
		;;
	--no-page) page=() ;;
	--no-lockdown) lockdown=no ;;
	--reordering)
		reordering=${2:?--reordering needs seconds}
		shift
		;;
	--hostile)
		hostile=${2:?--hostile needs a number of headers}
		shift
		;;
	--first)
		first=${2:?--first needs the number of a header}
		shift
		;;
	*)
		echo "kernels: unknown argument $1" >&2
		exit 2
		;;
	esac
	shift
done
# a part is not the page
[ ${#only[@]} = 0 ] && [ -z "$reordering$hostile" ] || page=()

target=$(realpath -m "${CARGO_TARGET_DIR:-target}")
work=$target/kernels
reports=$work/reports
# Guests at a time: each keeps one to two cores busy.
jobs_at_once=${GUESTS:-2}
cleanup() {
	# each of our jobs is a timeout, which ends its QEMU
	local left
	left=$(jobs -p)
	# shellcheck disable=SC2086 # a list of process ids
	if [ -n "$left" ]; then kill $left 2>/dev/null || true; fi
}
trap cleanup EXIT
trap 'exit 130' INT
trap 'exit 143' TERM

skip() {
	if [ "${FAIRPACE_REQUIRE_KERNEL:-}" = 1 ]; then
		echo "kernels: FAIRPACE_REQUIRE_KERNEL=1, but $1" >&2
		exit 1
	fi
	echo "SKIPPED: no other kernel is checked, because $1" >&2
	exit 0
}

# In place of the end that fetch-kernel.sh has.
cannot_fetch() { skip "$1"; }

require_tools() {
	local missing=()
	have qemu-system-x86_64 || missing+=(qemu-system-x86)
	have xz || missing+=(xz-utils)
	have ip || missing+=(iproute2)
	[ ${#missing[@]} != 0 ] || return 0
	if [ "${INSTALL:-}" = 1 ] && [ "$(id -u)" = 0 ]; then
		echo "kernels: installing ${missing[*]}"
		export DEBIAN_FRONTEND=noninteractive
		apt-get update -qq && apt-get install -y -qq --no-install-recommends "${missing[@]}" >/dev/null && return 0
	fi
	skip "these packages are missing: ${missing[*]}"
}

series_to_check() {
	if [ ${#only[@]} != 0 ]; then
		printf '%s\n' "${only[@]}"
		return
	fi
	local found
	found=$(own apt-cache search --names-only '^linux-image-[0-9].*-cloud-amd64$' |
		sed -nE 's/^linux-image-([0-9]+\.[0-9]+)\..*/\1/p' | sort -uV)
	{
		printf '%s\n' "${all_series[@]}"
		# those after newer_than, which is among them
		printf '%s\n' "$found" "$newer_than" | sort -uV | sed "1,/^${newer_than//./\\.}\$/d"
	} | sort -uV
}

# A program with the libraries that it needs.
put_program() {
	mkdir -p "$work/image/bin"
	cp -L "$1" "$work/image/bin/"
	ldd "$1" | grep -oE '/[^ ]+' | while read -r library; do
		mkdir -p "$work/image$(dirname "$library")"
		cp -L "$library" "$work/image$library"
	done
}

archive() { (cd "$1" && find . -mindepth 1 | "$work/busybox" cpio -o -H newc 2>/dev/null); }

# What all guests have: the programs, and what starts them.
build_root() {
	# The workspace, for the features of dependencies that `make test` has: nothing is compiled again. Those of tests and examples
	# are among them if an example is built, too.
	nice cargo build --quiet --locked --workspace --bin fairpace --bin fairpace-dev --example objects
	rm -rf "$work/image" "$work/tools"
	unpack busybox-static "$work/tools"
	cp "$(find "$work/tools" -path "*/bin/busybox" -type f)" "$work/busybox"
	mkdir -p "$work"/image/{proc,sys,dev,tmp,etc}
	put_program "$target/debug/fairpace"
	put_program "$target/debug/fairpace-dev"
	put_program "$(command -v ip)"
	put_program "$(command -v tc)"
	mkdir "$work/image/hostile"
	"$target/debug/fairpace-dev" hostile --write "$work/image/hostile"
	strip "$work"/image/bin/fairpace{,-dev} # line tables are most of them
	cp "$work/busybox" "$work/image/bin/"
	cat >"$work/image/init" <<-INIT
		#!/bin/busybox sh
		export PATH=/bin HOME=/
		busybox mount -t proc proc /proc
		busybox --install -s /bin
		mount -t sysfs sysfs /sys
		mount -t devtmpfs dev /dev
		mount -t securityfs securityfs /sys/kernel/security
		mount -t tmpfs tmpfs /tmp
		for module in $modules; do
			[ ! -e /\$module.ko ] || insmod /\$module.ko
		done
		mkdir -p /dev/net
		[ -e /dev/net/tun ] || mknod /dev/net/tun c 10 200
		ip link set lo up
		stty -F /dev/ttyS1 raw -echo
		# shellcheck disable=SC2154 # of the kernel's command line
		fairpace-dev kernel-check \$fairpace_check --objects /hostile --report /dev/ttyS1
		echo "kernel-check ended with \$?"
		poweroff -f
	INIT
	chmod +x "$work/image/init"
	archive "$work/image" >"$work/image.cpio"
}

# Starts one guest: kernel, initramfs, name of the report, more words on the kernel's command line, seconds that it may
# take.
# The kernel checks its timer by real time: on a busy host one of eight emulated machines panicked there.
boot() {
	local kernel=$1 initramfs=$2 name=$3 words=$4 limit=$5
	# one that ends by its time limit is in its report: there is no last step
	while [ "$(jobs -pr | wc -l)" -ge "$jobs_at_once" ]; do wait -n || true; done
	echo "kernels: $name"
	timeout --foreground --kill-after=5 $limit qemu-system-x86_64 -machine q35 "${processor[@]}" -smp 2 -m 2G -nic none \
		-display none -no-reboot -kernel "$kernel" -initrd "$initramfs" -serial "file:$reports/$name.console" \
		-serial "file:$reports/$name.jsonl" -append "console=ttyS0 panic=-1 no_timer_check quiet $words" </dev/null &
}

check_series() {
	local series=$1 version package files kernel status=0
	flock 8
	fetch_kernel "$series" || status=$?
	if [ $status = 1 ]; then
		echo "Debian's mirror has no package of it in ${suites[*]}" >"$reports/$series.source"
		echo "kernels: there is no $series"
		return 0
	elif [ $status != 0 ]; then
		echo "\`$package\` is listed, and not all of it can be fetched" >"$reports/$series.source"
		return 0
	fi
	flock --unlock 8
	kernel=$(find "$files" -name 'vmlinuz*' | head -n1)
	rm -rf "$work/module"
	mkdir -p "$work/module"
	for module in $modules; do find "$files" -name "$module.ko*" -exec cp {} "$work/module/" \;; done
	find "$work/module" -name '*.xz' -exec xz -d {} \;
	{
		cat "$work/image.cpio"
		archive "$work/module"
	} >"$work/$package.initramfs"
	# After cmpxchg16b, QEMU 7.2 has impossible flags now and then, see scripts/packages-test.sh. Later kernels have no socket
	# storage without it (crates/kernel/src/storage.rs); one thread for both processors has shown none.
	processor=(-accel tcg,thread=single -cpu max)
	[ "$(printf '%s\n' "$series" "$newer_than" | sort -V | tail -n1)" != "$newer_than" ] ||
		processor=(-accel tcg -cpu max,-cx16)
	echo "Debian $version" >"$reports/$series.source"
	if [ -n "$reordering" ]; then
		# the initramfs is unpacked, and each algorithm loads and ends
		boot "$kernel" "$work/$package.initramfs" "$series-reordering" "fairpace_check=\"--reordering ${reordering}s\"" \
			$((limit + most_algorithms * (reordering + 15)))
		return 0
	fi
	if [ -n "$hostile" ]; then
		boot "$kernel" "$work/$package.initramfs" "$series-hostile" "fairpace_check=\"--hostile $hostile --first $first\"" \
			$((limit + hostile * 40))
		return 0
	fi
	boot "$kernel" "$work/$package.initramfs" "$series" "" $limit
	[ $lockdown = no ] || boot "$kernel" "$work/$package.initramfs" "$series-lockdown" "lockdown=confidentiality" $limit
}

require_tools
# one process at a time fetches; the guests run without the lock
open_fetched
flock 8
fetch_lists
rm -rf "$reports"
mkdir -p "$reports"
build_root
flock --unlock 8
for series in $(series_to_check); do check_series "$series"; done
while [ -n "$(jobs -pr)" ]; do wait -n || true; done
"$target/debug/fairpace-dev" kernels "$reports" "${page[@]}"
