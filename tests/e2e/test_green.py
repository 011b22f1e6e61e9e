# SPDX-License-Identifier: MIT
"""The record of a green: whole or not there, this user's own, of this tree; and what it answers."""
import json
import os
import random
import re
import shutil
import signal
import socket
import subprocess
import time

from harness import Skip, each, eq, has, lacks, match, test, until

GREEN = "already green on this tree"
RECORD = ".geonosis/green-fast.json"
MARK = "refs/geonosis/verified"
COUNT = 'echo x >> "$COUNT"'


def git(w, *args, cwd=None, check=True):
    p = subprocess.run(["git", "-c", "user.name=t", "-c", "user.email=t@example.invalid", *args], cwd=cwd or w.dir,
                       env=w.env, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    assert p.returncode == 0 or not check, p.stderr.decode(errors="replace")
    return p.stdout.decode().strip() if p.returncode == 0 else None


def begin(w, **config):
    """a repository whose tier counts its runs, green once"""
    w.env["COUNT"] = w.beside("count")
    w.config(dict({"verify": {"fast": [COUNT]}}, **config))
    w.repository()
    w.green("fast")
    eq(runs(w), 1, "runs")


def runs(w):
    if not os.path.exists(w.env["COUNT"]):
        return 0
    with open(w.env["COUNT"]) as f:
        return len(f.readlines())


def replays(w, *args, **kw):
    before = runs(w)
    r = w.green("fast", *args, **kw)
    has(r.out, GREEN)
    eq(runs(w), before, "runs after an answer from the record")
    return r


def reruns(w, *args, code=0, **kw):
    before = runs(w)
    r = w.verify("fast", *args, **kw)
    eq(r.code, code, "exit of %r" % r)
    lacks(r.out, GREEN)
    eq(runs(w), before + 1, "runs (%r)" % r)
    return r


# --------------------------------------------------------- what is no record

def put(change):
    def fn(w):
        o = json.loads(w.read(RECORD))
        change(o)
        w.write(RECORD, json.dumps(o, indent=2) + "\n")
    return fn


def text(change):
    return lambda w: w.write(RECORD, change(w.bytes(RECORD)))


def replace_by(make):
    def fn(w):
        path = w.path(RECORD)
        os.rename(path, w.beside("was"))
        make(w, path)
    return fn


def sock(w, path):
    s = socket.socket(socket.AF_UNIX)
    here = os.getcwd()
    os.chdir(os.path.dirname(path))
    s.bind(os.path.basename(path))
    os.chdir(here)


def owned(w):
    if os.geteuid() != 0:
        raise Skip("only root can give a file away")
    os.chown(w.path(RECORD), 65534, -1)


def field(name, value):
    return "%s is %r" % (name, value), put(lambda o: o.__setitem__(name, value))


def in_report(name, value):
    return "report.%s is %r" % (name, value), put(lambda o: o["report"].__setitem__(name, value))


BAD = [
    field("format", 2), field("format", "1"), field("format", 1.5), field("tier", "full"), field("directory", "/"),
    field("inputs", "0" * 40), field("flags", "--affected"), field("finishedAt", "2020-01-01T00:00:00.000Z"),
    field("movesMark", False), field("movesMark", "true"), field("seal", "0" * 40), field("seal", None), field("report", {}),
    field("report", None), in_report("ok", False), in_report("tier", "full"), in_report("steps", []),
    in_report("inputs", "x"), in_report("startedAt", "x"),
    *[("%s gone" % n, put(lambda o, n=n: o.pop(n))) for n in ("format", "tier", "directory", "inputs", "flags", "finishedAt",
                                                             "movesMark", "report", "seal")],
    ("a step's tail edited", put(lambda o: o["report"]["steps"][0].__setitem__("tail", "x"))),
    ("empty", text(lambda t: b"")), ("one byte", text(lambda t: t[:1])), ("NULs", text(lambda t: b"\0" * len(t))),
    ("doubled", text(lambda t: t + t)), ("garbage after it", text(lambda t: t + b"x")),
    ("cut by a byte that matters", text(lambda t: t.rstrip()[:-1])), ("half", text(lambda t: t[:len(t) // 2])),
    ("its second half", text(lambda t: t[len(t) // 2:])),
    ("a list", text(lambda t: b"[" + t + b"]")), ("deep", text(lambda t: b"[" * 100000)),
    ("a key twice", text(lambda t: t.replace(b'"seal"', b'"flags": "--affected", "seal"', 1))),
    ("group-writable", lambda w: os.chmod(w.path(RECORD), 0o664)), ("world-writable", lambda w: os.chmod(w.path(RECORD), 0o646)),
    ("another user's", owned),
    ("a link to a record", replace_by(lambda w, p: os.symlink(w.beside("was"), p))),
    ("a link to nothing", replace_by(lambda w, p: os.symlink("nowhere", p))),
    ("a link to itself", replace_by(lambda w, p: os.symlink("green-fast.json", p))),
    ("a fifo", replace_by(lambda w, p: os.mkfifo(p))), ("a socket", replace_by(sock)),
    ("a directory", replace_by(lambda w, p: os.mkdir(p))),
    ("a directory with a file", replace_by(lambda w, p: (os.mkdir(p), open(p + "/x", "w").close()))),
    ("a device", replace_by(lambda w, p: os.symlink("/dev/zero", p))),
    ("another tier's", lambda w: os.rename(w.path(RECORD), w.path(".geonosis/green-full.json"))),
]


@each(BAD, "a record that is none: {0}")
def bad_record(w, name, spoil):
    begin(w)
    replays(w)
    spoil(w)
    reruns(w, secs=20)


@each([0o000, 0o002, 0o077], "a record that was made under umask {0:o} is one")
def umask(w, mask):
    w.env["COUNT"] = w.beside("count")
    w.tiers(fast=[COUNT])
    w.repository()
    w.green("fast", before=lambda: os.umask(mask))
    eq(os.stat(w.path(RECORD)).st_mode & 0o022, 0, "who else may write")
    replays(w, before=lambda: os.umask(mask))
    eq(w.run("verify", "green", "record", "up", before=lambda: os.umask(mask)).code, 0, "green record")
    eq(w.run("verify", "green", "check", "up").code, 0, "green check")


@test("no prefix of a record is one", timeout=120)
def prefixes(w):
    begin(w)
    whole = w.bytes(RECORD)
    for i in range(0, len(whole) - 1, max(1, len(whole) // 40)):
        w.write(RECORD, whole[:i])
        lacks(w.run("verify", "green", "tier", "fast").out, "green fast")
        eq(w.run("verify", "green", "tier", "fast").code, 1, "green tier, %d bytes of %d" % (i, len(whole)))
    w.write(RECORD, whole)
    eq(w.run("verify", "green", "tier", "fast").code, 0, "green tier with all of it")


@test("no flipped byte of a record makes another one", timeout=120)
def flipped(w):
    begin(w)
    whole, rng = w.bytes(RECORD), random.Random(1)
    for _ in range(60):
        i = rng.randrange(len(whole))
        w.write(RECORD, whole[:i] + bytes([whole[i] ^ (1 << rng.randrange(8))]) + whole[i + 1:])
        r = w.verify("fast")
        eq(r.code, 0, "exit of %r" % r)
        if GREEN in r.out:
            # What does not matter to JSON may differ: the answer is the record's all the same.
            eq(json.loads(w.read(RECORD)), json.loads(whole), "the record that was believed, byte %d" % i)
        w.write(RECORD, whole)


@test("a .geonosis that was copied with its tree to another place is no record there")
def copied(w):
    begin(w)
    for how in (["cp", "-a"], ["cp", "-r"]):
        to = w.beside("copy" + how[1])
        subprocess.run([*how, w.dir, to], check=True)
        reruns(w, cwd=to)
        replays(w, cwd=to)
    replays(w)
    # Moved to where it was made, it is its own again; the tree in its place has another's.
    os.rename(w.dir, w.beside("away"))
    os.rename(w.beside("copy-a"), w.dir)
    reruns(w)


@test("a record of another version of the program is none")
def version(w):
    begin(w)
    from harness import binary
    with open(binary(), "rb") as f:
        data = f.read()
    said = w.run("--version").out.split()[-1].encode()
    other = said[:-1] + (b"9" if said[-1:] != b"9" else b"8")
    if data.count(said + b"\0") == 0:
        raise Skip("the version is not one string of the program")
    twin = w.beside("twin")
    with open(twin, "wb") as f:
        f.write(data.replace(said + b"\0", other + b"\0"))
    os.chmod(twin, 0o755)
    p = subprocess.run([twin, "verify", "fast"], cwd=w.dir, env=w.env, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    eq(p.returncode, 0, "exit of the other version: %r" % p.stderr)
    lacks(p.stdout.decode(), GREEN)
    eq(runs(w), 2, "runs")


@test("killed at any instant, a run leaves a whole record or none, and never the green of a red tree", timeout=240)
def killed(w):
    rng = random.Random(7)
    w.tiers(fast=["grep -q good state"])
    w.write("state", "good 0\n")
    w.repository()
    w.green("fast")
    began = time.monotonic()
    took = max(w.green("fast", "--fresh").secs, 0.01)
    for i in range(1, 61):
        good = rng.random() < 0.5
        w.write("state", "%s %d\n" % ("good" if good else "bad", i))
        r = w.start("verify", "fast", "--fresh")
        end = time.monotonic() + rng.random() * took * 1.5
        until(lambda: time.monotonic() >= end or r.ended(), 10, "its time", every=0.0005)
        r.signal(signal.SIGKILL)
        r.process.wait(10)
        if w.exists(RECORD):
            o = json.loads(w.read(RECORD))
            assert o["report"]["ok"] and o["seal"], o
        eq(w.run("verify", "green", "tier", "fast").code == 0 and not good, False, "the record calls a red tree green")
        if i % 4 == 0:
            eq(w.verify("fast").code, 0 if good else 1, "the verdict after a kill (round %d)" % i)
        if time.monotonic() - began > 150:
            break
    litter = [n for n in os.listdir(w.path(".geonosis")) if n.startswith("green-") and n != "green-fast.json"]
    assert len(litter) <= 30, litter


# ------------------------------------------------------------- what is answered

LINE = r"^green fast already green on this tree ([0-9a-f]{12}) since (\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z)%s — " \
       r"nothing re-run; --fresh runs it again$"


@each([((), ""), (("--affected",), r" \(--affected\)"), (("--require-work",), r" \(--require-work\)"),
       (("--require-work", "--affected"), r" \(--affected --require-work\)")], "the line of an answer, {0}")
def line(w, flags, shown):
    begin(w)
    w.green("fast", "--fresh", *flags)
    report = w.report()
    found = match(replays(w, *flags).out, LINE % shown)
    eq(found.group(2), report["finishedAt"], "since")
    eq(report["inputs"][:12], found.group(1), "the tree named, and the report's inputs")
    # Other flags are another question.
    other = () if flags else ("--affected",)
    reruns(w, *other)


@test("the report of an answer is that run's, with replayed: true, wherever it is asked for")
def replayed(w):
    begin(w)
    first = w.report()
    assert "replayed" not in first, first
    replays(w)
    eq(w.report(), dict(first, replayed=True), "report")
    replays(w, "--report", "deep/er/report.json")
    eq(w.report("deep/er/report.json"), dict(first, replayed=True), "report elsewhere")
    os.remove(w.path("deep/er/report.json"))
    os.removedirs(w.path("deep/er"))
    os.remove(w.path(".geonosis/gate-report.json"))
    replays(w)
    eq(w.report(), dict(first, replayed=True), "report that was gone")
    os.mkdir(w.path("dir"))
    eq(w.verify("fast", "--report", "dir").code, 2, "an answer whose report cannot be written")


@test("--json answers with events and nothing else")
def events(w):
    begin(w)
    r = w.green("fast", "--json")
    for got in [json.loads(l) for l in r.out.splitlines()]:
        assert "event" in got, r
    eq(runs(w), 1, "runs")
    eq([json.loads(l)["event"] for l in r.out.splitlines()][-1], "end", "the last event")
    has(r.out, '"replayed":true')


@test("an answer moves the mark where its run would have, and nowhere else")
def moves(w):
    begin(w)
    head = git(w, "rev-parse", "HEAD")
    eq(git(w, "rev-parse", MARK), head, "mark")
    git(w, "update-ref", "-d", MARK)
    replays(w)
    eq(git(w, "rev-parse", MARK), head, "mark after the answer")
    git(w, "commit", "-q", "--allow-empty", "-m", "two")
    git(w, "update-ref", MARK, head)
    w.green("fast")
    git(w, "update-ref", MARK, head)
    replays(w)
    eq(git(w, "rev-parse", MARK), git(w, "rev-parse", "HEAD"), "mark that was put back")
    w.write("dirt", "x")
    w.green("fast")
    git(w, "update-ref", MARK, head)
    replays(w)
    eq(git(w, "rev-parse", MARK), head, "mark after the answer for a tree that is not HEAD's")


@test("an answer for a run that left workspaces out over main, which nobody verified, moves no mark")
def moves_not(w):
    w.env["COUNT"] = w.beside("count")
    w.write("package.json", '{"workspaces": ["p/*"]}')
    for n in "ab":
        w.write("p/%s/package.json" % n, '{"name": "%s"}' % n)
    w.tiers(fast=[{"command": COUNT + " {workspace}", "per": "workspace"}])
    w.repository()
    git(w, "checkout", "-q", "-b", "side")
    w.write("p/a/x", "x")
    git(w, "add", "-A")
    git(w, "commit", "-q", "-m", "a")
    w.green("fast", "--affected")
    eq(runs(w), 1, "workspaces that ran")
    eq(git(w, "rev-parse", "-q", "--verify", MARK, check=False), None, "mark")
    replays(w, "--affected")
    eq(git(w, "rev-parse", "-q", "--verify", MARK, check=False), None, "mark after the answer")


@test("green tier: no green of a tier that a run left workspaces of out over main, which nobody verified")
def tier_over_main(w):
    w.config({"verify": {"fast": [{"command": "test ! -e {workspace}/red", "per": "workspace"}]}})
    w.write("package.json", '{"workspaces": ["p/*"]}')
    w.write("p/a/package.json", '{"name": "a"}')
    w.write("p/b/package.json", '{"name": "b"}')
    w.write("p/b/red", "x")
    w.repository()
    git(w, "checkout", "-q", "-b", "topic")
    w.write("p/a/x", "x")
    git(w, "add", "-A")
    git(w, "commit", "-q", "-m", "a")
    w.green("fast", "--affected")
    has(w.green("fast", "--affected").out, GREEN)
    tool(w, "tier", "fast", code=1)
    os.unlink(w.path("p/b/red"))
    git(w, "commit", "-q", "-a", "-m", "b")
    w.green("fast")
    w.write("p/a/x", "y")
    w.green("fast", "--affected")
    tool(w, "tier", "fast")


@test("no record of a run with --since or --only, of a red one, or of one whose steps changed the tree")
def unrecorded(w):
    w.env["COUNT"] = w.beside("count")
    w.tiers(fast=[COUNT, 'test ! -e "$FLAG" || exit 1', 'test ! -e "$DIRT" || date +%N >> litter'])
    w.repository()
    w.env["FLAG"], w.env["DIRT"] = w.beside("flag"), w.beside("dirt")
    for args in (("--since", "HEAD"), ("--only", "fast/1")):
        w.green("fast", *args)
        assert not w.exists(RECORD), args
    w.write(w.beside("flag"), "")
    w.red("fast")
    assert not w.exists(RECORD)
    os.unlink(w.beside("flag"))
    w.write(w.beside("dirt"), "")
    w.green("fast")
    assert not w.exists(RECORD)
    os.unlink(w.beside("dirt"))
    w.green("fast")
    replays(w)
    # Neither is answered from it.
    before = runs(w)
    for args in (("--since", "HEAD"), ("--only", "fast/1"), ("--fresh",)):
        lacks(w.green("fast", *args).out, GREEN)
    eq(runs(w), before + 3, "runs")


@test("a red of the same key takes an older green away")
def contradicted(w):
    w.env["COUNT"] = w.beside("count")
    w.tiers(fast=[COUNT, 'test ! -e "$FLAG"'])
    w.env["FLAG"] = w.beside("flag")
    w.repository()
    w.green("fast")
    w.write(w.beside("flag"), "")
    replays(w)
    w.red("fast", "--fresh")
    assert not w.exists(RECORD)
    reruns(w, code=1)


@test("a red step takes away the green of the same tree with whatever flags, a flag's own demand only its own")
def contradicted_by_others(w):
    w.env["COUNT"] = w.beside("count")
    w.config({"verify": {"fast": [COUNT, {"command": 'test ! -e "$FLAG"; echo SKIP', "runner": True}]}})
    w.env["FLAG"] = w.beside("flag")
    w.repository()
    w.green("fast")
    w.write("code.js", "x")
    w.green("fast")
    has(w.red("fast", "--require-work", "--fresh").both, "code.js")
    replays(w)
    w.config({"verify": {"fast": [COUNT, 'test ! -e "$FLAG"']}})
    for args in (("--affected",), ("--require-work",), ("--only", "fast/2"), ("--since", "HEAD")):
        w.green("fast", "--fresh")
        replays(w)
        w.write(w.beside("flag"), "")
        w.red("fast", *args)
        assert not w.exists(RECORD), args
        os.unlink(w.beside("flag"))


@test("what the key covers: a value, an unset one, a file, the config, the install; and what it does not")
def key(w):
    begin(w, keyEnv=["MODE"], keyFiles=["ignored/vars"])
    secret = "s3cr3t-%d" % os.getpid()
    for env in ({"MODE": secret}, {"MODE": ""}, {}):
        reruns(w, env=env) if env else reruns(w)
        replays(w, env=env)
        lacks(w.read(RECORD) + w.read(".geonosis/gate-report.json"), secret, "the record")
    w.write(".git/info/exclude", "ignored\nnode_modules\n")
    w.write("ignored/vars", "1")
    reruns(w)
    w.write("ignored/vars", "2")
    reruns(w)
    os.unlink(w.path("ignored/vars"))
    reruns(w)
    w.write("node_modules/.package-lock.json", "{}")
    reruns(w)
    w.write("node_modules/x/index.js", "x")
    w.write("ignored/other", "x")
    replays(w)
    replays(w, "--jobs", "1")
    replays(w, "--keep-going")


@test("--require-work: a version cut is no code that wants a test, in any run")
def cut_wants_no_test(w):
    w.config({"verify": {"fast": [{"command": "echo SKIP", "runner": True}]}, "versionFiles": ["src/version.js"]})
    w.write("src/version.js", "export const v = '1.0.0'\n")
    w.repository()
    w.green("fast")
    for args in (("--require-work",), ("--require-work", "--affected")):
        w.write("src/version.js", "export const v = '1.1.0'\n")
        w.green("fast", "--fresh", *args)
        w.write("src/version.js", "export const v = '1.1.0' + x\n")
        has(w.red("fast", "--fresh", *args).both, "src/version.js")


@test("--require-work: a test that is deleted is none that came with the code")
def deleted_test(w):
    w.config({"verify": {"fast": [{"command": "echo SKIP", "runner": True}]}})
    w.write("x.test.js", "1")
    w.repository()
    w.green("fast")
    w.write("x.js", "1")
    os.unlink(w.path("x.test.js"))
    has(w.red("fast", "--require-work").both, "x.js")
    w.write("y.test.js", "1")
    w.green("fast", "--require-work")


# ----------------------------------------------------------------- a tool's own

def tool(w, *args, code=0):
    r = w.run("verify", "green", *args)
    eq(r.code, code, "green %s: %r" % (" ".join(args), r))
    return r


@test("green record and check: the tree and the question, and nothing of a tier's")
def tool_green(w):
    begin(w)
    tool(w, "check", "up", code=1)
    tool(w, "record", "up")
    match(tool(w, "check", "up").out, r'"name": "up"')
    tool(w, "check", "up", "--asked", "q", code=1)
    tool(w, "record", "up", "--asked", "q")
    match(tool(w, "check", "up", "--asked", "q").out, r'"asked": "q"')
    tool(w, "check", "up", code=1)
    tool(w, "check", "up", "--asked", "", code=2)
    w.write("new", "x")
    tool(w, "check", "up", "--asked", "q", code=1)
    tool(w, "record", "fast")
    os.unlink(w.path(RECORD))
    reruns(w)
    tool(w, "tier", "fast")
    w.write("newer", "x")
    tool(w, "tier", "fast", code=1)
    tool(w, "record", "fast")
    tool(w, "tier", "fast", code=1)
    tool(w, "tier", "nosuch", code=2)


@each(["a/b", "..", ".", "", "/", " ", "x" * 101, "a\nb/c", "../x"], "a tool's name that is not one path segment: {0!r}")
def tool_names(w, name):
    begin(w)
    before = sorted(os.listdir(w.root) + os.listdir(w.path(".geonosis")))
    for what in ("record", "check"):
        tool(w, what, name, code=2)
    eq(sorted(os.listdir(w.root) + os.listdir(w.path(".geonosis"))), before, "files")


TOOL = ".geonosis/tool-green-up.json"


@each([("cut", lambda w, p: w.write(p, w.bytes(p)[:-5])), ("empty", lambda w, p: w.write(p, "")),
       ("a list", lambda w, p: w.write(p, "[]")), ("another tree's", lambda w, p: w.write(p, re.sub(
           r'"tree": "[0-9a-f]', '"tree": "x', w.read(p)))),
       ("another's name", lambda w, p: os.rename(w.path(p), w.path(".geonosis/tool-green-other.json"))),
       ("a copy under another name", lambda w, p: w.write(p, w.read(p).replace('"up"', '"other"'))),
       ("group-writable", lambda w, p: os.chmod(w.path(p), 0o664)),
       ("another user's", lambda w, p: os.chown(w.path(p), 65534, -1) if os.geteuid() == 0 else w.write(p, "")),
       ("a link", lambda w, p: (os.rename(w.path(p), w.beside("was")), os.symlink(w.beside("was"), w.path(p)))),
       ("a fifo", lambda w, p: (os.unlink(w.path(p)), os.mkfifo(w.path(p)))),
       ("a directory", lambda w, p: (os.unlink(w.path(p)), os.mkdir(w.path(p))))], "a tool's record that is none: {0}")
def tool_bad(w, name, spoil):
    begin(w)
    tool(w, "record", "up")
    spoil(w, TOOL)
    tool(w, "check", "up", code=1)


@test("green where there is no repository is refused with the reason; green tier is no green there")
def tool_nowhere(w):
    w.tiers(fast=["true"])
    w.green("fast")
    for args in (("record", "up"), ("check", "up")):
        has(tool(w, *args, code=2).err, "repository")
    tool(w, "tier", "fast", code=1)
