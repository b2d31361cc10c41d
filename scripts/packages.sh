#!/usr/bin/env bash
# Builds the packages of one version into dist/: .deb, .rpm, a tarball, an OCI image file, for amd64 and arm64 each, with the SBOM
# (CycloneDX) and SHA256SUMS. One program with the BPF objects inside, and libelf and zlib linked in. For amd64 also the package of
# the kernel of `--on virtual:uml` (scripts/uml.sh), which needs its tools and ten minutes of processor time once.
#
#   scripts/packages.sh            both architectures
#   scripts/packages.sh amd64      one
#   BUILT=1 scripts/packages.sh    with the programs that an earlier run has built
#   ONLY=deb scripts/packages.sh   the .deb alone, which needs neither umoci nor skopeo
#   INSTALL=1 scripts/packages.sh  install what is missing (root, Debian); for arm64 also the architecture
#
# Needs Debian 12 (a program that was linked with a newer glibc does not start there; checked), clang, umoci, skopeo, and for
# arm64 gcc-aarch64-linux-gnu, libelf-dev:arm64, zlib1g-dev:arm64, the Rust target and, to run what was built,
# qemu-user-static. It installs the cargo tools below, pinned (scripts/tool.sh).
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
tools=(cargo-deb@3.8.0 cargo-generate-rpm@0.21.1 cargo-cyclonedx@0.5.9)
newest_glibc=2.36
target=$(realpath -m "${CARGO_TARGET_DIR:-target}")
export CARGO_TARGET_DIR=$target CARGO_INCREMENTAL=0
version=$(sed -n '/^\[workspace.package\]/,/^$/s/^version = "\(.*\)"$/\1/p' Cargo.toml)
# for files in archives: the same commit gives the same times
SOURCE_DATE_EPOCH=$(git log -1 --format=%ct)
export SOURCE_DATE_EPOCH
[ $# -gt 0 ] || set -- amd64 arm64

scratch=$(mktemp -d)
trap 'rm -rf "$scratch" dist/stage; find crates cc -name "fairpace*.cdx.json" -delete' EXIT
trap 'exit 130' INT
trap 'exit 143' TERM

say() { printf 'packages: %s\n' "$*"; }
fail() { say "$*" >&2; exit 1; }

programs=(objdump clang umoci skopeo flex bison bc patch)
if [ "${ONLY:-}" = deb ]; then
	tools=("${tools[0]}")
	programs=(objdump clang)
fi

# With INSTALL=1. apt needs to know an architecture before it has packages of it.
install_missing() {
	local missing=() program
	for program in "${programs[@]}"; do
		command -v "$program" >/dev/null || missing+=("${program/objdump/binutils}")
	done
	if [[ " $* " = *" arm64 "* ]]; then
		[ "$(dpkg --print-architecture)" = arm64 ] || dpkg --print-foreign-architectures | grep -qx arm64 ||
			dpkg --add-architecture arm64
		[ -e /usr/lib/aarch64-linux-gnu/libelf.a ] || missing+=(libelf-dev:arm64)
		[ -e /usr/lib/aarch64-linux-gnu/libz.a ] || missing+=(zlib1g-dev:arm64)
		command -v aarch64-linux-gnu-gcc >/dev/null || missing+=(gcc-aarch64-linux-gnu)
		command -v qemu-aarch64-static >/dev/null || missing+=(qemu-user-static)
		rustup target add --toolchain "$(rustup show active-toolchain | cut -d" " -f1)" aarch64-unknown-linux-gnu
	fi
	[ ${#missing[@]} != 0 ] || return 0
	say "installing ${missing[*]}"
	DEBIAN_FRONTEND=noninteractive apt-get update -qq
	DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends "${missing[@]}" >/dev/null
}

if [ "${INSTALL:-}" = 1 ] && [ "$(id -u)" = 0 ] && [ "${ONLY:-}" != deb ]; then install_missing "$@"; fi
for tool in "${programs[@]}"; do command -v "$tool" >/dev/null || fail "$tool is missing: apt-get install $tool"; done
for tool in "${tools[@]}"; do
	program=$(INSTALL=1 scripts/tool.sh "$tool")
	PATH=$(dirname "$program"):$PATH
done
export PATH

triple_of() { case "$1" in amd64) echo x86_64-unknown-linux-gnu ;; arm64) echo aarch64-unknown-linux-gnu ;; *) fail "$1?" ;; esac; }
machine_of() { local triple; triple=$(triple_of "$1"); echo "${triple%%-*}"; }

