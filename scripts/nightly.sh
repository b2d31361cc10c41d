#!/usr/bin/env bash
# The proofs that take too long for CI, one after the other: a night. Each goes on whatever became of the one before. At the end a
# table has all with their results, and the exit code is 1 if one failed.
#
#   scripts/nightly.sh               all
#   scripts/nightly.sh soak hostile  these
#   scripts/nightly.sh --list        their names, what they do, about how long
#   scripts/nightly.sh --fresh ...   also what has passed at this commit
#
# What has passed at this commit is not repeated, unless files that git knows were changed since: after an interruption the same
# command goes on. The output of each proof is in the target folder's `nightly`, and so is what has passed.
#
# SEED=20260131   the seed of what is random, by default the date: a failure says its own
#
# Run it as root: what would be skipped elsewhere is a failure here.
set -uo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
export FAIRPACE_REQUIRE_KERNEL=1
seed=${SEED:-$(date +%Y%m%d)}
logs=${CARGO_TARGET_DIR:-target}/nightly

# name, minutes, what it is
list="\
swarm         10   20,000 random scenarios, checked for what must hold of any
abuse         60   hostile input for an hour
long           5   tests that CI leaves out: every bad algorithm against every criterion, every figure in its short version
fuzz          50   libFuzzer on parsers and algorithms, 5 minutes each
soak          15   an administrator's commands for 10 minutes, with 1,000 connections
kernels       25   Debian's kernels with all algorithms, also in lockdown
reordering    60   each algorithm for a minute over a path that reorders, in Linux 6.1, 6.12 and 6.18
python        45   1,000 signals to each call of the Python package, and clusters of Ray without head, memory or raylet
hostile      140   headers that decide constants, and 200 random ones, 30 s each, in Linux 6.12 and 6.18
packages      30   the .deb in a clean Debian 12: install, boot, upgrade, remove; broken boots
experiments  120   every table of duels, criteria and experiments simulated again: the committed numbers
papers       260   every figure of the papers simulated again: the committed verdicts
conform       15   other BBRs beside the test cases of the IETF draft: the committed table"

# What differs from the commit, but for lines that name a commit: generated pages and records say which one made them.
changes() { git diff --ignore-matching-lines='[0-9a-f]{40}' HEAD "$@"; }

perform() {
	case $1 in
	swarm) make swarm N=20000 SEED="$seed" ;;
	abuse) make abuse ARGS="--time 1h --seed $seed" ;;
	long) cargo test --quiet --locked --package fairpace --package fairpace-dev --test all -- --ignored ;;
	fuzz) make fuzz TIME=300 ;;
	soak) make soak ARGS="--time 10min --seed $seed" ;;
	kernels) make kernels ARGS="--no-page" ;;
	reordering) make kernels ARGS="--only 6.1 --only 6.12 --only 6.18 --reordering 60" ;;
	python) FAIRPACE_LONG=1 make python ;;
	hostile) make kernels ARGS="--only 6.12 --only 6.18 --hostile 212" ;;
	experiments) cargo run --quiet --locked --release --package fairpace-dev -- quick-records --check --every 1 &&
		make duels tables leaderboard evaluate level-theory level-evidence && changes --exit-code ;;
	papers) make reproduce && changes --exit-code -- reproduction/results ;;
	conform) make conform && changes --exit-code ;;
	packages) INSTALL=1 ONLY=deb scripts/packages.sh amd64 && make packages-test ;;
	esac
}

names=$(cut -d' ' -f1 <<<"$list")
fresh=no
chosen=()
for argument in "$@"; do
	case $argument in
	--list)
		printf '%-11s  min\n%s\n' name "$list"
		exit 0
		;;
	--fresh) fresh=yes ;;
	*)
		grep -qx -- "$argument" <<<"$names" || {
			echo "nightly: there is no proof $argument; scripts/nightly.sh --list names them" >&2
			exit 2
		}
		chosen+=("$argument")
		;;
	esac
done
# shellcheck disable=SC2206 # a list of names
[ ${#chosen[@]} -gt 0 ] || chosen=($names)

# What the proofs are of: the commit, and what has been changed since.
commit=$(git rev-parse HEAD)-$(changes | sha256sum | cut -c 1-16)
has_passed() { [ "$fresh" = no ] && grep -qx "$commit $1" "$logs/passed" 2>/dev/null; }

scripts/setup.sh --all || exit 1
trap 'exit 130' INT
trap 'exit 143' TERM
mkdir -p "$logs"
results=""
status=0
for name in "${chosen[@]}"; do
	if has_passed "$name"; then
		results+=$(printf '%-7s %8s  %s' passed earlier "$name")$'\n'
		continue
	fi
	echo "nightly: $name, seed $seed, output in $logs/$name.log"
	begun=$SECONDS
	if perform "$name" </dev/null >"$logs/$name.log" 2>&1; then
		result=passed
		echo "$commit $name" >>"$logs/passed"
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
