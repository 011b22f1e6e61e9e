# SPDX-License-Identifier: MIT
"""The machine's slots as their users meet them: gate run, status, budget, and what verify makes of them."""
import fcntl
import json
import os
import re
import shlex
import signal
import struct
import termios
import time

from harness import (REPORT, Running, Skip, between, binary, each, eq, has, lacks, match, mis, misbehave, patience,
                     sanitized, test, token, until, with_mark, with_token)
from terminal import Terminal, ended, program

ONE, TWO = {"GEONOSIS_HEAVY_SLOTS": "1"}, {"GEONOSIS_HEAVY_SLOTS": "2"}
WHO = r"pid %d in %s \(%s\), %s since \d{4}-\d\d-\d\dT[\d:.]+Z"


class Hold:
    """`gate run` whose command goes on until it is let"""
    def __init__(self, w, *options, env=None, **kw):
        self.name = "hold-%d" % len(w.running)
        self.on, self.go, self.tok = w.beside(self.name + ".on"), w.beside(self.name + ".go"), token()
        self.run = w.start("gate", "run", *options, "--", misbehave(), "child", "touch", self.on,
                           "await", self.go, "say", self.tok, "exit", "0", env=env or ONE, **kw)
        self.pid = self.run.pid

    def is_on(self):
        return os.path.exists(self.on)

    def held(self):
        until(lambda: self.is_on() or self.run.ended(), 20, "gate run to start its command")
        assert self.is_on(), "gate run did not start its command: %r" % self.run.wait(1)
        return self

    def let(self, code=0):
        open(self.go, "w").close()
        eq(self.run.wait(20).code, code, "exit code of the holder")


def status(w, env=None):
    r = w.run("gate", "status", "--json", env=env)
    eq(r.code, 0, "exit code of gate status (%r)" % r)
    return json.loads(r.out)


def pids(w, what, env=None):
    return [x["pid"] for x in status(w, env)[what]]


def queued(w, *processes):
    """until they wait, in this order"""
    want = [p.pid for p in processes]
    until(lambda: pids(w, "waiting") == want, 20, lambda: "%s to wait: %s" % (want, status(w)))


def free(w):
    s = status(w)
    return not s["held"] and not s["waiting"] and s["free"] == s["budget"]


def gate(w, *words, **kw):
    return w.run("gate", "run", "--", *words, **kw)


# ------------------------------------------------------------ gate run: codes

@test("gate run exits with the command's own code, from 0 to 255")
def exit_codes(w):
    r = w.shell('for n in $(seq 0 255); do "$0" gate run -- sh -c "exit $n"; [ $? = $n ] || echo "$n: $?"; done')
    eq((r.out, r.err), ("", ""), "codes that were other ones, stderr")
    assert free(w)


@test("a command that a signal ended is 128 + n, as in a shell")
def exit_signals(w):
    for n in (*range(1, 17), 24, 25, 26, 27, 29, 30, 31, 34, 50, 64):
        if n in (signal.SIGSTOP, signal.SIGTSTP):
            continue
        r = gate(w, "sh", "-c", "ulimit -c 0; kill -%d $$" % n)
        eq((r.code, r.out, r.err), (128 + n, "", ""), "signal %d" % n)


@each((("no such command", ["no-such-command"], 127), ("no such path", ["./none/x"], 127),
       ("a directory", ["/tmp"], 126), ("not executable", ["./plain"], 126), ("no interpreter", ["./lost"], 127),
       ("a file as a directory", ["./plain/x"], 126), ("no name at all", [""], 127), ("a binary that is none", ["./junk"], 126),
       ("a name too long", ["./" + "x" * 300], 126)),
      "a command that cannot be started, {0}: {2}, and it is named")
def exit_unstarted(w, _, words, code):
    w.write("plain", "x")
    w.write("lost", "#!/no/such/interpreter\n", mode=0o755)
    w.write("junk", b"\x7fELF\x02\x01\x01" + b"\0" * 200, mode=0o755)
    r = gate(w, *words)
    eq((r.code, r.out), (code, ""), "exit code, stdout (%r)" % r)
    # What is no program is a script to a shell, which says so itself.
    match(r.err, r"^%s%s: .+" % ("" if words == ["./junk"] else "geonosis: gate run: ", re.escape(words[0])), "stderr")
    assert free(w)


@test("a script without #! runs as in a shell")
def script_without_interpreter(w):
    w.write("script", "echo \"$0 $1 $#\"; exit 7\n", mode=0o755)
    r = gate(w, "./script", "a b")
    eq((r.code, r.out, r.err), (7, "./script a b 1\n", ""), "code, output")


@each(((["--slots", "0"], "--slots"), (["--slots", "-1"], "--slots"), (["--slots", "x"], "--slots"),
       (["--slots", ""], "--slots"), (["--slot", "1"], "--slots"), (["--timeout", "soon"], "--timeout"),
       (["--timeout", "-1"], "--timeout"), (["--exlusive"], "--exclusive"),
       (["--slots", "1", "--exclusive"], "--exclusive"), (["--exclusive=yes"], "--exclusive"),
       (["--json"], "--json")), "gate run {0} is refused by name and runs nothing")
def refused_options(w, options, named):
    w.refused("gate", "run", *options, "--", "touch", "RAN", needles=[named])


@each(([], ["--"], ["--slots", "1"], ["--exclusive", "--"]), "gate run {0} without a command is refused")
def refused_without_command(w, options):
    w.refused("gate", "run", *options, needles=["gate run", "no command"])


@test("what follows the command is the command's")
def words_kept(w):
    r = gate(w, "sh", "-c", 'for a; do echo "[$a]"; done', "x", "a b", "--slots", "", "$HOME", "--", "-h")
    eq((r.code, r.lines()), (0, ["[a b]", "[--slots]", "[]", "[$HOME]", "[--]", "[-h]"]), "what it saw (%r)" % r)


# ------------------------------------------------ gate run: what it leaves alone

@test("stdin, stdout and stderr are the command's own, byte for byte")
def stdio(w):
    r = w.shell('printf "a\\0b\\377" | "$0" gate run -- sh -c "cat; echo err >&2" | od -An -tx1')
    eq((r.out.split(), r.err), (["61", "00", "62", "ff"], "err\n"), "what came through")


@test("directory, environment, limits and process group are the caller's; beside its stdio it has the hold alone")
def surroundings(w):
    os.mkdir(w.path("d e"))
    r = w.shell('cd "d e"; export KEPT=1; umask 027; "$0" gate run -- sh -c '
                '"pwd; umask; echo \\$KEPT; ps -o pgid= -p \\$\\$; ps -o pgid= -p $$"')
    lines = r.lines()
    eq(lines[:3], [w.path("d e"), "0027", "1"], "directory, umask, environment (%r)" % r)
    eq(lines[3], lines[4], "process group")
    fds = [x.split() for x in gate(w, misbehave(), "state").lines() if x.startswith("fd ")]
    beyond = [x for x in fds if int(x[1]) > 2]
    assert len(beyond) <= 1, "descriptors: %s" % fds


@test("the command knows what it holds: GEONOSIS_SLOTS, GEONOSIS_HEAVY_SLOT_HELD")
def told(w):
    r = w.run("gate", "run", "--slots", "3", "--", "sh", "-c", "echo $GEONOSIS_SLOTS; echo ${GEONOSIS_HEAVY_SLOT_HELD:?}")
    eq((r.code, r.lines()[0]), (0, "3"), "code, slots")
    r = w.run("gate", "run", "--exclusive", "--", "sh", "-c", "echo $GEONOSIS_SLOTS")
    eq(r.out, "4\n", "slots of an exclusive one")
    r = w.run("gate", "run", "--slots", "99", "--", "sh", "-c", "echo $GEONOSIS_SLOTS")
    eq(r.out, "4\n", "slots of one that asked for more than there are")


