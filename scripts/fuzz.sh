#!/usr/bin/env bash
# Fuzzes with libFuzzer, guided by the coverage of Rust and C. An input that fails a property ends it, and its file
# is named. Rename it to what it showed, and add it to the inputs that each build tests, crates/fuzz/corpus/TARGET.tar.gz:
#
#   cargo run -p fairpace-fuzz --bin corpus -- add TARGET FILE...
#
#   scripts/fuzz.sh [TARGET]...     default: all targets, one after the other
#
# TIME=60    seconds for each target
# MERGE=1    adds the fewest inputs that reach all code to crates/fuzz/corpus/TARGET.tar.gz
#
# All inputs that reach something new stay in the target folder, for the next time. The flags are those of
# `cargo fuzz --sanitizer none`, which stable Rust has. Overflow checks and debug assertions are on, and the C has its
# own checks.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
seconds=${TIME:-60}
targets=("$@")
if [ ${#targets[@]} = 0 ]; then
	mapfile -t targets < <(sed -n 's/^ *Target { name: "\([a-z_]*\)".*/\1/p' crates/fuzz/src/lib.rs)
	[ ${#targets[@]} -gt 0 ] || { echo "fuzz: no targets found in crates/fuzz/src/lib.rs" >&2; exit 1; }
fi

coverage=(-Cpasses=sancov-module -Cllvm-args=-sanitizer-coverage-level=4
	-Cllvm-args=-sanitizer-coverage-inline-8bit-counters -Cllvm-args=-sanitizer-coverage-pc-table
	-Cllvm-args=-sanitizer-coverage-trace-compares -Ccodegen-units=1)
build=${CARGO_TARGET_DIR:-target}/fuzz
triple=$(rustc -vV | sed -n 's/^host: //p')
# with --target, build scripts and macros are compiled without the flags
CC=clang CFLAGS="-fsanitize=fuzzer-no-link" CXX=clang++ RUSTFLAGS="${coverage[*]}" CARGO_TARGET_DIR=$build \
	cargo build --quiet --locked --profile swarm --target "$triple" --package fairpace-fuzz --features libfuzzer \
		--bin fairpace-fuzz
program=$build/$triple/swarm/fairpace-fuzz

scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT INT TERM
for target in "${targets[@]}"; do
	archive=crates/fuzz/corpus/$target.tar.gz
	corpus=$scratch/$target/corpus
	merged=$scratch/$target/merged
	found=$build/corpus/$target
	mkdir -p "$corpus" "$found"
	# a new target has no archive
	[ ! -e "$archive" ] || tar -xzf "$archive" -C "$corpus"
	echo "fuzz: $target for $seconds s, from $(find "$corpus" "$found" -type f | wc -l) inputs"
	FAIRPACE_FUZZ=$target "$program" "$found" "$corpus" -max_total_time="$seconds" -timeout=10 -rss_limit_mb=2000 \
		-max_len=20000 -print_final_stats=1 -verbosity=0 -artifact_prefix="crates/fuzz/failed-$target-" 2>"$scratch/log" ||
		{ tail -40 "$scratch/log"; echo "fuzz: $target fails; repeat it: FAIRPACE_FUZZ=$target $program FILE" >&2; exit 1; }
	grep -E 'number_of_executed_units|peak_rss_mb' "$scratch/log" || true
	if [ "${MERGE:-}" = 1 ]; then
		# without counters: how often an edge is taken would keep thousands of inputs
		mkdir "$merged"
		FAIRPACE_FUZZ=$target "$program" -set_cover_merge=1 -use_counters=0 -verbosity=0 "$merged" "$corpus" "$found" \
			2>"$scratch/log" || { tail -40 "$scratch/log"; exit 1; }
		# names that are hashes are of merges: those of earlier ones go
		find "$corpus" -type f -regextype posix-egrep -regex '.*/[0-9a-f]{40}' -delete
		cp "$merged"/* "$corpus"/
		cargo run --quiet --locked --package fairpace-fuzz --bin corpus -- pack "$target" "$corpus"
	fi
done
