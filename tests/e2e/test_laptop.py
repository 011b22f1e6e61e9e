# SPDX-License-Identifier: MIT
"""One laptop, several sessions at once, each in its own clone of one project and each running its full tier."""
import json
import os
import random
import shlex
import signal
import struct
import subprocess
import threading
import time

from harness import (between, binary, compiled, describe, each, eq, has, patience, stat_of, test, until, with_mark)

BUDGET, SESSIONS = 2, 4
ENV = {"GEONOSIS_HEAVY_SLOTS": str(BUDGET)}
MAKEFILE = """\
CFLAGS = -O1 -Wall -Werror
build/abacus: src/main.c src/sum.c src/sum.h
\tmkdir -p build && $(CC) $(CFLAGS) -o $@ src/main.c src/sum.c
build/unit: tests/unit.c src/sum.c src/sum.h
\tmkdir -p build && $(CC) $(CFLAGS) -Isrc -o $@ tests/unit.c src/sum.c
unit: build/unit
\t./build/unit
lint:
\t! grep -nE '[[:space:]]+$$' src/*.c src/*.h tests/*.c
check: build/abacus
\t[ "$$(./build/abacus 2 3 4)" = 9 ]
release: build/abacus build/unit
\ttar cf build/abacus.tar build/abacus Makefile
.PHONY: unit lint check release
"""
PROJECT = {
    "Makefile": MAKEFILE,
    ".gitignore": "build/\n.geonosis/\n",
    "src/sum.h": "long sum(int n, char **words);\n",
    "src/sum.c": "#include <stdlib.h>\n#include \"sum.h\"\nlong sum(int n, char **words)\n{\n\tlong s = 0;\n"
                 "\tfor (int i = 0; i < n; i++)\n\t\ts += atol(words[i]);\n\treturn s;\n}\n",
    "src/main.c": "#include <stdio.h>\n#include \"sum.h\"\nint main(int argc, char **argv)\n{\n"
                  "\tprintf(\"%ld\\n\", sum(argc - 1, argv + 1));\n\treturn 0;\n}\n",
    "tests/unit.c": "#include \"sum.h\"\nint main(void)\n{\n\tchar *w[] = { \"40\", \"2\" };\n\treturn sum(2, w) != 42;\n}\n",
}


def seen(name, weight, ms, command):
    return '"$WITNESS" "$SEEN" %s %s %d %s' % (name, weight, ms, command)


TIERS = {
    "fast": [seen("lint", 1, 250, "make -s lint"), seen("unit", 1, 300, "make -s unit")],
    "full": ["fast",
             {"parallel": [seen("build", 1, 350, "make -s build/abacus"), seen("style", 1, 250, "git diff --check HEAD"),
                           {"command": "test -s Makefile", "slots": 0}]},
             seen("check", 1, 300, "make -s check"),
             {"command": seen("release", '"$GEONOSIS_SLOTS"', 250, 'make -s -j "$GEONOSIS_SLOTS" release'), "slots": 2}],
}
# Before which a step of a session asks for its slot: all of these have ended.
AFTER = {"unit": ("lint",), "build": ("unit",), "style": ("unit",), "check": ("build", "style"), "release": ("check",)}


class Step:
    """what a witness wrote: when it surely went on, in seconds"""
    def __init__(self, path):
        self.session, self.name, self.pid = os.path.basename(path).rsplit(".", 2)
        with open(path, "rb") as f:
            data = f.read(32)
        start, beat, end, self.weight = struct.unpack("4q", data) if len(data) == 32 else (0, 0, 0, 0)
        self.start, self.last, self.ended = start / 1e9, beat / 1e9, end != 0

    def __repr__(self):
        return "%s %s %.3f-%.3f%s" % (self.session, self.name, self.start, self.last, "" if self.ended else " (cut)")


