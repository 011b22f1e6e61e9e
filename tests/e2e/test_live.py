# SPDX-License-Identifier: MIT
"""The live region on a real terminal: what it shows, what it never touches, what is left of it."""
import os
import pty
import re
import select
import signal
import subprocess
import time

from harness import binary, each, eq, has, lacks, match, mis, misbehave, patience, test, token, until, with_token
from terminal import Terminal, ended, program

WIDE = "\u6f22\u5b57\u304b\u306a \U0001f642 e\u0301 \u2764\ufe0f\tend "
SLOTS = {"GEONOSIS_HEAVY_SLOTS": "6"}
REGION = re.compile(r"^(run |wait|and \d+ more)")


def job(go, n):
    """a step that says something wide now and then until it is let go"""
    return "i=0; until [ -e %s ]; do i=$((i+1)); printf '%%s\\n' \"%d:$i %s\"; sleep 0.05; done" % (go, n, WIDE * 30)


def known(n):
    return ["KNOWN %04d" % i for i in range(1, n + 1)]


class Run:
    """a verify on a terminal that was full of known lines before it"""
    def __init__(self, w, jobs, columns, rows, env=None):
        self.w, self.jobs, self.go, self.before = w, jobs, w.beside("go"), known(2 * rows)
        w.tiers(fast=[{"parallel": [job(self.go, i) for i in range(1, jobs + 1)]}])
        self.t = Terminal(w, "seq -f 'KNOWN %%04g' 1 %d; %s" % (len(self.before), program(
            w, "verify", "fast", "--jobs", str(jobs))), columns, rows, env=dict(SLOTS, **(env or {})))
        until(lambda: "budget:" in self.t.text(), 20, self.t.text)

    def lines(self):
        """what stands below the known lines, which stand as they stood"""
        lines = self.t.lines()
        eq(lines[:len(self.before)], self.before, "what stood there before (of %s)" % lines)
        return lines[len(self.before):]

    def region(self):
        return [x for x in self.lines() if REGION.match(x)]

    def shown(self, n, secs=20):
        """until the region has so many lines, all of them at the end, each in one row"""
        def good():
            lines, region = self.lines(), self.region()
            return len(region) == n and region == lines[-n:] and lines
        return until(good, secs, lambda: "%d lines of the region: %s" % (n, self.lines()))

    def let(self):
        """the lines when it has ended, those of the region that are left apart"""
        open(self.go, "w").close()
        eq(ended(self.w, 30), 0, "exit code")
        lines = self.lines()
        self.left = [x for x in lines if REGION.match(x)]
        eq(sorted(x.split()[1] for x in lines if x.startswith("ok ")), sorted("fast/%d" % i for i in range(1, self.jobs + 1)),
           "the steps (of %s)" % lines)
        eq([x.split()[:2] for x in lines[-1:]], [["verify", "PASS"]], "the last line")
        return lines

    def let_clean(self):
        lines = self.let()
        eq(self.left, [], "what is left of the region")
        return lines


@each(((80, 24), (200, 50)), "a screen of {0} x {1}: what runs, since when, its last line; nothing above is touched; nothing is left")
def sizes(w, columns, rows):
    run = Run(w, 5, columns, rows)
    lines = run.shown(5)
    eq(lines[0], "budget: 5 jobs (--jobs)", "the permanent line")
    want = [r"run  fast/%d i=0; until .* \(\d+ s\) \| %d:\d+ \u6f22" % (i, i) for i in range(1, 6)]
    until(lambda: all(re.match(a, b) for a, b in zip(want, sorted(run.region()))), 20,
          lambda: "the steps' last lines: %s" % run.region())
    until(lambda: any("(2 s)" in x for x in run.region()), 20, "the seconds to pass")
    for _ in range(20):
        run.shown(5)
    lines = run.let_clean()
    eq([x.split()[0] for x in lines], ["budget:"] + ["ok"] * 5 + ["(unproven):", "verify"], "all lines")


@test("lines of wide characters take one row each, whatever the width of the screen", timeout=90)
def wide(w):
    run = Run(w, 3, 80, 24)
    for columns in (80, 79, 78, 61, 60, 59, 133, 132):
        run.t.resize(columns, 24)
        run.shown(3)
        rows = [x for x in run.t.screen() if REGION.match(x)]
        eq(len(rows), 3, "rows at %d columns: %s" % (columns, rows))
    run.let_clean()


