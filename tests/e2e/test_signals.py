# SPDX-License-Identifier: MIT
"""Interrupts from every side, over steps of every kind: what is left, what is written, which code."""
import fcntl
import os
import signal
import struct
import subprocess
import termios
import time

from harness import (appears, between, binary, each, eq, gone, has, lacks, match, mis, misbehave,
                     patience, test, token, until, with_token)

DEAF = "TERM,INT,HUP"


# Each: the command, and how many processes have the token once it is so far.
def obedient(w, tok, apart):
    return mis("child", "sleep", tok) + "; exit 1", 3


def stubborn(w, tok, apart):
    return mis("ignore", DEAF, "child", "sleep", tok) + "; exit 1", 3


def own_group(w, tok, apart):
    return "timeout 100 %s; exit 1" % mis("sleep", tok), 3


def own_session(w, tok, apart):
    flag = w.beside("apart")
    return "%s; %s; %s; exit 1" % (mis("bg", "session", "touch", flag, "sleep", apart), mis("await", flag),
                                   mis("sleep", tok)), 2


def double_fork(w, tok, apart):
    flag = w.beside("double")
    return "%s; %s; %s; exit 1" % (mis("double", "group", "ignore", DEAF, "touch", flag, "sleep", tok),
                                   mis("await", flag), mis("sleep", tok)), 3


STEPS = (obedient, stubborn, own_group, own_session, double_fork)
DEAF_STEPS = (stubborn, double_fork)


class Origin:
    """who is hit: a run and the ways to signal it"""
    def __init__(self, world):
        self.world = world

    def begin(self):
        self.run = self.world.start("verify", "fast")

    def code(self, secs):
        return self.run.wait(secs).code


class Alone(Origin):
    word = "the supervisor alone"

    def send(self, sig):
        self.run.signal(sig)


class Group(Origin):
    word = "its process group"

    def send(self, sig):
        self.run.signal_group(sig)


class Terminal(Origin):
    """a real terminal of tmux: Ctrl-C is typed, HUP is the end of the session"""
    word = "a terminal"

    def tmux(self, *args):
        w = self.world
        p = subprocess.run(["tmux", "-f", "/dev/null", "-S", w.beside("tmux"), *args], env=w.env,
                           cwd=w.dir, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                           stderr=subprocess.STDOUT)
        assert p.returncode == 0, "tmux %s: %s" % (args, p.stdout.decode(errors="replace"))

    def begin(self):
        self.ended = self.world.beside("ended")
        self.tmux("new-session", "-d", "-s", "e2e", "-x", "100", "-y", "30", "exec " + " ".join(
            [misbehave(), "record", self.ended, binary(), "verify", "fast"]))

    def send(self, sig):
        if sig == signal.SIGINT:
            self.tmux("send-keys", "-t", "e2e", "C-c")
        elif sig == signal.SIGHUP:
            self.tmux("kill-session", "-t", "e2e")
        else:
            raise AssertionError("no key for %s" % sig)

    def code(self, secs):
        until(lambda: os.path.exists(self.ended), secs, "the end of the run on the terminal")
        with open(self.ended) as f:
            return int(f.read())


SENT = {"INT": (signal.SIGINT,), "TERM": (signal.SIGTERM,), "HUP": (signal.SIGHUP,), "KILL": (signal.SIGKILL,),
        "INT twice": (signal.SIGINT, signal.SIGINT)}
MATRIX = [(o.word, name, s.__name__.replace("_", " "), o, s) for o in (Alone, Group, Terminal) for name in SENT
          for s in STEPS if o is not Terminal or name in ("INT", "HUP", "INT twice")]


