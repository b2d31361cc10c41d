#!/usr/bin/env bash
# Packages all library crates as for a registry, then builds and runs a program outside of the workspace from the
# packages alone, with clang hidden. Needs clang to make the kernel objects first, and the crates of Cargo.lock on disk.
#
#   scripts/package-crates.sh        leaves package/*.crate in the target folder (CARGO_TARGET_DIR, or target)
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
target=$(realpath -m "${CARGO_TARGET_DIR:-target}")
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT INT TERM

# not a job of the make that runs this script
MAKEFLAGS="" make --no-print-directory objects

# All crates with a library, unless they are marked as not for publication.
version=$(sed -n '/^\[workspace.package\]/,/^$/s/^version = "\(.*\)"$/\1/p' Cargo.toml)
crates=()
for manifest in cc/Cargo.toml crates/*/Cargo.toml; do
	[ -f "${manifest%Cargo.toml}src/lib.rs" ] && ! grep -q '^publish = false' "$manifest" || continue
	crates+=("$(sed -n '/^\[package\]/,/^$/s/^name = "\(.*\)"$/\1/p' "$manifest")")
done
packages=()
for crate in "${crates[@]}"; do packages+=(--package "$crate"); done
rm -f "$target"/package/*.crate
# --allow-dirty: the objects are in the package but not in git
cargo package "${packages[@]}" --no-verify --offline --allow-dirty --quiet 2>"$scratch/messages" ||
	{ cat "$scratch/messages" >&2; exit 1; }

mkdir -p "$scratch/packages" "$scratch/program/src" "$scratch/bin"
for file in "$target"/package/*.crate; do tar -xzf "$file" -C "$scratch/packages"; done
"$target"/debug/examples/objects --check "$scratch"/packages/fairpace-kernel-*/objects

{
	printf '[package]\nname = "packages-check"\nversion = "0.0.0"\nedition = "2024"\n\n[dependencies]\n'
	for crate in "${crates[@]}"; do printf '%s = "=%s"\n' "$crate" "$version"; done
	printf '\n[patch.crates-io]\n'
	for crate in "${crates[@]}"; do
		printf '%s = { path = "%s" }\n' "$crate" "$scratch/packages/$crate-$version"
	done
	# the workspace's, so that what is built already is used again
	printf '\n[profile.dev]\ndebug = "line-tables-only"\n[profile.dev.package."*"]\ndebug = false\n'
} >"$scratch/program/Cargo.toml"
cp Cargo.lock "$scratch/program/"
cp scripts/package-crates.rs "$scratch/program/src/main.rs"

# PATH without clang
IFS=: read -ra folders <<<"$PATH"
for folder in "${folders[@]}"; do
	[ -d "$folder" ] && find "$folder" -maxdepth 1 ! -type d ! -name 'clang*' -exec ln -st "$scratch/bin" {} + 2>/dev/null || true
done
unset CLANG
cd "$scratch/program"
PATH=$scratch/bin CARGO_TARGET_DIR=$target cargo run --quiet --offline
echo "${#crates[@]} crates packaged; a program outside of the workspace runs with them, built without clang"
