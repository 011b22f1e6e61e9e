# SPDX-License-Identifier: MIT
"""Much, little, and nonsense."""
import json
import os
import random
import resource

from harness import each, eq, match, test

COMMANDS = ["true", "false", ":", "exit 3", "echo x", "fast", "full", "", " ", "nope", "{workspace}", "true {shard}/{shards}"]
KEYS = ["command", "parallel", "per", "exclude", "shards", "batch", "also", "counts", "graph", "turbo", "force", "proves",
        "history", "runner", "failureMark", "slots", "jobserver", "plant", "expect", "verify", "budgets", "caps", "heavy",
        "documents", "versionFiles", "keyEnv", "keyFiles", "fast", "full", "commnad", "x", "", "a.b", "\u00e9"]
# Each word that could be run by a shell is harmless.
SCALARS = [None, True, False, 0, 1, -1, 2, 1.5, 1e308, 2 ** 63, 10 ** 30, "true", "", "workspace", "shard", "vitest-json",
           "vitest", "all", "a*", "[", "(", "x" * 5000, "\u0000", "\ud800"]


def noise(r, depth=0):
    kind = r.random()
    if depth > 4 or kind < 0.35:
        return r.choice(SCALARS + COMMANDS)
    if kind < 0.6:
        return [noise(r, depth + 1) for _ in range(r.randrange(4))]
    return {r.choice(KEYS): noise(r, depth + 1) for _ in range(r.randrange(4))}


def step(r, depth=0):
    kind = r.random()
    if kind < 0.5:
        return r.choice(COMMANDS)
    if kind < 0.6 and depth < 3:
        return {"parallel": [step(r, depth + 1) for _ in range(r.randrange(4))]}
    s = {"command": r.choice(COMMANDS)}
    for _ in range(r.choice((0, 0, 1, 1, 2))):
        s[r.choice(KEYS[1:18])] = noise(r, 3)
    return s


def config(r):
    kind = r.random()
    if kind < 0.15:
        return noise(r)
    c = {"verify": {t: [step(r) for _ in range(r.randrange(1, 5))] for t in ("fast", "full")[:r.randrange(1, 3)]}}
    if kind < 0.5:
        c[r.choice(KEYS)] = noise(r)
    return c


def mangled(r, text):
    data = bytearray(text.encode("utf-8", "surrogatepass"))
    for _ in range(r.randrange(1, 6)):
        at = r.randrange(len(data) + 1)
        how = r.random()
        if how < 0.4 and at < len(data):
            data[at] = r.choice((r.randrange(256), *b'{}[]",:\\/'))
        elif how < 0.6:
            del data[at:at + r.randrange(1, 9)]
        elif how < 0.8:
            data[at:at] = bytes(r.choice(b'{}[]",:\\/*\n\0\xff\xef') for _ in range(r.randrange(1, 9)))
        else:
            data[at:at] = data[:r.randrange(len(data) + 1)]
    return bytes(data)


@each(range(10), "a hundred configs of noise, seed {0}: refused or run, never a crash", timeout=240)
def configs(w, seed):
    r, codes = random.Random(seed), {}
    for i in range(100):
        value = config(r)
        text = json.dumps(value, ensure_ascii=r.random() < 0.5)
        # What has been mangled could hold any command: it is planned, not run.
        mangle = r.random() < 0.5
        data = mangled(r, text) if mangle else text.encode("utf-8", "surrogatepass")
        w.config(data)
        x = w.verify("fast", "--jobs", "2", *(["--dry-run"] if mangle else []), secs=30)
        codes[x.code] = codes.get(x.code, 0) + 1
        assert x.code in (0, 1, 2), "config %d of seed %d: %r\n%r" % (i, seed, data[:3000], x)
        if x.code == 2:
            match(x.err, r"^geonosis: .+: .+", "stderr for %r" % data[:3000])
        elif not mangle:
            eq(w.report()["ok"], x.code == 0, "ok for %r" % data[:3000])
    assert codes.get(2), "nothing was refused: %r" % codes


@each((("nested arrays", "[" * 200000), ("nested objects", '{"verify": ' * 50000),
       ("nested groups", '{"verify": {"fast": [' + '{"parallel": [' * 30000 + '"true"' + "]}" * 30000 + "]}}"),
       ("nested comments", '{"verify": {"fast": ["true"]}} ' + "/*" * 100000), ("a long number", '{"verify": {"fast": ["false"]}, "caps": ' + "9" * 300000 + "}"),
       ("NUL bytes", "\0" * 100000), ("an endless string", '{"verify": {"fast": ["' + "a" * 3000000)), "a config of {0} is refused")
def hostile(w, _, text):
    w.config(text)
    w.refused("verify", "fast", secs=30)


@test("a config that is a directory, a fifo, a device or unreadable never hangs and is no green")
def config_kind(w):
    for make in (lambda p: os.mkdir(p), lambda p: os.mkfifo(p), lambda p: os.symlink("/dev/zero", p), lambda p: os.symlink(p, p),
                 lambda p: os.symlink("/proc/self/mem", p)):
        if w.exists("geonosis.json"):
            (os.rmdir if os.path.isdir(w.path("geonosis.json")) else os.unlink)(w.path("geonosis.json"))
        make(w.path("geonosis.json"))
        w.refused("verify", "fast", needles=["geonosis.json"], secs=20)


@test("300 steps and a group of 60 under 64 descriptors")
def few_descriptors(w):
    w.tiers(fast=["true"] * 300 + [{"parallel": ["true"] * 60}])
    w.green("fast", "--jobs", "4", before=lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (64, 64)))
    eq(len([s for s in w.report()["steps"] if s["ok"]]), 360, "green steps")


@test("no room for a process: not green, no hang, and the report says why")
def no_processes(w):
    if os.getuid() == 0:
        # The limit does not bind root; a limit of memory binds everyone.
        limit = lambda: resource.setrlimit(resource.RLIMIT_AS, (1 << 20, 1 << 20))  # noqa: E731
    else:
        limit = lambda: resource.setrlimit(resource.RLIMIT_NPROC, (0, 0))  # noqa: E731
    w.tiers(fast=["true"])
    try:
        r = w.verify("fast", before=limit, secs=20)
    except PermissionError:
        return
    assert r.code != 0, repr(r)


@test("a tier of a thousand steps, and a command of 300 KB: whole, or a clear refusal")
def large(w):
    w.tiers(fast=["true"] * 1000, long=[": %s; touch RAN2" % ("x" * 300000)])
    w.green("fast")
    eq(len(w.report()["steps"]), 1000, "steps")
    r = w.verify("long")
    if r.code == 0:
        eq(w.exists("RAN2"), True, "green, and it did not run")
    else:
        assert r.code in (1, 2), repr(r)


@test("tiers that multiply without end are planned in bounded time")
def tier_bomb(w):
    v = {"t0": ["true"]}
    for i in range(1, 50):
        v["t%d" % i] = ["t%d" % (i - 1)] * 3
    w.config({"verify": v})
    w.green("t49", secs=30)
    eq([s["id"] for s in w.report()["steps"]], ["t0/1"], "ids")


@test("runs on top of one another in one directory with several tiers: each has its own verdict")
def at_once(w):
    w.tiers(**{"t%d" % i: ["sleep 0.0%d; exit %d" % (i % 10, i % 2)] for i in range(12)})
    runs = [w.start("verify", "t%d" % i, "--report", "r%d" % i) for i in range(12)]
    for i, run in enumerate(runs):
        eq((run.wait(60).code, w.report("r%d" % i)["ok"]), (i % 2, i % 2 == 0), "run %d" % i)
