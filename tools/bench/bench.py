#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""What geonosis costs beside the floor.

usage: bench.py --geonosis BINARY --floor DIR [--runs N] steps|output|start|all

Every contender runs once a round, in turn, so that a machine that slows down slows all of
them; the table gives the median and the 90th percentile of the rounds, and the ratio of
medians to the first line, which is the floor. README.md says how to read it.
"""
import argparse
import json
import os
import pathlib
import resource
import shutil
import statistics
import subprocess
import sys
import tempfile
import time

STEPS = 100
OUTPUT_BYTES = 1 << 30
ENV = {
    name: value
    for name, value in os.environ.items()
    if not name.startswith("GEONOSIS_") and name not in ("MAKEFLAGS", "NODE_OPTIONS")
}


class Contender:
    """A command, where it runs, and what it took."""

    def __init__(self, name, argv, cwd, expect=0):
        self.name, self.argv, self.cwd, self.expect = name, argv, cwd, expect
        self.ms, self.peak_kib = [], 0

    def run(self):
        start = time.monotonic()
        child = subprocess.Popen(
            self.argv, cwd=self.cwd, env=ENV,
            stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
        )
        _, status, usage = os.wait4(child.pid, 0)
        self.ms.append((time.monotonic() - start) * 1000)
        child.returncode = os.waitstatus_to_exitcode(status)
        self.peak_kib = max(self.peak_kib, usage.ru_maxrss)
        if child.returncode != self.expect:
            sys.exit(f"{self.name}: exit {child.returncode}, wanted {self.expect}: {self.argv}")


def table(title, contenders, runs, memory=False):
    for contender in contenders:  # once unmeasured: page cache, first links
        contender.run()
        contender.ms.clear()
    for _ in range(runs):
        for contender in contenders:
            contender.run()
    floor = statistics.median(contenders[0].ms)
    print(f"\n{title}, {runs} rounds")
    print(f"{'':34}{'median ms':>11}{'p90 ms':>10}{'x floor':>9}" + "  peak KiB" * memory)
    for c in contenders:
        median = statistics.median(c.ms)
        p90 = sorted(c.ms)[int(len(c.ms) * 0.9)]
        line = f"{c.name:34}{median:11.2f}{p90:10.2f}{median / floor:9.2f}"
        print(line + (f"{c.peak_kib:10}" if memory else ""))
    sys.stdout.flush()


def gate(directory, name, steps):
    """A directory of its own with one tier `t`."""
    path = pathlib.Path(directory, name)
    path.mkdir()
    (path / "geonosis.json").write_text(json.dumps({"verify": {"t": steps}}))
    return path


def build_files(directory):
    """make and ninja over the same trivial commands."""
    path = pathlib.Path(directory, "build-files")
    path.mkdir()
    names = [f"s{i}" for i in range(STEPS)]
    # A word that needs a shell, so that make starts one as the others do.
    make = [".PHONY: all " + " ".join(names), "all: " + " ".join(names)]
    make += [f"{name}:\n\t@true;:" for name in names]
    (path / "Makefile").write_text("\n".join(make) + "\n")
    ninja = ["rule r\n  command = true"] + [f"build {name}: r" for name in names]
    (path / "build.ninja").write_text("\n".join(ninja) + "\n")
    return path


def bench_steps(args, directory):
    # Commands differ, since a tier's steps are its own: `true #7`.
    commands = [f"true #{i}" for i in range(STEPS)]
    serial = gate(directory, "serial", commands)
    group = gate(directory, "group", [{"parallel": commands}])
    files = build_files(directory)
    floor, geonosis = str(args.floor / "floor_spawn"), args.geonosis
    for jobs, where in ((1, serial), (2, group)):
        rows = [
            Contender("posix_spawn of sh -c true", [floor, str(STEPS), str(jobs), "true"], where),
            Contender("geonosis verify", [geonosis, "verify", "t", "--fresh", "--jobs", str(jobs)],
                      where),
        ]
        if not accepts(rows[1], "--fresh"):
            rows[1].argv.remove("--fresh")
        for tool in ("make", "ninja"):
            if shutil.which(tool):
                rows.append(Contender(tool, [tool, f"-j{jobs}"], files))
        table(f"{STEPS} trivial steps, {jobs} at once", rows, args.runs)


def accepts(contender, option):
    """Is the option there in this version?"""
    run = subprocess.run(contender.argv, cwd=contender.cwd, env=ENV, stdin=subprocess.DEVNULL,
                         capture_output=True, check=False)
    return run.returncode == 0 or option.encode() not in run.stderr


def bench_output(args, directory):
    line = "x" * 79
    loud = f"yes {line} | head -c {OUTPUT_BYTES}"
    plain = gate(directory, "plain", [loud])
    marked = gate(directory, "marked", [{"command": loud, "failureMark": "^survived [0-9]+ FAIL"}])
    rows = [
        Contender("sh -c '…' | cat >/dev/null", ["sh", "-c", f"{{ {loud}; }} | cat >/dev/null"],
                  directory),
        Contender("geonosis verify", [args.geonosis, "verify", "t"], plain),
        Contender("geonosis verify, failureMark", [args.geonosis, "verify", "t"], marked),
    ]
    table(f"1 GiB of output in lines of 80 bytes", rows, max(3, args.runs // 8), memory=True)


def bench_start(args, directory):
    bad = pathlib.Path(directory, "bad")
    bad.mkdir()
    (bad / "geonosis.json").write_text('{ "verify": { "t": [""] } }\n')
    one = gate(directory, "one", ["true"])
    rows = [
        Contender("empty C program", [str(args.floor / "floor_empty")], directory),
        Contender("sh -c true", ["/bin/sh", "-c", "true"], directory),
        Contender("geonosis --version", [args.geonosis, "--version"], directory),
        Contender("geonosis verify, refused config", [args.geonosis, "verify", "t"], bad, 2),
        Contender("geonosis verify, one step `true`", [args.geonosis, "verify", "t"], one),
    ]
    table("start", rows, args.runs * 8)


def main():
    parser = argparse.ArgumentParser(usage=__doc__)
    parser.add_argument("--geonosis", required=True, type=os.path.abspath)
    parser.add_argument("--floor", required=True, type=lambda p: pathlib.Path(p).resolve())
    parser.add_argument("--runs", type=int, default=25)
    parser.add_argument("what", choices=("steps", "output", "start", "all"))
    args = parser.parse_args()
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    names = ("start", "steps", "output") if args.what == "all" else (args.what,)
    for name in names:
        with tempfile.TemporaryDirectory() as directory:
            globals()["bench_" + name](args, directory)


if __name__ == "__main__":
    main()
