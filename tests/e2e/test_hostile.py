# SPDX-License-Identifier: MIT
"""Steps that do what steps ought not to do."""
import os
import signal

from harness import (appears, between, describe, each, eq, gone, has, kill, lacks, mis, patience,
                     sanitized, stat_of, status_kb, test, token, until, with_token, worker_of)

# What may be left running in the step's session, each by its words to misbehave.
LEFT = (("a child that holds the pipe", []),
        ("a child in its own group", ["group"]),
        ("a double fork", ["double"]),
        ("a double fork in its own group", ["double", "group"]),
        ("a child without the pipe", ["close", "12"]),
        ("a child that ignores INT and HUP", ["ignore", "INT,HUP"]))


@each([(what, code, words) for what, words in LEFT for code in (0, 3)],
      "left running, {0}: the run answers at once, counts it, ends it; exit {1} stays")
def left_running(w, _, code, words):
    flag, tok = w.beside("on"), token()
    w.tiers(fast=["%s & %s; exit %d" % (mis(*words, "touch", flag, "sleep", tok), mis("await", flag), code),
                  "echo after"])
    r = w.verify("fast")
    eq(r.code, 1 if code else 0, "exit code (%r)" % r)
    eq(with_token(tok), [], "what still runs")
    s = w.step()
    eq((s["exitCode"], s["ok"]), (code, code == 0), "verdict")
    assert type(s.get("leaked")) is int and s["leaked"] >= 1, s
    between(0, r.secs, patience(1.5), "seconds: TERM is enough for it")


@test("left running and deaf to TERM: KILL after about two seconds")
def left_deaf(w):
    flag, tok = w.beside("on"), token()
    w.tiers(fast=["%s & %s" % (mis("ignore", "TERM", "touch", flag, "sleep", tok), mis("await", flag))])
    r = w.green("fast")
    eq(with_token(tok), [], "what still runs")
    eq(w.step()["leaked"], 1, "leaked")
    between(1.8, r.secs, 2 + patience(1.5), "seconds")


@test("left running and stopped: it is ended all the same")
def left_stopped(w):
    flag, tok = w.beside("on"), token()
    w.tiers(fast=["%s & %s; while ! grep -q '^State:.T' /proc/$!/status; do sleep 0.01; done"
                  % (mis("touch", flag, "stop") + " " + tok, mis("await", flag))])
    r = w.green("fast")
    eq(with_token(tok), [], "what still runs")
    eq(w.step()["leaked"], 1, "leaked")
    between(0, r.secs, 2 + patience(2), "seconds")


@test("a session of its own is left alone, though it holds the pipe; the run answers at once")
def own_session(w):
    flag, tok = w.beside("on"), token()
    w.tiers(fast=["%s; %s" % (mis("bg", "session", "touch", flag, "sleep", tok), mis("await", flag))])
    r = w.green("fast")
    eq(len(with_token(tok)), 1, "processes in the other session")
    assert not w.step().get("leaked"), w.step()
    between(0, r.secs, patience(1.5), "seconds")


@test("a session of its own that writes without end cannot hang the drain")
def own_session_writes(w):
    # Several of them, so that the pipe is never empty.
    flag = w.beside("on")
    flood = mis("bg", "session", "touch", flag, "flood", 1 << 40)
    w.tiers(fast=["echo first; %s; %s; %s; %s" % (flood, flood, flood, mis("await", flag)), "echo second"])
    r = w.green("fast", secs=30)
    between(0, r.secs, patience(4), "seconds")
    eq(w.tail("fast/2"), ["second"], "the next step's tail")


@test("what is written after the shell has ended belongs to no step and harms nothing")
def writes_late(w):
    said, flag = w.beside("said"), w.beside("on")
    w.tiers(fast=["echo first; %s $$ %s; %s" % (mis("bg", "session", "touch", flag, "late"), said, mis("await", flag)),
                  mis("await", said) + "; echo second"])
    w.green("fast")
    eq((w.tail("fast/1"), w.tail("fast/2")), (["first"], ["second"]), "tails")


