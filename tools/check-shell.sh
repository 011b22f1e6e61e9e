#!/bin/bash
# SPDX-License-Identifier: MIT
# Every shell script through shellcheck, found by its first line.
set -eu
cd "$(dirname "$0")/.."
mapfile -t files < <(tools/list-files.sh '*' | tr '\n' '\0' |
    xargs -0 grep -lIE -m1 '^#!.*[/ ](ba|da)?sh( |$)' 2>/dev/null || true)
[ ${#files[@]} -gt 0 ] || { echo 'check-shell: no script' >&2; exit 2; }
exec shellcheck "${files[@]}"
