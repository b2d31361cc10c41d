#!/usr/bin/env bash
# Fetches Debian's kernels for `--on virtual` and for scripts/kernels.sh, which uses the functions of this file.
#
#   scripts/fetch-kernel.sh SERIES...      such as 6.12; the newest version of each that the mirror has
#
# The packages are of the mirror that this machine's apt uses, over a configuration of our own: nothing is installed, no list
# of this machine changes, and no root is needed. A package is fetched once, and unpacked in the folder fairpace-tools/kernels
# of the user's cache. `fairpace` looks there.
#
# Exit code: 0 if all are there, 1 if one cannot be fetched, 2 for wrong arguments.
set -euo pipefail

# How old the lists of packages may get, minutes.
list_age=720
suites=(bookworm bookworm-updates bookworm-backports trixie trixie-updates trixie-backports forky sid experimental)
security_suites=(bookworm-security trixie-security)
fetched=${XDG_CACHE_HOME:-$HOME/.cache}/fairpace-tools/kernels

# Ends the script, because nothing can be fetched. A script that uses these functions may end in another way.
cannot_fetch() {
	echo "fetch-kernel: $1" >&2
	exit 1
}

have() { command -v "$1" >/dev/null 2>&1; }

# apt with a configuration, lists and cache of our own.
own() {
	local tool=$1
	shift
	"$tool" -o Dir::Etc::sourcelist="$fetched/apt/sources.list" -o Dir::Etc::sourceparts="$fetched/apt/none" \
		-o Dir::State="$fetched/apt/state" -o Dir::State::status=/dev/null -o Dir::Cache="$fetched/apt/cache" \
		-o APT::Sandbox::User=root -o Acquire::IndexTargets::deb::DEP-11::DefaultEnabled=false \
		-o Acquire::Languages=none "$@"
}

# Opens the folder: one process at a time fetches, while it has the lock (flock 8).
open_fetched() {
	if ! have apt-get || ! have dpkg-deb; then cannot_fetch "this system has no apt-get"; fi
	mkdir -p "$fetched"
	exec 8>"$fetched/lock"
}

fetch_lists() {
	mkdir -p "$fetched"/apt/{none,state/lists/partial,cache/archives/partial} "$fetched/packages"
	[ -z "$(find "$fetched/apt/updated" -mmin -$list_age 2>/dev/null)" ] || return 0
	local addresses mirror security keys
	# shellcheck disable=SC2016 # apt's own variable
	addresses=$(apt-get indextargets --format '$(REPO_URI)' 'Created-By: Packages' | sort -u)
	mirror=$(grep -m1 '/debian/*$' <<<"$addresses") || cannot_fetch "this machine's apt has no mirror of Debian"
	security=$(grep -m1 '/debian-security/*$' <<<"$addresses") || security=""
	keys=/usr/share/keyrings/debian-archive-keyring.gpg
	{
		printf "deb [signed-by=$keys] $mirror %s main\n" "${suites[@]}"
		[ -z "$security" ] || printf "deb [signed-by=$keys] $security %s main\n" "${security_suites[@]}"
	} >"$fetched/apt/sources.list"
	own apt-get update -qq >"$fetched/apt/log" 2>&1 ||
		cannot_fetch "the package mirror cannot be reached: $(tail -n1 "$fetched/apt/log")"
	touch "$fetched/apt/updated"
}

# The newest package of a series, as "version name"; nothing if there is none. Names are in the order of versions.
newest() {
	local name
	name=$(own apt-cache search --names-only "^linux-image-${1//./\\.}\.[^ ]*-cloud-amd64\$" | cut -d' ' -f1 | sort -V | tail -n1)
	[ -z "$name" ] || echo "$(own apt-cache show "$name" | sed -n 's/^Version: //p' | sort -V | tail -n1) $name"
}

# Unpacks the newest package of a name into a folder.
unpack() {
	mkdir -p "$2"
	(cd "$fetched/packages" && own apt-get download -qq "$1" >"$fetched/apt/log" 2>&1) || {
		echo "fetch-kernel: $1 cannot be fetched: $(tail -n1 "$fetched/apt/log")" >&2
		return 1
	}
	local file
	# where a colon or plus is escaped, the name still begins so
	file=$(find "$fetched/packages" -name "$1_*.deb" -printf '%T@ %p\n' | sort -n | tail -n1 | cut -d' ' -f2-)
	dpkg-deb -x "$file" "$2"
}

# A kernel and its modules, which from 6.19 on have packages of their own. A mirror may list the one without the others.
unpack_kernel() {
	unpack "$1" "$2" || return 1
	[ -z "$(find "$2" -name 'vmlinuz*')" ] || return 0
	unpack "${1/-image-/-binary-}" "$2" && unpack "${1/-image-/-modules-}" "$2"
}

# The newest kernel of a series, with the lock. Sets `package`, `version` and `files`, its folder. Returns 1 if the mirror has
# none, 2 if not all of it can be fetched.
fetch_kernel() {
	# those of the caller, too
	version="" package="" files=""
	read -r version package < <(newest "$1") || return 1
	files=$fetched/$package-$version
	[ ! -e "$files/done" ] || return 0
	rm -rf "$files"
	unpack_kernel "$package" "$files" || return 2
	touch "$files/done"
}

main() {
	if [ $# = 0 ] || [[ $1 == -* ]]; then
		echo "usage: fetch-kernel.sh SERIES...   such as 6.12" >&2
		exit 2
	fi
	open_fetched
	flock 8
	fetch_lists
	local series
	for series in "$@"; do
		fetch_kernel "$series" || case $? in
		1) cannot_fetch "Debian's mirror has no $series in ${suites[*]}" ;;
		*) cannot_fetch "$package is listed, and not all of it can be fetched" ;;
		esac
		echo "$files"
	done
}

# not if it is sourced
[ "${BASH_SOURCE[0]}" != "$0" ] || main "$@"