@test("signals that are ignored or blocked stay so in the command, and no other")
def dispositions(w):
    show = "grep -E '^Sig(Blk|Ign)' /proc/self/status"

    def seen(text):
        # 32 and 33 are the C library's own.
        return {k: int(v, 16) & ~(3 << 31) for k, v in re.findall(r"(Sig...):\s+(\w+)", text)}
    for before in ("", "trap '' INT HUP", "trap '' PIPE", "trap '' TERM USR1 QUIT"):
        bare = w.shell("%s\n%s" % (before, show)).out
        eq(seen(w.shell("%s\n\"$0\" gate run -- %s" % (before, show)).out), seen(bare), "signals after `%s`" % before)


COUNTING = """
for s in INT TERM HUP QUIT USR1 USR2 ALRM VTALRM PROF; do trap "echo $s >>%(got)s" $s; done
echo $$ >%(on)s.t; mv %(on)s.t %(on)s
while [ ! -e %(go)s ]; do sleep 0.02; done
exit 9
"""


def counting(w):
    """a command that writes down each signal it gets, until it is let go"""
    names = {k: w.beside(k) for k in ("got", "on", "go")}
    w.write(w.beside("counting"), COUNTING % names)
    w.write(names["got"], "")
    return names


def got(names):
    with open(names["got"]) as f:
        return f.read().split()


@test("a signal that is sent to gate run reaches the command, once, and gate run waits for its end")
def passed_once(w):
    n = counting(w)
    run = w.start("gate", "run", "--", "sh", w.beside("counting"))
    until(lambda: os.path.exists(n["on"]), 20, "the command")
    sent = ["INT", "TERM", "HUP", "QUIT", "USR1", "USR2", "ALRM", "VTALRM", "PROF"]
    for i, name in enumerate(sent, 1):
        run.signal(getattr(signal, "SIG" + name))
        until(lambda: len(got(n)) >= i, 20, "the command to get " + name)
    open(n["go"], "w").close()
    eq(run.wait(20).code, 9, "exit code")
    eq(got(n), sent, "signals that the command got")


@test("Ctrl-C and Ctrl-\\ on a terminal reach the command once")
def typed_once(w):
    n = counting(w)
    t = Terminal(w, program(w, "gate", "run", "--", "sh", w.beside("counting")))
    until(lambda: os.path.exists(n["on"]), 20, "the command")
    for i, (key, name) in enumerate((("C-c", "INT"), ("C-\\", "QUIT"), ("C-c", "INT")), 1):
        t.type(key)
        until(lambda: len(got(n)) >= i, 20, "the command to get " + name)
    open(n["go"], "w").close()
    eq(ended(w, 20), 9, "exit code")
    eq(got(n), ["INT", "QUIT", "INT"], "signals that the command got")


@test("a terminal that goes away is told to the command too, once, where gate run leads the session")
def hung_up(w):
    n = counting(w)
    ours, theirs = os.openpty()
    run = w.start("gate", "run", "--", "sh", w.beside("counting"), before=lambda: fcntl.ioctl(theirs, termios.TIOCSCTTY, 0))
    os.close(theirs)
    until(lambda: os.path.exists(n["on"]), 20, "the command")
    os.close(ours)
    until(lambda: got(n), 20, "the command to get a signal")
    open(n["go"], "w").close()
    eq(run.wait(20).code, 9, "exit code")
    eq(got(n), ["HUP"], "signals that the command got")


@test("the command has the terminal: it reads what is typed, knows its size, and is stopped and goes on with gate run")
def terminal_kept(w):
    w.write("asks", "[ -t 0 ] && [ -t 1 ] && [ -t 2 ] || echo no terminal\nstty size\n"
            "echo ready; read x; echo \"got <$x>\"; tty >/dev/null && exit 5\n")
    t = Terminal(w, program(w, "gate", "run", "--", "sh", "asks"), 91, 17)
    until(lambda: "ready" in t.text(), 20, "the command")
    t.type("some words", "Enter")
    eq(ended(w, 20), 5, "exit code")
    eq([x for x in t.lines() if x != "some words"], ["17 91", "ready", "got <some words>"], "the screen")


@test("what the command says on a terminal is all there is, and a stopped one is fg-able")
def terminal_stopped(w):
    script = w.write("job.sh", 'set -m; PS1=; "$1" gate run -- sh -c "echo one; kill -STOP 0; echo two"; '
                     'echo stopped $?; fg >/dev/null; echo ended $?\n')
    t = Terminal(w, "bash %s %s; sleep 60" % (shlex.quote(script), shlex.quote(binary())))
    until(lambda: "ended 0" in t.text(), 20, lambda: "the job to be stopped and to go on: " + t.text())
    lines = t.lines()
    eq(lines[0], "one", "first line")
    assert lines.index("two") > lines.index("one"), lines
    assert any(re.match(r"stopped 1\d\d", x) for x in lines), lines


@test("a signal while it waits ends it: 128 + n, nothing has run and nothing is held")
def signal_while_waiting(w):
    hold = Hold(w).held()
    for sig in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGKILL):
        run = w.start("gate", "run", "--", "touch", "RAN", env=ONE)
        queued(w, run)
        run.signal(sig)
        eq(run.wait(patience(2)).code, -9 if sig == signal.SIGKILL else 128 + sig, "exit code")
        until(lambda: pids(w, "waiting") == [], 5, "the queue to be empty")
    hold.let()
    assert free(w) and not w.exists("RAN")


@test("Ctrl-C in the very moment the slot comes: the command does not run on without it")
def typed_at_the_grant(w):
    hold = Hold(w).held()
    t = Terminal(w, program(w, "gate", "run", "--", misbehave(), "touch", w.beside("ran"), "exit", "0"), env=ONE)
    until(lambda: pids(w, "waiting"), 20, "the waiter")
    waiter = pids(w, "waiting")[0]
    send(w, waiter, signal.SIGSTOP)
    hold.let()
    t.type("C-c")
    until(lambda: signal_is_pending(waiter, signal.SIGINT), 5, "the signal")
    send(w, waiter, signal.SIGCONT)
    eq((ended(w, 20), os.path.exists(w.beside("ran"))), (130, False), "exit code, whether the command ran")


def send(w, pid, sig):
    """to a process that is surely one of this test's, though not our own child"""
    with open(os.pidfd_open(pid)) as held:
        assert pid in with_mark(w.mark)
        signal.pidfd_send_signal(held.fileno(), sig)


def signal_is_pending(pid, sig):
    with open("/proc/%d/status" % pid) as f:
        masks = [int(x.split()[1], 16) for x in f if x.startswith(("SigPnd", "ShdPnd"))]
    return any(m >> (sig - 1) & 1 for m in masks)


@test("SIGKILL of gate run: the slot is kept until its command has ended, and is free at once then")
def killed(w):
    hold = Hold(w).held()
    after = w.start("gate", "run", "--", "touch", w.beside("after"), env=ONE)
    queued(w, after)
    hold.run.signal(signal.SIGKILL)
    eq(hold.run.wait(5).code, -9, "exit code")
    # Another look at the queue, and it has settled: still no slot.
    r = w.run("gate", "run", "--timeout", "1", "--", "touch", "RAN", env=ONE)
    eq((r.code, os.path.exists(w.beside("after"))), (2, False), "a slot while the command goes on")
    open(hold.go, "w").close()
    eq(after.wait(patience(2)).code, 0, "exit code of the next")
    assert os.path.exists(w.beside("after")) and not w.exists("RAN")
    until(lambda: free(w), 5, "all slots to be free")


@test("SIGKILL of gate run: a script that opens files by numbers of its own keeps its slot all the same")
def killed_with_numbers(w):
    on, go = w.beside("on"), w.beside("go")
    w.write("script", "exec %s\n: >%s\nwhile [ ! -e %s ]; do sleep 0.02; done\n" % (
        " ".join("%d>f%d" % (i, i) for i in range(3, 10)), on, go))
    run = w.start("gate", "run", "--", "sh", "script", env=ONE)
    until(lambda: os.path.exists(on), 20, "the command")
    run.signal(signal.SIGKILL)
    eq(run.wait(5).code, -9, "exit code")
    r = w.run("gate", "run", "--timeout", "0", "--", "touch", "RAN", env=ONE)
    eq((r.code, w.exists("RAN")), (2, False), "a slot while the command goes on")
    open(go, "w").close()
    eq(w.run("gate", "run", "--timeout", "20", "--", "true", env=ONE).code, 0, "exit code of the next")


