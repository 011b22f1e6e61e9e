#!/bin/bash
# SPDX-License-Identifier: MIT
# Check the model of the slots' protocol, slot.pml, with spin: it holds, and each
# fault planted in it is found. Prints TAP.
set -u
model=$(cd "$(dirname "$0")" && pwd)/slot.pml
dir=$(mktemp -d) || exit 2
trap 'rm -rf "$dir"' EXIT
cd "$dir" || exit 2

if ! command -v spin >/dev/null; then
	echo '1..0 # SKIP no spin here'
	exit 0
fi

number=0 failed=0
# check WANT NAME DEFINE …: errors are found (WANT red) or not (green), in all of it
check() {
	local want=$1 name=$2 verdict=green out
	shift 2
	number=$((number + 1))
	if ! spin -a "$@" "$model" >spin.out 2>&1 ||
	    ! cc -w -O2 -DSAFETY -DCOLLAPSE -DVECTORSZ=2048 -o pan pan.c 2>cc.out; then
		echo "not ok $number - $name: the model does not build"
		sed 's/^/# /' spin.out cc.out 2>/dev/null
		failed=1
		return
	fi
	out=$(./pan -m200000 -w22 2>&1)
	grep -q 'errors: 0' <<<"$out" || verdict=red
	grep -qi 'max search depth too small\|out of memory' <<<"$out" && verdict=unfinished
	if [ "$verdict" = "$want" ]; then
		echo "ok $number - $name: $(grep -o '[0-9.e+]* states, stored' <<<"$out" | head -n 1)"
	else
		echo "not ok $number - $name: $verdict"
		grep -v '^$' <<<"$out" | head -n 20 | sed 's/^/# /'
		failed=1
	fi
}

echo 1..7
check green 'one is killed, one freezes' -DKILLS=1 -DFREEZES=1
check green 'two are killed' -DKILLS=2 -DFREEZES=0
check green 'wide requests, and the exclusive one comes again' -DFREEZES=0 -DWANT=2 -DROUNDS=2
check red 'fault 1: offers written before what they are made of' -DFAULT=1 -DWANT=2 -DROUNDS=2
check red 'fault 2: nobody looks whether there is room' -DFAULT=2
check red 'fault 3: a late offer is taken' -DFAULT=3
check red 'fault 4: the dead are not reaped' -DFAULT=4
exit "$failed"
