#!/bin/bash
# SPDX-License-Identifier: MIT
# Run every fuzz target for a bounded time on its corpus (tests/fuzz/corpus/NAME, where
# there is one); a crash leaves its input in the target's directory and is named on stderr.
# usage: fuzz.sh TARGET_DIR SECONDS      (targets are built by the preset `fuzz`)
# stdout: PASSED FAILED SKIPPED, a target each
set -u
cd "$(dirname "$0")/.." || exit 2
dir=${1:?usage: fuzz.sh TARGET_DIR SECONDS}
seconds=${2:?usage: fuzz.sh TARGET_DIR SECONDS}
still=()
! setarch -R true 2>/dev/null || still=(setarch -R)

passed=0 failed=0
for target in "$dir"/fuzz.*; do
	[ -f "$target" ] || continue
	name=${target##*/fuzz.}
	# New inputs stay beside the target; the repository's corpus is only read.
	mkdir -p "$dir/found/$name"
	corpus=("$dir/found/$name")
	[ ! -d "tests/fuzz/corpus/$name" ] || corpus+=("tests/fuzz/corpus/$name")
	if "${still[@]}" "$target" -max_total_time="$seconds" -timeout=10 -rss_limit_mb=1024 \
	    -max_len=65536 -artifact_prefix="$dir/crash-$name-" -verbosity=0 -close_fd_mask=1 \
	    "${corpus[@]}" >"$dir/$name.log" 2>&1; then
		passed=$((passed + 1))
	else
		failed=$((failed + 1))
		echo "fuzz: $name failed; its input is $(ls "$dir"/crash-"$name"-* 2>/dev/null)" >&2
		tail -n 30 "$dir/$name.log" >&2
	fi
done
echo "$passed $failed 0"
