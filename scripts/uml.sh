#!/usr/bin/env bash
# Builds the kernel of `--on virtual:uml`: User-mode Linux from Debian's package of the kernel's source, with what is in uml/ and
# the algorithms of cc/. Nothing is installed, and no root is needed.
#
#   scripts/uml.sh          builds it if it is not in the user's cache; prints its path
#   scripts/uml.sh --name   prints the name that it has there
#
# Its name has a hash of all sources that it is made of, and the version of the compiler. The first build takes ten minutes of
# processor time and 600 MB of temporary space. The built tree is kept beside it, compressed: where only algorithms change, the
# next build takes half a minute.
#
# Exit code: 0 if it is there, 1 if it cannot be built, 2 for wrong arguments.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
# shellcheck source=scripts/fetch-kernel.sh
. scripts/fetch-kernel.sh

# Debian's version of the source. A later one may have other results.
series=6.12
version=6.12.118-1
package=linux-source-$series
built=${fetched%/kernels}/uml
# Parts of the source that no User-mode Linux has; the configuration reads the Kconfig of all. Of the drivers it has base, char,
# input, net and tty.
without=(--exclude='*/Documentation/*/*' --exclude='*/tools/testing/*' --exclude='*/tools/perf/*' --exclude='*/sound/*.[ch]'
	--exclude='*/samples/*.[ch]' --exclude='*/arch/[!ux]*/*.[chS]' --exclude='*/arch/*/boot/dts/*'
	--exclude='*/drivers/[!bcint]*/*.[ch]' --exclude='*/drivers/b[!a]*/*.[ch]' --exclude='*/drivers/c[!h]*/*.[ch]'
	--exclude='*/drivers/i[!n]*/*.[ch]' --exclude='*/drivers/infiniband/*.[ch]' --exclude='*/drivers/n[!e]*/*.[ch]'
	--exclude='*/drivers/net/*/*.[ch]' --exclude='*/drivers/t[!t]*/*.[ch]')

cannot_build() {
	echo "uml: $1" >&2
	exit 1
}

# The files of which the kernel is made, beside Debian's.
parts() {
	find uml cc/*.h cc/algorithms.def cc/bpf cc/contract cc/lib cc/linux -name README.md -prune -o -type f -print | LC_ALL=C sort
}

# A hash of this script, Debian's version, the compiler, and the files that standard input names.
hash_of() {
	{ echo "$version $(gcc -dumpfullversion 2>/dev/null)" && xargs sha256sum scripts/uml.sh; } | sha256sum | cut -c1-12
}

name() { echo "linux-$version-$(parts | hash_of)"; }

# The tree depends on what is built before the algorithms.
tree_name() { echo "tree-$version-$(parts | grep '^uml/' | hash_of).tar.gz"; }

check_tools() {
	local missing="" tool
	for tool in gcc make flex bison bc patch xz; do
		have "$tool" || missing="$missing ${tool/#xz/xz-utils}"
	done
	[ -z "$missing" ] || cannot_build "missing:$missing (Debian's names). Install them with: apt-get install$missing"
}

# Debian's source in a folder, with what is ours.
unpack_source() {
	local folder=$1
	open_fetched
	flock 8
	local file=$fetched/packages/${package}_${version}_all.deb
	# the mirror has it until the next update of this series
	if [ ! -e "$file" ]; then
		fetch_lists
		(cd "$fetched/packages" && own apt-get download -qq "$package=$version" >"$fetched/apt/log" 2>&1) ||
			cannot_build "$package $version cannot be fetched: $(tail -n1 "$fetched/apt/log")"
	fi
	flock -u 8
	dpkg-deb --fsys-tarfile "$file" |
		tar -xO --wildcards "*/$package.tar.xz" | xz -dc | tar -xC "$folder" --strip-components=1 "${without[@]}"
	patch -s -p1 -d "$folder" <uml/kernel.patch
	cp uml/host.c "$folder/arch/um/drivers/fairpace.c"
}

# The tree of an earlier build, or a new one.
open_tree() {
	local tree=$built/$tree folder=$1
	if [ -e "$tree" ]; then
		tar -xzf "$tree" -C "$folder"
		rm -r "$folder/net/ipv4/fairpace"
	else
		echo "uml: building all of it, for some ten minutes of processor time" >&2
		unpack_source "$folder"
	fi
	mkdir "$folder/net/ipv4/fairpace"
	cp -r cc/*.h cc/algorithms.def cc/bpf cc/contract cc/lib cc/linux "$folder/net/ipv4/fairpace"
}

# Keeps the tree for the next build, instead of those of other sources.
keep_tree() {
	[ ! -e "$built/$tree" ] || return 0
	tar -c -C "$1" --anchored --no-wildcards-match-slash --exclude='./linux' --exclude='./*vmlinux*' . | gzip -1 >"$built/$tree.new"
	rm -f "$built"/tree-*.tar.gz
	mv "$built/$tree.new" "$built/$tree"
}

# All lines of the fragment must be in the configuration: one whose condition does not hold is left out without a word.
check_config() {
	local lacks
	lacks=$(grep '^CONFIG_' uml/kernel.config | grep -vxFf "$1/.config") || return 0
	echo "the configuration lacks: $lacks"
	return 1
}

build() {
	local folder log=$built/log tree
	tree=$(tree_name)
	folder=$(mktemp -d)
	# shellcheck disable=SC2064 # the folder of now
	trap "rm -rf '$folder'" EXIT
	open_tree "$folder"
	# nothing of this machine and of this time is in the kernel
	export KBUILD_BUILD_TIMESTAMP=2026-01-01 KBUILD_BUILD_USER=fairpace KBUILD_BUILD_HOST=fairpace KBUILD_BUILD_VERSION=1
	local make=(make -s -C "$folder" ARCH=um)
	if ! { { [ -e "$folder/.config" ] || "${make[@]}" KCONFIG_ALLCONFIG="$PWD/uml/kernel.config" allnoconfig; } &&
		check_config "$folder" && "${make[@]}" -j"$(nproc)" linux; } >"$log" 2>&1; then
		tail -n 20 "$log" >&2
		cannot_build "the kernel cannot be built; all of it is in $log"
	fi
	strip -o "$built/$1.new" "$folder/linux"
	mv "$built/$1.new" "$built/$1"
	keep_tree "$folder"
}

case ${1:-} in
--name)
	name
	;;
"")
	file=$(name)
	mkdir -p "$built"
	exec 7>"$built/lock"
	flock 7
	if [ ! -e "$built/$file" ]; then
		check_tools
		echo "uml: building $file" >&2
		build "$file"
	fi
	# the newest one is what `fairpace` runs
	touch "$built/$file"
	echo "$built/$file"
	;;
*)
	echo "usage: uml.sh [--name]" >&2
	exit 2
	;;
esac
