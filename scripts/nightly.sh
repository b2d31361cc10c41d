#!/usr/bin/env bash
# The proofs that take too long for CI, one after the other: a night. Each goes on whatever became of the one before; in the end
# all are named with their result, and the exit code is 1 if one failed.
#
#   scripts/nightly.sh               all
#   scripts/nightly.sh soak hostile  these
#   scripts/nightly.sh --list        their names, what they do, about how long
#
# SEED=20260131   the seed of what is random, by default the date: a failure says its own
#
# Run it as root: what would be skipped elsewhere is a failure here. The output of each is in the target folder's `nightly`.
set -uo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
export FAIRPACE_REQUIRE_KERNEL=1
seed=${SEED:-$(date +%Y%m%d)}
logs=${CARGO_TARGET_DIR:-target}/nightly

# name, minutes, what it is
list="\
swarm       10   20,000 random scenarios, checked for what must hold of any
abuse       60   hostile input for an hour
fuzz        50   libFuzzer on parsers and algorithms, 5 minutes each
soak        15   an administrator's commands for 10 minutes, with 1,000 connections
kernels     25   Debian's kernels with all algorithms, also in lockdown
reordering  60   each algorithm for a minute over a path that reorders, in Linux 6.1, 6.12 and 6.18
python      45   1,000 signals to each call of the Python package, and clusters of Ray without head, memory or raylet
hostile    140   headers that decide constants, and 200 random ones, 30 s each, in Linux 6.12 and 6.18
packages    30   the .deb in a clean Debian 12: install, boot, upgrade, remove; broken boots"

perform() {
	case $1 in
	swarm) make swarm N=20000 SEED="$seed" ;;
	abuse) make abuse ARGS="--time 1h --seed $seed" ;;
	fuzz) make fuzz TIME=300 ;;
	soak) make soak ARGS="--time 10min --seed $seed" ;;
	kernels) make kernels ARGS="--no-page" ;;
	reordering) make kernels ARGS="--only 6.1 --only 6.12 --only 6.18 --reordering 60" ;;
	python) FAIRPACE_LONG=1 make python ;;
	hostile) make kernels ARGS="--only 6.12 --only 6.18 --hostile 212" ;;
	packages) INSTALL=1 ONLY=deb scripts/packages.sh amd64 && make packages-test ;;
	esac
}

names=$(cut -d' ' -f1 <<<"$list")
for argument in "$@"; do
	if [ "$argument" = --list ]; then
		printf '%-10s min\n%s\n' name "$list"
		exit 0
	fi
	grep -qx -- "$argument" <<<"$names" || {
		echo "nightly: there is no proof $argument; scripts/nightly.sh --list names them" >&2
		exit 2
	}
done
# shellcheck disable=SC2086 # a list of names
[ $# -gt 0 ] || set -- $names

scripts/setup.sh --all || exit 1
trap 'exit 130' INT
trap 'exit 143' TERM
mkdir -p "$logs"
results=""
status=0
for name in "$@"; do
	echo "nightly: $name, seed $seed, output in $logs/$name.log"
	begun=$SECONDS
	if perform "$name" </dev/null >"$logs/$name.log" 2>&1; then
		result=passed
	else
		result=FAILED
		status=1
		tail -n 20 "$logs/$name.log"
		case $name in
		kernels | reordering | hostile)
			# the consoles of its guests, which those of the next one replace
			rm -rf "$logs/$name.reports"
			cp -r "$logs/../kernels/reports" "$logs/$name.reports"
			;;
		esac
	fi
	results+=$(printf '%-7s %4d min  %s' "$result" $(((SECONDS - begun + 30) / 60)) "$name")$'\n'
done
printf '\n%s' "$results"
exit $status
