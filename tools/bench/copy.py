#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""What a copy of a tree costs, beside what else makes one.

usage: copy.py --copy BENCH_COPY [--rounds N] [--sizes 1000,10000,80000] [--modules 50000]

Trees of so many small tracked files, the last one with a node_modules beside them; each
contender once a round, in turn; median milliseconds.  `remove` is what taking it away costs.
"""
import argparse
import os
import pathlib
import shutil
import statistics
import subprocess
import tempfile
import time

GIT = ["git", "-c", "user.name=b", "-c", "user.email=b@example.invalid", "-c", "gc.auto=0"]


def tree(top, files, modules):
    for i in range(files):
        path = pathlib.Path(top, "packages", "p%d" % (i // 400), "src%d" % (i // 40 % 10))
        if i % 40 == 0:
            path.mkdir(parents=True, exist_ok=True)
        # From a line to some 12 kB, about 3 kB in the middle.
        (path / ("file%d.ts" % i)).write_bytes(b"export const x = 1;\n" * (1 + i * 7919 % 600 // 2))
    for i in range(modules):
        path = pathlib.Path(top, "node_modules", ".pnpm", "m%d" % (i // 50), "lib%d" % (i // 10 % 5))
        if i % 10 == 0:
            path.mkdir(parents=True, exist_ok=True)
        (path / ("%d.js" % i)).write_bytes(b"module.exports = 1;\n" * (1 + i * 7919 % 400))
    pathlib.Path(top, ".gitignore").write_text("node_modules/\n.geonosis/\n")
    pathlib.Path(top, "geonosis.json").write_text('{ "verify": { "t": ["true"] } }\n')
    for args in (["init", "-q", "-b", "main"], ["add", "-A"], ["commit", "-qm", "x"]):
        subprocess.run(GIT + args, cwd=top, check=True)


def timed(argv, cwd):
    start = time.monotonic()
    subprocess.run(argv, cwd=cwd, check=True, stdout=subprocess.DEVNULL)
    return (time.monotonic() - start) * 1000


def ours(copy, kind, top):
    out = subprocess.run([copy, kind], cwd=top, check=True, stdout=subprocess.PIPE).stdout
    made, removed, _ = out.split()
    return float(made), float(removed)


def other(argv, after, top, to):
    made = timed([a.replace("TO", to) for a in argv], top)
    start = time.monotonic()
    shutil.rmtree(to)
    for args in after:
        subprocess.run(args, cwd=top, check=True)
    return made, (time.monotonic() - start) * 1000


def bench(args, files, modules):
    with tempfile.TemporaryDirectory() as place:
        top, to = os.path.join(place, "tree"), os.path.join(place, "copy")
        os.mkdir(top)
        tree(top, files, modules)
        os.environ["TMPDIR"] = place
        rows = {
            "overlay": lambda: ours(args.copy, "overlay", top),
            "portable": lambda: ours(args.copy, "portable", top),
            "cp -a": lambda: other(["cp", "-a", ".", "TO"], [], top, to),
            "cp -a --reflink=auto": lambda: other(["cp", "-a", "--reflink=auto", ".", "TO"], [], top, to),
            "git worktree add (tracked only)": lambda: other(
                GIT + ["worktree", "add", "-q", "--detach", "TO"], [GIT + ["worktree", "prune"]], top, to),
        }
        got = {name: [] for name in rows}
        for _ in range(args.rounds):
            for name, run in rows.items():
                got[name].append(run())
        print("\n%d files, node_modules of %d" % (files, modules))
        for name, times in got.items():
            print("%-34s %10.1f ms  remove %8.1f ms" % (
                name, statistics.median(t[0] for t in times), statistics.median(t[1] for t in times)), flush=True)


def main():
    p = argparse.ArgumentParser(usage=__doc__)
    p.add_argument("--copy", required=True, type=os.path.abspath)
    p.add_argument("--rounds", type=int, default=5)
    p.add_argument("--sizes", default="1000,10000,80000")
    p.add_argument("--modules", type=int, default=50000)
    args = p.parse_args()
    for size in args.sizes.split(","):
        bench(args, int(size), 0)
    bench(args, 10000, args.modules)


if __name__ == "__main__":
    main()