class Laptop:
    def __init__(self, w):
        self.w, self.seen = w, w.beside("seen")
        os.mkdir(self.seen)
        self.env = dict(ENV, SEEN=self.seen, WITNESS=os.environ.get("GEONOSIS_WITNESS") or compiled("witness.c"))
        for name, text in PROJECT.items():
            w.write(name, text)
        w.tiers(**TIERS)
        w.repository()
        w.write(".gitignore", PROJECT[".gitignore"])
        git = ["git", "-c", "user.name=t", "-c", "user.email=t@example.invalid"]
        subprocess.run([*git, "commit", "-qam", "two"], cwd=w.dir, env=w.env, check=True)
        self.clones = [self.clone("s%d" % i) for i in range(SESSIONS + 1)]
        self.crowd, self.over = 0, False
        self.watcher = threading.Thread(target=self.watch)
        self.watcher.start()

    def clone(self, name):
        path = self.w.beside(name)
        subprocess.run(["git", "clone", "-q", self.w.dir, path], env=self.w.env, check=True)
        return path

    def verify(self, i, *words):
        return self.w.start("verify", *(words or ["full"]), env=self.env, cwd=self.clones[i])

    def steps(self):
        found = [Step(os.path.join(self.seen, x)) for x in os.listdir(self.seen)]
        return sorted((x for x in found if x.start), key=lambda x: x.start)

    def watch(self):
        """from outside: who is locked in two looks in a row was there, with all the others, between them"""
        while not self.over:
            names = [os.path.join(self.seen, x) for x in os.listdir(self.seen)]
            here = [x for x in names if locked(x)]
            self.crowd = max(self.crowd, len([x for x in here if locked(x)]))
            time.sleep(0.002)

    def close(self):
        self.over = True
        self.watcher.join()

    def free(self):
        r = self.w.run("gate", "status", "--json", env=self.env)
        s = json.loads(r.out)
        return s["free"] == s["budget"] == BUDGET and not s["held"] and not s["waiting"]


def locked(path):
    import fcntl
    with open(path, "rb") as f:
        try:
            fcntl.flock(f, fcntl.LOCK_SH | fcntl.LOCK_NB)
        except OSError:
            return True
    return False


def never_too_many(steps):
    edges = sorted([(x.start, 1, x.weight, x) for x in steps] + [(x.last, 0, -x.weight, x) for x in steps],
                   key=lambda e: e[:2])
    now = 0
    for at, _, weight, step in edges:
        now += weight
        assert now <= BUDGET, "%d slots' worth of steps at %.3f: %s" % (
            now, at, [x for x in steps if x.start <= at <= x.last])


def in_order(steps, margin):
    """who asked surely before is not served surely after; returns how many pairs that is said of"""
    ended = {(x.session, x.name): x.last for x in steps}
    asked = [(max(ended[x.session, y] for y in AFTER[x.name]), x) for x in steps if x.name in AFTER]
    pairs = 0
    for at, one in asked:
        for later, two in asked:
            if one.session != two.session and at + margin < later:
                pairs += 1
                assert one.start <= two.start + margin, "%r asked at %.3f and was served after %r, asked at %.3f" % (
                    one, at, two, later)
    return pairs


def took(steps):
    """seconds from the first step's start to the last one's end, and what two slots need for the work"""
    return max(x.last for x in steps) - steps[0].start, sum((x.last - x.start) * x.weight for x in steps) / BUDGET


