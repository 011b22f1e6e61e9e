#!/bin/bash
# SPDX-License-Identifier: MIT
# Build and test; the last line is the sum over every test case of every suite:
#   N passed, N failed[, N skipped]
# and the exit code is 0 only when nothing failed and every suite asked for did run.
# usage: test.sh [--fresh] [unit|headers|lint|e2e|package|asan|asan-e2e|tsan|fuzz|analysis] …
#   (none named: lint unit e2e package; the sanitizers are in the full tier of geonosis.json)
#   --fresh: build in a temporary directory, removed at the end, not in build/<preset>
set -u
cd "$(dirname "$0")/.." || exit 2

jobs=${GEONOSIS_SLOTS:-$(nproc)}
# Run as a step of geonosis itself: the tests are to find nothing of the outer run.
unset "${!GEONOSIS_@}" MAKEFLAGS
export CTEST_OUTPUT_ON_FAILURE=1

root=$PWD/build
if [ "${1:-}" = --fresh ]; then
	shift
	root=$(mktemp -d) || exit 2
	trap 'rm -rf "$root"' EXIT
	trap 'exit 129' HUP INT TERM
fi
[ $# -gt 0 ] || set -- lint unit e2e package

# The same sources are built for several suites, and again by a --fresh run.
if command -v ccache >/dev/null; then
	export CMAKE_C_COMPILER_LAUNCHER=ccache CCACHE_NOHASHDIR=1
fi

# gcc 12's sanitizers do not start under the address randomisation of newer kernels.
still=()
! setarch -R true 2>/dev/null || still=(setarch -R)

passed=0 failed=0 skipped=0

# trouble SUITE WHY: what could not be counted is one failure
trouble() {
	echo "test.sh: $1: $2" >&2
	failed=$((failed + 1))
}

declare -A built
# build PRESET: configure and build it once
build() {
	[ -n "${built[$1]:-}" ] || {
		echo "== build $1"
		cmake --preset "$1" -B "$root/$1" >"$root/$1.log" 2>&1 &&
		    cmake --build "$root/$1" -j "$jobs" >>"$root/$1.log" 2>&1
		built[$1]=$?
		[ "${built[$1]}" = 0 ] || grep -v '^\[' "$root/$1.log" | tail -n 60
	}
	return "${built[$1]}"
}

# suite NAME PRESET LABEL [COMMAND …]: the tests of a label, under COMMAND
suite() {
	local name=$1 preset=$2 label=$3 dir=$root/$2 sum
	shift 3
	build "$preset" || { trouble "$name" 'the build failed'; return; }
	echo "== $name"
	rm -f "$dir/$name.xml" "$dir"/results/*
	local options=log_path=$dir/results/sanitizer
	ASAN_OPTIONS=detect_leaks=1:$options LSAN_OPTIONS=suppressions=$PWD/tools/lsan.supp:print_suppressions=0 UBSAN_OPTIONS=print_stacktrace=1:$options \
	    TSAN_OPTIONS=halt_on_error=1:die_after_fork=0:$options "$@" ctest --test-dir "$dir" -L "^$label\$" -j "$jobs" --no-tests=error \
	    --output-junit "$dir/$name.xml" >"$dir/$name.log" 2>&1 || cat "$dir/$name.log"
	sum=$(tools/count-tests.py "$dir/$name.xml" "$dir/results") ||
	    { trouble "$name" 'no result to count'; return; }
	# shellcheck disable=SC2086 # three numbers
	count "$name" $sum
	reports "$name" "$dir/results"
}

# reports SUITE DIR: Criterion passes a test whose process a sanitizer stops at its exit
# (a leak), and a test may not look at its children; so any report at all is a failure.
# That a process was killed while it was looked at for leaks is none.
reports() {
	local file killed='^==[0-9]+==Unable to get registers from thread [0-9]+\.$'
	for file in "$2"/sanitizer.*; do
		grep -qvsE "$killed" "$file" || continue
		cat "$file"
		trouble "$1" "a sanitizer's report: $(grep -m1 '^SUMMARY' "$file")"
	done
}

# count SUITE PASSED FAILED SKIPPED
count() {
	[ "$(($2 + $3))" -gt 0 ] || trouble "$1" 'the suite ran no test'
	echo "$1: $2 passed, $3 failed, $4 skipped"
	passed=$((passed + $2)) failed=$((failed + $3)) skipped=$((skipped + $4))
}

mkdir -p "$root" || exit 2
for suite; do
	case $suite in
	unit | lint | e2e | package | analysis) suite "$suite" dev "$suite" ;;
	asan | tsan) suite "$suite" "$suite" unit "${still[@]}" ;;
	headers) suite headers dev headers ;;
	asan-e2e) suite "$suite" asan e2e "${still[@]}" ;;
	fuzz)
		build fuzz || { trouble fuzz 'the build failed'; continue; }
		echo "== fuzz"
		# shellcheck disable=SC2046 # three numbers
		count fuzz $(tools/fuzz.sh "$root/fuzz/fuzz" "${FUZZ_SECONDS:-10}")
		;;
	*) trouble "$suite" 'no such suite (unit headers lint e2e package asan asan-e2e tsan fuzz analysis)' ;;
	esac
done

if [ "$skipped" -gt 0 ]; then
	echo "$passed passed, $failed failed, $skipped skipped"
else
	echo "$passed passed, $failed failed"
fi
[ "$failed" = 0 ] && [ "$passed" -gt 0 ]