@test("what the command leaves behind does not keep the slot after a normal end")
def left_behind(w):
    tok = token()
    began = time.monotonic()
    run = w.start("gate", "run", "--", "sh", "-c", mis("double", "session", "sleep", tok) + "; exit 3", env=ONE)
    eq(run.wait(20).code, 3, "exit code")
    eq(len(with_token(tok)), 1, "what is left behind")
    eq(w.run("gate", "run", "--timeout", "5", "--exclusive", "--", "true", env=ONE).code, 0, "exit code of the next")
    assert time.monotonic() - began < patience(8) and free(w)


@test("a command that ends while a child of it goes on: gate run ends with it, and not with the pipe")
def pipe_holder(w):
    tok = token()
    run = w.start("gate", "run", "--", "sh", "-c", mis("bg", "sleep", tok) + "; exit 4")
    eq(run.wait(patience(5)).code, 4, "exit code")
    eq(len(with_token(tok)), 1, "the child")


# ------------------------------------------------------------------- waiting

@test("first come, first served")
def in_order(w):
    hold = Hold(w).held()
    order, waiters = w.beside("order"), []
    for i in range(5):
        waiters.append(w.start("gate", "run", "--", "sh", "-c", "echo %d >>%s" % (i, order), env=ONE))
        queued(w, *waiters)
    hold.let()
    for x in waiters:
        eq(x.wait(20).code, 0, "exit code")
    eq(w.read(order).split(), list("01234"), "order")


@each((("--slots", "2"), ("--exclusive",)), "a stream of small requests does not starve {0}")
def not_starved(w, *wide):
    first = Hold(w, env=TWO).held()
    order = w.beside("order")
    big = w.start("gate", "run", *wide, "--", "sh", "-c", "echo big >>" + order, env=TWO)
    queued(w, big)
    small = [w.start("gate", "run", "--", "sh", "-c", "echo small >>" + order, env=TWO) for _ in range(4)]
    until(lambda: len(pids(w, "waiting")) == 5, 20, "all to wait, though a slot is free")
    eq((pids(w, "waiting")[0], status(w)["free"], os.path.exists(order)), (big.pid, 1, False), "head of the queue, free, ran")
    first.let()
    for x in (big, *small):
        eq(x.wait(20).code, 0, "exit code")
    eq(w.read(order).split()[0], "big", "who was first")


@test("gate run says on stderr whom it waits for, and --timeout names them: exit 2, in time")
def waits_for(w):
    hold = Hold(w).held()
    r = w.run("gate", "run", "--timeout", "1", "--", "touch", "RAN", env=ONE)
    who = WHO % (hold.pid, re.escape(w.dir), ".*", "1 slot")
    match(r.err, r"^geonosis: gate run: waits for slots held by " + who, "stderr")
    match(r.err, r"^geonosis: gate run: .*--timeout.*" + who, "stderr")
    eq((r.code, r.out, w.exists("RAN")), (2, "", False), "code, stdout, whether it ran")
    between(1, r.secs, 1 + patience(2), "seconds")
    hold.let()


@test("--timeout 0 takes what is free and waits for nothing")
def timeout_zero(w):
    eq(w.run("gate", "run", "--timeout", "0", "--", "true", env=ONE).code, 0, "exit code")
    hold = Hold(w).held()
    r = w.run("gate", "run", "--timeout", "0", "--", "touch", "RAN", env=ONE)
    eq((r.code, w.exists("RAN")), (2, False), "code, whether it ran")
    hold.let()


@test("a wide gate run waits for all its slots")
def all_of_them(w):
    one = Hold(w, env=TWO).held()
    two = Hold(w, "--slots", "2", env=TWO)
    queued(w, two.run)
    eq((status(w)["free"], two.is_on()), (1, False), "free slots, whether it runs")
    one.let()
    two.held()
    eq(status(w)["held"][0]["slots"], 2, "slots it holds")
    two.let()


# -------------------------------------------------------------------- status

@test("status: text and JSON say who holds, who waits, since when, and how many are free")
def status_forms(w):
    hold = Hold(w, "--slots", "2", env={"GEONOSIS_HEAVY_SLOTS": "3"}).held()
    light = Hold(w).held()
    wide = Hold(w, "--exclusive")
    queued(w, wide.run)
    s = status(w)
    eq((s["budget"], s["free"], sorted(s)), (3, 0, ["budget", "free", "held", "waiting"]), "numbers")
    eq([(x["pid"], x["slots"], x.get("exclusive"), x["directory"]) for x in s["held"] + s["waiting"]],
       [(hold.pid, 2, None, w.dir), (light.pid, 1, None, w.dir), (wide.pid, s["waiting"][0]["slots"], True, w.dir)], "who")
    for x in s["held"] + s["waiting"]:
        has(x["label"], "misbehave", "label")
        match(x["since"], r"^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$", "since")
    lines = w.run("gate", "status").lines()
    eq(lines[0], "budget: 3 slots, 0 free", "first line")
    match(lines[1], r"^held    " + WHO % (hold.pid, re.escape(w.dir), ".*misbehave.*", "2 slots"))
    match(lines[3], r"^waiting " + WHO % (wide.pid, re.escape(w.dir), ".*", "exclusive"))
    hold.let(), light.let()
    wide.held()
    eq((status(w)["free"], pids(w, "held")), (0, [wide.pid]), "free, who holds while it is exclusive")
    wide.let()
    # Nobody uses it any more: what it is now is for the next to say, as for this one.
    eq((w.run("gate", "status").out, free(w)), ("budget: 4 slots, 4 free\n", True), "at the end")
    eq(w.run("gate", "status", env={"GEONOSIS_HEAVY_SLOTS": "7"}).out, "budget: 7 slots, 7 free\n", "with another variable")


@test("status of the steps of a verify: the run's pid and directory, the step's id")
def status_verify(w):
    on, go = w.beside("on"), w.beside("go")
    w.tiers(fast=[{"parallel": [mis("touch", on, "await", go), "exit 0"]}])
    run = w.start("verify", "fast", "--jobs", "2", env=ONE)
    until(lambda: os.path.exists(on) and pids(w, "waiting"), 20, "a step that holds and one that waits")
    s = status(w)
    eq([(x["pid"], x["label"], x["directory"], x["slots"]) for x in s["held"] + s["waiting"]],
       [(run.pid, "fast/1", w.dir, 1), (run.pid, "fast/2", w.dir, 1)], "who")
    open(go, "w").close()
    eq(run.wait(20).code, 0, "exit code")


@test("names of directories and commands reach no terminal as they are: status, waits, refusals")
def status_names(w):
    place = w.path("a\n\033[31mb \u202e\udcff c")
    os.mkdir(place)
    hold = Hold(w, cwd=place).held()
    w.tiers(fast=["true"])
    texts = [w.run("gate", "status").out, w.run("gate", "run", "--timeout", "0", "--", "true").err,
             w.verify("fast", "--exclusive", "--exclusive-timeout", "0").both]
    for text in texts:
        for line in text.splitlines():
            match(line, r"^(budget|held|geonosis|wait)\b", "a line of %r" % text)
        lacks(text, "\033", "output")
        has(text, "\ufffd[31mb", "output")
    eq(status(w)["held"][0]["directory"].split("\n")[1][:6], "\033[31mb", "the directory in JSON")
    hold.let()


@test("status before there is a segment: an answer, and none is made")
def status_nothing(w):
    r = w.run("gate", "status")
    eq((r.code, r.out), (0, "budget: %d slots, %d free\n" % ((int(r.out.split()[1]),) * 2)), "answer")
    s = status(w)
    eq((s["held"], s["waiting"]), ([], []), "who")
    assert not os.path.exists("/dev/shm" + w.segment), "a look made a segment"