@test("a child in a session of its own that has left its group behind is not hit by mistake")
def own_session_of_child(w):
    flag, inner, outer = w.beside("on"), token(), token()
    w.tiers(fast=["%s & %s; %s & %s; exit 0" % (
        mis("group", "sleep", inner), mis("bg", "session", "touch", flag, "sleep", outer),
        mis("sleep", inner), mis("await", flag))])
    w.green("fast")
    eq((len(with_token(inner)), len(with_token(outer))), (0, 1), "processes left in and out of the session")
    eq(w.step()["leaked"], 2, "leaked")


@each((0, 5), "stdout and stderr closed, it works on: waited for, and exit {0} counts")
def closes_output(w, code):
    flag = w.beside("done")
    w.tiers(fast=["echo first; exec >&- 2>&-; sleep 0.7; : >%s; exit %d" % (flag, code)])
    r = w.verify("fast")
    eq(r.code, 1 if code else 0, "exit code")
    eq(os.path.exists(flag), True, "the step was waited for")
    s = w.step()
    eq((s["exitCode"], w.tail()), (code, ["first"]), "step")
    between(700, s["ms"], 700 + 1000 * patience(1.5), "ms")


@test("its own foreground child that closed everything is waited for too")
def closes_output_child(w):
    flag = w.beside("done")
    w.tiers(fast=[mis("child", "close", "012", "await", w.beside("go"), "touch", flag, "exit", 6)])
    run = w.start("verify", "fast")
    appears(w.beside("go"))
    assert not run.ended(), "the run did not wait"
    open(w.beside("go"), "w").close()
    eq(run.wait(20).code, 1, "exit code")
    eq(w.step()["exitCode"], 6, "exitCode")


@test("two hundred processes left behind are all ended and all counted")
def bomb(w):
    tok = token()
    w.tiers(fast=[mis("bomb", 200, tok)])
    w.green("fast")
    eq(with_token(tok), [], "what still runs")
    eq(w.step()["leaked"], 200, "leaked")


@test("a process that keeps forking while it is ended does not get away")
def chain(w):
    # Each link starts the next and dies: never the same pid twice.
    tok = token()
    w.write("link.sh", "[ $1 -gt 0 ] || exit 0\nsh link.sh $(($1 - 1)) %s &\nsleep 0.002\n" % tok)
    w.tiers(fast=["sh link.sh 4000 %s & echo started" % tok])
    w.green("fast", secs=40)
    eq(with_token(tok), [], "what still runs")


@test("a process that is never the same one, as fast as fork is, does not get away")
def hopping(w):
    # Several steps of it, since a sweep may be lucky; few hops, since each is a zombie for a while.
    tok = token()
    for _ in range(5):
        w.tiers(fast=["%s & echo started" % mis("hop", 2000, tok)])
        w.green("fast")
        eq(with_token(tok), [], "what still runs")


@test("a process whose first thread has ended is left running all the same, and is ended")
def leaderless(w):
    on, pid = w.beside("on"), w.beside("pid")
    w.tiers(fast=["%s & echo $! >%s; %s" % (mis("leaderless", on), pid, mis("await", on))])
    w.green("fast")
    eq(w.step()["leaked"], 1, "leaked")
    assert stat_of(int(w.read(pid))) is None, describe(int(w.read(pid)))


@test("a step that kills its own worker and says 0 is no green")
def kills_its_worker(w):
    w.tiers(fast=["kill -9 $PPID; exit 0", "touch RAN"])
    w.red("fast")
    eq((w.step()["ok"], w.step()["exitCode"], w.exists("RAN")), (False, -1, False), "step, what ran next")
    assert w.step()["error"], w.step()


@test("a step that stops its own worker and says 0 ends with its supervisor's help, or by a signal to the run")
def stops_its_worker(w):
    tok = token()
    w.tiers(fast=["kill -STOP $PPID; exec " + mis("sleep", tok)])
    run = w.start("verify", "fast")
    appears(tok)
    run.signal(signal.SIGTERM)
    eq(run.wait(5 + patience(4)).code, 143, "exit code")
    gone(tok, patience(1))
    eq(w.step()["ok"], False, "ok")


