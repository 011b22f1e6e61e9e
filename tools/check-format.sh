#!/bin/bash
# SPDX-License-Identifier: MIT
# Every .c and .h is as clang-format with the root's .clang-format writes it.
# usage: check-format.sh [--fix]
set -eu
cd "$(dirname "$0")/.."
mapfile -t files < <(tools/list-files.sh '*.c' '*.h')
[ ${#files[@]} -gt 0 ] || { echo 'check-format: no source file' >&2; exit 2; }
if [ "${1:-}" = --fix ]; then
	exec clang-format -i "${files[@]}"
fi
exec clang-format --dry-run -Werror "${files[@]}"