# What a narrow and low screen wraps past its top is the terminal's history: it stays, but harms nothing.
MILD, WILD = ((60, 20), (120, 40), (80, 12), (200, 50), (70, 24), (80, 24)), ((40, 6), (200, 7), (10, 50), (80, 2), (41, 50), (80, 24))


@each((("mildly", MILD, True), ("wildly", WILD, False)),
      "resized {0} while it runs: nothing above is touched, the region comes back whole, and goes", timeout=90)
def resized(w, _, sizes, is_clean):
    run = Run(w, 4, 80, 24)
    run.shown(4)
    for columns, rows in sizes * 2:
        run.t.resize(columns, rows)
        # Before it is drawn anew as well as after.
        run.lines()
        n = min(4, rows - 1)
        until(lambda: [bool(REGION.match(x)) for x in run.t.screen() if x.strip()][-n:] == [True] * n, 20,
              lambda: "the region at %d x %d: %s" % (columns, rows, run.t.screen()))
        run.lines()
    run.shown(4) if is_clean else None
    run.let_clean() if is_clean else run.let()


@test("resized in quick succession while lines are printed: every line is there once", timeout=90)
def resized_quickly(w):
    w.tiers(fast=["sleep 0.1; seq %d; exit 0" % i for i in range(1, 31)])
    t = Terminal(w, "seq -f 'KNOWN %04g' 1 60; " + program(w, "verify", "fast", "--jobs", "4"), 80, 24, env=SLOTS)
    until(lambda: "budget:" in t.text(), 20, t.text)
    sizes, i = ((60, 20), (120, 40), (80, 6), (200, 50)), 0
    while not os.path.exists(w.beside("ended")):
        t.resize(*sizes[i % 4])
        i += 1
        eq(t.lines()[:60], known(60), "what stood there before")
        assert i < 2000
    eq(ended(w, 1), 0, "exit code")
    t.resize(200, 50)
    lines = t.lines()[60:]
    eq([x.split()[1] for x in lines if x.startswith("ok ")], ["fast/%d" % i for i in range(1, 31)], "steps")
    assert i >= 5, "resized %d times only" % i


@test("more jobs than there are rows: the first of them, and how many more", timeout=90)
def many(w):
    run = Run(w, 40, 80, 24, env={"GEONOSIS_HEAVY_SLOTS": "40"})
    run.shown(12)
    eq(run.region()[-1], "and 29 more", "the last line")
    run.t.resize(80, 8)
    until(lambda: 3 <= len([x for x in run.t.screen() if REGION.match(x)]) <= 7, 20, "the region in eight rows")
    for _ in range(5):
        run.lines()
    run.t.resize(80, 2)
    run.lines()
    run.t.resize(80, 24)
    run.shown(12)
    run.let()


@test("what waits for a slot is named, with whom it waits for: another's pid and directory, or the run's own steps")
def waiting(w):
    on, go = w.beside("on"), w.beside("hold-go")
    hold = w.start("gate", "run", "--slots", "5", "--", misbehave(), "touch", on, "await", go, "exit", "0", env=SLOTS)
    until(lambda: os.path.exists(on), 20, "the holder")
    run = Run(w, 3, 200, 50)
    run.shown(3)
    until(lambda: len([x for x in run.region() if x.startswith("wait fast/")]) == 2, 20, lambda: "two to wait: %s" % run.region())
    for line in [x for x in run.region() if x.startswith("wait")]:
        match(line, r"^wait fast/\d .* \(\d+ s\) for a slot: pid %d in %s " % (hold.pid, re.escape(w.dir)), "a step that waits")
    lacks("\n".join(x for x in run.lines() if not REGION.match(x)), "wait", "permanent lines")
    open(go, "w").close()
    until(lambda: all(x.startswith("run ") for x in run.region()), 20, lambda: "all to run: %s" % run.region())
    run.let_clean()


@test("a run's own steps in the way are said to be its own")
def waiting_for_own(w):
    run = Run(w, 3, 200, 50, env={"GEONOSIS_HEAVY_SLOTS": "2"})
    until(lambda: any(re.match(r"wait fast/\d .* for a slot: 2 slots of this run", x) for x in run.region()), 20,
          lambda: "the one that waits: %s" % run.region())
    run.let_clean()


