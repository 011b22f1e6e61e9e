#!/bin/bash
# SPDX-License-Identifier: MIT
# The man pages against the program: every command, option, letter and key that it has is
# in its page, those of later versions said to be so, and no page has one that it has not.
# usage: check-man-options.sh GEONOSIS
set -u
geonosis=$(realpath "${1:?usage: check-man-options.sh GEONOSIS}")
[ -x "$geonosis" ] || { echo "check-man-options: $1: no such program" >&2; exit 2; }
cd "$(dirname "$0")/man" || exit 2
bad=0

# same WHAT PAGE HAS SAYS: two lists, a line each
same() {
	local line
	while read -r line; do
		case $line in
		'< '*) echo "$2: $1: not in the page: ${line#< }" ;;
		'> '*) echo "$2: $1: not in the program: ${line#> }" ;;
		*) continue ;;
		esac
		bad=1
	done < <(diff <(grep . <<<"$3" | sort -u) <(grep . <<<"$4" | sort -u))
	[ -n "$3" ] || { echo "$2: the program lists no $1"; bad=1; }
}

# Of --help: `name letter` and `later` where it is not available yet, an option a line.
program_options() {
	"$geonosis" "$@" --help | awk '
	match($0, /^ +(-[a-z], )?--[a-z-]+/) {
		flush()
		n = split(substr($0, 1, RLENGTH), word, " ")
		name = word[n]
		letter = n > 1 ? substr(word[1], 1, 2) : ""
	}
	/\(not available in this version\)/ { later = " later" }
	END { flush() }
	function flush() {
		if (name != "" && name != "--help")
			print name " " letter later
		name = later = ""
	}'
}

# Of a page the same.
page_options() {
	awk '
	/^\.(It|El|Sh|Ss) ?/ { flush() }
	/^\.It Fl Fl / {
		name = "--" $4
		letter = match($0, /, Fl [a-z]( |$)/) ? "-" substr($0, RSTART + 5, 1) : ""
	}
	/not available in this version/ { later = " later" }
	END { flush() }
	function flush() {
		if (name != "")
			print name " " letter later
		name = later = ""
	}' "$1"
}

# The subcommands that there are, as the refusal of none lists them; `later` likewise.
subcommands() {
	local sub
	for sub in $("$geonosis" "$@" 2>&1 >/dev/null | sed -n 's/.*say what to do: //p' | tr -d ,); do
		"$geonosis" "$@" "$sub" --help | grep -q '^Not available in this version' && sub+=' later'
		echo "$sub"
	done
}

# What a page says of the subcommands of a word: items, and those it says are refused.
page_subcommands() {
	sed -n "s/^\\.It Cm ${2:-}\\([a-z]*\\).*/\\1/p" "$1"
	sed -n "/^\\.Sh DESCRIPTION/,\$s/^\\.Cm ${3:-} \\([a-z]*\\)\$/\\1 later/p" "$1"
}

# Commands.
listed=$("$geonosis" help | sed -n '/^Commands:/,/^$/s/^  \([a-z]*\) .*/\1/p')
later=$("$geonosis" help | sed -n 's/^  \([a-z]*\) .*(not available yet)$/\1/p')
same command geonosis.1 "$(grep -vxF "${later:-/}" <<<"$listed")" \
    "$(sed -n 's/^\.It Cm \([a-z]*\).*/\1/p' geonosis.1)"
[ -z "$later" ] || same 'later command' geonosis.1 "$later" \
    "$(sed -n '/^\.Sh COMMANDS/,/^\.Sh/s/^\.Cm \([a-z]*\).*/\1/p' geonosis.1)"

# Options, and what verify and gate can be asked to do.
greens=$(subcommands verify green)
options=$(program_options verify)$'\n'$(program_options verify prove)
while read -r sub is_later; do
	[ -n "$is_later" ] || options+=$'\n'$(program_options verify green "$sub")
done <<<"$greens"
same option geonosis-verify.1 "$options" "$(page_options geonosis-verify.1)"
same subcommand geonosis-verify.1 "$greens" \
    "$(page_subcommands geonosis-verify.1 'green ' 'verify green')"

gates=$(subcommands gate)
options=''
while read -r sub is_later; do
	[ -n "$is_later" ] || options+=$'\n'$(program_options gate "$sub")
done <<<"$gates"
same option geonosis-gate.1 "$options" "$(page_options geonosis-gate.1)"
same subcommand geonosis-gate.1 "$gates" "$(page_subcommands geonosis-gate.1 '' gate)"

# Keys, as the schema lists them; a step with the key is planned to see if it is later.
keys() {
	python3 - "$geonosis" "$1" <<'END'
import json, os, subprocess, sys, tempfile

program, where = sys.argv[1:]
schema = json.loads(subprocess.run([program, "schema"], check=True, stdout=subprocess.PIPE).stdout)
if where == "top":
    sys.exit(print(*schema["properties"], sep="\n"))
space, batch = {"per": "workspace"}, {"per": "workspace", "batch": "true {workspaces}"}
steps = {
    "command": {}, "per": space, "exclude": {**space, "exclude": ["b"]},
    "shards": {"per": "shard", "shards": 2}, "batch": batch, "also": {**batch, "also": ["b"]},
    "counts": {**batch, "counts": "vitest-json"}, "graph": {**batch, "graph": "vitest"},
    "turbo": {**space, "turbo": "t"}, "force": {**space, "turbo": "t", "force": True},
    "proves": {"proves": {"plant": "p", "expect": "e"}}, "failureMark": {"failureMark": "x"},
    "history": {"proves": {"plant": "p", "expect": "e"}, "history": True},
    "runner": {"runner": True}, "slots": {"slots": 2}, "jobserver": {"slots": 2, "jobserver": True},
}
with tempfile.TemporaryDirectory() as place:
    for path, text in (("", {"workspaces": ["a", "b"]}), ("a", {"name": "a"}), ("b", {"name": "b"})):
        os.makedirs(os.path.join(place, path), exist_ok=True)
        with open(os.path.join(place, path, "package.json"), "w") as f:
            json.dump(text, f)
    for key in schema["$defs"]["command"]["properties"]:
        with open(os.path.join(place, "geonosis.json"), "w") as f:
            json.dump({"verify": {"t": [{"command": "true", **steps[key]}]}}, f)
        said = subprocess.run([program, "verify", "t", "--dry-run"], cwd=place, text=True,
                              stdout=subprocess.DEVNULL, stderr=subprocess.PIPE).stderr
        print(key + (" later" if "not available in this version" in said else ""))
END
}
page_keys() {
	sed -n "/^\\.Ss $1\$/,/^\\.S[sh] /p" geonosis.json.5 | awk '
	/^\.(It|El) ?/ { flush() }
	/^\.It Li / { name = $3 }
	/not available in this version/ { later = " later" }
	function flush() {
		if (name != "")
			print name later
		name = later = ""
	}'
}
same key geonosis.json.5 "$(keys top)" "$(page_keys 'Keys at the top')"
same key geonosis.json.5 "$(keys step)" "$(page_keys 'Keys of a step')"
exit $bad