@test("status --watch --json: a line each time, until it is ended; a reader that leaves ends it")
def status_watch(w):
    run = w.start("gate", "status", "--watch", "--json")
    until(lambda: run.out.count("\n") >= 2, 20, "two lines")
    hold = Hold(w).held()
    until(lambda: json.loads(run.out.splitlines()[-1])["held"], 20, "the holder to be shown")
    hold.let()
    run.signal(signal.SIGINT)
    assert run.wait(5).code in (130, -2)
    for line in run.out.splitlines():
        eq(sorted(json.loads(line)), ["budget", "free", "held", "waiting"], "members")
    r = w.shell('"$0" gate status --watch | head -1')
    match(r.out, r"^budget: \d+ slots?, \d+ free\n$")
    eq(r.err, "", "stderr")


@test("status --watch on a terminal draws over itself; piped it holds no escape")
def status_watch_terminal(w):
    hold = Hold(w).held()
    t = Terminal(w, program(w, "gate", "status", "--watch"))
    until(lambda: "pid %d" % hold.pid in t.text(), 20, "the holder")
    hold.let()
    until(lambda: "4 free" in t.text() and "pid" not in t.text(), 20, lambda: "the holder to go: " + t.text())
    eq(t.text().count("budget:"), 1, "times it stands there")
    lacks(w.shell('timeout 1 "$0" gate status --watch').out, "\033", "piped output")


@test("what cannot be written is no silent end: gate status and gate budget into a full disk")
def status_full(w):
    for words in ("status", "status --json", "budget"):
        r = w.shell('"$0" gate %s >/dev/full' % words)
        eq(r.code, 2, "exit code of %s" % words)
        match(r.err, r"^geonosis: .*No space left", "stderr")


# -------------------------------------------------------------------- budget

@each((("XDG_CONFIG_HOME", "home/config/geonosis/gate.json", {}),
       ("HOME", "home/.config/geonosis/gate.json", {"XDG_CONFIG_HOME": ""}),
       ("HOME, XDG relative", "home/.config/geonosis/gate.json", {"XDG_CONFIG_HOME": "not/absolute"})),
      "the budget is kept in the config directory ({0}) and stands in every run")
def budget_kept(w, _, file, env):
    env = dict(env, GEONOSIS_HEAVY_SLOTS="")
    r = w.run("gate", "budget", "3", env=env)
    eq((r.code, r.out), (0, "budget: 3 slots\n"), "answer (%r)" % r)
    eq(json.loads(w.read(w.beside(file))), {"budget": 3}, "what is kept")
    eq(w.run("gate", "budget", env=env).out, "3 (geonosis gate budget)\n", "what it says")
    w.tiers(fast=["echo $GEONOSIS_SLOTS"])
    has(w.green("fast", env=env).out, "budget: 3 jobs (geonosis gate budget)\n")
    eq(w.tail(), ["3"], "GEONOSIS_SLOTS")


@each(("0", "x", "", "1.5", "4097", "99999999999999999999", "3 4"), "gate budget {0}: refused, and what stood stands")
def budget_refused(w, value):
    eq(w.run("gate", "budget", "2").code, 0, "exit code")
    w.refused("gate", "budget", *(value.split(" ") if value else [""]), needles=["budget", "4096"])
    eq(w.run("gate", "budget").out, "2 (geonosis gate budget)\n", "what stood")


@test("a budget that cannot be kept is refused by path; without HOME and XDG_CONFIG_HOME too")
def budget_unkept(w):
    w.write(w.beside("home/config"), "a file")
    w.refused("gate", "budget", "2", needles=[w.beside("home/config")])
    w.refused("gate", "budget", "2", env={"HOME": "", "XDG_CONFIG_HOME": ""}, needles=["HOME"])


@test("a budget that is raised grants at once to those who wait; lowered, it drains")
def budget_live(w):
    env = {"GEONOSIS_HEAVY_SLOTS": ""}
    eq(w.run("gate", "budget", "1").code, 0, "exit code")
    one, two = Hold(w, env=env).held(), Hold(w, env=env)
    queued(w, two.run)
    eq(w.run("gate", "budget", "2").code, 0, "exit code")
    two.held()
    eq(w.run("gate", "budget", "1").code, 0, "exit code")
    three = Hold(w, env=env)
    queued(w, three.run)
    one.let()
    # One holds yet, and that is the budget now.
    r = w.run("gate", "run", "--timeout", "1", "--", "touch", "RAN", env=env)
    eq((r.code, three.is_on(), status(w)["budget"]), (2, False, 1), "code, whether the third runs, budget")
    two.let()
    three.held().let()


@test("without a setting the budget is what the machine can carry: one CPU is one slot")
def budget_machine(w):
    cpu = min(os.sched_getaffinity(0))
    env = {"GEONOSIS_HEAVY_SLOTS": ""}
    w.tiers(fast=["true"])
    one = lambda: os.sched_setaffinity(0, {cpu})  # noqa: E731
    has(w.green("fast", env=env, before=one).out, "budget: 1 job (the machine's budget)\n")
    eq(w.run("gate", "budget", env=env, before=one).out, "1 (the machine's budget)\n", "what it says")


# ---------------------------------------------------- names and numbers refused

@each(("x", "geonosis", "/", "/a/b", "/..", "/.", "//a", "/" + "n" * 251, "/a/", "a/b", "/\n/"),
      "GEONOSIS_SEGMENT={0:.40} is refused by every command, and nothing runs")
def bad_segment(w, name):
    w.tiers(fast=["touch RAN"])
    env = {"GEONOSIS_SEGMENT": name}
    for words in (["verify", "fast"], ["gate", "run", "--", "touch", "RAN"], ["gate", "status"], ["gate", "budget", "2"]):
        r = w.refused(*words, env=env, needles=["GEONOSIS_SEGMENT"])
        assert len(r.err) < 600, "stderr: %r" % r.err
    assert not os.path.exists(w.beside("home/config/geonosis/gate.json")), "a refused budget was kept"


@each(("/x y", "/é", "/-n", "/" + "n" * 250), "GEONOSIS_SEGMENT={0:.40} is a name like others")
def odd_segment(w, name):
    name = "/%s%s" % (w.segment[1:], name[1:]) if len(name) < 99 else name[:250 - len(w.segment)] + w.segment[1:]
    try:
        eq(gate(w, "true", env={"GEONOSIS_SEGMENT": name}).code, 0, "exit code")
        assert os.path.exists("/dev/shm" + name), "no segment of that name"
    finally:
        if os.path.exists("/dev/shm" + name):
            os.unlink("/dev/shm" + name)


@each((("GEONOSIS_HEAVY_SLOTS", "4097"), ("GEONOSIS_JOBS", "100001")), "{0} that says nothing sound is refused by name")
def bad_numbers(w, variable, too_many):
    w.tiers(fast=["touch RAN"])
    commands = [["verify", "fast"]] + ([["gate", "run", "--", "touch", "RAN"]] if "HEAVY" in variable else [])
    for value in ("0", "-1", "x", "1.5", "2x", " ", too_many, "9" * 5000):
        for words in commands:
            r = w.refused(*words, env={variable: value}, needles=[variable])
            assert len(r.err) < 600, "stderr of %d bytes" % len(r.err)


@test("a segment of a layout that is not known, in use by a live process: every command names it, and no budget is kept")
def unknown_layout(w):
    w.tiers(fast=["touch RAN"])
    with open("/dev/shm" + w.segment, "w+b", opener=lambda path, flags: os.open(path, flags, 0o600)) as f:
        f.write(b"another layout" * 99)
        f.flush()
        # F_OFD_SETLK on the byte of an entry: what every version has of a holder.
        fcntl.fcntl(f, 37, struct.pack("hhqqi4x", fcntl.F_WRLCK, 0, (1 << 40) + 5, 1, 0))
        for words in (["verify", "fast"], ["gate", "run", "--", "touch", "RAN"], ["gate", "status"], ["gate", "status", "--json"],
                      ["gate", "budget", "2"]):
            w.refused(*words, needles=[w.segment, "layout"])
        assert not os.path.exists(w.beside("home/config/geonosis/gate.json")), "a refused budget was kept"
    assert free(w), "nobody uses it now"
    eq(w.verify("fast").code, 0, "exit code")