@test("--exclusive that waits says so above, and the wait is said anew when the holder is another")
def waiting_exclusive(w):
    holds = []
    for i in range(2):
        on, go = w.beside("on%d" % i), w.beside("go%d" % i)
        holds.append((w.start("gate", "run", "--", misbehave(), "touch", on, "await", go, "exit", "0", env=SLOTS), go))
        until(lambda: os.path.exists(on), 20, "a holder")
    w.tiers(fast=["true"])
    t = Terminal(w, program(w, "verify", "fast", "--exclusive"), 200, 50, env=SLOTS)
    until(lambda: "wait: for the whole machine, held by pid %d" % holds[0][0].pid in t.text(), 20, "the wait to be told")
    open(holds[0][1], "w").close()
    until(lambda: "wait: for the whole machine, held by pid %d" % holds[1][0].pid in t.text(), 20, t.text)
    open(holds[1][1], "w").close()
    eq(ended(w, 20), 0, "exit code")


@each((("C-c", 130), ("C-c twice", 130)), "{0} leaves a clean prompt: verdict, prompt, nothing of the region, settings as before")
def interrupted(w, keys, code):
    tok = token()
    # Where a second one is to find it: in the grace that steps take which are deaf to the first.
    deaf = ("ignore", "TERM", "ignore", "INT") if "twice" in keys else ()
    w.tiers(fast=[{"parallel": [mis(*deaf, "touch", w.beside("on%d" % i), "child", "sleep", tok) for i in range(3)]}])
    script = "seq -f 'KNOWN %%04g' 1 60; stty -a >%s; %s" % (w.beside("before"), program(w, "verify", "fast", "--jobs", "3").replace(
        "; exec sleep 100", "; stty -a >%s; printf 'PROMPT$ '; exec sleep 100" % w.beside("after")))
    t = Terminal(w, script, 80, 24, env=SLOTS)
    until(lambda: len([x for x in t.lines() if x.startswith("run ")]) == 3, 20, t.text)
    until(lambda: all(os.path.exists(w.beside("on%d" % i)) for i in range(3)), 20, "the steps")
    for _ in range(2 if "twice" in keys else 1):
        t.type("C-c")
    eq(ended(w, patience(10)), code, "exit code")
    until(lambda: "PROMPT$" in t.text(), 10, "the prompt")
    lines = t.lines()
    eq(lines[:60], known(60), "what stood there before")
    eq(lines[-1], "PROMPT$", "the last line (%s)" % lines)
    assert lines[-2].startswith(("verify FAIL", "/")) or "gate-report.json" in lines[-2], lines
    eq([x for x in lines if REGION.match(x) or "^C" in x], [], "what is left")
    eq(w.read(w.beside("after")), w.read(w.beside("before")), "settings of the terminal")
    eq(with_token(tok), [], "the steps' processes")


@test("SIGKILL leaves the terminal usable: its settings are as before, the prompt stands below what was there")
def killed(w):
    tok = token()
    w.tiers(fast=[mis("child", "sleep", tok)])
    script = "seq -f 'KNOWN %%04g' 1 60; stty -a >%s; echo $$ >%s; exec %s verify fast" % (
        w.beside("before"), w.beside("pid"), binary())
    t = Terminal(w, "(%s); stty -a >%s; printf 'PROMPT$ '; exec sleep 100" % (script.replace("$$", "$BASHPID"), w.beside("after")), 80, 24, env=SLOTS)
    until(lambda: any(x.startswith("run ") for x in t.lines()), 20, t.text)
    pid = int(w.read(w.beside("pid")))
    fd = os.pidfd_open(pid)
    with open("/proc/%d/cmdline" % pid, "rb") as f:
        assert binary().encode() in f.read()
    signal.pidfd_send_signal(fd, signal.SIGKILL)
    os.close(fd)
    until(lambda: "PROMPT$" in t.text(), 10, "the prompt")
    eq(t.lines()[:60], known(60), "what stood there before")
    eq(w.read(w.beside("after")), w.read(w.beside("before")), "settings of the terminal")


