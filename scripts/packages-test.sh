#!/usr/bin/env bash
# The package in a clean Debian 12 with systemd, in QEMU, emulated: install, enable, reboot, upgrade during a transfer, remove,
# purge; and what a boot is like when something of ours is broken. scripts/packages-test/guest.sh has the steps.
#
#   scripts/packages-test.sh             all
#   scripts/packages-test.sh drill-btf   install, which all need, and these steps in their order
#
# INSTALL=1                  install what is missing (root)
# FAIRPACE_REQUIRE_KERNEL=1  what would be skipped, because there is no QEMU or no mirror, is a failure
#
# It tests the .deb in dist, and makes one if there is none. The system is made from packages of the mirror that this machine's
# apt uses, with the kernel of bookworm-backports, since bookworm's own (6.1) cannot replace a loaded algorithm. It is made once a
# week. Everything is in the target folder's `packages-test`; the consoles of the boots are in its `reports`.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

# Seconds that one boot with its step may take: emulated, and on a busy machine, most take one to two minutes.
limit=900
# How old the system may get, minutes.
root_age=10080
drills=(drill-config drill-btf drill-run drill-object drill-program)
[ $# -gt 0 ] || set -- "${drills[@]}" live after

target=$(realpath -m "${CARGO_TARGET_DIR:-target}")
work=$target/packages-test
root=$work/root
reports=$work/reports
guest=""
cleanup() {
	# it is a timeout, which ends its QEMU
	if [ -n "$guest" ]; then
		kill "$guest" 2>/dev/null || true
		wait
	fi
	rm -rf "$work/disk.img" "$work/new" "$work/root.part"
}
trap cleanup EXIT
trap 'exit 130' INT
trap 'exit 143' TERM

say() { printf 'packages-test: %s\n' "$*"; }
fail() {
	say "$*" >&2
	exit 1
}
have() { command -v "$1" >/dev/null 2>&1; }

skip() {
	[ "${FAIRPACE_REQUIRE_KERNEL:-}" != 1 ] || fail "FAIRPACE_REQUIRE_KERNEL=1, but $1"
	say "SKIPPED: the package is not tested, because $1" >&2
	exit 0
}

require_tools() {
	have apt-get || skip "this system has no apt-get"
	[ "$(id -u)" = 0 ] || skip "you are not root, who makes the system"
	local missing=()
	have qemu-system-x86_64 || missing+=(qemu-system-x86)
	have mmdebstrap || missing+=(mmdebstrap)
	have mkfs.ext4 || missing+=(e2fsprogs)
	[ ${#missing[@]} != 0 ] || return 0
	if [ "${INSTALL:-}" = 1 ]; then
		say "installing ${missing[*]}"
		export DEBIAN_FRONTEND=noninteractive
		apt-get update -qq && apt-get install -y -qq --no-install-recommends "${missing[@]}" >/dev/null && return 0
	fi
	skip "these packages are missing: ${missing[*]}"
}

# The .deb of dist, and the same with a higher version: what an upgrade replaces has another id in the kernel.
make_packages() {
	local version
	version=$(sed -n '/^\[workspace.package\]/,/^$/s/^version = "\(.*\)"$/\1/p' Cargo.toml)
	old=dist/fairpace_${version}_amd64.deb
	[ -e "$old" ] || ONLY=deb scripts/packages.sh amd64
	say "testing $old of $(date -u -r "$old" '+%F %R') UTC"
	rm -rf "$work/new"
	dpkg-deb -R "$old" "$work/new"
	sed -i "s/^Version: .*/&+next/" "$work/new/DEBIAN/control"
}

# The clean system, with the tools of the steps.
make_root() {
	[ -z "$(find "$root/made" -mmin -$root_age 2>/dev/null)" ] || return 0
	local mirror
	# shellcheck disable=SC2016 # apt's own variable
	mirror=$(apt-get indextargets --format '$(REPO_URI)' 'Created-By: Packages' | sort -u | grep -m1 '/debian/*$') ||
		skip "this machine's apt has no mirror of Debian"
	say "making a Debian 12"
	rm -rf "$root" "$root.part"
	nice mmdebstrap --mode=root --variant=minbase --keyring=/usr/share/keyrings/debian-archive-keyring.gpg \
		--include=systemd-sysv,dbus,udev,kmod,procps,iproute2,socat,bpftool,initramfs-tools \
		--include=linux-image-cloud-amd64/bookworm-backports bookworm "$root.part" \
		"deb $mirror bookworm main" "deb $mirror bookworm-updates main" "deb $mirror bookworm-backports main" \
		>"$work/mmdebstrap.log" 2>&1 || skip "no system can be made: $(tail -n1 "$work/mmdebstrap.log")"
	touch "$root.part/made"
	mv "$root.part" "$root"
}

# Like a program whose objects a new kernel's verifier refuses: the first instruction of each is one that there is not.
break_objects() {
	local start
	cp "$work/new/usr/bin/fairpace" "$1"
	LC_ALL=C grep -abo $'\x7fELF\x02\x01\x01' "$1" | cut -d: -f1 | while read -r start; do
		[ "$start" != 0 ] || continue
		# .text is first, behind the header of 64 bytes
		printf '\377%.0s' 1 2 3 4 5 6 7 8 | dd of="$1" bs=1 seek=$((start + 64)) conv=notrunc status=none
	done
}

make_disk() {
	local ours=$root/opt/packages-test
	rm -rf "$ours"
	mkdir -p "$ours"
	cp "$old" "$ours/old.deb"
	dpkg-deb --root-owner-group -b "$work/new" "$ours/new.deb" >/dev/null
	break_objects "$ours/broken-objects"
	install scripts/packages-test/guest.sh "$ours/"
	install -m 644 scripts/packages-test/*.service "$root/etc/systemd/system/"
	mkdir -p "$root/etc/systemd/system/multi-user.target.wants"
	local unit
	for unit in scripts/packages-test/*.service; do
		ln -sf "/etc/systemd/system/${unit##*/}" "$root/etc/systemd/system/multi-user.target.wants/"
	done
	rm -f "$work/disk.img"
	truncate -s 2G "$work/disk.img"
	mkfs.ext4 -q -d "$root" "$work/disk.img"
}

# Boots the disk with a step for the guest, and fails unless the guest says that it passes. More arguments are QEMU's.
# no_timer_check: the kernel checks its timer by real time, which a busy host does not give it. -cx16: with cmpxchg16b, QEMU 7.2
# panicked in both of two boots with impossible flags (EFLAGS), once behind that instruction, and without it in none.
boot() {
	local step=$1 started=$SECONDS
	shift
	say "$step"
	: >"$reports/$step"
	timeout --foreground --kill-after=5 $limit nice qemu-system-x86_64 -machine q35 -accel tcg -cpu Nehalem,-cx16 -smp 1 -m 1G \
		-nic none -display none -no-reboot \
		-kernel "$(find "$root/boot" -name 'vmlinuz-*')" -initrd "$(find "$root/boot" -name 'initrd.img-*')" \
		-drive "file=$work/disk.img,format=raw,if=virtio,cache=unsafe" -serial "file:$reports/$step.console" \
		-serial "file:$reports/$step" "$@" \
		-append "root=/dev/vda rw console=ttyS0 panic=-1 no_timer_check quiet packages-test=$step" </dev/null &
	guest=$!
	tail --pid=$guest -s 0.5 -n +1 -f "$reports/$step" | sed -u 's/^/    /' &
	wait "$guest" || fail "QEMU ended with $?: $reports/$step.console"
	guest=""
	wait
	grep -qx "passes: $step" "$reports/$step" || fail "$step fails: $reports/$step, $reports/$step.console"
	say "$step passes, $((SECONDS - started)) s"
}

require_tools
mkdir -p "$work"
rm -rf "$reports"
mkdir -p "$reports"
make_packages
make_root
make_disk
boot install
for step in "$@"; do
	case $step in
	drill-*) boot "$step" -snapshot ;; # what it breaks is gone with its QEMU
	*) boot "$step" ;;
	esac
done
say "all pass"