@each(MATRIX, "{0}, {1}, {2}: nothing of the session is left; report and code are right")
def matrix(w, _, name, __, origin_of, step_of):
    tok, apart = token(), token()
    command, n = step_of(w, tok, apart)
    w.tiers(fast=["echo first", command, "touch RAN"])
    origin, sent = origin_of(w), SENT[name]
    origin.begin()
    appears(tok, n)
    # Tokens stand in the shell's own words too, and in its children's until they execute.
    flag = {own_session: "apart", double_fork: "double"}.get(step_of)
    if flag:
        until(lambda: os.path.exists(w.beside(flag)), 20, "what goes its own way")
    origin.send(sent[0])
    if len(sent) == 2:
        again(w, origin, sent[1], tok)
    killed = signal.SIGKILL in sent
    # A deaf step has its five seconds, unless it is killed at once.
    grace = 5 if step_of in DEAF_STEPS and not killed and len(sent) == 1 else 0
    gone(tok, grace + patience(1.2))
    code = origin.code(grace + patience(3))
    eq(code, -9 if killed else 128 + sent[0], "exit code")
    eq(len(with_token(apart)), 1 if step_of is own_session else 0, "processes in a session of their own")
    assert not w.exists("RAN"), "the next step ran"
    report_after(w, "SIG" + name.split()[0], killed)


def again(w, origin, sig, tok):
    """a second one, once the first has been seen: a run that is over by then needs none"""
    if isinstance(origin, Terminal):
        # Typed at once, as people do; a terminal that has gone by then needs none.
        try:
            origin.send(sig)
        except AssertionError:
            until(lambda: os.path.exists(origin.ended), 5, "the end of the run")
        return
    until(lambda: not signal_pending(origin.run.pid, sig), 5, "the first signal to be taken")
    origin.send(sig)


def signal_pending(pid, sig):
    try:
        with open("/proc/%d/status" % pid) as f:
            masks = [int(x.split()[1], 16) for x in f if x.startswith(("SigPnd", "ShdPnd"))]
    except OSError:
        return False
    return any(m >> (sig - 1) & 1 for m in masks)


def report_after(w, name, killed):
    report, steps = w.report(), w.steps()
    eq(report["ok"], False, "ok")
    if killed:
        eq((report["unfinished"], [s.get("skipped") for s in report["steps"]]), (True, [True] * 3), "report")
        return
    eq((report["interrupted"], report.get("unfinished")), (name, None), "report")
    eq((steps["fast/1"]["ok"], steps["fast/2"]["ok"], steps["fast/2"].get("interrupted")),
       (True, False, True), "the first two steps")
    eq((steps["fast/3"]["skipped"], steps["fast/3"]["exitCode"]), (True, -1), "the third step")


@test("the deaf get five seconds of grace, not less")
def grace(w):
    tok = token()
    on = w.beside("on")
    w.tiers(fast=["exec " + mis("ignore", DEAF, "touch", on, "sleep", tok)])
    run = w.start("verify", "fast")
    until(lambda: os.path.exists(on), 20, "the step")
    run.signal(signal.SIGTERM)
    began = time.monotonic()
    gone(tok, 5 + patience(1.5))
    between(4.5, time.monotonic() - began, 5 + patience(1.5), "seconds of grace")
    eq(run.wait(patience(2)).code, 143, "exit code")
    eq(w.step().get("signal"), "SIGKILL", "the step's own end")


@each(("SIGINT", "SIGTERM", "SIGHUP"), "{0} reaches every process of the session as itself; 0 in spite of it is not ok")
def as_itself(w, name):
    sig, got = getattr(signal, name), w.beside("got")
    on = [w.beside("on%d" % i) for i in range(3)]
    w.tiers(fast=["%s & %s & exec %s" % (
        mis("catch", name[3:], got, on[0]), mis("group", "catch", name[3:], got, on[1]),
        mis("catch", name[3:], got, on[2]))])
    run = w.start("verify", "fast")
    until(lambda: all(os.path.exists(x) for x in on), 20, "the step's processes")
    run.signal(sig)
    eq(run.wait(patience(3)).code, 128 + sig, "exit code")
    with open(got) as f:
        eq(f.read().split(), [name[3:]] * 3, "what the processes caught")
    eq((w.step()["ok"], w.step()["interrupted"]), (False, True), "the step that ended with 0")