@test("at the very top of an empty screen nothing is kept as history")
def top(w):
    run_go = w.beside("go")
    w.tiers(fast=[job(run_go, 1)])
    t = Terminal(w, "clear; " + program(w, "verify", "fast", "--exclusive"), 80, 24, env=SLOTS)
    until(lambda: any("(1 s)" in x for x in t.lines()), 20, t.text)
    eq(len([x for x in t.lines() if REGION.match(x)]), 1, "times the region stands there")
    open(run_go, "w").close()
    eq(ended(w, 20), 0, "exit code")


# -------------------------------------------------------- plain lines instead

def on_a_terminal(w, *words, env=None, drop=()):
    """what the program writes to a terminal, byte for byte, and its exit code"""
    ours, theirs = pty.openpty()
    full = {k: v for k, v in dict(w.env, **(env or {})).items() if k not in drop}
    p = subprocess.Popen([binary(), *words], cwd=w.dir, env=full, stdin=subprocess.DEVNULL, stdout=theirs,
                         stderr=theirs, start_new_session=True)
    os.close(theirs)
    data, end = b"", time.monotonic() + 30
    while time.monotonic() < end:
        if select.select([ours], [], [], 0.1)[0]:
            try:
                data += os.read(ours, 65536)
            except OSError:
                break
    os.close(ours)
    return p.wait(5), data.decode("utf-8", "surrogateescape").replace("\r\n", "\n")


PLAIN = ("budget:", "ok", "(unproven):", "verify")


@each((("NO_COLOR=1", {"NO_COLOR": "1"}, ()), ("CI=true", {"CI": "true"}, ()), ("CI=0", {"CI": "0"}, ()),
       ("TERM=dumb", {"TERM": "dumb"}, ()), ("TERM=", {"TERM": ""}, ()), ("no TERM", {}, ("TERM",))),
      "a terminal with {0}: plain lines, no escape, the same as piped")
def plain(w, _, env, drop):
    w.tiers(fast=["sleep 0.6; printf '\\033[31mred\\033[0m\\n'"])
    code, text = on_a_terminal(w, "verify", "fast", env=env, drop=drop)
    eq((code, [x.split()[0] for x in text.splitlines()]), (0, list(PLAIN)), "code, lines (%r)" % text)
    lacks(text, "\033", "what was written")
    lacks(text, "\r", "what was written")


@each((("nothing set", {}), ("NO_COLOR=", {"NO_COLOR": ""}), ("CI=", {"CI": ""})), "a terminal with {0}: there is a region")
def not_plain(w, _, env):
    w.tiers(fast=["sleep 0.6"])
    code, text = on_a_terminal(w, "verify", "fast", env=env)
    eq(code, 0, "exit code")
    has(text, "\033[J", "what was written")
    has(text, "run  fast/1 sleep 0.6 (0 s)", "what was written")


@each((["verify", "fast"], ["verify", "fast", "--json"]), "piped {0}: no escape, and a red's colours stay out of report and output")
def piped(w, words):
    w.tiers(fast=["sleep 0.4; printf '\\033[31mred\\033[0m\\n'; exit 1"])
    r = w.run(*words)
    eq(r.code, 1, "exit code")
    lacks(r.both, "\033", "what was written")
    lacks(w.read(".geonosis/gate-report.json"), "\\u001b", "the report")


@test("--json on a terminal: events alone")
def json_on_a_terminal(w):
    w.tiers(fast=["sleep 0.5"])
    code, text = on_a_terminal(w, "verify", "fast", "--json")
    eq((code, {x[0] for x in text.splitlines()}), (0, {"{"}), "code, first characters of the lines")
    lacks(text, "\033", "what was written")


@test("a step's own escapes do not reach the terminal: no title, no cursor, no bell")
def escapes(w):
    on = w.beside("go")
    w.tiers(fast=["printf '\\033]0;owned\\007\\033[2J\\033[10A\\033[?25lplain\\a\\b\\b\\n'; until [ -e %s ]; do sleep 0.05; done; exit 1" % on])
    t = Terminal(w, "seq -f 'KNOWN %04g' 1 60; " + program(w, "verify", "fast"), 80, 24, env=SLOTS)
    until(lambda: any("| plai" in x for x in t.lines()), 20, t.text)
    open(on, "w").close()
    eq(ended(w, 20), 1, "exit code")
    eq(t.lines()[:60], known(60), "what stood there before")
    lacks(t.tmux("display-message", "-p", "-t", "e2e", "#{pane_title}"), "owned", "title")
