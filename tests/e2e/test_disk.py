# SPDX-License-Identifier: MIT
"""Places that cannot be written, that are something else, that are full."""
import json
import os
import shlex
import stat

from harness import REPORT, Skip, each, eq, has, lacks, match, test

SAYS = "seq 1 30000; echo the cause; exit 3"


def red_with_report(w, r):
    eq(r.code, 1, "exit code (%r)" % r)
    s = w.step()
    eq((s["exitCode"], w.tail()[-1]), (3, "the cause"), "the step in the report")
    match(r.both, r"(?m)^.*WARN.*log.*$", "a WARN of the log")


@each((("full", "mount -t tmpfs -o size=16k none .geonosis/logs && dd if=/dev/zero of=.geonosis/logs/fill bs=4k 2>/dev/null; true"),
       ("read-only", "mount -t tmpfs -o ro none .geonosis/logs"),
       ("nearly full", "mount -t tmpfs -o size=32k none .geonosis/logs")),
      "a log directory that is {0}: a WARN, the verdict and the report stay")
def log_directory(w, _, mount):
    w.tiers(fast=[SAYS])
    os.makedirs(w.path(".geonosis/logs"))
    red_with_report(w, w.mounted('%s || exit 99; exec "$0" verify fast' % mount))


@each((([],), (["--json"],)), "a plan that cannot be written (--dry-run {0} on a full disk) is exit 2; one whose reader left is not")
def plan_lost(w, args):
    w.tiers(fast=["true"])
    words = " ".join(args)
    r = w.shell('"$0" verify fast --dry-run %s >/dev/full' % words)
    eq(r.code, 2, "exit code (%r)" % r)
    match(r.err, r"^geonosis: standard output: .+", "stderr")
    r = w.shell('{ "$0" verify fast --dry-run %s; echo "code $?" >&2; } | true' % words)
    has(r.err, "code 0", "stderr")


@test("no log, with --json: the WARN is on stderr, the events alone on stdout")
def log_directory_json(w):
    w.tiers(fast=[SAYS])
    w.write(".geonosis/logs", "in the way")
    r = w.verify("fast", "--json")
    red_with_report(w, r)
    eq((len(r.err.splitlines()), "WARN: log of fast/1" in r.err, "WARN" in r.out), (1, True, False), "lines and words of stderr, of stdout")


@test("a log directory that is full, and a green: exit 0, no half log said to be whole")
def log_directory_green(w):
    w.tiers(fast=["seq 1 30000"])
    os.makedirs(w.path(".geonosis/logs"))
    r = w.mounted('mount -t tmpfs -o size=16k none .geonosis/logs; dd if=/dev/zero of=.geonosis/logs/fill bs=4k 2>/dev/null; exec "$0" verify fast')
    eq((r.code, w.report()["ok"]), (0, True), "exit code, ok (%r)" % r)


@each((("logs", "a file"), ("logs/fast", "a file"), ("logs", "a dangling link"), ("logs/fast", "a dangling link")),
      ".geonosis/{0} is {1}: a WARN or a directory in its place, and the verdict stays")
def log_in_the_way(w, name, what):
    w.tiers(fast=[SAYS])
    path = w.path(".geonosis/" + name)
    os.makedirs(os.path.dirname(path))
    if what == "a file":
        w.write(path, "mine")
    else:
        os.symlink(w.beside("nowhere"), path)
    r = w.red("fast")
    eq((w.step()["exitCode"], w.tail()[-1]), (3, "the cause"), "the step")
    eq(os.path.exists(w.beside("nowhere")), False, "what the link points to was made")
    if "log" in w.step() and w.step()["log"]:
        assert w.log().endswith(b"the cause\n"), "a log is named that is not there"
    else:
        match(r.both, r"(?m)^.*WARN.*log.*$", "a WARN of the log")


