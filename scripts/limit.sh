#!/usr/bin/env bash
# Runs a command for a limited time. One that is not done by then is ended with its descendants, and what it waited for is said:
# each process, and each thread with its name and the function of the kernel in which it sleeps.
#
#   scripts/limit.sh COMMAND...              such as scripts/limit.sh scripts/python.sh --quick
#   LIMIT_MIN=5 scripts/limit.sh COMMAND...  another limit, in minutes
#   scripts/limit.sh --tests PROGRAM...      how Cargo starts programs (.cargo/config.toml): only tests have a limit
#
# A thread of a Rust test has the first 15 letters of the test's name (TASK_COMM_LEN of Linux), and the harness itself prints the
# whole name after 60 s.
set -uo pipefail
# The longest command of `make test` takes some minutes, and other work of the machine can slow it down. A program of tests takes
# five at most on two busy cores.
limit_min=${LIMIT_MIN:-40}
step=()

if [ "${1:-}" = --tests ]; then
	limit_min=${LIMIT_MIN:-15}
	shift
	case $* in
	*" --bench"*) exec "$@" ;;
	esac
	case $1 in
	*/deps/*) ;;
	*) exec "$@" ;;
	esac
	# as a part of a step: its package, and target/debug/deps/NAME-HASH without the hash
	[ -z "${FAIRPACE_STEPS:-}" ] || step=("${0%/*}/step.sh" "test:${CARGO_PKG_NAME:-} $(basename "${1%-*}")")
fi

# A process and its descendants.
descendants() {
	echo "$1"
	local child
	for child in $(cat /proc/"$1"/task/*/children 2>/dev/null); do descendants "$child"; done
}

tell() {
	local process thread
	echo "limit: not done after $limit_min minutes, and ended: $command"
	for process in "$@"; do
		echo "limit: process $process: $(tr '\0' ' ' 2>/dev/null </proc/"$process"/cmdline | cut -c 1-300)"
		for thread in /proc/"$process"/task/*; do
			echo "limit:     thread ${thread##*/}, $(cat "$thread/comm" 2>/dev/null): $(cat "$thread/wchan" 2>/dev/null)"
		done
	done
}

watch() {
	local own=$BASHPID child all
	# before it sleeps: a command that is done at once would leave the sleep behind, with this output open
	trap 'kill $! 2>/dev/null; exit' TERM
	sleep "$(awk "BEGIN { print 60 * $limit_min }")" &
	wait $!
	for child in $(cat /proc/$$/task/*/children); do
		[ "$child" != "$own" ] || continue
		mapfile -t all < <(descendants "$child")
		tell "${all[@]}" >&2
		kill -KILL "${all[@]}"
	done
}

command=$*
watch >/dev/null &
watcher=$!
trap 'kill $watcher 2>/dev/null' EXIT
# in the foreground: bash has what is in the background ignore Ctrl-C
"${step[@]}" "$@"
