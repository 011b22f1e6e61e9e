#!/bin/bash
# SPDX-License-Identifier: MIT
# What no compiler sees: a licence line on top of every file, no .c over 700 lines, every
# source named in the CMakeLists.txt of its folder (a forgotten one is silently out), no
# folder README past 40 lines, executable scripts.
set -u
cd "$(dirname "$0")/.." || exit 2
bad=0
say() {
	echo "$*"
	bad=1
}

while read -r file; do
	head -n 3 "$file" | grep -q 'SPDX-License-Identifier: MIT' || say "$file:1: no licence line"
done < <(tools/list-files.sh '*.c' '*.h' '*.sh' '*.py' '*.cmake' CMakeLists.txt)

while read -r file; do
	lines=$(wc -l <"$file")
	[ "$lines" -le 700 ] || say "$file: $lines lines: cut it into nouns (at most 700)"
	list=$(dirname "$file")/CMakeLists.txt
	name=$(basename "$file")
	case $file in
	tests/helper/* | tests/fuzz/*) list=tests/CMakeLists.txt name=$(basename "$file" .c) ;;
	tests/*/test_*) name=${name#test_} name=${name%.c} ;;
	esac
	# A test's list may be its folder's or that of tests/.
	grep -qsw -- "$name" "$list" tests/CMakeLists.txt || say "$file: not named in $list"
done < <(tools/list-files.sh '*.c')

while read -r file; do
	case $file in
	*/README.md)
		lines=$(wc -l <"$file")
		[ "$lines" -le 40 ] || say "$file: $lines lines: a folder's README has at most 40"
		;;
	*.sh) [ -x "$file" ] || say "$file: not executable" ;;
	esac
done < <(tools/list-files.sh README.md '*.sh')
exit $bad