@each(("logs", "logs/fast"), ".geonosis/{0} is a link to a directory of somebody's: nothing in it is removed")
def log_link(w, name):
    w.tiers(fast=["echo said; exit 3"])
    theirs = w.beside("theirs")
    os.makedirs(theirs + "/fast")
    for keep in ("/keep", "/fast/keep"):
        w.write(theirs + keep, "precious")
    os.makedirs(os.path.dirname(w.path(".geonosis/" + name)), exist_ok=True)
    os.symlink(theirs, w.path(".geonosis/" + name))
    w.red("fast")
    eq(w.step()["exitCode"], 3, "exitCode")
    eq((w.read(theirs + "/keep"), w.read(theirs + "/fast/keep")), ("precious", "precious"), "their files")


@test("a link inside the tier's log directory is removed, not followed")
def log_link_inside(w):
    w.tiers(fast=["true"])
    w.write(w.beside("theirs/keep"), "precious")
    os.makedirs(w.path(".geonosis/logs/fast"))
    os.symlink(w.beside("theirs"), w.path(".geonosis/logs/fast/link"))
    os.symlink(w.beside("theirs/keep"), w.path(".geonosis/logs/fast/fast-1.log"))
    w.green("fast")
    eq(os.listdir(w.path(".geonosis/logs/fast")) if w.exists(".geonosis/logs/fast") else [], [], "logs")
    eq(w.read(w.beside("theirs/keep")), "precious", "their file")


@test("a link laid where the log will be, during the run, is not written through")
def log_link_during(w):
    w.write(w.beside("theirs"), "precious")
    w.tiers(fast=["mkdir -p .geonosis/logs/fast; ln -sf %s .geonosis/logs/fast/fast-2.log" % w.beside("theirs"), "echo evil; exit 3"])
    w.red("fast")
    eq((w.step("fast/2")["exitCode"], w.read(w.beside("theirs"))), (3, "precious"), "exitCode, their file")


@each(("logs", "logs/fast"), "a step that removes .geonosis/{0} and is red: red, and a log that is named is there")
def log_directory_removed(w, name):
    w.tiers(fast=["rm -rf .geonosis/%s; %s" % (name, SAYS)])
    r = w.red("fast")
    eq((w.step()["exitCode"], w.tail()[-1]), (3, "the cause"), "the step")
    if w.step().get("log"):
        assert w.log().endswith(b"the cause\n"), "the log"
    else:
        match(r.both, r"(?m)^.*WARN.*log.*$", "a WARN of the log")


# -------------------------------------------------------------------- reports

@each(((".geonosis",), ("adir",), ("geonosis.json/r.json",), ("adir/",), ("a/geonosis.json/../../geonosis.json/r",)),
      "--report {0} is refused before the first step")
def report_refused(w, place):
    w.tiers(fast=["touch RAN"])
    os.makedirs(w.path("adir"))
    os.makedirs(w.path(".geonosis"))
    w.refused("verify", "fast", "--report", place, needles=[place.rstrip("/")])
    eq(os.listdir(w.path("adir")), [], "what was left behind")


@each((("a/b c/d/r.json",), ("./r.json",), (".geonosis/full.json",), ("ü\n.json",), ("x" * 250,)), "--report {0!r}: directories are made, the report is there")
def report_made(w, place):
    w.tiers(fast=["true"], bad=["exit 4"])
    w.green("fast", "--report", place)
    eq(w.report(place)["ok"], True, "ok")
    w.red("bad", "--report", place)
    eq(w.report(place)["ok"], False, "ok")
    eq(w.exists(REPORT), False, "a report at the usual place")


@test("--report to an absolute place, and its mode is the umask's")
def report_absolute(w):
    w.tiers(fast=["true"])
    w.green("fast", "--report", w.beside("r.json"), before=lambda: os.umask(0o027))
    eq((w.report(w.beside("r.json"))["ok"], stat.S_IMODE(os.stat(w.beside("r.json")).st_mode)), (True, 0o640), "ok, mode")