@test("a budget's file that is a link stays one: what it leads to is written")
def budget_linked(w):
    w.write(w.beside("home/dot/gate.json"), "{}")
    os.makedirs(w.beside("home/config/geonosis"))
    os.symlink("../../dot/gate.json", w.beside("home/config/geonosis/gate.json"))
    eq(w.run("gate", "budget", "3").code, 0, "exit code")
    eq(json.loads(w.read(w.beside("home/dot/gate.json"))), {"budget": 3}, "what is kept")
    assert os.path.islink(w.beside("home/config/geonosis/gate.json"))


# ------------------------------------------------------- without shared memory

HIDDEN = "mount -t tmpfs none /dev; mknod -m 666 /dev/null c 1 3 2>/dev/null || : >/dev/null; mknod /dev/urandom c 1 9; "
ORDINARY = "as=\"setpriv --bounding-set -dac_override,-dac_read_search\"; "
WITHOUT = (("hidden", HIDDEN), ("read-only", "mount -t tmpfs -o ro none /dev/shm; "),
           ("full", "mount -t tmpfs -o size=4k none /dev/shm; "),
           ("closed to its user", "mount -t tmpfs -o mode=555 none /dev/shm; " + ORDINARY),
           ("closed to its user altogether", "mount -t tmpfs -o mode=444 none /dev/shm; " + ORDINARY),
           ("a file system of no files", "mount -t tmpfs -o nr_inodes=1 none /dev/shm; "))


@each(WITHOUT, "/dev/shm {0}: runs go on with a WARN, --exclusive is refused, budgets are kept")
def no_shared_memory(w, _, mount):
    if sanitized():
        # It wants /dev as it is.
        mount = mount.replace("none /dev;", "none /dev/shm -o ro;")
    w.tiers(fast=[{"parallel": ["echo a", "echo b", "true"]}], bad=["touch RAN"])
    answers = w.beside("answers")
    w.mounted(mount + '''
for words in "verify fast" "gate run -- echo out" "verify bad --exclusive" "gate run --exclusive -- touch RAN" \
    "gate run --slots 3 -- echo wide" "gate status" "gate budget 2"; do
    $as "$0" $words >%(a)s.out 2>%(a)s.err; echo "$? $words"; cat %(a)s.out %(a)s.err; echo ----; done >%(a)s''' % {"a": answers})
    said = {x.split("\n")[0][2:]: (int(x[0]), x) for x in w.read(answers).split("----\n") if x}
    eq([said[k][0] for k in said], [0, 0, 2, 2, 0, 0, 0], "exit codes: %s" % said)
    for k in ("verify fast", "gate run -- echo out", "gate run --slots 3 -- echo wide"):
        match(said[k][1], r"^WARN: .*not coordinated", k)
    for k in ("verify bad --exclusive", "gate run --exclusive -- touch RAN"):
        match(said[k][1], r"^geonosis: --exclusive: .*shared memory", k)
    has(said["gate run -- echo out"][1], "\nout\n")
    eq(said["gate budget 2"][1], "0 gate budget 2\nbudget: 2 slots\n", "what the budget's command says")
    assert not w.exists("RAN")
    eq((w.report()["tier"], w.report()["ok"]), ("fast", True), "the report")
    eq(json.loads(w.read(w.beside("home/config/geonosis/gate.json"))), {"budget": 2}, "the budget kept")


# ----------------------------------------------------------------- --exclusive

@test("--exclusive waits for those who hold, names them, and runs then; others wait for it")
def exclusive(w):
    on, go = w.beside("x-on"), w.beside("x-go")
    w.tiers(full=[mis("touch", on, "await", go)])
    hold = Hold(w, "--slots", "2", env={"GEONOSIS_HEAVY_SLOTS": "3"}).held()
    run = w.start("verify", "full", "--exclusive")
    until(lambda: str(hold.pid) in run.out, 20, lambda: "the holder to be named: " + run.out)
    match(run.out, r"^wait: for the whole machine, held by " + WHO % (hold.pid, re.escape(w.dir), ".*", "2 slots"))
    later = Hold(w)
    queued(w, run, later.run)
    assert not os.path.exists(on) and not w.exists(REPORT), "it began before it had the machine"
    hold.let()
    until(lambda: os.path.exists(on), 20, "the exclusive run")
    s = status(w)
    eq((s["held"][0]["pid"], s["held"][0]["exclusive"], s["free"], later.is_on()), (run.pid, True, 0, False), "while it runs")
    who = r"held by " + WHO % (run.pid, re.escape(w.dir), "full", "exclusive")
    until(lambda: re.search(who, later.run.err), 20, lambda: "the one behind to name it: " + later.run.err)
    open(go, "w").close()
    eq(run.wait(20).code, 0, "exit code")
    later.held().let()


@test("an exclusive run has the whole budget for its own groups")
def exclusive_group(w):
    flags = [w.beside("f%d" % i) for i in range(3)]
    meet = [mis("touch", f, *sum((["await", g] for g in flags), []), "exit", 0) for f in flags]
    w.tiers(full=[{"parallel": meet}])
    r = w.green("full", "--exclusive", env={"GEONOSIS_HEAVY_SLOTS": "3"}, secs=40)
    has(r.out, "budget: 3 jobs")


@test("--exclusive-timeout: exit 2, the holders named, in time; the old report stays")
def exclusive_timeout(w):
    w.tiers(full=["true"])
    w.green("full")
    w.tiers(full=["touch RAN"])
    hold = Hold(w).held()
    began = time.monotonic()
    r = w.refused("verify", "full", "--exclusive", "--exclusive-timeout", "1",
                  needles=["--exclusive", "pid %d in %s" % (hold.pid, w.dir), "since 20"])
    between(1, time.monotonic() - began, 1 + patience(3), "seconds")
    eq(pids(w, "waiting"), [], "who waits")
    hold.let()
    assert free(w), r


@each((["no-such-tier"], ["fast", "--no-such-option"], ["fast", "--jobs", "0"], ["fast", "--only", "fast/9"],
       ["bad"], ["fast", "--report", "/proc/none/x"]), "refusals are decided before the machine is waited for: {0}")
def exclusive_refusals_first(w, words):
    w.tiers(fast=["touch RAN"], bad=[{"command": "x", "nokey": 1}] if words == ["bad"] else ["true"])
    hold = Hold(w).held()
    began = time.monotonic()
    r = w.run("verify", *words, "--exclusive")
    eq(r.code, 2, "exit code (%r)" % r)
    assert time.monotonic() - began < patience(5)
    lacks(r.out, "wait", "stdout")
    hold.let()


@test("an exclusive waiter that is interrupted or killed leaves nothing behind")
def exclusive_interrupted(w):
    w.tiers(full=["touch RAN"])
    hold = Hold(w).held()
    for sig in (signal.SIGINT, signal.SIGTERM, signal.SIGKILL):
        run = w.start("verify", "full", "--exclusive")
        queued(w, run)
        run.signal(sig)
        eq(run.wait(patience(2)).code, -9 if sig == signal.SIGKILL else 128 + sig, "exit code")
        until(lambda: not pids(w, "waiting"), 5, "the queue to be empty")
    assert not w.exists(REPORT) and not w.exists("RAN")
    hold.let()
    assert free(w)


# ---------------------------------------------------------------------- nested

def verify(*words):
    return " ".join(shlex.quote(x) for x in (binary(), "verify", *words))


@test("nested to any depth on a budget of one: gate run, verify, verify, gate run")
def nested(w):
    w.tiers(outer=["echo outer", verify("inner")], inner=["echo inner", {"parallel": [shlex.quote(binary()) + " gate run -- echo deep",
                                                                                      "echo beside"]}])
    r = w.run("gate", "run", "--", binary(), "verify", "outer", env=ONE, secs=40)
    eq(r.code, 0, "exit code (%r)" % r)
    has(r.out, "budget: 1 job (the slots of the step around it)\n")
    eq((w.report()["tier"], w.report()["ok"], free(w)), ("outer", True, True), "report, slots")


@each((("gate run", ["gate", "run", "--"], []), ("gate run --exclusive", ["gate", "run", "--exclusive", "--"], []),
       ("verify --exclusive", [], ["--exclusive"]), ("both", ["gate", "run", "--exclusive", "--"], ["--exclusive"])),
      "a light step inside {0}: what it runs does not wait for what waits for it")
