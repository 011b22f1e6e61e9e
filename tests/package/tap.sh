#!/bin/bash
# SPDX-License-Identifier: MIT
# shellcheck disable=SC2317 # called by those who source it
# TAP for the tests of packages: check NAME COMMAND …, one case each, and done_testing.
# Sourced.  $work is a directory of the test's own, removed at its end; $log holds what a
# failing command said.

work=$(mktemp -d) || exit 2
log=$work/log
cases=0 failed=0

# at_end COMMAND …: before the directory is removed
ending=()
at_end() { ending+=("$(printf '%q ' "$@")"); }
finish() {
	local i
	for ((i = ${#ending[@]} - 1; i >= 0; i--)); do
		eval "${ending[i]}"
	done
	rm -rf --one-file-system "$work"
}
trap finish EXIT
trap 'exit 129' HUP INT TERM

# No address of a machine in what is printed.
quiet() { sed 's#[a-z]*://[^ ]*#<address>#g'; }

check() {
	local name=$1
	shift
	cases=$((cases + 1))
	if "$@" >"$log" 2>&1; then
		echo "ok $cases - $name"
		return 0
	fi
	echo "not ok $cases - $name"
	quiet <"$log" | tail -n 30 | sed 's/^/  # /'
	failed=$((failed + 1))
	return 1
}

# skip WHY NAME …: these cases cannot be shown here
skip() {
	local why=$1 name
	shift
	for name; do
		cases=$((cases + 1))
		echo "ok $cases - $name # SKIP $why"
	done
}

done_testing() {
	echo "1..$cases"
	exit $((failed > 0))
}

# equal GOT WANTED
equal() {
	[ "$1" = "$2" ] || { printf 'got:\n%s\nwanted:\n%s\n' "$1" "$2"; return 1; }
}

# exits CODE COMMAND …
exits() {
	local code=$1 got=0
	shift
	"$@" || got=$?
	[ "$got" = "$code" ] || { echo "$*: exit $got, wanted $code"; return 1; }
}

# built SOURCES DIR OPTION …: a release build in DIR
built() {
	local sources=$1 dir=$2 launcher=()
	shift 2
	! command -v ccache >/dev/null || launcher=(-DCMAKE_C_COMPILER_LAUNCHER=ccache)
	export CCACHE_NOHASHDIR=1
	cmake -S "$sources" -B "$dir" -G Ninja -DCMAKE_BUILD_TYPE=Release -DBUILD_TESTING=OFF \
	    "${launcher[@]}" "$@" && cmake --build "$dir"
}