@test("an interrupt reaches every running member of a group; what was done stays done")
def group_members(w):
    toks = [token() for _ in range(3)]
    w.tiers(fast=[{"parallel": ["true"] + [mis("child", "sleep", t) for t in toks] + ["touch RAN"] * 3}])
    run = w.start("verify", "fast", "--jobs", "3")
    for t in toks:
        appears(t)
    run.signal(signal.SIGTERM)
    eq(run.wait(patience(3)).code, 143, "exit code")
    for t in toks:
        gone(t, patience(1))
    s = w.steps()
    eq([s["fast/%d" % i]["ok"] for i in range(1, 5)], [True, False, False, False], "ok")
    eq([s["fast/%d" % i].get("interrupted") for i in range(1, 5)], [None, True, True, True], "interrupted")
    eq([s["fast/%d" % i].get("skipped") for i in (5, 6, 7)], [True] * 3, "skipped")
    assert not w.exists("RAN")


@test("an interrupted run keeps going nowhere: --keep-going and retries start nothing after a signal")
def keep_going_interrupted(w):
    tok = token()
    w.tiers(fast=[mis("say", "read ECONNRESET", "child", "sleep", tok), "touch RAN"])
    run = w.start("verify", "fast", "--keep-going", "--retry-environment-failures", "3")
    appears(tok)
    run.signal(signal.SIGINT)
    eq(run.wait(patience(3)).code, 130, "exit code")
    gone(tok, patience(1))
    eq((w.exists("RAN"), w.step()["ok"]), (False, False), "what ran after the signal")


@each(("SIGHUP", "SIGINT", "SIGTERM"), "{0} ignored at the start (nohup) stays ignored, in steps too")
def ignored(w, name):
    sig, go, on = getattr(signal, name), w.beside("go"), w.beside("on")
    w.tiers(fast=[mis("touch", on, "await", go), mis("state")])
    run = w.start("verify", "fast", before=lambda: signal.signal(sig, signal.SIG_IGN))
    until(lambda: os.path.exists(on), 20, "the step")
    run.signal(sig)
    run.signal(sig)
    # Were it to end on it, it would have: the signal has been taken or thrown away.
    until(lambda: not signal_pending(run.pid, sig), 5, "the signal")
    assert not run.ended(), "the run ended"
    open(go, "w").close()
    eq(run.wait(20).code, 0, "exit code")
    eq(w.report().get("interrupted"), None, "interrupted")
    ign = int(match("\n".join(w.tail("fast/2")), r"^SigIgn:\s+(\S+)").group(1), 16)
    eq(ign >> (sig - 1) & 1, 1, "ignored in a step")


@each((("good", 0), ("bad", 1)), "a reader that leaves (head -1) ends no run: {0} is {1}, with its report")
def reader_leaves(w, tier, code):
    done = w.beside("done")
    w.tiers(good=["seq 1 100"] * 5 + ["touch " + done], bad=["echo x", "seq 1 9000; touch %s; exit 1" % done])
    r = w.shell('{ "$0" verify %s; echo $? >code; } | head -1; until [ -e code ]; do sleep 0.02; done' % tier)
    eq((w.read("code").strip(), os.path.exists(done)), (str(code), True), "exit code, whether it ran on (%r)" % r)
    eq(w.report()["ok"], code == 0, "ok")
    lacks(r.err, "geonosis:", "stderr")


@each((("closed by its reader", 0), ("closed by its reader", 1), ("/dev/full", 0), ("closed from the start", 0),
       ("closed from the start", 1)), "stdout {0}: the run goes on to its report and exit {1}")
def stdout_lost(w, how, code):
    w.tiers(fast=["echo a; exit 0", "echo b; exit %d" % code])
    if how == "/dev/full":
        r = w.shell('"$0" verify fast >/dev/full')
    elif how == "closed from the start":
        r = w.shell('"$0" verify fast <&- >&- 2>&-')
    else:
        out, into = os.pipe()
        os.close(out)
        run = w.start("verify", "fast", stdout=into)
        os.close(into)
        r = run.wait(20)
    eq(r.code, code, "exit code (%r)" % r)
    eq((w.report()["ok"], w.tail("fast/1"), w.tail("fast/2")), (code == 0, ["a"], ["b"]), "report")


