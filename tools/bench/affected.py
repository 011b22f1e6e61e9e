#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""What it costs to say which workspaces a change reaches, beside turbo and pnpm.

usage: affected.py --geonosis BINARY [--rounds N] [--sizes 10,100,1000]

Monorepos of so many workspaces in a graph of four layers, one commit of history, one
workspace edited since; each contender says what is affected, once a round, in turn; median
milliseconds, how many workspaces each named, and the ratio to geonosis.  turbo and pnpm come
from npm into a cache outside the repository; where npm is not there they are left out.
"""
import argparse
import json
import os
import pathlib
import re
import shutil
import statistics
import subprocess
import tempfile
import time

TOOLS = {"turbo": "2.5.8", "pnpm": "9.15.9"}
CACHE = pathlib.Path(os.environ.get("XDG_CACHE_HOME") or pathlib.Path.home() / ".cache", "geonosis-bench")
GIT = ["git", "-c", "user.name=b", "-c", "user.email=b@example.invalid", "-c", "gc.auto=0"]
FILES = 8


def tools():
    if shutil.which("npm") is None:
        return {}
    spec = ["%s@%s" % x for x in TOOLS.items()]
    place = CACHE / "-".join(spec).replace("@", "-")
    if not (place / "node_modules").is_dir():
        place.mkdir(parents=True, exist_ok=True)
        (place / "package.json").write_text("{}")
        subprocess.run(["npm", "install", "--no-audit", "--no-fund", "--silent", *spec], cwd=place, check=True)
    bins = {name: str(place / "node_modules" / ".bin" / name) for name in TOOLS}
    # The program itself, not the node script that starts it.
    native = list((place / "node_modules").glob("*turbo*/**/bin/turbo"))
    native = [p for p in native if p.read_bytes()[:4] == b"\x7fELF"]
    if native:
        bins["turbo"] = str(native[0])
    return bins


def write(path, value):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(value if isinstance(value, str) else json.dumps(value, indent=1) + "\n")


def monorepo(top, count):
    """each workspace of a layer needs two of the layer below"""
    top = pathlib.Path(top)
    layer = max(1, count // 4)
    for i in range(count):
        needs = {"@b/p%d" % (max(0, i - layer + k)): "workspace:*" for k in (0, 1) if i >= layer}
        write(top / ("packages/p%d/package.json" % i), {
            "name": "@b/p%d" % i, "version": "1.0.0", "dependencies": needs, "scripts": {"test": "true"}})
        for k in range(FILES):
            write(top / ("packages/p%d/src/f%d.js" % (i, k)), "export const x = %d\n" % k)
    write(top / "package.json", {"name": "root", "private": True, "packageManager": "pnpm@" + TOOLS["pnpm"]})
    write(top / "pnpm-workspace.yaml", "packages:\n  - 'packages/*'\n")
    write(top / "pnpm-lock.yaml", "lockfileVersion: '9.0'\nimporters: {}\n")
    write(top / "turbo.json", {"tasks": {"test": {}}})
    write(top / "geonosis.json", {"verify": {"fast": [{"command": "true {workspace}", "per": "workspace"}]}})
    write(top / ".gitignore", "node_modules/\n.geonosis/\n.turbo/\n")
    for args in (["init", "-q", "-b", "main"], ["add", "-A"], ["commit", "-qm", "base"],
                 ["update-ref", "refs/geonosis/verified", "HEAD"]):
        subprocess.run(GIT + args, cwd=top, check=True)
    write(top / "packages/p0/src/f0.js", "export const x = 'edited'\n")
    subprocess.run(GIT + ["commit", "-qam", "edit"], cwd=top, check=True)


def named(text):
    return len(set(re.findall(r"@b/p\d+\b|packages/p\d+\b", text.replace("@b/", "packages/"))))


def contenders(binary, bins):
    yield "geonosis verify --affected --dry-run", [binary, "verify", "fast", "--affected", "--dry-run"]
    if bins:
        yield "turbo ls --affected", [bins["turbo"], "ls", "--affected"]
        yield "pnpm ls -r --filter ...[HEAD~1]", [bins["pnpm"], "ls", "-r", "--depth", "-1", "--filter", "...[HEAD~1]"]


def main():
    a = argparse.ArgumentParser()
    a.add_argument("--geonosis", required=True)
    a.add_argument("--rounds", type=int, default=7)
    a.add_argument("--sizes", default="10,100,1000")
    o = a.parse_args()
    env = dict(os.environ, TURBO_SCM_BASE="HEAD~1", TURBO_TELEMETRY_DISABLED="1", NO_UPDATE_NOTIFIER="1",
               npm_config_manage_package_manager_versions="false")
    bins = tools()
    print("%10s  %-40s %8s %8s %6s" % ("workspaces", "contender", "ms", "ratio", "named"))
    for count in (int(x) for x in o.sizes.split(",")):
        with tempfile.TemporaryDirectory() as top:
            monorepo(top, count)
            rows = [(name, argv, [], [0]) for name, argv in contenders(os.path.abspath(o.geonosis), bins)]
            for i in range(o.rounds + 1):
                for name, argv, took, found in rows:
                    start = time.monotonic()
                    r = subprocess.run(argv, cwd=top, env=env, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                       stderr=subprocess.STDOUT, text=True)
                    # The first round is not measured.
                    if i > 0:
                        took.append((time.monotonic() - start) * 1000)
                    found[0] = named(r.stdout)
                    if r.returncode != 0:
                        raise SystemExit("%s: exit %d\n%s" % (name, r.returncode, r.stdout[-1000:]))
            base = statistics.median(rows[0][2])
            for name, _, took, found in rows:
                ms = statistics.median(took)
                print("%10d  %-40s %8.1f %8.2f %6d" % (count, name, ms, ms / base, found[0]))


if __name__ == "__main__":
    main()
