#!/bin/sh
# Instructions that the simulator executes per delivered packet, by valgrind: a busy machine does not change them.
# Compares with the recorded ones and fails when a load needs more than a tenth more. UPDATE=1 records.
set -eu
cd "$(dirname "$0")/.."
record=crates/sim/benches/instructions.txt

command -v valgrind >/dev/null 2>&1 || {
	echo "count-instructions: valgrind is missing; scripts/setup.sh --all installs it" >&2
	exit 1
}
cargo build --quiet --locked --profile counted --package fairpace-sim --features testing --example count
load="${CARGO_TARGET_DIR:-target}/counted/examples/count"

# Instructions of a run, and packets: what a run of twice the length has more leaves out what every run costs once.
count() {
	log=$(mktemp)
	packets=$(valgrind --tool=cachegrind --cache-sim=no --cachegrind-out-file=/dev/null --log-file="$log" "$load" "$1" "$2")
	echo "$(sed -n 's/.*I *refs: *//p' "$log" | tr -d ',') $packets"
	rm -f "$log"
}

new=$(mktemp)
trap 'rm -f "$new"' EXIT
for each in two/bbr1:8000 two/cubic:8000 two/bbr3:8000 codel/bbr1:8000 100/bbr1:2000 web/cubic:200; do
	name=${each%:*}
	ms=${each#*:}
	one=$(count "$name" "$ms")
	two=$(count "$name" $((2 * ms)))
	echo "$name $one $two" | awk '{ printf "%s %d\n", $1, ($4 - $2) / ($5 - $3) }' >>"$new"
done

if [ "${UPDATE:-}" = 1 ]; then
	cp "$new" "$record"
	echo "count-instructions: recorded in $record"
	cat "$record"
	exit 0
fi
awk '
	NR == FNR { recorded[$1] = $2; next }
	{
		ratio = recorded[$1] > 0 ? $2 / recorded[$1] : 99
		note = ratio > 1.1 ? "  MORE THAN A TENTH MORE" : ratio < 0.9 ? "  much less: record it with make count UPDATE=1" : ""
		printf "%-12s %6d instructions per packet, recorded %6d, ratio %.3f%s\n", $1, $2, recorded[$1], ratio, note
		if (ratio > 1.1) failed = 1
	}
	END { exit failed }
' "$record" "$new"