@test("--report through a link: the link stays, its target has the report")
def report_link(w):
    w.tiers(fast=["true"], bad=["exit 1"])
    w.write(w.beside("target"), "old")
    os.symlink(w.beside("target"), w.path("link"))
    os.symlink("link", w.path("second"))
    w.green("fast", "--report", "second")
    eq((os.path.islink(w.path("link")), os.path.islink(w.path("second"))), (True, True), "links")
    eq(w.report(w.beside("target"))["ok"], True, "ok")
    w.red("bad", "--report", "link")
    eq(w.report(w.beside("target"))["ok"], False, "ok")


@test("--report through a link that dangles: the target is made, or it is refused; the link stays")
def report_dangling(w):
    w.tiers(fast=["true"])
    os.symlink(w.beside("target"), w.path("link"))
    r = w.verify("fast", "--report", "link")
    eq(os.path.islink(w.path("link")), True, "the link")
    if r.code == 0:
        eq(w.report(w.beside("target"))["ok"], True, "ok")
    else:
        eq(r.code, 2, "exit code (%r)" % r)


@test("--report through links that go round is refused")
def report_loop(w):
    w.tiers(fast=["touch RAN"])
    os.symlink("b", w.path("a"))
    os.symlink("a", w.path("b"))
    w.refused("verify", "fast", "--report", "a", needles=["a"])


@each((("fast", 0), ("bad", 1)), "--report /dev/null: nothing is replaced; {0} is {1}")
def report_null(w, tier, code):
    w.tiers(fast=["true"], bad=["false"])
    r = w.verify(tier, "--report", "/dev/null")
    eq((r.code, stat.S_ISCHR(os.lstat("/dev/null").st_mode)), (code, True), "exit code, a device (%r)" % r)


@test("--report to a fifo goes through it")
def report_fifo(w):
    w.tiers(fast=["true"])
    os.mkfifo(w.path("fifo"))
    r = w.shell('cat fifo >got & "$0" verify fast --report fifo; c=$?; exec 9<>fifo; exec 9>&-; wait; exit $c', secs=30)
    eq((r.code, stat.S_ISFIFO(os.lstat(w.path("fifo")).st_mode)), (0, True), "exit code, a fifo (%r)" % r)
    has(w.read("got"), '"tier": "fast"', "what came through")


@test("--report /dev/full: exit 2 on green, never 0; red stays no green")
def report_full(w):
    w.tiers(fast=["true"], bad=["false"])
    r = w.verify("fast", "--report", "/dev/full")
    eq(r.code, 2, "exit code (%r)" % r)
    match(r.err, r"^geonosis: .+: .+", "stderr")
    eq(w.verify("bad", "--report", "/dev/full").code in (1, 2), True, "a red")


@each(("file", "directory link", "dangling link"), ".geonosis is a {0}: exit 2 or a report, and nothing of it is harmed")
def geonosis_is(w, what):
    w.tiers(fast=["true"])
    if what == "file":
        w.write(".geonosis", "mine")
    else:
        os.symlink(w.beside("theirs"), w.path(".geonosis"))
        if what == "directory link":
            w.write(w.beside("theirs/keep"), "precious")
    r = w.verify("fast")
    if what == "file":
        eq((r.code, w.read(".geonosis")), (2, "mine"), "exit code, the file (%r)" % r)
        match(r.err, r"^geonosis: .+: .+", "stderr")
        return
    eq(os.path.islink(w.path(".geonosis")), True, "the link")
    if r.code == 0:
        eq(w.report()["ok"], True, "ok")
    else:
        eq(r.code, 2, "exit code (%r)" % r)
    if what == "directory link":
        eq(w.read(w.beside("theirs/keep")), "precious", "their file")


