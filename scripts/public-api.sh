#!/usr/bin/env bash
# Writes the public API of the crates that others use to docs/api/CRATE.txt, one item per line, or checks it.
#
#   scripts/public-api.sh [--check]
#
# INSTALL=1   build cargo-public-api if it is missing: once per machine (scripts/tool.sh). Without it, --check is skipped, which is
#             a failure with FAIRPACE_REQUIRE_KERNEL=1.
#
# It reads rustdoc's JSON, which the pinned stable toolchain writes when RUSTC_BOOTSTRAP allows it unstable options: no
# nightly toolchain.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
crates=(fairpace-cc fairpace-scenario fairpace-results fairpace-sim fairpace-gym fairpace-kernel fairpace-bpf-build)

tool=cargo-public-api@0.52.0
install="cargo install $tool --locked, or INSTALL=1"
check=${1:-}
if [ $# -gt 1 ] || { [ -n "$check" ] && [ "$check" != --check ]; }; then
	echo "public-api: unknown arguments: $*; it is scripts/public-api.sh [--check]" >&2
	exit 2
fi
if ! public_api=$(scripts/tool.sh $tool); then
	if [ "$check" = --check ] && [ "${FAIRPACE_REQUIRE_KERNEL:-}${INSTALL:-}" = "" ]; then
		echo "SKIPPED: the public API is not checked, because cargo-public-api is missing; install it with: $install" >&2
		exit 0
	fi
	echo "public-api: cargo-public-api is missing, so docs/api is not written or checked; install it with: $install" >&2
	exit 1
fi
target=${CARGO_TARGET_DIR:-target}
mkdir -p docs/api
status=0
for crate in "${crates[@]}"; do
	# A target folder of its own: build scripts look at RUSTC_BOOTSTRAP, and would run again and again. Without clang, which would
	# compile the objects of the kernel into it: they are no part of the API.
	RUSTC_BOOTSTRAP=1 CLANG=/nonexistent cargo rustdoc --quiet --locked --package "$crate" --lib --target-dir "$target/api" -- \
		-Z unstable-options --output-format json
	api=$("$public_api" public-api -sss --rustdoc-json "$target/api/doc/${crate//-/_}.json")
	if [ "$check" = --check ]; then
		diff -u "docs/api/$crate.txt" - <<<"$api" ||
			{
				echo "the API of $crate has changed: run \`make api\`, and raise the version if that breaks callers" >&2
				status=1
			}
	else
		printf '%s\n' "$api" >"docs/api/$crate.txt"
	fi
done
exit $status