def nested_in_light(w, _, around, flags):
    w.tiers(outer=[{"command": shlex.quote(binary()) + " gate run --timeout 5 -- echo deep", "slots": 0},
                   {"command": verify("inner"), "slots": 0}], inner=["echo inner"])
    r = w.run(*around, *([binary()] if around else []), "verify", "outer", *flags, env=ONE, secs=40)
    eq((r.code, [s["ok"] for s in w.report()["steps"]]), (0, [True, True]), "code, steps (%r)" % r)


@test("a light step of a shared run holds nothing: --exclusive inside it waits for its turn and goes")
def exclusive_in_light(w):
    w.tiers(outer=[{"command": verify("inner", "--exclusive", "--exclusive-timeout", "20"), "slots": 0}], inner=["true"])
    w.green("outer", env=ONE, secs=40)


SCRUBBED = "env -i PATH=/usr/bin:/bin HOME=%s GEONOSIS_SEGMENT=%s GEONOSIS_E2E=%s %s "


@test("nested with an environment that was scrubbed on the way: it runs on the step's slots all the same")
def nested_scrubbed(w):
    scrub = SCRUBBED % (w.env["HOME"], w.segment, w.mark, shlex.quote(binary()))
    w.tiers(outer=[scrub + "gate run --timeout 5 -- echo deep", "setsid -w " + scrub + "verify inner",
                   scrub + "gate run --exclusive -- touch RAN; [ $? = 2 ]"],
            inner=[scrub + "gate run --timeout 5 -- echo $GEONOSIS_SLOTS"])
    r = w.green("outer", env=ONE, secs=40)
    has("\n".join(w.tail("outer/2")), "budget: 1 job (the slots of the step around it)")
    has("\n".join(w.tail("outer/3")), "--exclusive: this runs inside a step that holds 1 slot")
    for words in (["sh", "-c", scrub + "gate run --timeout 5 -- echo deep"], ["sh", "-c", "exec " + scrub + "gate run --timeout 5 -- echo deep"],
                  shlex.split(scrub + "gate run --timeout 5 -- echo deep")):
        r = w.run("gate", "run", "--", *words, env=ONE)
        eq((r.code, r.out), (0, "deep\n"), "in gate run (%r)" % r)


@test("nested with an environment that was scrubbed in the step's very shell: the step's slots are those of its worker")
def nested_scrubbed_shell(w):
    scrub = "exec " + SCRUBBED % (w.env["HOME"], w.segment, w.mark, shlex.quote(binary()))
    deep = scrub + "gate run --timeout 5 -- echo deep"
    w.tiers(outer=[deep, {"parallel": [deep, deep, {"command": deep, "slots": 0}]}])
    for flags in ([], ["--exclusive"]):
        w.green("outer", "--jobs", "4", *flags, env=ONE, secs=40)
    eq(w.run("gate", "run", "--", binary(), "verify", "outer", "--jobs", "4", env=ONE, secs=40).code, 0, "in gate run")


@test("nested runs share what the step holds, and go on while an exclusive one waits for them")
def nested_shared(w):
    on, go = w.beside("on"), w.beside("go")
    w.tiers(outer=["touch %s; %s; %s" % (on, mis("await", go, "exit", 0), verify("inner"))], inner=["echo $GEONOSIS_SLOTS"])
    run = w.start("verify", "outer", env=TWO)
    until(lambda: os.path.exists(on), 20, "the step")
    wide = w.start("gate", "run", "--exclusive", "--", "true", env=TWO)
    queued(w, wide)
    open(go, "w").close()
    eq(run.wait(20).code, 0, "exit code of the run")
    eq(wide.wait(20).code, 0, "exit code of the exclusive one")


@test("--exclusive inside a step of a shared run is refused by name; inside an exclusive one it goes")
def nested_exclusive(w):
    inner = "%s; echo \"code $?\"; %s gate run --exclusive -- echo deep; echo \"code $?\"" % (
        verify("inner", "--exclusive"), shlex.quote(binary()))
    w.tiers(outer=[inner], inner=["true"])
    r = w.green("outer", env=TWO)
    tail = w.tail("outer/1")
    eq([x for x in tail if x.startswith("code")], ["code 2"] * 2, "codes (%s)" % tail)
    eq(len([x for x in tail if re.match(r"geonosis: --exclusive: .*holds 1 slot \(pid \d+\)", x)]), 2, "refusals: %s" % tail)
    r = w.green("outer", "--exclusive", env=TWO)
    eq([x for x in w.tail("outer/1") if x.startswith("code")], ["code 0"] * 2, "codes (%r)" % r)
    r = w.run("gate", "run", "--exclusive", "--", "sh", "-c", inner, env=TWO)
    eq([x for x in r.lines() if x.startswith("code")], ["code 0"] * 2, "codes (%r)" % r)


@test("a token that is stale, invented or of a run that ended counts for nothing")
def stale(w):
    ended_token = gate(w, "sh", "-c", "echo $GEONOSIS_HEAVY_SLOT_HELD", env=ONE).out.strip()
    assert ended_token, "a command without a token"
    hold = Hold(w).held()
    digits = re.sub(r"\d", "9", ended_token)
    for text in (ended_token, digits, ended_token[:-1], ended_token * 9, "1", "0:0:0", "-1", "x", "\n", "%s", "9" * 4000, ":" * 60):
        r = w.run("gate", "run", "--timeout", "0", "--", "touch", "RAN", env=dict(ONE, GEONOSIS_HEAVY_SLOT_HELD=text))
        eq((r.code, w.exists("RAN")), (2, False), "code, whether it ran with %.80r" % text)
    hold.let()
    w.tiers(fast=["true"])
    has(w.green("fast", env={"GEONOSIS_HEAVY_SLOT_HELD": ended_token}).out, "budget: 4 jobs (GEONOSIS_HEAVY_SLOTS)")


@test("the token of a step that has ended is stale too, though its run goes on")
def stale_in_a_run(w):
    go, out = w.beside("go"), w.beside("out")
    # What the first step leaves is in a session of its own; it asks while the second step holds the only slot.
    left = w.beside("left")
    w.write(left, ": >%s; until [ -e %s ]; do sleep 0.02; done; %s gate run --timeout 0 -- touch RAN; echo $? >%s.t; mv %s.t %s" % (
        w.beside("apart"), go, shlex.quote(binary()), out, out, out))
    w.tiers(fast=["setsid sh %s >/dev/null 2>&1 & %s" % (left, mis("await", w.beside("apart"))), mis("touch", go, "await", out)])
    r = w.verify("fast", env=ONE)
    eq((r.code, w.read(out).strip(), w.exists("RAN")), (0, "2", False), "codes, whether it ran")


# ------------------------------------------------------- slots of steps, numbers

@test("slots of a step: n is what it holds, \"all\" the budget, 0 none, more than there are is all")
def step_slots(w):
    show = "echo $GEONOSIS_SLOTS ${GEONOSIS_HEAVY_SLOT_HELD:-none}"
    w.tiers(fast=[show] + [{"command": show, "slots": n} for n in (1, 2, "all", 0, 9)])
    w.green("fast", "--jobs", "3")
    said = [w.tail("fast/%d" % i)[0].split() for i in range(1, 7)]
    eq([x[0] for x in said], ["3", "1", "2", "3", "3", "3"], "GEONOSIS_SLOTS")
    eq([x[1] == "none" for x in said], [False] * 4 + [True, False], "whether it holds none")


@test("a wide step takes what is free, at least one, and holds it to its end")
def step_takes_what_is_free(w):
    hold = Hold(w, "--slots", "3", env={"GEONOSIS_HEAVY_SLOTS": "4"}).held()
    on, go = w.beside("on"), w.beside("go")
    w.tiers(fast=[{"command": "echo $GEONOSIS_SLOTS; " + mis("touch", on, "await", go), "slots": "all"}])
    run = w.start("verify", "fast")
    until(lambda: os.path.exists(on), 20, "the step")
    hold.let()
    eq([x["slots"] for x in status(w)["held"]], [1], "slots it holds though more are free now")
    open(go, "w").close()
    eq((run.wait(20).code, w.tail()), (0, ["1"]), "code, what it was told")