@each((("green", "seq 1 100", (2,)), ("red", "seq 1 200000; exit 1", (1, 2))), "a full disk under .geonosis: {0} is {2}, never 0, and no half report")
def disk_full(w, _, command, codes):
    w.tiers(fast=[command])
    os.mkdir(w.path(".geonosis"))
    r = w.mounted('mount -t tmpfs -o size=16k none .geonosis || exit 99; dd if=/dev/zero of=.geonosis/fill bs=4k 2>/dev/null; '
                  '"$0" verify fast; c=$?; ls -A .geonosis >left; cat .geonosis/gate-report.json >rep 2>/dev/null; exit $c')
    assert r.code in codes, repr(r)
    match(r.err, r"^geonosis: .+: .+" if r.code == 2 else "", "stderr")
    if w.exists("rep") and w.read("rep"):
        eq(json.loads(w.read("rep"))["ok"], False, "a report that was left")
    eq([x for x in w.read("left").split() if "tmp" in x], [], "temporary files")


@test("a disk that fills up during the run: exit 2, and the report that is there is none of a green")
def disk_fills(w):
    w.tiers(fast=["dd if=/dev/zero of=.geonosis/fill bs=4k 2>/dev/null; true"])
    os.mkdir(w.path(".geonosis"))
    r = w.mounted('mount -t tmpfs -o size=64k none .geonosis || exit 99; "$0" verify fast; c=$?; cp .geonosis/gate-report.json rep; exit $c')
    if r.code == 0:
        eq(json.loads(w.read("rep"))["ok"], True, "exit 0 without its report")
        return
    eq(r.code, 2, "exit code (%r)" % r)
    eq((json.loads(w.read("rep"))["ok"], json.loads(w.read("rep"))["unfinished"]), (False, True), "the report that was there")


@test("a read-only directory: exit 2 with the place, before the first step")
def read_only(w):
    w.tiers(fast=["touch %s" % w.beside("RAN")])
    r = w.mounted('mount --bind . . && mount -o remount,bind,ro . || exit 99; cd "$PWD"; exec "$0" verify fast')
    eq((r.code, os.path.exists(w.beside("RAN"))), (2, False), "exit code, whether it ran (%r)" % r)
    has(r.err, ".geonosis", "stderr")


@test("a read-only directory, the report elsewhere: the run has its verdict")
def read_only_elsewhere(w):
    w.tiers(fast=["echo x; exit 3"])
    r = w.mounted('mount --bind . . && mount -o remount,bind,ro . || exit 99; cd "$PWD"; exec "$0" verify fast --report %s'
                  % shlex.quote(w.beside("r.json")))
    # No lock of the directory can be taken either: a refusal is an answer, a green is none.
    assert r.code in (1, 2), repr(r)
    if r.code == 1:
        eq(w.report(w.beside("r.json"))["steps"][0]["exitCode"], 3, "exitCode")


@test("the working directory vanishes: not green")
def vanished(w):
    d = w.beside("gone")
    os.mkdir(d)
    w.write(d + "/geonosis.json", json.dumps({"verify": {"fast": ["rm -rf " + d, "true"]}}))
    r = w.run("verify", "fast", cwd=d)
    assert r.code in (1, 2), repr(r)


@test("no /dev/shm: the run goes on with a WARN; --exclusive is refused")
def no_shared_memory(w):
    w.tiers(fast=["echo ran >ran"])
    r = w.mounted('mount -t tmpfs -o ro none /dev/shm || exit 99; "$0" verify fast; c=$?; "$0" verify fast --exclusive; echo $? >exclusive; exit $c')
    if "not available in this version" in r.err:
        raise Skip("no slots in this version")
    eq((r.code, w.read("ran"), w.read("exclusive").strip()), (0, "ran\n", "2"), "exit code, what ran, --exclusive (%r)" % r)
    has(r.both, "WARN", "output")


@test("a temporary directory that is absent, full or read-only leaves the verdict")
def no_tmp(w):
    w.tiers(fast=["echo x; exit 3"], good=["true"])
    for tmp in (w.beside("absent"), "/proc"):
        eq((w.verify("fast", env={"TMPDIR": tmp}).code, w.verify("good", env={"TMPDIR": tmp}).code), (1, 0), "TMPDIR=" + tmp)
    lacks(w.read(REPORT), "unfinished", "report")