@test("four full tiers at once on two slots: never three steps, first come first served, no slot idle", timeout=120)
def four(w):
    laptop = Laptop(w)
    try:
        runs = [laptop.verify(i) for i in range(SESSIONS)]
        for run in runs:
            r = run.wait(90)
            eq(r.code, 0, "exit code (%r)" % r)
            has(r.out, "budget: 2 jobs (GEONOSIS_HEAVY_SLOTS)\n")
    finally:
        laptop.close()
    steps = laptop.steps()
    eq(sorted((x.session, x.name) for x in steps), sorted(("s%d" % i, n) for i in range(SESSIONS)
                                                          for n in ("lint", "unit", "build", "style", "check", "release")), "steps")
    never_too_many(steps)
    eq(laptop.crowd, BUDGET, "the most that were seen from outside at once")
    pairs = in_order(steps, patience(0.05))
    assert pairs >= 30, "only %d pairs of steps whose order says anything" % pairs
    total, least = took(steps)
    longest = max(x.last - x.start for x in steps)
    # The last steps of the last session run alone, with the other slot idle: two of them, as a chain.
    # What stands between two steps (an end, a grant, a fork, an exec) is in the tenth.
    between(least, total, 1.1 * least + 2 * longest + patience(0.2), "seconds in all (%r)" % steps)
    assert laptop.free()


@test("the same with an exclusive run in the middle: it is alone, in its turn, and no one is passed over", timeout=120)
def with_an_exclusive_one(w):
    laptop = Laptop(w)
    try:
        runs = [laptop.verify(i) for i in range(SESSIONS)]
        until(lambda: len(laptop.steps()) >= 8, 60, "the middle")
        asked = time.monotonic()
        alone = laptop.verify(SESSIONS, "full", "--exclusive")
        for run in (alone, *runs):
            r = run.wait(90)
            eq(r.code, 0, "exit code (%r)" % r)
    finally:
        laptop.close()
    steps = laptop.steps()
    never_too_many(steps)
    eq(laptop.crowd, BUDGET, "the most that were seen from outside at once")
    own = [x for x in steps if x.session == "s%d" % SESSIONS]
    others = [x for x in steps if x not in own]
    first, last = min(x.start for x in own), max(x.last for x in own)
    for x in others:
        assert x.last < first or x.start > last, "%r ran in the exclusive run, %.3f-%.3f" % (x, first, last)
    # What had asked before it, one step of each session and two of one in its group, comes first; nothing else does.
    before = [x for x in others if asked < x.start < first]
    in_order(others, patience(0.05))
    assert len(before) <= SESSIONS + 3, "%d steps came before it: %s" % (len(before), before)
    assert any(x.start > last for x in others), "it was not in the middle: this shows nothing"
    total, least = took(steps)
    longest = max(x.last - x.start for x in steps)
    # Its serial steps leave a slot idle, as one may that waits for the other's step before it, and after it the last ones.
    idle = sum((x.last - x.start) * (BUDGET - x.weight) for x in own) / BUDGET
    between(least, total, 1.1 * (least + idle) + 3 * longest + patience(0.3), "seconds in all (%r)" % steps)
    assert laptop.free()


def strike(rng, w, run):
    """SIGKILL: a session's whole group, its supervisor alone, or any one process of it"""
    how = rng.choice(("group", "supervisor", "any"))
    if how == "group":
        run.signal_group(signal.SIGKILL)
    elif how == "supervisor":
        run.signal(signal.SIGKILL)
    else:
        below = [x for x in family(run.pid) if x != run.pid]
        if below:
            one = rng.choice(below)
            how = "%s: %s" % (how, describe(one))
            kill_ours(w, one)
    return how


def family(pid):
    """it and what is below it"""
    try:
        with open("/proc/%d/task/%d/children" % (pid, pid)) as f:
            below = [int(x) for x in f.read().split()]
    except OSError:
        return []
    return [pid] + [y for x in below for y in family(x)]


def kill_ours(w, pid):
    """
    not by number: it may be another's by now.  Nor what was not forked: a leak checker looks at its process from a
    clone (gcc 12's StopTheWorld), and without that one the process would yield for ever
    """
    try:
        held = os.pidfd_open(pid)
    except OSError:
        return
    try:
        stat = stat_of(pid)
        if stat and stat.exit_signal == signal.SIGCHLD and pid in with_mark(w.mark) and pid != os.getpid():
            signal.pidfd_send_signal(held, signal.SIGKILL)
    except ProcessLookupError:
        pass
    finally:
        os.close(held)