@test("a light step waits for no slot, but for an exclusive holder")
def light(w):
    w.tiers(fast=[{"command": "echo light", "slots": 0}])
    hold = Hold(w).held()
    r = w.green("fast", "--fresh", secs=20)
    lacks(r.out, "wait", "stdout")
    assert "slotWaitMs" not in w.step() or w.step()["slotWaitMs"] < 100, w.step()
    hold.let()
    hold = Hold(w, "--exclusive").held()
    run = w.start("verify", "fast", "--fresh")
    until(lambda: "wait fast/1" in run.out, 20, lambda: "the step to wait: " + run.out)
    has(run.out, "pid %d" % hold.pid)
    hold.let()
    eq(run.wait(20).code, 0, "exit code")


@test("the wait for a slot is slotWaitMs, no part of ms, and told: in text and as an event")
def waited(w):
    w.tiers(fast=["echo a"])
    for flags in ([], ["--json"]):
        hold = Hold(w).held()
        run = w.start("verify", "fast", *flags)
        queued(w, run)
        began = time.monotonic()
        until(lambda: "wait" in run.out, 20, "the wait to be told")
        until(lambda: time.monotonic() - began > 0.6, 5, "a while")
        hold.let()
        eq(run.wait(20).code, 0, "exit code")
        between(600, w.step()["slotWaitMs"], 20000, "slotWaitMs")
        assert w.step()["ms"] < w.step()["slotWaitMs"], w.step()
        who = WHO % (hold.pid, re.escape(w.dir), ".*", "1 slot")
        if flags:
            wait = [json.loads(x) for x in run.out.splitlines() if '"wait"' in x][0]
            eq((wait["event"], wait["id"]), ("wait", "fast/1"), "event")
            match(wait["reason"], who, "reason")
        else:
            match(run.out, r"^wait fast/1: for a slot, held by " + who)
    w.green("fast", "--fresh")
    assert "slotWaitMs" not in w.step() or w.step()["slotWaitMs"] < 100, w.step()


# Each: caps.heavy, GEONOSIS_JOBS, GEONOSIS_HEAVY_SLOTS, options, the line, GEONOSIS_SLOTS.
BUDGETS = ((None, None, "4", [], "4 jobs (GEONOSIS_HEAVY_SLOTS)"), (2, None, "4", [], "2 jobs (caps.heavy)"),
           (None, "3", "4", [], "3 jobs (GEONOSIS_JOBS)"), (2, "3", "4", [], "2 jobs (caps.heavy)"),
           (None, "3", "4", ["--jobs", "1"], "1 job (--jobs)"), (None, "9", "4", [], "9 jobs (GEONOSIS_JOBS)"),
           (None, None, "4", ["--jobs", "64"], "64 jobs (--jobs)"), (5, None, "4", ["--jobs", "64"], "5 jobs (caps.heavy)"),
           (4, None, "4", [], "4 jobs (GEONOSIS_HEAVY_SLOTS)"), (None, "", "1", [], "1 job (GEONOSIS_HEAVY_SLOTS)"))


@each(BUDGETS, "caps.heavy {0}, GEONOSIS_JOBS {1}, GEONOSIS_HEAVY_SLOTS {2}, {3}: budget: {4}")
def budget_line(w, cap, jobs, heavy, options, line):
    config = {"verify": {"fast": ["echo $GEONOSIS_SLOTS"]}}
    if cap:
        config["caps"] = {"heavy": cap}
    w.config(config)
    env = {"GEONOSIS_HEAVY_SLOTS": heavy}
    if jobs is not None:
        env["GEONOSIS_JOBS"] = jobs
    r = w.green("fast", *options, env=env)
    eq([x for x in r.lines() if x.startswith("budget")], ["budget: " + line], "the line")
    eq(w.tail(), [line.split()[0]], "GEONOSIS_SLOTS")


@each((0, -1, 1.5, "2", None, [], 10**10), "caps.heavy {0!r} is refused by its path")
def bad_cap(w, value):
    w.config({"verify": {"fast": ["touch RAN"]}, "caps": {"heavy": value}})
    w.refused("verify", "fast", needles=["caps.heavy"])


@test("GEONOSIS_HEAVY_SLOTS in a live segment lowers this run's share and never raises the budget")
def heavy_in_a_live_segment(w):
    hold = Hold(w, env=TWO).held()
    w.tiers(fast=["echo $GEONOSIS_SLOTS"])
    for heavy, line in (("1", "budget: 1 job (GEONOSIS_HEAVY_SLOTS)"), ("2", "budget: 2 jobs "), ("9", "budget: 2 jobs ")):
        r = w.green("fast", "--fresh", env={"GEONOSIS_HEAVY_SLOTS": heavy})
        has(r.out, line)
    eq(status(w)["budget"], 2, "budget")
    hold.let()


@test("members of a group beyond the slots wait; never more of them run than there are slots")
def group_waits(w):
    count = "n=$(ls %(d)s | wc -l); : >%(d)s/$$; echo $(ls %(d)s | wc -l); sleep 0.05; rm %(d)s/$$" % {"d": w.beside("now")}
    os.mkdir(w.beside("now"))
    w.tiers(fast=[{"parallel": [count] * 6}])
    w.green("fast", "--jobs", "6", env=TWO)
    seen = [int(w.tail("fast/%d" % i)[0]) for i in range(1, 7)]
    assert max(seen) <= 2, "how many each saw: %s" % seen


# --------------------------------------------------- two runs of a tier (2.11)

@test("the second run of a tier waits, names the pid, and is answered from the record of the first")
def second_run(w):
    on, go = w.beside("on"), w.beside("go")
    w.tiers(fast=["echo run >>%s; %s" % (w.beside("runs"), mis("touch", on, "await", go, "exit", 0))])
    w.repository()
    first = w.start("verify", "fast")
    until(lambda: os.path.exists(on), 20, "the first run")
    second = w.start("verify", "fast", "--report", w.beside("second.json"))
    until(lambda: second.out, 20, "the second run to say that it waits")
    eq(second.out.splitlines(), ['wait: for the run of "fast" in this directory (pid %d) to end' % first.pid], "what it says")
    open(go, "w").close()
    eq((first.wait(20).code, second.wait(20).code), (0, 0), "exit codes")
    match(second.out, r"^green fast already green on this tree [0-9a-f]{12} since ")
    eq((w.read(w.beside("runs")), w.report(w.beside("second.json"))["replayed"]), ("run\n", True), "runs, replayed")


@test("without a record the second run runs itself, after the first; a red is not handed on")
def second_run_runs(w):
    on, go = w.beside("on"), w.beside("go")
    w.tiers(fast=["echo run >>%s; %s; exit 1" % (w.beside("runs"), mis("touch", on, "await", go, "exit", 0))])
    w.repository()
    first = w.start("verify", "fast")
    until(lambda: os.path.exists(on), 20, "the first run")
    second = w.start("verify", "fast")
    until(lambda: str(first.pid) in second.out, 20, "the second run to wait")
    open(go, "w").close()
    eq((first.wait(20).code, second.wait(20).code), (1, 1), "exit codes")
    eq(w.read(w.beside("runs")), "run\n" * 2, "runs")


@test("the wait for the first run holds no slot, and ends when that is killed")
def second_run_holds_nothing(w):
    on, tok = w.beside("on"), token()
    w.tiers(fast=["[ -e %s ] || %s" % (on, mis("touch", on, "child", "sleep", tok))])
    first = w.start("verify", "fast", env=TWO)
    until(lambda: os.path.exists(on), 20, "the first run")
    second = w.start("verify", "fast", env=TWO)
    until(lambda: str(first.pid) in second.out, 20, "the second run to wait")
    eq((pids(w, "held"), pids(w, "waiting")), ([first.pid], []), "who holds, who waits")
    first.signal(signal.SIGKILL)
    eq(second.wait(patience(5)).code, 0, "exit code")


@each((("its slots", [], []), ("the whole machine, in an exclusive step", ["--exclusive"], ["--exclusive"]),
       ("its turn behind an exclusive step", ["--exclusive"], [])),
      "a step that waits for the run of another tier lends it what it waits for: {0}")
