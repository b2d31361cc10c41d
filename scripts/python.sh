#!/usr/bin/env bash
# Builds the wheel of the Python package, installs it into a fresh virtual environment, and tests it there.
#
#   scripts/python.sh           what users get: the release profile; leaves the wheel in dist
#   scripts/python.sh --quick   the dev profile, for CI: what it simulates is optimised in it, too
#   scripts/python.sh --notebooks
#                               what users get, and the notebooks in full: their pages docs/notebooks and examples/learned.h,
#                               which the last one trains (half an hour)
#   scripts/python.sh --lock    writes crates/python/requirements-{dev,ray,notebooks}.txt again, with the newest versions
#
# FAIRPACE_REQUIRE_KERNEL=1   what would be skipped, as there is no package index, is a failure
# FAIRPACE_LONG=1   more of what the tests repeat, such as 1,000 signals to each call: half an hour (make nightly)
#
# Needs python3 with venv. The packages of the tests are those of these lists, by their hashes.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
package=crates/python
target=$(realpath -m "${CARGO_TARGET_DIR:-target}")
export CARGO_TARGET_DIR=$target PIP_DISABLE_PIP_VERSION_CHECK=1
# Bytes of the wheel: what is loaded at once, also over a slow network.
most=15000000

mode=${1:-}
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT INT TERM
python3 -m venv "$scratch/venv"
python=$scratch/venv/bin/python

if [ "$mode" = --lock ]; then
	"$python" -m pip install --quiet pip-tools
	for list in dev ray notebooks; do
		CUSTOM_COMPILE_COMMAND="scripts/python.sh --lock" "$python" -m piptools compile --quiet --upgrade --generate-hashes \
			--strip-extras --no-emit-find-links --no-emit-index-url --no-emit-trusted-host \
			--output-file "$package/requirements-$list.txt" "$package/requirements-$list.in"
	done
	exit
fi

case $mode in
--quick) profile=dev ;;
"" | --notebooks) profile=release ;;
*) echo "python.sh: unknown argument $mode" >&2; exit 2 ;;
esac
# what results are compared with; in CI the tests before have built it
[ "$mode" = --notebooks ] || { [ "$profile" = dev ] && [ -x "$target/debug/fairpace-dev" ]; } ||
	cargo build --quiet --locked --package fairpace --package fairpace-dev
# Without a package index there is nothing to test with; other hashes than those of the lists are a failure.
lists=()
for list in dev ray notebooks; do lists+=(--requirement "$package/requirements-$list.txt"); done
if ! "$python" -m pip install --quiet --require-hashes "${lists[@]}" 2>"$scratch/pip.log"; then
	cat "$scratch/pip.log" >&2
	if [ "$profile" = dev ] && ! "$python" -m pip download --quiet --no-deps --dest "$scratch" iniconfig 2>/dev/null; then
		why="no package index can be reached"
		[ "${FAIRPACE_REQUIRE_KERNEL:-}" != 1 ] || { echo "python: FAIRPACE_REQUIRE_KERNEL=1, but $why" >&2; exit 1; }
		echo "SKIPPED: the Python package is NOT tested, because $why" >&2
		exit
	fi
	exit 1
fi
(cd "$package" && "$python" -m maturin build --quiet --locked --profile "$profile" --out "$scratch/wheel")
wheel=$(echo "$scratch"/wheel/*.whl)
"$python" -m pip install --quiet --no-deps --no-index "$wheel"

bytes=$(stat -c %s "$wheel")
# the best of five, since other work disturbs some of them
import_ms=$("$python" - <<'END'
import subprocess, sys, time

def took() -> float:
    begun = time.monotonic()
    subprocess.run([sys.executable, "-c", "import fairpace"], check=True)
    return time.monotonic() - begun

print(round(1e3 * min(took() for _ in range(5))))
END
)
echo "python: ${wheel##*/} has $((bytes / 1000)) kB; an interpreter that imports it takes $import_ms ms"
if [ "$profile" = release ]; then
	[ "$bytes" -lt "$most" ] || { echo "python: the wheel has more than $((most / 1000)) kB" >&2; exit 1; }
	mkdir -p dist
	cp "$wheel" dist/
fi

if [ "$mode" = --notebooks ]; then
	mkdir "$scratch/run"
	"$python" scripts/render-notebooks.py notebooks/*.py --out docs/notebooks --work "$scratch/run"
	cp "$scratch/run/learned.h" examples/learned.h
	exit
fi

# nothing is left in the checkout
export FAIRPACE_PROGRAM=$target/debug/fairpace PYTHONDONTWRITEBYTECODE=1 HYPOTHESIS_STORAGE_DIRECTORY=$scratch/hypothesis
# of each test; see pyproject.toml
tests=("$python" -m pytest --quiet -p no:cacheprovider -c "$package/pyproject.toml")
[ -z "${FAIRPACE_LONG:-}" ] || tests+=(-o faulthandler_timeout=7200)
"${tests[@]}" "$package/tests" --durations=3
"${tests[@]}" --doctest-modules --pyargs fairpace
"$python" scripts/render-notebooks.py notebooks/*.py --out docs/notebooks --check
# the short versions of the notebooks, which are Python files
mkdir "$scratch/run"
for notebook in notebooks/*.py; do
	begun=$SECONDS
	(cd "$scratch/run" && FAIRPACE_SHORT=1 MPLBACKEND=agg "$python" "$OLDPWD/$notebook" >"$scratch/notebook.log" 2>&1) ||
		{ cat "$scratch/notebook.log" >&2; exit 1; }
	echo "python: $notebook, short, ran in $((SECONDS - begun)) s"
done
