#!/usr/bin/env bash
# Checks all dependencies with cargo-deny by the rules of deny.toml: licences, sources, versions, and known
# vulnerabilities (RustSec).
#
#   scripts/deny.sh
#
# ADVISORIES=DIR   a clone of https://github.com/RustSec/advisory-db; without it, cargo-deny fetches one
# INSTALL=1        build this version of cargo-deny if it is missing: once per machine (scripts/tool.sh)
#
# What is not checked is named in a line that begins with SKIPPED, and is no failure.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
# The rules, and the name of the database's folder below, are those of this version. The program is called by its own name:
# `cargo deny` may take the one in ~/.cargo/bin.
version=0.20.2
deny=$(scripts/tool.sh "cargo-deny@$version") || {
	[ "${INSTALL:-}" != 1 ] || exit 1
	echo "SKIPPED: the dependencies are not checked, because cargo-deny $version is missing:" \
		"cargo install --locked cargo-deny@$version, or INSTALL=1" >&2
	exit 0
}

"$deny" --log-level error check licenses bans sources

database=https://github.com/RustSec/advisory-db
if [ -n "${ADVISORIES:-}" ]; then
	# in the folder that cargo-deny derives from the address, as if it had fetched it
	home=$(mktemp -d)
	trap 'rm -rf "$home"' EXIT INT TERM
	git -c advice.detachedHead=false clone --quiet "$ADVISORIES" "$home/advisory-db-3157b0e258782691"
	sed "s|^db-path = .*|db-path = \"$home\"|" deny.toml >"$home/deny.toml"
	"$deny" --log-level error --offline --config "$home/deny.toml" check advisories
elif timeout 20 git ls-remote --quiet "$database" HEAD >/dev/null 2>&1; then
	"$deny" --log-level error check advisories
else
	echo "SKIPPED: known vulnerabilities are NOT checked, because $database cannot be reached; ADVISORIES=DIR names a clone of it" >&2
fi