@test("a step that stops itself is ended by a signal to the run")
def stops_itself(w):
    tok = token()
    w.tiers(fast=["exec " + mis("stop") + " " + tok])
    run = w.start("verify", "fast")
    pid = appears(tok)[0]
    until(lambda: stat_of(pid) and stat_of(pid).state == "T", 10, "the step to stop")
    run.signal(signal.SIGTERM)
    eq(run.wait(5 + patience(3)).code, 143, "exit code")
    gone(tok, patience(1))


@test("SIGKILL of the worker: its step is not ok, exitCode -1, error; session ended; exit 1")
def worker_killed(w):
    one, two = token(), token()
    w.tiers(fast=["echo said; %s & %s; exit 0" % (mis("ignore", "TERM,INT,HUP", "group", "sleep", one),
                                                  mis("sleep", two)), "touch RAN"])
    run = w.start("verify", "fast")
    appears(one)
    kill(worker_of(appears(two)[0], run.pid), signal.SIGKILL)
    gone(one, patience(1))
    gone(two, patience(1))
    r = run.wait(patience(5))
    eq(r.code, 1, "exit code (%r)" % r)
    s = w.step()
    eq((s["ok"], s["exitCode"]), (False, -1), "step")
    assert isinstance(s.get("error"), str) and s["error"], s
    eq((w.report()["ok"], w.report().get("unfinished")), (False, None), "report")
    eq((w.step("fast/2").get("skipped"), w.exists("RAN")), (True, False), "the next step")
    assert any(x.startswith("FAIL fast/1 ") for x in r.lines()), r


@test("SIGKILL of one worker of a group: the other members are let finish")
def worker_killed_in_group(w):
    tok, go, done = token(), w.beside("go"), w.beside("done")
    w.tiers(fast=[{"parallel": [mis("child", "sleep", tok), mis("await", go, "touch", done)]}])
    run = w.start("verify", "fast", "--jobs", "2")
    appears(go)
    kill(worker_of(appears(tok, 2)[0], run.pid), signal.SIGKILL)
    gone(tok, patience(1))
    open(go, "w").close()
    eq(run.wait(patience(5)).code, 1, "exit code")
    eq((w.step("fast/1")["exitCode"], w.step("fast/2")["ok"]), (-1, True), "steps")
    assert os.path.exists(done)


@test("SIGKILL of a step's shell only: 137, SIGKILL; what it left is ended")
def shell_killed(w):
    tok, pid = token(), w.beside("pid")
    w.tiers(fast=["echo $$ >%s.new; mv %s.new %s; %s; exit 0" % (pid, pid, pid, mis("sleep", tok))])
    run = w.start("verify", "fast")
    until(lambda: os.path.exists(pid) and with_token(tok), 20, "the step")
    with open(pid) as f:
        kill(int(f.read()), signal.SIGKILL)
    eq(run.wait(patience(4)).code, 1, "exit code")
    s = w.step()
    eq((s["exitCode"], s["signal"]), (137, "SIGKILL"), "step")
    assert s["leaked"] >= 1, s
    eq(with_token(tok), [], "what still runs")


def stopped_worker(w, step):
    tok = token()
    w.tiers(fast=[step(tok)])
    run = w.start("verify", "fast")
    worker = worker_of(appears(tok, 1)[-1], run.pid)
    kill(worker, signal.SIGSTOP)
    until(lambda: stat_of(worker).state == "T", 10, "the worker to stop")
    return tok, run


@each((("a plain step", lambda t: mis("child", "sleep", t)),
       ("a step in its own group", lambda t: mis("child", "group", "sleep", t)),
       ("a deaf step", lambda t: mis("ignore", "TERM,HUP,INT", "child", "sleep", t))),
      "a stopped worker whose supervisor is killed: {0} ends within a second")
def worker_stopped_orphan(w, _, step):
    tok, run = stopped_worker(w, step)
    run.signal(signal.SIGKILL)
    gone(tok, patience(1.2))
    eq(run.wait(2).code, -9, "exit code")


@each(("SIGTERM", "SIGINT"), "a stopped worker and {0} to the supervisor: the run ends")
def worker_stopped_signal(w, name):
    tok, run = stopped_worker(w, lambda t: mis("child", "sleep", t))
    sig = getattr(signal, name)
    run.signal(sig)
    r = run.wait(5 + patience(4))
    eq(r.code, 128 + sig, "exit code")
    gone(tok, patience(1))
    eq((w.report()["interrupted"], w.step()["ok"]), (name, False), "report")


