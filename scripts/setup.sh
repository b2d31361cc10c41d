#!/bin/sh
# Installs the Debian packages that are missing, or says which ones and how. Without --all, a package that only the
# tests or the kernel need is not required.
set -eu

all=no
[ "${1:-}" = "--all" ] && all=yes

have() { command -v "$1" >/dev/null 2>&1; }

# needed: nothing can be built without it. useful: kernel objects (clang) and C lints (clang-format) need it.
needed=""
useful=""
have cc || needed="$needed gcc"
have make || needed="$needed make"
have pkg-config || needed="$needed pkg-config"
[ -e /usr/include/libelf.h ] || needed="$needed libelf-dev"
[ -e /usr/include/zlib.h ] || needed="$needed zlib1g-dev"
have gcc || useful="$useful gcc"
have clang || useful="$useful clang"
[ "$all" = no ] || have valgrind || useful="$useful valgrind"
have clang-format || useful="$useful clang-format"
have unshare || useful="$useful util-linux"
# a test opens captures in it
[ "$all" = no ] || have tshark || useful="$useful tshark"
# programs of docs/use-it.md that a test runs
[ "$all" = no ] || have curl || useful="$useful curl"
[ "$all" = no ] || have iperf3 || useful="$useful iperf3"
# make bench-kernel changes the offloads of its devices
[ "$all" = no ] || have ip || useful="$useful iproute2"
[ "$all" = no ] || have ethtool || useful="$useful ethtool"
# the kernel in virtual time runs in it, and its modules are compressed
[ "$all" = no ] || have qemu-system-x86_64 || useful="$useful qemu-system-x86"
[ "$all" = no ] || have xz || useful="$useful xz-utils"

# make uml builds a kernel
for tool in flex bison bc patch; do
	[ "$all" = no ] || have "$tool" || useful="$useful $tool"
done

# the tests of the Python package run in a virtual environment, into which ensurepip puts pip
[ "$all" = no ] || have python3 || useful="$useful python3"
[ "$all" = no ] || python3 -c 'import ensurepip, venv' 2>/dev/null || useful="$useful python3-venv"

if [ -n "$needed$useful" ]; then
	if [ "$(id -u)" = 0 ] && have apt-get; then
		echo "setup: installing$needed$useful"
		export DEBIAN_FRONTEND=noninteractive
		# shellcheck disable=SC2086 # lists of packages
		apt-get update -qq && apt-get install -y -qq --no-install-recommends $needed $useful >/dev/null
	else
		if have apt-get; then why="you are not root"; else why="this system has no apt-get"; fi
		echo "setup: missing:$needed$useful (Debian's names), and $why. Install them with:" >&2
		echo "    sudo apt-get install$needed$useful" >&2
		if [ -n "$needed" ] || [ "$all" = yes ]; then exit 1; fi
		echo "setup: going on without: algorithms cannot be loaded into the kernel" >&2
	fi
fi

if ! have cargo; then
	echo "setup: Rust is missing. Install rustup (https://rustup.rs, or Debian's package rustup), then run this again;" >&2
	echo "setup: rustup fetches the toolchain that rust-toolchain.toml names by itself" >&2
	exit 1
fi
if ! cargo --version >/dev/null; then
	echo "setup: cargo does not run: the toolchain in rust-toolchain.toml is missing; rustup toolchain install fetches it" >&2
	exit 1
fi
