#!/bin/bash
# SPDX-License-Identifier: MIT
# The npm packages: packed, installed from their tarballs into an empty project, used
# there.  TAP; skipped where there is no npm.  Nothing is fetched.
# usage: npm.sh SOURCE_DIR
# shellcheck disable=SC2016,SC2317 # scripts of others; cases are called by name
set -u
sources=$(realpath "${1:?usage: npm.sh SOURCE_DIR}") || exit 2
# shellcheck source=tests/package/tap.sh
. "$sources/tests/package/tap.sh"
unset "${!GEONOSIS_@}"
export GEONOSIS_SEGMENT=/geonosis-npm-$$
at_end rm -f "/dev/shm$GEONOSIS_SEGMENT"
stop_jobs() {
	local job
	for job in $(jobs -p); do
		kill "$job" 2>/dev/null
	done
}
at_end stop_jobs

names=('the packages are packed, of one version' 'a program that needs libraries is not packed'
    'they install from their tarballs' 'npx geonosis --version' 'npx geonosis verify --prove'
    'exit codes pass through' 'stdin, stdout and stderr pass through'
    'the launcher becomes the program: its pid, its signals'
    'SIGTERM to the program under npx: 143' 'SIGINT: 130'
    'SIGTERM to the shell that npx runs ends the steps'
    'it runs from a directory below and by another name'
    'without the package of the platform the error names the remedy'
    'the schema and the pages are there')
for tool in node npm npx; do
	command -v $tool >/dev/null || { skip "no $tool" "${names[@]}"; done_testing; }
done
export npm_config_cache=$work/cache npm_config_offline=true npm_config_update_notifier=false
export npm_config_audit=false npm_config_fund=false

build=$work/build project=$work/project tarballs=$work/tarballs
version=$(sed -n 's/^project(geonosis VERSION \([0-9.]*\).*/\1/p' "$sources/CMakeLists.txt")

packed() {
	built "$sources" "$build" -DGN_STATIC_LIBS=ON &&
	    "$sources/tools/npm/pack.sh" "$build/tools/geonosis" "$tarballs" &&
	    equal "$(cd "$tarballs" && echo *)" \
		"geonosis-$version.tgz geonosis-linux-x64-$version.tgz"
}
foreign() {
	# It says the right version, and needs more than libc.
	printf '#include <stdio.h>\nint main(void) { puts("geonosis %s"); }\n' "$version" >"$work/other.c"
	cc "$work/other.c" -o "$work/other" -Wl,--no-as-needed -lm || return
	said=$(exits 2 "$sources/tools/npm/pack.sh" "$work/other" "$work/nowhere" 2>&1) &&
	    grep 'needs libm.so.6: build it with' <<<"$said" &&
	    exits 2 "$sources/tools/npm/pack.sh" /bin/true "$work/nowhere"
}
installed() {
	mkdir "$project" && cd "$project" && echo '{ "private": true }' >package.json &&
	    npm install "$tarballs"/*.tgz &&
	    [ -x node_modules/@geonosis/linux-x64/bin/geonosis ]
}
codes() {
	echo '{ "verify": { "good": ["true"], "bad": ["exit 3"] } }' >geonosis.json
	exits 0 npx --no geonosis verify good && exits 1 npx --no geonosis verify bad &&
	    exits 2 npx --no geonosis verify ugly &&
	    exits 7 npx --no -- geonosis gate run -- sh -c 'exit 7' &&
	    exits 143 npx --no -- geonosis gate run -- sh -c 'kill -TERM $$'
}
stdio() {
	equal "$(echo in | npx --no -- geonosis gate run -- sh -c 'cat; echo out; echo err >&2' 2>/dev/null)" \
	    $'in\nout' &&
	    equal "$(npx --no -- geonosis gate run -- sh -c 'echo err >&2' 2>&1 >/dev/null)" err
}

# wait_for SECONDS COMMAND …: until it holds
wait_for() {
	local end=$((SECONDS + $1))
	shift
	until "$@"; do
		[ "$SECONDS" -lt "$end" ] || { echo "waited in vain: $*"; return 1; }
		sleep 0.05
	done
}
# start COMMAND …: a run whose step goes on; $run is the command, $step the step's shell
start() {
	rm -f step
	echo '{ "verify": { "long": ["echo $$ >step; exec sleep 300"] } }' >geonosis.json
	# A job of the background would have SIGINT ignored.
	env --default-signal=INT,TERM "$@" verify long >run.out 2>&1 &
	run=$!
	wait_for 30 test -s step && step=$(cat step)
}
child() { cut -d ' ' -f 1 "/proc/$1/task/$1/children"; }
parent() { awk '/^PPid:/ { print $2 }' "/proc/$1/status"; }
# The program above the step: shell, worker, supervisor.
supervisor() { parent "$(parent "$step")"; }
# ended SIGNAL CODE: the run ends with that code and leaves no step
ended() {
	local got=0
	wait "$run" || got=$?
	cat run.out
	equal "$got" "$2" && wait_for 10 test ! -e "/proc/$step" &&
	    wait_for 10 grep "\"interrupted\": \"SIG$1\"" .geonosis/gate-report.json
}
replaced() {
	start node_modules/.bin/geonosis &&
	    equal "$(readlink "/proc/$run/exe")" \
		"$project/node_modules/@geonosis/linux-x64/bin/geonosis" &&
	    kill -TERM "$run" && ended TERM 143
}
signalled() {
	start npx --no geonosis && kill -"$1" "$(supervisor)" && ended "$1" "$2"
}
orphaned() {
	start npx --no geonosis && kill -TERM "$(child "$run")" && ended TERM 143
}
elsewhere() {
	mkdir -p below && ln -s "$project/node_modules/.bin/geonosis" "$work/other-name" &&
	    equal "$(cd below && npx --no -- geonosis --version)" "geonosis $version" &&
	    equal "$(cd / && "$work/other-name" --version)" "geonosis $version"
}
missing() {
	local said code=0
	cp -R "$project" "$work/bare" && rm -r "$work/bare/node_modules/@geonosis" &&
	    cd "$work/bare" || return
	said=$(npx --no -- geonosis --version 2>&1) || code=$?
	equal "$code" 2 && grep '^geonosis: @geonosis/linux-x64: .*--include=optional' <<<"$said"
}
documents() {
	node -e '
const schema = require("geonosis/geonosis.schema.json"), its = require("geonosis/package.json");
for (const page of its.man) require("fs").accessSync(`node_modules/geonosis/${page}`);
if (schema.title !== "geonosis.json" || its.version !== process.argv[1]) process.exit(1);' "$version"
}

check "${names[0]}" packed || done_testing
check "${names[1]}" foreign
check "${names[2]}" installed || done_testing
cd "$project" || exit 2
check "${names[3]}" equal "$(npx --no -- geonosis --version 2>&1)" "geonosis $version"
check "${names[4]}" equal "$(npx --no -- geonosis verify --prove 2>&1)" \
    'PROVEN — a planted "exit 3" step reached the report and exited 1'
check "${names[5]}" codes
check "${names[6]}" stdio
check "${names[7]}" replaced
check "${names[8]}" signalled TERM 143
check "${names[9]}" signalled INT 130
check "${names[10]}" orphaned
check "${names[11]}" elsewhere
check "${names[12]}" missing
cd "$project" || exit 2
check "${names[13]}" documents
done_testing
