#!/bin/bash
# SPDX-License-Identifier: MIT
# clang-tidy (.clang-tidy) over the product, from the compile commands of a build.
# usage: check-tidy.sh [BUILD_DIR]      without one it configures a temporary one
set -eu
cd "$(dirname "$0")/.."
build=${1:-}
if [ -z "$build" ]; then
	build=$(mktemp -d)
	trap 'rm -rf "$build"' EXIT
	cmake --preset dev -B "$build" >/dev/null
fi
bad=0

# tidy ARGUMENTS …: over the files named on stdin
tidy() {
	tr '\n' '\0' | xargs -0 -r -n 2 -P "${GEONOSIS_SLOTS:-$(nproc)}" \
	    clang-tidy --quiet -p "$build" "$@" || bad=1
}

# analyzer.h tells the analyzer what it would have to read these two for.
plain='^(ipc/error|supervisor/config/document)\.c$'
told=(--extra-arg=-include "--extra-arg=$PWD/tools/analyzer.h")
files=$(tools/list-files.sh '*.c' | grep -E '^(ipc|worker|git|supervisor|tools)/' |
    grep -v '^tools/bench/')
# Not in pipelines: what a part of one finds out is lost with it.
tidy < <(grep -E "$plain" <<<"$files")
tidy "${told[@]}" < <(grep -vE "$plain" <<<"$files" | grep -v ^supervisor/config/)
tidy --extra-arg=-DANALYZER_CONFIG "${told[@]}" \
    < <(grep -vE "$plain" <<<"$files" | grep ^supervisor/config/)
exit $bad