@test("sessions killed at random, group or single process: never three steps, all slots free, nothing left", timeout=120)
def killed(w):
    seed = os.environ.get("GEONOSIS_E2E_SEED") or os.urandom(4).hex()
    rng, laptop, done = random.Random(seed), Laptop(w), []
    try:
        runs = [laptop.verify(i, "full", "--fresh") for i in range(SESSIONS)]
        end = time.monotonic() + 12
        while time.monotonic() < end:
            time.sleep(rng.uniform(0, 0.6))
            i = rng.randrange(SESSIONS)
            done.append("%.2f %d %s" % (end - time.monotonic(), i, strike(rng, w, runs[i])))
            for k, run in enumerate(runs):
                if run.ended():
                    runs[k] = laptop.verify(k, "full", "--fresh")
        for run in runs:
            run.wait(60)
        # The supervisors have gone; what is below them has a second, and then every slot is free.
        alone = {os.getpid()}
        until(lambda: set(with_mark(w.mark)) <= alone, patience(2),
              lambda: "no process to be left: %s (seed %s)" % ([describe(x) for x in with_mark(w.mark)], seed))
        began = time.monotonic()
        until(laptop.free, patience(0.05), lambda: "all slots to be free, seed %s: %s" % (
            seed, w.run("gate", "status", env=laptop.env).out))
        took_s = time.monotonic() - began
    finally:
        laptop.close()
    why = "seed %s, %s, %.3f s to be free" % (seed, done, took_s)
    steps = laptop.steps()
    assert len([x for x in steps if not x.ended]) >= 3, "hardly a step was cut: " + why
    assert laptop.crowd <= BUDGET, "%d seen from outside: %s" % (laptop.crowd, why)
    never_too_many(steps)
    eq(w.run("gate", "run", "--slots", str(BUDGET), "--timeout", "0", "--", "true", env=laptop.env).code, 0, "both slots, " + why)


# Each tier runs others by commands of its own: in a step, in a light one, and with an environment that was scrubbed.
def nested_tiers(w):
    self = shlex.quote(binary())
    scrub = "env -i PATH=/usr/bin:/bin HOME=%s GEONOSIS_SEGMENT=%s GEONOSIS_E2E=%s %s" % (w.env["HOME"], w.segment, w.mark, self)
    return {"a": ["sleep 0.03", self + " verify b", "true"],
            "b": [{"parallel": ["sleep 0.02", "sleep 0.05"]}, {"command": self + " gate run -- sleep 0.02", "slots": 0}],
            "c": [scrub + " verify b", {"command": "sleep 0.02", "slots": 2}]}


NESTED = (["verify", "a"], ["verify", "b"], ["verify", "c"], ["verify", "a", "--exclusive"], ["verify", "b", "--exclusive"],
          ["gate", "run", "--slots", "2", "--", "SELF", "verify", "b"], ["gate", "run", "--", "SELF", "verify", "c"],
          ["gate", "run", "--exclusive", "--", "SELF", "verify", "a"])


@each((1, 2), "runs inside runs that wait for each other's tiers and slots, killed at random: none stands still, {0} slot(s)", timeout=150)
def nested_storm(w, budget):
    seed = os.environ.get("GEONOSIS_E2E_SEED") or os.urandom(4).hex()
    rng, env, live, hit = random.Random(seed), {"GEONOSIS_HEAVY_SLOTS": str(budget)}, [], {}
    for d in ("one", "two"):
        w.write(d + "/geonosis.json", json.dumps({"verify": nested_tiers(w)}))
    left, end = 50, time.monotonic() + 100
    while left or live:
        while left and len(live) < 6:
            words = [binary() if x == "SELF" else x for x in rng.choice(NESTED)]
            live.append(w.start(*words, env=env, cwd=w.path(rng.choice(("one", "two")))))
            left -= 1
        time.sleep(0.02)
        if left and rng.random() < 0.05:
            run = rng.choice(live)
            hit[run.pid] = strike(rng, w, run)
        for run in [x for x in live if x.ended()]:
            live.remove(run)
            r = run.wait(1)
            # Refused rightly: the one wants all of the machine, the other has a part of it.
            if run.pid not in hit and "waits for the whole machine" not in r.both:
                eq(r.code, 0, "exit code (seed %s, %r)" % (seed, r))
        assert time.monotonic() < end, "standing still, seed %s: %s\n%s%s" % (
            seed, [(x.pid, hit.get(x.pid), x.argv[1:]) for x in live], w.run("gate", "status", env=env).out,
            "\n".join(describe(x) for x in with_mark(w.mark)))
    until(lambda: set(with_mark(w.mark)) <= {os.getpid()}, patience(2), "no process to be left, seed " + seed)
    eq(w.run("gate", "run", "--exclusive", "--timeout", "1", "--", "true", env=env).code, 0, "the machine is free, seed " + seed)