# The program of an architecture; prints its path.
build() {
	local triple library program
	triple=$(triple_of "$1")
	library=/usr/lib/$(machine_of "$1")-linux-gnu
	for archive in libelf.a libz.a; do
		[ -e "$library/$archive" ] ||
			fail "$library/$archive is missing: dpkg --add-architecture $1; apt-get update;" \
				"apt-get install libelf-dev:$1 zlib1g-dev:$1"
	done
	if [ "$1" = "$(dpkg --print-architecture)" ]; then
		[ -n "${BUILT:-}" ] || LIBBPF_SYS_LIBRARY_PATH=$library \
			cargo build --quiet --release --locked --package fairpace --features static >&2
		program=$target/release/fairpace
	else
		[ -n "${BUILT:-}" ] || CC_aarch64_unknown_linux_gnu=aarch64-linux-gnu-gcc \
			CARGO_TARGET_AARCH64_UNKNOWN_LINUX_GNU_LINKER=aarch64-linux-gnu-gcc \
			LIBBPF_SYS_LIBRARY_PATH=$library PKG_CONFIG_ALLOW_CROSS=1 \
			cargo build --quiet --release --locked --package fairpace --features static --target "$triple" >&2
		program=$target/$triple/release/fairpace
	fi
	echo "$program"
}

