#!/bin/sh
# Checks the C of the algorithms: formatting, warnings with two compilers, fitness for BPF, no holes in any state
# (parity compares bytes), and the contract's size. Says what is wrong and fails; prints one line when all is well.
set -eu
cd "$(dirname "$0")"

contract_lines_most=500
names=$(sed -n 's/^CC_ALGORITHM(\([a-z0-9_]*\),.*/\1/p' algorithms.def)
warnings="-std=c11 -ffreestanding -Wall -Wextra -Wconversion -Wshadow -Werror -I."
sources=$(find . -name '*.h' -o -name '*.c')

# shellcheck disable=SC2086 # lists of words
clang-format --dry-run -Werror $sources

scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT INT TERM
for name in $names; do
	# each header by itself, in a unit that uses all of its entry points
	cat >"$scratch/$name.c" <<-UNIT
		#include "$name.h"
		void init(struct $name *s, const struct ${name}_params *p, const struct cc_view *v, struct cc_decision *d);
		void on_ack(struct $name *s, const struct cc_view *v, struct cc_decision *d);
		void on_event(struct $name *s, u32 e, const struct cc_view *v, struct cc_decision *d);
		void observe(const struct $name *s, struct cc_observation *o);
		void init(struct $name *s, const struct ${name}_params *p, const struct cc_view *v, struct cc_decision *d)
		{
			${name}_init(s, p, v, d);
		}
		void on_ack(struct $name *s, const struct cc_view *v, struct cc_decision *d)
		{
			${name}_on_ack(s, v, d);
		}
		void on_event(struct $name *s, u32 e, const struct cc_view *v, struct cc_decision *d)
		{
			${name}_on_event(s, e, v, d);
		}
		void observe(const struct $name *s, struct cc_observation *o) { ${name}_observe(s, o); }
	UNIT
	for compiler in gcc clang; do
		# shellcheck disable=SC2086
		$compiler $warnings -Wpadded -O2 -c "$scratch/$name.c" -o "$scratch/$name.o"
	done
	# shellcheck disable=SC2086
	clang $warnings -target bpf -O2 -g -c "$scratch/$name.c" -o "$scratch/$name.bpf.o"
done

includes=$(for name in $names; do printf ' -include %s.h' "$name"; done)
# the sizes that build.rs gives to the C
sizes=$(sed -n 's/^const \([A-Z_]*\): usize = \([0-9]*\);$/-DCC_NATIVE_\1=\2/p' build.rs)
for compiler in gcc clang; do
	# shellcheck disable=SC2086
	$compiler $warnings -O2 $sizes $includes -c native/native.c -o "$scratch/native.o"
done

lines=$(cat contract/*.h | wc -l)
if [ "$lines" -gt "$contract_lines_most" ]; then
	echo "cc/contract has $lines lines, more than $contract_lines_most: what only one algorithm needs belongs in its file" >&2
	exit 1
fi
echo "cc: formatting, gcc, clang and bpf without warnings for $(echo "$names" | wc -w) algorithms; contract $lines lines"
