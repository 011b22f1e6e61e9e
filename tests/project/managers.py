#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Our list of workspaces against what the package managers themselves print.

usage: managers.py TOOL [-k REGEX] [-v]     TOOL prints our list of a directory, a path a line
       managers.py --print [-k REGEX]       what the managers say, without ours

The managers are fetched from npm once, in the versions named here, into a cache outside
of the repository ($GEONOSIS_MANAGERS, else under the user's cache directory). Prints TAP.
"""
import concurrent.futures
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile

# Versions that run on node 18 and later.
PACKAGES = {
    "pnpm": "pnpm@10.15.1",
    "yarn1": "yarn@1.22.22",
    "yarn": "@yarnpkg/cli-dist@4.5.3",
    "bun": "bun@1.2.23",
    "npm": "npm@10.9.3",
}
TIMEOUT = 120


def cache_dir():
    named = os.environ.get("GEONOSIS_MANAGERS")
    home = os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache")
    return named or os.path.join(home, "geonosis-test-managers")


def fetch(name):
    """The program of a manager, installed where it is not there yet; None: cannot be had."""
    spec = PACKAGES[name]
    where = os.path.join(cache_dir(), re.sub(r"[^A-Za-z0-9.-]+", "-", spec).strip("-"))
    program = os.path.join(where, "node_modules", ".bin", "yarn" if name == "yarn1" else name)
    if not os.path.exists(program):
        os.makedirs(cache_dir(), exist_ok=True)
        part = tempfile.mkdtemp(prefix=".part-", dir=cache_dir())
        with open(os.path.join(part, "package.json"), "w", encoding="utf-8") as f:
            f.write('{"name":"cache","private":true}')
        p = subprocess.run(["npm", "install", "--no-audit", "--no-fund", spec], cwd=part,
                           stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                           stderr=subprocess.DEVNULL, timeout=600, check=False)
        if p.returncode != 0:
            shutil.rmtree(part)
            return None
        try:
            os.rename(part, where)
        except OSError:  # another run was first
            shutil.rmtree(part)
    return program if os.path.exists(program) else None


def environment(home):
    env = {k: v for k, v in os.environ.items()
           if not re.match(r"(?i)npm_|yarn_|pnpm_|bun_|git_", k)}
    env.update(HOME=home, XDG_CONFIG_HOME=home, XDG_CACHE_HOME=home, XDG_DATA_HOME=home,
               YARN_ENABLE_TELEMETRY="0", YARN_IGNORE_PATH="1", NO_COLOR="1", CI="1",
               NO_UPDATE_NOTIFIER="1", npm_config_offline="true",
               npm_config_manage_package_manager_versions="false",
               YARN_ENABLE_GLOBAL_CACHE="0", LC_ALL="C.UTF-8")
    return env


def ask(argv, cwd, home):
    p = subprocess.run(argv, cwd=cwd, env=environment(home), stdin=subprocess.DEVNULL,
                       stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=TIMEOUT,
                       check=False)
    return p.returncode, p.stdout.decode(errors="surrogateescape"), \
        p.stderr.decode(errors="surrogateescape")


# Each answers a sorted list of paths, or a string: why it refuses.

def say_npm(program, root, home):
    code, out, err = ask([program, "install", "--package-lock-only", "--no-audit", "--no-fund"],
                         root, home)
    if code:
        return "refuses: " + (err or out).strip()[:200]
    with open(os.path.join(root, "package-lock.json"), encoding="utf-8") as f:
        packages = json.load(f)["packages"]
    # Beside the workspaces it lists what lies in node_modules, and where links lead to.
    links = {x["resolved"] for x in packages.values() if x.get("link")}
    return sorted(p for p in packages if p and p in links and "node_modules/" not in p)


def say_pnpm(program, root, home):
    code, out, err = ask([program, "ls", "-r", "--depth", "-1", "--json"], root, home)
    if code:
        return "refuses: " + (err or out).strip()[:200]
    paths = [os.path.relpath(x["path"], root) for x in json.loads(out or "[]")]
    return sorted(p for p in paths if p != ".")


def say_yarn1(program, root, home):
    code, out, err = ask([program, "--offline", "--json", "workspaces", "info"], root, home)
    if code:
        return "refuses: " + (err or out).strip()[:200]
    for line in out.splitlines():
        said = json.loads(line)
        if said["type"] == "log":
            paths = [x["location"] for x in json.loads(said["data"]).values()]
            return sorted(p for p in paths if p != "")
    return "refuses: " + out[:200]


def say_yarn(program, root, home):
    code, out, err = ask([program, "workspaces", "list", "--json"], root, home)
    if code:
        return "refuses: " + (err or out).strip()[:200]
    paths = [json.loads(line)["location"] for line in out.splitlines() if line.startswith("{")]
    return sorted(p for p in paths if p != ".")


def say_bun(program, root, home):
    code, out, err = ask([program, "install", "--lockfile-only"], root, home)
    if code:
        return "refuses: " + (err or out).strip()[:200]
    try:
        with open(os.path.join(root, "bun.lock"), encoding="utf-8") as f:
            text = f.read()
    except OSError:
        return []
    lock = json.loads(re.sub(r",(\s*[}\]])", r"\1", text))
    return sorted(p for p in lock["workspaces"] if p)


SAY = {"npm": say_npm, "pnpm": say_pnpm, "yarn1": say_yarn1, "yarn": say_yarn, "bun": say_bun}
PM_FIELD = {"npm": "npm@10.9.3", "yarn1": "yarn@1.22.22", "yarn": "yarn@4.5.3", "bun": "bun@1.2.23"}


class Layout:
    def __init__(self, name, patterns, dirs, links=(), files=(), raw=None, only=None, differs=None):
        self.name = name
        self.patterns = patterns
        self.dirs = dirs            # that hold a package.json
        self.links = links          # (place, what it leads to)
        self.files = files          # (path, content)
        self.raw = raw              # the value of "workspaces" where it is no list
        self.only = only            # the managers that it is for
        self.differs = differs or {}  # manager -> our own list, MORE or REFUSED

    def write(self, root, manager):
        top = {"name": "root", "version": "1.0.0", "private": True}
        if manager == "pnpm":
            text = "packages:\n" + "".join("  - %s\n" % json.dumps(p) for p in self.patterns)
            put(root, "pnpm-workspace.yaml", text)
        else:
            top["workspaces"] = self.raw if self.raw is not None else self.patterns
            top["packageManager"] = PM_FIELD[manager]
        put(root, "package.json", json.dumps(top))
        if manager == "yarn":
            put(root, "yarn.lock", "")
        for i, d in enumerate(self.dirs):
            name = "n%d-%s" % (i, re.sub(r"[^a-z0-9]+", "-", d.lower()).strip("-"))
            put(root, d + "/package.json", json.dumps({"name": name, "version": "1.0.0"}))
        for path, content in self.files:
            put(root, path, content)
        for place, target in self.links:
            os.makedirs(os.path.dirname(os.path.join(root, place)) or root, exist_ok=True)
            os.symlink(target, os.path.join(root, place))


def put(root, path, text):
    path = os.path.join(root, path)
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "wb") as f:
        f.write(text if isinstance(text, bytes) else text.encode())


# Where we answer otherwise, knowingly. A workspace too many runs a step too many; a change of
# a directory that is none runs every step.
MORE = "more workspaces than the manager's"
# The manager refuses the layout: there is nothing to compare with.
REFUSED = "refused by the manager"

PLAIN = ["packages/a", "packages/b", "packages/c-d", "apps/web", "tools/one"]
DEEP = ["packages", "packages/a", "packages/a/sub", "packages/g/deep/er", "packages/b", "apps/x"]

LAYOUTS = [
    Layout("one star", ["packages/*"], PLAIN),
    Layout("two patterns", ["packages/*", "apps/*"], PLAIN),
    Layout("a literal", ["packages/a"], PLAIN),
    Layout("literals that are not there", ["packages/a", "packages/zz"], PLAIN,
           differs={"bun": REFUSED}),
    Layout("a literal with workspaces below", ["packages/a"], DEEP),
    Layout("dot slash", ["./packages/*", "./tools/one"], PLAIN),
    Layout("trailing slash", ["packages/*/", "tools/one/"], PLAIN),
    Layout("doubled slashes", ["packages//*", "tools//one"], PLAIN),
    Layout("leading slash", ["/packages/*"], PLAIN, only=["npm", "yarn1"]),
    Layout("two stars", ["packages/**"], DEEP),
    Layout("two stars first", ["**"], DEEP),
    Layout("two stars between", ["packages/**/sub", "**/er"], DEEP),
    Layout("two stars then one", ["packages/**/*"], DEEP),
    Layout("star then star", ["*/*"], DEEP),
    Layout("just a star", ["*"], DEEP + ["solo"]),
    Layout("two stars glued to text", ["packages/a**"], PLAIN + ["packages/ab", "packages/a/b"]),
    Layout("braces", ["packages/{a,b}", "{apps,tools}/*"], PLAIN),
    Layout("braces nested", ["{packages/{a,c-d},apps/web}"], PLAIN,
           differs={"bun": MORE}),
    Layout("braces, a range", ["packages/p{1..3}"], ["packages/p%d" % i for i in range(5)],
           differs={"bun": MORE}),
    Layout("braces, one item only", ["packages/{a}"], PLAIN + ["packages/{a}"],
           differs={"bun": ["packages/{a}"]}),
    Layout("question mark", ["packages/?"], PLAIN + ["packages/é"]),
    Layout("a set", ["packages/[ab]"], PLAIN),
    Layout("a set, negated", ["packages/[!a]"], PLAIN,
           differs={"pnpm": ["packages/b"]}),  # pnpm reads [!a] as a or !
    Layout("a set, negated by ^", ["packages/[^a]"], PLAIN),
    Layout("a range in a set", ["packages/[a-b]*"], PLAIN + ["packages/ab"]),
    Layout("a posix class", ["packages/[[:alpha:]]"], PLAIN + ["packages/1"],
           differs={"yarn1": MORE, "bun": MORE}),
    Layout("extglob @", ["packages/@(a|c-d)"], PLAIN,
           differs={"bun": REFUSED}),
    Layout("extglob +", ["packages/+(a|b)"], PLAIN + ["packages/abba"],
           differs={"bun": REFUSED}),
    Layout("extglob !", ["packages/!(a)"], PLAIN,
           differs={"bun": REFUSED}),
    Layout("extglob ?", ["packages/a?(b)"], PLAIN + ["packages/ab", "packages/abb"],
           differs={"bun": MORE}),
    Layout("star with text", ["packages/c-*", "packages/*b"], PLAIN),
    Layout("a dot directory and a star", ["packages/*", "*/x"], PLAIN + ["packages/.hid", ".dot/x"]),
    Layout("a dot directory and two stars", ["packages/**"], PLAIN + ["packages/.hid/x", "packages/a/.y"]),
    Layout("a dot directory by name", [".config/*", "packages/.h*"], [".config/a", "packages/.hid"],
           differs={"bun": MORE}),
    Layout("node_modules", ["packages/**"], PLAIN + ["packages/a/node_modules/dep", "packages/node_modules/x"]),
    Layout("node_modules by name", ["packages/*/node_modules/*", "packages/*"],
           PLAIN + ["packages/a/node_modules/dep"],
           differs={"yarn1": ["packages/a", "packages/b", "packages/c-d"]}),
    Layout("node_modules of the root", ["**"], PLAIN + ["node_modules/dep", "node_modules/@s/dep"]),
    Layout("bower_components", ["packages/**"], PLAIN + ["packages/a/bower_components/x"]),
    Layout("a negation", ["packages/*", "!packages/b"], PLAIN),
    Layout("a negation before", ["!packages/b", "packages/*"], PLAIN),
    Layout("a negation, then in again", ["packages/*", "!packages/b", "packages/b"], PLAIN),
    Layout("a negation of a tree", ["packages/**", "!packages/g/**"], DEEP),
    Layout("a negation of a directory with workspaces below", ["packages/**", "!packages/a"], DEEP),
    Layout("a negation with two stars first", ["packages/**", "!**/sub"], DEEP),
    Layout("a negation of any depth", ["packages/**", "!**/a/**"], DEEP),
    Layout("a negation of a tree, a part in again", ["packages/**", "!packages/g/**", "packages/g/deep/*"], DEEP),
    Layout("a negation with a dot slash", ["packages/*", "!./packages/b"], PLAIN),
    Layout("a negation with a trailing slash", ["packages/*", "!packages/b/"], PLAIN),
    Layout("a negation with braces", ["packages/*", "!packages/{a,b}"], PLAIN),
    Layout("a negation and a dot directory", ["packages/.*", "!packages/*"], ["packages/.a", "packages/b"],
           differs={"bun": MORE}),
    Layout("two negations", ["packages/*", "!packages/a", "!packages/b"], PLAIN),
    Layout("a double negation", ["!!packages/a", "packages/b"], PLAIN, only=["npm"]),
    Layout("negations only", ["!packages/a"], PLAIN),
    Layout("two negations, both in again", ["packages/*", "!packages/a", "!packages/b", "packages/a", "packages/b"],
           PLAIN),
    Layout("a pattern that a negation covers", ["packages/a", "packages/b", "!packages/a"], PLAIN),
    Layout("an empty list", [], PLAIN),
    Layout("the root itself", [".", "packages/*"], PLAIN),
    Layout("the root itself by ./", ["./"], PLAIN),
    Layout("an object", ["packages/*"], PLAIN, raw={"packages": ["packages/*"], "nohoist": ["**/x"]},
           only=["npm", "yarn1", "yarn", "bun"]),
    Layout("an object without packages", [], PLAIN, raw={"nohoist": []}, only=["yarn1", "yarn", "bun"],
           differs={"yarn1": REFUSED}),
    Layout("a directory without a manifest", ["packages/*"], PLAIN, files=[("packages/zz/index.js", "")]),
    Layout("a file where a directory would be", ["packages/*"], PLAIN, files=[("packages/README.md", "x")]),
    Layout("overlapping patterns", ["packages/*", "packages/**", "packages/a"], DEEP),
    Layout("nested workspaces by name", ["packages/*", "packages/a/sub"], DEEP),
    Layout("a link to a directory outside the pattern", ["packages/*"], PLAIN + ["real/x"],
           links=[("packages/link", "../real/x")],
           differs={"bun": MORE}),
    Layout("a link to a directory below two stars", ["packages/**"], ["packages/a", "real/x/deep"],
           links=[("packages/link", "../real")]),
    Layout("a link that leads nowhere", ["packages/*"], PLAIN, links=[("packages/broken", "../nowhere")]),
    Layout("a BOM", ["packages/*"], ["packages/a"],
           files=[("packages/b/package.json", b'\xef\xbb\xbf{"name":"b","version":"1.0.0"}')]),
    Layout("a manifest without a name", ["packages/*"], ["packages/a"],
           files=[("packages/b/package.json", '{"version":"1.0.0"}')],
           differs={"bun": REFUSED}),
    Layout("a manifest without a version", ["packages/*"], ["packages/a"],
           files=[("packages/b/package.json", '{"name":"b"}')]),
    Layout("a manifest that is an empty object", ["packages/*"], ["packages/a"],
           files=[("packages/b/package.json", "{}")],
           differs={"bun": REFUSED}),
    Layout("a workspace with workspaces of its own", ["packages/*"], ["packages/a", "packages/b/in/c"],
           files=[("packages/b/package.json",
                   '{"name":"b","version":"1.0.0","private":true,"workspaces":["in/*"]}')]),
    Layout("spaces and quotes", ["pack ages/*"], ["pack ages/a b", "pack ages/c'd"], only=["npm", "pnpm", "yarn1", "yarn"]),
    Layout("letters that are no ASCII", ["päckages/*"], ["päckages/ä", "päckages/日本"]),
    Layout("case counts", ["Packages/*"], PLAIN),
    Layout("a backslash before a star", ["packages/\\*"], PLAIN + ["packages/*"], only=["pnpm"]),
    Layout("parents", ["../out/*"], PLAIN, only=[]),
    Layout("a scope", ["@scope/*"], ["@scope/a", "@scope/b"]),
    Layout("a directory named as a manifest", ["packages/*"], ["packages/a", "packages/b/package.json"],
           differs={"npm": REFUSED, "yarn1": REFUSED, "yarn": REFUSED}),
    Layout("blanks around a pattern", [" packages/* "], PLAIN),
    Layout("an empty pattern", ["", "packages/a"], PLAIN, only=["npm", "yarn1", "yarn"],
           differs={"yarn": REFUSED}),
]


def ours(tool, root):
    p = subprocess.run([tool, root], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                       stderr=subprocess.PIPE, timeout=TIMEOUT, check=False)
    if p.returncode:
        return "refuses: " + p.stderr.decode(errors="surrogateescape").strip()
    return sorted(p.stdout.decode(errors="surrogateescape").split("\0")[:-1])


def judge(layout, manager, theirs, mine):
    """What is wrong with a case; empty: nothing."""
    known = layout.differs.get(manager)
    if known is None:
        right = theirs == mine
    elif known is REFUSED:
        right = isinstance(theirs, str)
    elif known is MORE:
        right = not isinstance(theirs, str) and set(theirs) < set(mine)
    else:
        right = mine == known != theirs
    return "" if right else "\n# theirs %s\n# ours   %s\n# known  %s" % (theirs, mine, known)


def compare(program, tool, layout, manager):
    """What the manager says and what we say: sorted paths, or a refusal in words."""
    with tempfile.TemporaryDirectory(prefix="gn-managers-") as top:
        root, home = os.path.join(os.path.realpath(top), "repo"), os.path.join(top, "home")
        os.makedirs(home)
        os.makedirs(root)
        layout.write(root, manager)
        mine = None if tool is None else ours(tool, root)
        try:
            theirs = SAY[manager](program, root, home)
        except (ValueError, KeyError, TypeError) as e:
            theirs = "no answer that can be read: %s" % e
    return theirs, mine


def play(tool, cases, programs):
    def one(case):
        return programs[case[1]] and compare(programs[case[1]], tool, *case)

    print("1..%d" % len(cases))
    bad = 0
    with concurrent.futures.ThreadPoolExecutor(len(os.sched_getaffinity(0))) as pool:
        for i, ((layout, manager), said) in enumerate(zip(cases, pool.map(one, cases)), 1):
            wrong = "" if said is None else judge(layout, manager, *said)
            bad += wrong != ""
            print("%s %d - %s: %s%s" % (
                "not ok" if wrong else "ok", i, manager, layout.name,
                wrong if said else " # SKIP %s cannot be fetched" % PACKAGES[manager]), flush=True)
    return 1 if bad else 0


def main(argv):
    printing = "--print" in argv
    pick = re.compile(argv[argv.index("-k") + 1] if "-k" in argv else "")
    if shutil.which("npm") is None or shutil.which("node") is None:
        print("1..0 # SKIP no npm here to fetch the managers with")
        return 0
    programs = {name: fetch(name) for name in PACKAGES}
    cases = [(l, m) for l in LAYOUTS for m in (l.only if l.only is not None else list(SAY))
             if pick.search("%s: %s" % (m, l.name))]
    if not printing:
        return play(os.path.abspath(argv[0]), cases, programs)
    for layout, manager in cases:
        if programs[manager]:
            said = compare(programs[manager], None, layout, manager)[0]
            print("%-70s %s" % ("%s: %s" % (manager, layout.name), said), flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
