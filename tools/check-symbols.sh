#!/bin/bash
# SPDX-License-Identifier: MIT
# No function of ours has the name of a function of a library that we use: the linker would
# hand ours to the library's own calls.
# usage: check-symbols.sh BUILD_DIR
set -eu
build=${1:?usage: check-symbols.sh BUILD_DIR}
ours=$(nm -g --defined-only --format=posix "$build"/*/libgn_*.a 2>/dev/null |
    awk '$2 ~ /^[TDBRVW]$/ { print $1 }' | sort -u)
[ -n "$ours" ] || { echo "check-symbols: no library in $build" >&2; exit 2; }
theirs=$(ldconfig -p | awk '$NF ~ /\/lib(c|m|bsd|md|json-c|pcre2-8|yaml-0|nettle|git2)\.so/ { print $NF }' |
    sort -u | xargs nm -D --defined-only --format=posix 2>/dev/null |
    awk 'NF >= 2 { sub(/@.*/, "", $1); print $1 }' | sort -u)
[ -n "$theirs" ] || { echo 'check-symbols: no library found' >&2; exit 2; }
both=$(comm -12 <(echo "$ours") <(echo "$theirs"))
[ -z "$both" ] && exit 0
echo 'defined by us and by a library:'
echo "$both"
exit 1