HITS = ("the whole group", "the supervisor alone", "the worker alone")


@each(HITS, "SIGKILL of {0}: the next in line starts within 50 ms of the last sign of the step, and not before", timeout=90)
def handed_on(w, who):
    laptop = Laptop(w)
    laptop.env = dict(laptop.env, GEONOSIS_HEAVY_SLOTS="1")
    laptop.close()
    # What a busy machine takes for the same where nothing is killed is seen beside it.
    usual, gaps = [], []
    for _ in range(8):
        usual.append(gap(w, laptop, None))
        gaps.append(gap(w, laptop, who))
        if len(gaps) >= 3 and min(gaps) < 0.05:
            break
    assert min(gaps) >= 0 and min(usual) >= 0, "two at once: %s, usually %s" % (gaps, usual)
    assert min(gaps) < min(usual) + 0.05, "seconds from the last sign to the next start: %s, usually %s" % (gaps, usual)


def gap(w, laptop, who):
    """seconds from the last sign of a step, which is killed or ends by itself, to the start of the next in line"""
    for name in os.listdir(laptop.seen):
        os.unlink(os.path.join(laptop.seen, name))
    go = w.beside("go")
    w.tiers(long=[seen("long", 1, 0, "sh -c 'until [ -e %s ]; do sleep 0.02; done'" % go)], next=[seen("next", 1, 0, "true")])
    first = w.start("verify", "long", "--fresh", env=laptop.env)
    until(lambda: len(laptop.steps()) == 1, 20, "the step")
    second = w.start("verify", "next", "--fresh", env=laptop.env)
    until(lambda: json.loads(w.run("gate", "status", "--json", env=laptop.env).out)["waiting"], 20, "the next in line")
    if who is None:
        open(go, "w").close()
    elif who == "the whole group":
        first.signal_group(signal.SIGKILL)
    elif who == "the supervisor alone":
        first.signal(signal.SIGKILL)
    else:
        kill_ours(w, worker(first, int(laptop.steps()[0].pid)))
    eq(second.wait(30).code, 0, "exit code of the next")
    first.wait(30)
    if who is None:
        os.unlink(go)
    one, two = laptop.steps()
    eq((one.name, two.name, one.ended), ("long", "next", who is None), "who was seen")
    return two.start - one.last


def worker(run, step):
    line = family(run.pid)
    assert step in line, "the step is not below its run: %s" % line
    return line[1] if step in family(line[1]) else [x for x in line[1:] if step in family(x)][0]


@test("a session that is interrupted gives its slots back at once, and the others end green", timeout=90)
def one_leaves(w):
    laptop = Laptop(w)
    try:
        runs = [laptop.verify(i) for i in range(SESSIONS)]
        until(lambda: len(laptop.steps()) >= 6, 40, "the middle")
        runs[1].signal(signal.SIGINT)
        codes = [r.wait(60).code for r in runs]
    finally:
        laptop.close()
    eq(codes, [0, 130, 0, 0], "exit codes")
    never_too_many(laptop.steps())
    assert laptop.free()


