#!/usr/bin/env bash
# Prints the path of a program from crates.io at one version. It is built once per machine, not in each checkout: it stays in
# the folder fairpace-tools of the user's cache.
#
#   scripts/tool.sh cargo-deny@0.20.2
#
# INSTALL=1   build it if it is missing (some minutes); otherwise that is exit code 1
#
# Two at a time build one after the other. The one on PATH is taken where it has this version.
set -euo pipefail
tool=${1:?a tool such as cargo-deny@0.20.2}
name=${tool%@*}
folder=${XDG_CACHE_HOME:-$HOME/.cache}/fairpace-tools/$tool

if [ "$("$name" --version 2>/dev/null)" = "$name ${tool#*@}" ]; then
	command -v "$name"
	exit
fi
if [ ! -x "$folder/bin/$name" ]; then
	[ "${INSTALL:-}" = 1 ] || exit 1
	mkdir -p "$folder"
	exec 9>"$folder/lock"
	flock 9
	# Without optimization, which takes longer than it saves. Outside of the checkout, whose toolchain and settings are not its.
	[ -x "$folder/bin/$name" ] || (cd "$folder" && CARGO_TARGET_DIR=$folder/target CARGO_PROFILE_DEV_DEBUG=false CARGO_INCREMENTAL=0 \
		cargo install --quiet --locked --debug --root "$folder" "$tool" 9>&-) >&2
	rm -rf "$folder/target"
fi
echo "$folder/bin/$name"
