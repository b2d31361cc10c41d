#!/bin/sh
# How fast the simulator is on one thread, and how much memory it takes: each load in a process of its own, five times; the median, and
# the best, which says most of the program where neighbours on the same machine take what they take at times only.
# With huge pages for the heap, where glibc is the C library: with hundreds of flows that is some per cent.
set -eu
cd "$(dirname "$0")/.."
export GLIBC_TUNABLES=glibc.malloc.hugetlb=1
cargo build --quiet --locked --release --package fairpace-dev
dev="${CARGO_TARGET_DIR:-target}/release/fairpace-dev"

printf '%-38s %12s %23s %6s %10s\n' "load" "packets" "million per CPU-second" "best" "memory"
run() {
	title=$1
	for _ in 1 2 3 4 5; do "$dev" bench-load "$2" "$3"; done | sort -n -k 2 |
		awk -v title="$title" '{ best = $2 } NR == 3 { packets = $1; median = $2; kb = $3 }
			END { printf "%-38s %12d %23.2f %6.2f %7.0f MB\n", title, packets, median, best, kb / 1000 }'
}
run "two BBR flows, 100 Mbit/s" two/bbr1 120000
run "two BBRv3 flows, 100 Mbit/s" two/bbr3 120000
run "two CUBIC flows, 100 Mbit/s" two/cubic 120000
run "two BBR flows, CoDel" codel/bbr1 120000
run "500 BBR flows, 25 Gbit/s, 145 ms" fat/bbr1 6000
run "500 CUBIC flows, 25 Gbit/s, 145 ms" fat/cubic 6000
run "2 CUBIC flows, 5 Mbit/s each" 2/cubic 1000000
run "20 CUBIC flows" 20/cubic 100000
run "200 CUBIC flows" 200/cubic 10000
run "2,000 CUBIC flows" 2000/cubic 4000
run "20,000 CUBIC flows" 20000/cubic 2000
run "a workload of a million connections" web/cubic 20000
