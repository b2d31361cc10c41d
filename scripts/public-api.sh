#!/usr/bin/env bash
# Writes the public API of the crates that others use to docs/api/CRATE.txt, one item per line, or checks it.
#
#   scripts/public-api.sh [--check]
#
# Needs `cargo install cargo-public-api@0.52.0 --locked`. It reads rustdoc's JSON, which the pinned stable toolchain
# writes when RUSTC_BOOTSTRAP allows it unstable options: no nightly toolchain.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
crates=(fairpace-cc fairpace-scenario fairpace-results fairpace-sim fairpace-kernel fairpace-bpf-build)

if ! command -v cargo-public-api >/dev/null; then
	echo "SKIPPED: the public API is not checked, because cargo-public-api is not installed" >&2
	exit 0
fi
check=${1:-}
mkdir -p docs/api
status=0
for crate in "${crates[@]}"; do
	# a target folder of its own: build scripts look at RUSTC_BOOTSTRAP, and would run again and again
	RUSTC_BOOTSTRAP=1 cargo rustdoc --quiet --locked --package "$crate" --lib --target-dir target/api -- \
		-Z unstable-options --output-format json
	api=$(cargo public-api -sss --rustdoc-json "target/api/doc/${crate//-/_}.json")
	if [ "$check" = --check ]; then
		diff -u "docs/api/$crate.txt" - <<<"$api" ||
			{ echo "the public API of $crate has changed: run scripts/public-api.sh, and raise the version if it breaks callers" >&2; status=1; }
	else
		printf '%s\n' "$api" >"docs/api/$crate.txt"
	fi
done
exit $status