@test("1 GB of output: supervisor and worker stay below 8 MB each", timeout=180)
def gigabyte(w):
    tok = token()
    w.tiers(fast=["%s; %s; exit 1 # %s" % (mis("flood", 1 << 30), said_all(w), tok)])
    peaks = peak_memory(w, tok)
    if peaks:
        assert max(peaks) < 8192, "VmHWM of supervisor and worker in kB: %r" % (peaks,)
    s = w.step()
    eq((s["exitCode"], s["lines"]), (1, (1 << 30) // 64), "exitCode, lines")
    between(3900000, os.path.getsize(w.path(s["log"])), (4 << 20) + 4096, "bytes of the log")


def said_all(w):
    return mis("touch", w.beside("said"), "await", w.beside("go"))


def peak_memory(w, tok):
    """runs fast to its red end; the VmHWM of supervisor and worker once the step has said all"""
    run = w.start("verify", "fast")
    until(lambda: run.ended() or os.path.exists(w.beside("said")), 150, "the end of the output")
    assert not run.ended(), repr(run.wait(1))
    shell = [p for p in with_token(tok) if stat_of(p) and stat_of(p).sid == p]
    assert shell, "the step's shell is not there"
    worker = worker_of(shell[0], run.pid)
    # The pipe holds at most 64 KiB of it now; what has been read has been read.
    peaks = [status_kb(p, "VmHWM") for p in (run.pid, worker)]
    open(w.beside("go"), "w").close()
    eq(run.wait(60).code, 1, "exit code")
    return None if sanitized() else peaks


@test("one line of 100 MB: memory stays small, the report and the console line too", timeout=120)
def long_line(w):
    tok = token()
    w.tiers(fast=["%s; echo last; %s; exit 1 # %s" % (mis("line", 100000000), said_all(w), tok)])
    peaks = peak_memory(w, tok)
    if peaks:
        assert max(peaks) < 8192, "VmHWM of supervisor and worker in kB: %r" % (peaks,)
    first, last = w.tail()
    eq(last, "last", "last line")
    assert len(first.encode()) < 4096 + 100 and "…" in first, first[-200:]
    kept = len(first[:first.index("…")])
    has(first, str(100000000 - kept), "the number of bytes left out")
    between(1, os.path.getsize(w.path(".geonosis/gate-report.json")), 65536, "bytes of the report")


@test("a signal mask and an ignored SIGPIPE of the caller do not reach a step's kill")
def caller_blocks(w):
    flag, tok = w.beside("on"), token()
    w.tiers(fast=["%s & %s" % (mis("touch", flag, "sleep", tok), mis("await", flag))])
    r = w.green("fast", before=lambda: signal.pthread_sigmask(signal.SIG_BLOCK, range(1, 32)))
    eq(with_token(tok), [], "what still runs")
    lacks(r.err, "geonosis:", "stderr")


@test("a step that blocks every signal is ended after the grace")
def blocks_all(w):
    flag, tok = w.beside("on"), token()
    w.tiers(fast=["%s & %s" % (mis("block", "touch", flag, "sleep", tok), mis("await", flag))])
    r = w.green("fast")
    eq((with_token(tok), w.step()["leaked"]), ([], 1), "what still runs, leaked")
    between(1.8, r.secs, 2 + patience(1.5), "seconds")


def comm(pid):
    try:
        with open("/proc/%d/comm" % pid) as f:
            return f.read().strip()
    except OSError:
        return ""


@test("KILL for every process of the program's name, as pkill sends it: the step's session ends")
def killed_by_name(w):
    tok = token()
    w.tiers(fast=["%s & %s" % (mis("group", "sleep", tok), mis("sleep", tok))])
    run = w.start("verify", "fast")
    step = appears(tok, 2)
    worker = worker_of(step[0], run.pid)
    named = [pid for pid in (run.pid, worker) if "geonosis" in comm(pid)]
    # As one blow: none of them has time to act on another's end.
    for sig in (signal.SIGSTOP, signal.SIGKILL):
        for pid in named:
            kill(pid, sig)
    gone(tok, patience(1))
