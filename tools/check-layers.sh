#!/bin/bash
# SPDX-License-Identifier: MIT
# The dependency rule: a file includes headers of its own folder and of lower floors only,
# written from the root; each library has one home; library folders neither print nor exit.
# usage: check-layers.sh [SOURCE_DIR]      exit 1 and one line per violation
#        check-layers.sh --self-test       plant every kind of violation and see it caught
set -u

check() {
	cd "$1" || exit 2
	local -a files
	mapfile -t files < <(find ipc worker git supervisor tools -name '*.[ch]' 2>/dev/null | sort)
	if [ ${#files[@]} -eq 0 ]; then
		echo "check-layers: no source file under $1" >&2
		exit 2
	fi
	awk '
	BEGIN {
		n = split("ipc 0 worker 1 git 1 supervisor/base 2 supervisor/config 3 " \
		    "supervisor/project 3 supervisor/plan 4 supervisor/green 4 " \
		    "supervisor/run 5 supervisor/report 6 supervisor/prove 7 " \
		    "supervisor/lint 7 supervisor/gate 8 supervisor/agent 8 " \
		    "supervisor 9 tools 10 tools/bench 10", t, " ")
		for (i = 1; i < n; i += 2)
			floor[t[i]] = t[i + 1]
		# library header -> the only place that may include it
		home["json-c/"] = "^supervisor/"
		home["json.h"] = "^supervisor/"
		home["pcre2.h"] = "^supervisor/base/pattern\\.c$"
		home["git2"] = "^git/"
		home["nettle/"] = "^git/"
		home["zlib.h"] = "^git/"
		home["yaml.h"] = "^supervisor/project/"
		home["err.h"] = "^tools/"
		home["criterion/"] = "^tests/"
	}
	function say(why) {
		printf "%s:%d: %s\n", FILENAME, FNR, why
		bad = 1
	}
	function folder(path) {
		sub(/\/?[^\/]*$/, "", path)
		return path
	}
	FNR == 1 {
		here = folder(FILENAME)
		comment = 0
		if (!(here in floor))
			say("this folder has no floor: give it one in tools/check-layers.sh")
	}
	/^[ \t]*#[ \t]*include[ \t]*"/ {
		split($0, q, "\"")
		there = folder(q[2])
		if (there == "")
			say("include \"" q[2] "\" is not written from the root")
		else if (!(there in floor))
			say("include \"" q[2] "\" leads into no folder of ours")
		else if (there != here && floor[there] == floor[here])
			say(here " may not use its sibling " there)
		else if (floor[there] > floor[here])
			say(here " may not use " there ", which lies above it")
		next
	}
	/^[ \t]*#[ \t]*include[ \t]*</ {
		split($0, q, /[<>]/)
		for (lib in home)
			if (index(q[2], lib) == 1 && FILENAME !~ home[lib])
				say("<" q[2] "> has its home at " home[lib])
		next
	}
	here ~ /^tools/ { next }
	{
		# Code only: comments and the text of strings go first.
		line = $0
		gsub(/\\./, "", line)
		gsub(/"[^"]*"/, "\"\"", line)
		if (comment) {
			if (!sub(/^.*\*\//, "", line))
				next
			comment = 0
		}
		gsub(/\/\*([^*]|\*+[^*\/])*\*+\//, "", line)
		if (sub(/\/\*.*$/, "", line))
			comment = 1
		sub(/\/\/.*$/, "", line)
		if (line ~ /(^|[^A-Za-z0-9_.>])(printf|vprintf|puts|putchar|perror|psignal|exit|err|errx|warn|warnx)[ \t]*\(/)
			say("a library folder neither prints nor exits")
		else if (line ~ /(^|[^A-Za-z0-9_.>])(stdout|stderr)([^A-Za-z0-9_]|$)/)
			say("a library folder does not use the standard streams")
	}
	END { exit bad }
	' "${files[@]}"
}

# plant FILE TEXT EXPECT: TEXT as FILE in a clean tree must be refused with EXPECT
plant() {
	local tree out
	tree=$(mktemp -d) || exit 2
	mkdir -p "$tree/ipc" "$tree/$(dirname "$1")"
	printf '#include <stddef.h>\n#include "ipc/buf.h"\nint x; /* printf( */\n' >"$tree/ipc/buf.c"
	(check "$tree") >/dev/null || { echo "self-test: a clean tree was refused"; failed=1; }
	printf '%b' "$2" >"$tree/$1"
	if out=$(check "$tree"); then
		echo "self-test: $1: not caught: $2"
		failed=1
	elif [[ $out != *"$3"* ]]; then
		echo "self-test: $1: wanted \"$3\", got: $out"
		failed=1
	fi
	rm -rf "$tree"
}

self_test() {
	failed=0
	plant ipc/a.c '#include "worker/watch.h"\n' 'ipc may not use worker'
	plant worker/a.c '#include "git/key.h"\n' 'sibling git'
	plant git/a.c '#include "supervisor/base/text.h"\n' 'lies above'
	plant supervisor/base/a.h '\t#  include "supervisor/config/config.h"\n' 'lies above'
	plant supervisor/config/a.c '#include "supervisor/project/graph.h"\n' 'sibling'
	plant supervisor/plan/a.c '#include "supervisor/run/run.h"\n' 'lies above'
	plant supervisor/run/a.c '#include "supervisor/pipeline.h"\n' 'lies above'
	plant supervisor/run/b.c '#include "tools/console.h"\n' 'lies above'
	plant supervisor/run/c.c '#include "run.h"\n' 'from the root'
	plant supervisor/new/a.c 'int y;\n' 'has no floor'
	plant worker/b.c '#include <json-c/json.h>\n' 'has its home'
	plant tools/b.c '#include <json-c/json.h>\n' 'has its home'
	plant supervisor/base/text.c '#include <pcre2.h>\n' 'has its home'
	plant supervisor/green/a.c '#include <git2/refs.h>\n' 'has its home'
	plant ipc/c.c '#include <err.h>\n' 'has its home'
	plant supervisor/report/a.c 'void f(void) { printf("x"); }\n' 'neither prints'
	plant worker/d.c '/* a */ void f(void) { exit(1); }\n' 'neither prints'
	plant git/d.c 'void f(void) { fputs("x", stderr); }\n' 'standard streams'
	[ "$failed" = 0 ] && echo 'self-test: every planted violation was caught'
	return "$failed"
}

if [ "${1:-}" = --self-test ]; then
	self_test
else
	(check "${1:-$(dirname "$0")/..}")
fi