def lent(w, _, around, flags):
    on, go = w.beside("on"), w.beside("go")
    w.tiers(full=[": >%s; %s; %s" % (on, mis("await", go, "exit", 0), verify("fast"))],
            fast=["echo one", {"parallel": ["echo two", "echo three"]}, {"command": "echo light", "slots": 0}])
    outer = w.start("verify", "full", *around, "--report", w.beside("outer.json"), env=ONE)
    until(lambda: os.path.exists(on), 20, "the step")
    other = w.start("verify", "fast", "--jobs", "2", *flags, env=ONE)
    queued(w, other)
    open(go, "w").close()
    eq((other.wait(20).code, outer.wait(20).code), (0, 0), "exit codes")
    has("\n".join(s["tail"] for s in w.report(w.beside("outer.json"))["steps"]), "(pid %d) to end" % other.pid)
    assert free(w)


@test("a step that waits to prove a tier lends its slots to who proves it")
def lent_to_prover(w):
    on, go = w.beside("on"), w.beside("go")
    w.tiers(full=[": >%s; %s; %s verify prove fast" % (on, mis("await", go, "exit", 0), shlex.quote(binary()))],
            fast=[{"command": "[ ! -e p ] || { echo hit; exit 1; }", "proves": {"plant": "touch p", "expect": "hit"}}])
    outer = w.start("verify", "full", env=ONE)
    until(lambda: os.path.exists(on), 20, "the step")
    other = w.start("verify", "prove", "fast", env=ONE)
    queued(w, other)
    open(go, "w").close()
    eq((other.wait(30).code, outer.wait(30).code), (0, 0), "exit codes")
    assert free(w)


@each((("shared", ["gate", "run", "--"], []), ("exclusive", ["gate", "run", "--exclusive", "--"], ["--exclusive"])),
      "a hold that is younger than what it is lent to is lent as well: {0}")
def lent_late(w, _, around, flags):
    on, go = w.beside("on"), w.beside("go")
    # The other run asks between the outer hold and the one of the step that waits for it; its light step asks for itself.
    w.tiers(full=[mis("touch", on, "await", go, "exit", 0), verify("fast")],
            fast=[{"command": shlex.quote(binary()) + " gate run -- echo deep", "slots": 0}, "echo one"])
    outer = w.start(*around, binary(), "verify", "full", "--report", w.beside("outer.json"), env=ONE)
    until(lambda: os.path.exists(on), 20, "the first step")
    other = w.start("verify", "fast", *flags, env=ONE)
    until(lambda: pids(w, "waiting"), 20, "the other run to ask")
    open(go, "w").close()
    eq((other.wait(30).code, outer.wait(30).code), (0, 0), "exit codes")
    assert free(w)


@test("a step that waits for a run that waits for the whole machine would wait for itself: refused, exit 2")
def lent_in_vain(w):
    on, go = w.beside("on"), w.beside("go")
    w.tiers(full=[": >%s; %s; %s" % (on, mis("await", go, "exit", 0), verify("fast"))], fast=["echo fast"])
    outer = w.start("verify", "full", env=ONE)
    until(lambda: os.path.exists(on), 20, "the step")
    other = w.start("verify", "fast", "--exclusive", env=ONE)
    queued(w, other)
    open(go, "w").close()
    r = outer.wait(20)
    eq((r.code, other.wait(20).code), (1, 0), "exit codes")
    match(r.out, r"geonosis: verify fast: .*\(pid %d\) waits for the whole machine" % other.pid)
    assert free(w)


SELF = (("directly", {"fast": ["SELF fast"]}), ("through another tier", {"fast": ["SELF mid"], "mid": ["SELF fast"]}),
        ("through two", {"fast": ["SELF mid"], "mid": ["SELF low"], "low": ["SELF fast"]}),
        ("in a group", {"fast": [{"parallel": ["true", "SELF fast"]}]}),
        ("through gate run", {"fast": ["GATE gate run -- SELF fast"]}),
        ("scrubbed", {"fast": ["SCRUB fast"]}), ("scrubbed, through another tier", {"fast": ["SCRUB mid"], "mid": ["SCRUB fast"]}),
        ("from a session of its own", {"fast": ["setsid -w SELF fast"]}),
        ("scrubbed in its very shell", {"fast": ["exec SCRUB fast"]}),
        ("by another name of the directory", {"fast": ["cd link && SELF fast"]}))


@each(SELF, "a step that runs its own tier in its own directory, {0}: refused, exit 2, and no waiting for itself")
def own_tier(w, _, tiers):
    os.symlink(w.dir, w.path("link"))
    scrub = "env -i PATH=/usr/bin:/bin HOME=%s GEONOSIS_SEGMENT=%s %s=%s %s verify" % (
        w.env["HOME"], w.segment, "GEONOSIS_E2E", w.mark, shlex.quote(binary()))

    def made(step):
        if isinstance(step, dict):
            return {"parallel": [made(x) for x in step["parallel"]]}
        return step.replace("SCRUB", scrub).replace("SELF", shlex.quote(binary()) + " verify").replace(
            "GATE", shlex.quote(binary()))
    w.tiers(**{k: [made(x) for x in v] for k, v in tiers.items()})
    r = w.verify("fast", env=TWO, secs=30)
    eq((r.code, w.report()["ok"]), (1, False), "code, ok (%r)" % r)
    has(r.out, "wait for itself", "stdout")
    bad = [s for s in w.report()["steps"] if not s["ok"]]
    eq(bad[0]["exitCode"] in (1, 2), True, "exit code of the step")
    if len(tiers) == 1:
        eq(bad[0]["exitCode"], 2, "exit code of the step")


@test("a run that is pid 1 of its namespace knows itself: its step that was scrubbed is refused, and waits for nothing")
def own_tier_as_init(w):
    w.tiers(fast=["exec " + SCRUBBED % (w.env["HOME"], w.segment, w.mark, shlex.quote(binary())) + "verify fast"])
    r = w.shell('unshare -rpf --mount-proc true || exit 99; exec unshare -rpf --mount-proc "$0" verify fast', env=TWO)
    if r.code == 99:
        raise Skip("no pid namespace: " + r.err.strip())
    eq((r.code, w.step()["exitCode"]), (1, 2), "codes (%r)" % r)
    has(r.out, "(pid 1), and would wait for itself")


@test("two runs in pid namespaces of their own, in one directory: numbers that are alike are not taken for an ancestor")
def two_namespaces(w):
    on, go = w.beside("on"), w.beside("go")
    w.tiers(fast=[mis("touch", on, "await", go, "exit", 0)])
    r = w.shell("unshare -rpf --mount-proc true")
    if r.code:
        raise Skip("no pid namespace: " + r.err.strip())
    inside = ["-rpf", "--mount-proc", "--kill-child", "sh", "-c", '"$0" verify fast; exit $?', binary()]
    first = Running(w, ["unshare", *inside], env=TWO)
    until(lambda: os.path.exists(on), 20, "the first run")
    # Its pid there is that of the second's own parent, or of the second itself.
    second = Running(w, ["unshare", *inside], env=TWO)
    until(lambda: second.out or second.ended(), 20, "the second run to say something")
    match(second.out, r'^wait: for the run of "fast" in this directory')
    open(go, "w").close()
    eq((first.wait(20).code, second.wait(20).code), (0, 0), "exit codes")


@test("the same tier in another directory, and another tier in the same one, run inside a step")
def other_places(w):
    w.write("sub/geonosis.json", json.dumps({"verify": {"fast": ["echo below"]}}))
    w.tiers(fast=["cd sub && " + verify("fast"), verify("other")], other=["echo other"])
    w.green("fast", env=ONE)


@test("six runs of a tier at once are one run where there is a record")
def six(w):
    w.tiers(fast=["echo run >>%s; sleep 0.3" % w.beside("runs")])
    w.repository()
    runs = [w.start("verify", "fast", "--report", w.beside("r%d.json" % i)) for i in range(6)]
    for x in runs:
        eq(x.wait(40).code, 0, "exit code")
    eq(w.read(w.beside("runs")), "run\n", "runs")
