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
# analyzer.h tells the analyzer what it would have to read these for.
plain=(ipc/error.c supervisor/config/document.c)
tools/list-files.sh '*.c' | grep -E '^(ipc|worker|git|supervisor|tools)/' |
    grep -v '^tools/bench/' | grep -vxF "$(printf '%s\n' "${plain[@]}")" | tr '\n' '\0' |
    xargs -0 -n 2 -P "${GEONOSIS_SLOTS:-$(nproc)}" clang-tidy --quiet -p "$build" \
    --extra-arg=-include --extra-arg="$PWD/tools/analyzer.h"
clang-tidy --quiet -p "$build" "${plain[@]}"