# Fails unless the program needs glibc only, and no newer one than Debian 12's.
check_libraries() {
	local needed newest
	needed=$(objdump -p "$1" | sed -n 's/^ *NEEDED *//p' | grep -Ev '^(libc|libm|libgcc_s|ld-linux-.*)\.so\.[0-9]+$' || true)
	[ -z "$needed" ] || fail "$1 needs $needed"
	newest=$(objdump -T "$1" | grep -o 'GLIBC_[0-9.]*' | sed s/GLIBC_// | sort -Vu | tail -1)
	[ "$(printf '%s\n' "$newest" "$newest_glibc" | sort -V | tail -1)" = "$newest_glibc" ] || fail "$1 needs glibc $newest"
	say "$2: needs glibc $newest, no other library"
}

# The BPF objects of both programs are the same bytes: they do not depend on the architecture.
objects_of() {
	local folder
	folder=$(find "$1"/build/fairpace-kernel-*/out -name '*.bpf.o' -printf '%T@ %h\n' | sort -n | tail -1 | cut -d' ' -f2)
	(cd "$folder" && sha256sum -- *.bpf.o | sha256sum | cut -d' ' -f1)
}

# Man pages and completions, by the program of this machine.
stage_pages() {
	mkdir -p dist/stage/man dist/stage/completions
	"$1" man dist/stage/man >/dev/null
	gzip -9n dist/stage/man/*.1
	"$1" completions bash >dist/stage/completions/fairpace
	"$1" completions zsh >dist/stage/completions/_fairpace
	"$1" completions fish >dist/stage/completions/fairpace.fish
}

# The kernel of `--on virtual:uml`: it is GPL-2.0, and a package of its own. Our part of its source is in it; Debian's source, which
# is unchanged, is a file beside it.
uml_package() {
	local kernel root=$scratch/uml doc=usr/share/doc/fairpace-uml source
	kernel=$(scripts/uml.sh)
	# its name: that of Debian's source with its version, and a hash
	source=$(basename "${kernel%-*}")
	install -D -m 755 "$kernel" "$root/usr/bin/fairpace-uml"
	install -D -m 644 packaging/uml/copyright "$root/$doc/copyright"
	sed -i "s/DEBIAN_SOURCE/$source/" "$root/$doc/copyright"
	git ls-files -z uml cc scripts/uml.sh scripts/fetch-kernel.sh LICENSE-APACHE LICENSE-MIT |
		tar --null -T - --sort=name --owner=0 --group=0 --numeric-owner --mtime="@$SOURCE_DATE_EPOCH" -c |
		gzip -9n >"$root/$doc/source.tar.gz"
	mkdir "$root/DEBIAN"
	sed "s/VERSION/$version/" packaging/uml/control >"$root/DEBIAN/control"
	cp "${XDG_CACHE_HOME:-$HOME/.cache}/fairpace-tools/kernels/packages/linux-source-"*"_${source#linux-}_all.deb" dist/
	chmod -R u=rwX,go=rX "$root"
	dpkg-deb --root-owner-group -b "$root" "dist/fairpace-uml_${version}_amd64.deb" >/dev/null
	say "amd64: User-mode Linux $("$root/usr/bin/fairpace-uml" --version)"
}

tarball() {
	local name=fairpace-$version-linux-$1
	mkdir -p "$scratch/$name"
	cp -r dist/stage/fairpace dist/stage/man dist/stage/completions packaging/fairpace.service packaging/copyright docs/use-it.md \
		LICENSE-APACHE LICENSE-MIT "$scratch/$name/"
	tar --sort=name --owner=0 --group=0 --numeric-owner --mtime="@$SOURCE_DATE_EPOCH" -C "$scratch" -c "$name" |
		gzip -9n >"dist/$name.tar.gz"
}

# An image with the program, glibc and sleep, which the DaemonSet needs to stay. Their versions are this machine's; foreign ones
# come from packages of the other architecture.
image() {
	local layout=$scratch/oci-$1 root=$scratch/root-$1 package file
	mkdir -p "$root/usr/bin" "$root/usr/share/doc" "$scratch/debs-$1"
	for folder in bin lib lib64; do mkdir -p "$root/usr/$folder"; ln -s "usr/$folder" "$root/$folder"; done
	(cd "$scratch/debs-$1" && apt-get download -qq "libc6:$1" "libgcc-s1:$1" "coreutils:$1" 2>/dev/null) ||
		fail "apt-get download of libc6, libgcc-s1 and coreutils for $1"
	for package in "$scratch/debs-$1"/*.deb; do
		dpkg-deb -x "$package" "$scratch/files-$1"
	done
	for file in libc.so.6 libm.so.6 libgcc_s.so.1 ld-linux-x86-64.so.2 ld-linux-aarch64.so.1; do
		find "$scratch/files-$1" -name "$file" -type f -exec install -D -t "$root/usr/lib/$(machine_of "$1")-linux-gnu" {} +
	done
	case "$1" in
	amd64) ln -s ../lib/x86_64-linux-gnu/ld-linux-x86-64.so.2 "$root/usr/lib64/" ;;
	arm64) ln -s aarch64-linux-gnu/ld-linux-aarch64.so.1 "$root/usr/lib/" ;;
	esac
	install "$scratch/files-$1/bin/sleep" "$root/usr/bin/"
	for package in libc6 libgcc-s1 gcc-12-base coreutils; do
		[ ! -f "$scratch/files-$1/usr/share/doc/$package/copyright" ] ||
			install -D -m 644 "$scratch/files-$1/usr/share/doc/$package/copyright" "$root/usr/share/doc/$package/copyright"
	done
	install -m 755 dist/stage/fairpace "$root/usr/bin/"
	install -D -m 644 packaging/copyright "$root/usr/share/doc/fairpace/copyright"
	mkdir -p "$root/etc/fairpace" "$root/proc" "$root/sys" "$root/tmp"
	find "$root" -exec touch -h -d "@$SOURCE_DATE_EPOCH" {} +
	umoci init --layout "$layout"
	umoci new --image "$layout:$version"
	umoci insert --image "$layout:$version" "$root" /
	umoci config --image "$layout:$version" --architecture "$1" --os linux --config.entrypoint /usr/bin/fairpace \
		--config.label "org.opencontainers.image.version=$version" \
		--created "$(date -u -d "@$SOURCE_DATE_EPOCH" +%Y-%m-%dT%H:%M:%SZ)"
	umoci gc --layout "$layout"
	tar --sort=name --owner=0 --group=0 --numeric-owner --mtime="@$SOURCE_DATE_EPOCH" -C "$layout" -cf \
		"dist/fairpace-$version-oci-$1.tar" .
	skopeo inspect "oci-archive:dist/fairpace-$version-oci-$1.tar:$version" >"$scratch/inspect.json"
	grep -q "\"Architecture\": \"$1\"" "$scratch/inspect.json" || fail "the image of $1 names another architecture"
	say "$1: skopeo reads the image: $(sed -n 's/.*"Digest": "\(.*\)".*/\1/p' "$scratch/inspect.json")"
}

rm -rf dist
mkdir -p dist/stage
native=$(build "$(dpkg --print-architecture)")
stage_pages "$native"
for architecture in "$@"; do
	say "$architecture: building"
	program=$(build "$architecture")
	install -m 755 "$program" dist/stage/fairpace
	if [ "$architecture" = arm64 ]; then aarch64-linux-gnu-strip dist/stage/fairpace; else strip dist/stage/fairpace; fi
	check_libraries dist/stage/fairpace "$architecture"
	say "$architecture: BPF objects $(objects_of "${program%/fairpace}" | cut -c1-16)"
	cargo deb --quiet --no-build --no-strip --package fairpace --target "$(triple_of "$architecture")" \
		--output "dist/fairpace_${version}_$architecture.deb"
	[ "${ONLY:-}" != deb ] || continue
	[ "$architecture" != amd64 ] || uml_package
	cargo generate-rpm --package crates/cli --arch "$(machine_of "$architecture")" \
		--output "dist/fairpace-$version.$(machine_of "$architecture").rpm"
	tarball "$architecture"
	image "$architecture"
done
if [ "${ONLY:-}" = deb ]; then
	rm -rf dist/stage
	ls -l dist
	exit 0
fi
if [[ " $* " = *" arm64 "* ]]; then
	if command -v qemu-aarch64-static >/dev/null && [ -d "$scratch/files-arm64" ]; then
		said=$(qemu-aarch64-static -L "$scratch/root-arm64" "$scratch/root-arm64/usr/bin/fairpace" --version)
		[ "$said" = "$("$native" --version)" ] || fail "arm64 under QEMU said: $said"
		# a simulation gives the same bytes on every machine
		for run in "$native" "qemu-aarch64-static -L $scratch/root-arm64 $scratch/root-arm64/usr/bin/fairpace"; do
			$run sim scenarios/bbq-rtt-fairness.toml --set duration=20s --quiet --out "$scratch/simulated" >/dev/null
			cat "$scratch"/simulated/{flows.csv,links.csv,backlog.csv,summary.json} | sha256sum
		done >"$scratch/sums"
		[ "$(sort -u "$scratch/sums" | wc -l)" = 1 ] || fail "arm64 simulates something else than amd64"
		say "arm64: under QEMU user emulation $said, and a simulation with the same bytes as on amd64"
	else
		say "arm64: not run, qemu-user-static is missing"
	fi
fi
(cd crates/cli && cargo cyclonedx --quiet --format json --all --override-filename fairpace-sbom) >/dev/null
mv crates/cli/fairpace-sbom.json "dist/fairpace-$version.cdx.json"
find cc crates -name fairpace-sbom.json -delete
sed "s/fairpace:VERSION/fairpace:$version/" packaging/oci/daemonset.yaml >"dist/fairpace-$version-daemonset.yaml"
rm -rf dist/stage
(cd dist && sha256sum -- * >"$scratch/sums" && mv "$scratch/sums" SHA256SUMS)
ls -l dist
