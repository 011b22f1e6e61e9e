#!/bin/bash
# SPDX-License-Identifier: MIT
# The project's own files that match the patterns, one a line, relative to the root; found
# by name, so that it answers the same in a copy of the tree that is no repository.
# usage: list-files.sh PATTERN…
set -eu
cd "$(dirname "$0")/.."
names=()
for pattern; do
	names+=(-o -name "$pattern")
done
find . \( -name .git -o -name .geonosis -o -name node_modules -o -path './build' \
    -o -path './build-*' \) -prune -o -type f \( "${names[@]:1}" \) -printf '%P\n' | sort
