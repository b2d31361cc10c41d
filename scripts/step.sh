#!/usr/bin/env bash
# Runs a command as a named step and says how long it took: seconds, and CPU-seconds of the command and its descendants.
#
#   scripts/step.sh NAME COMMAND...    one step; its exit code is the command's
#   scripts/step.sh --table FILE       all steps of FILE, then its test programs, the slowest first
#
# FAIRPACE_STEPS=FILE   the step is added to FILE. Test programs add themselves (scripts/limit.sh) under names that begin with
#                       "test:". They are parts of a step.
set -uo pipefail

# Rows of `seconds CPU-seconds exit-code name`, as a table.
print_rows() {
	printf '\n%8s %8s  %s\n' seconds "CPU s" "$1"
	awk '{ name = $0; sub(/^[^ ]+ [^ ]+ [^ ]+ (test:)?/, "", name)
		printf "%8.0f %8.0f  %s%s\n", $1, $2, name, $3 == 0 ? "" : "  FAILED, exit code " $3 }'
}

if [ "${1:-}" = --table ]; then
	grep -v ' test:' "$2" | print_rows step
	grep -v ' test:' "$2" | awk '{ cpu += $2 } END { printf "%8s %8.0f  all\n", "", cpu }'
	grep ' test:' "$2" | sort -rn | awk '$1 >= 1 || $3 != 0' | print_rows "test program of a second or more"
	exit 0
fi

name=$1
shift
TIMEFORMAT='%R %U %S'
{ took=$({ time "$@" 1>&4 2>&3 3>&- 4>&-; } 2>&1); } 3>&2 4>&1
status=$?
read -r seconds user system <<<"$took"
row=$(awk "BEGIN { print $seconds, $user + $system, $status }")
[ -z "${FAIRPACE_STEPS:-}" ] || echo "$row $name" >>"$FAIRPACE_STEPS"
# a test program has the lines of its harness
[ "${name#test:}" != "$name" ] ||
	awk '{ printf "step: %s: %.0f s, %.0f CPU-seconds, exit code %d\n", name, $1, $2, $3 }' name="$name" <<<"$row" >&2
exit $status