@test("steps of a run with closed descriptors have 0, 1 and 2 as any step")
def closed_descriptors(w):
    w.tiers(fast=[mis("state")])
    w.shell('"$0" verify fast <&- >&- 2>&-')
    eq([x.split()[1] for x in w.tail() if x.startswith("fd ")], ["0", "1", "2"], "descriptors")


@test("a signal before the first step: 128 + n, and no step has run")
def early(w):
    # Held up by another run of the same tier in the same directory.
    tok = token()
    w.tiers(fast=[mis("child", "sleep", tok)])
    first = w.start("verify", "fast")
    appears(tok)
    before = w.bytes(".geonosis/gate-report.json")
    second = w.start("verify", "fast")
    until(lambda: str(first.pid) in second.out + second.err, 20, "the second run to say for whom it waits")
    second.signal(signal.SIGTERM)
    eq(second.wait(patience(2)).code, 143, "exit code")
    eq(w.bytes(".geonosis/gate-report.json"), before, "the first run's report")
    first.signal(signal.SIGINT)
    eq(first.wait(patience(3)).code, 130, "exit code of the first")
    eq(w.report()["interrupted"], "SIGINT", "interrupted")


@test("on a terminal the last lines say FAIL and the terminal is left as it was")
def terminal_left(w):
    tok = token()
    w.tiers(fast=[mis("child", "sleep", tok)])
    t = Terminal(w)
    t.ended = w.beside("ended")
    t.tmux("new-session", "-d", "-s", "e2e", "-x", "100", "-y", "30",
           "stty -a >%s; %s record %s %s verify fast; stty -a >%s; sleep 60" % (
               w.beside("before"), misbehave(), t.ended, binary(), w.beside("after")))
    appears(tok)
    t.send(signal.SIGINT)
    eq(t.code(patience(4)), 130, "exit code")
    until(lambda: os.path.exists(w.beside("after")) and w.read(w.beside("after")), 10, "stty")
    eq(w.read(w.beside("after")), w.read(w.beside("before")), "settings of the terminal")
    p = subprocess.run(["tmux", "-S", w.beside("tmux"), "capture-pane", "-p", "-t", "e2e"], env=w.env,
                       stdout=subprocess.PIPE, check=True)
    has(p.stdout.decode(), "verify FAIL — fast", "the screen")


@test("a step has no terminal, not even that of its run")
def no_terminal(w):
    w.tiers(fast=[mis("state"), "stty -a 2>&1; tty; [ ! -t 0 ] && [ ! -t 1 ] && [ ! -t 2 ]"])
    t = Terminal(w)
    t.begin()
    eq(t.code(20), 0, "exit code")
    assert "tty none" in w.tail("fast/1"), w.tail("fast/1")


def unread(fd):
    return struct.unpack("i", fcntl.ioctl(fd, termios.FIONREAD, bytes(4)))[0]


@test("a reader that stands still holds the run, and no signal to it: it ends, and its report is written")
def reader_stands_still(w):
    w.tiers(fast=["i=0; while [ $i -lt 60 ]; do printf '%03000d\\n' $i; i=$((i+1)); done; exit 1", "echo after"])
    read, write = os.pipe()
    try:
        run = w.start("verify", "fast", stdout=write)
        os.close(write)
        until(lambda: unread(read) > 60000, 20, "the pipe to be full")
        run.signal(signal.SIGTERM)
        r = run.wait(10)
    finally:
        os.close(read)
    eq(r.code, 128 + signal.SIGTERM, "exit code")
    eq((w.report()["interrupted"], w.report().get("unfinished"), w.step()["exitCode"]), ("SIGTERM", None, 1), "report")
