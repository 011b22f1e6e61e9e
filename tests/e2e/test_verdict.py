# SPDX-License-Identifier: MIT
"""Verdicts, exit codes, the report of a run, of a run cut short, and of a refusal."""
import datetime
import json
import os
import signal

from harness import (REPORT, appears, each, eq, gone, has, lacks, match, mis, patience, signal_name,
                     test, token, until)

EXITS = (0, 1, 2, 3, 77, 99, 125, 126, 127, 128, 129, 137, 143, 254, 255)


@each(EXITS, "exit {0} of a step is its exitCode, and red unless it is 0")
def exit_code(w, code):
    w.tiers(fast=[mis("exit", code)])
    r = w.verify("fast")
    s = w.step()
    eq(r.code, 1 if code else 0, "exit code of the run")
    eq((s["ok"], s["exitCode"], "signal" in s, s.get("skipped")), (code == 0, code, False, None), "step")
    eq(w.report()["ok"], code == 0, "ok")


@each((("./plain", 126), ("./dir", 126), ("no-such-command-at-all", 127), ("./absent", 127),
       ("exit 300", 300 & 255), ("if", 2)), "`{0}` is the shell's own failure {1}")
def shell_code(w, command, code):
    w.write("plain", "no program")
    os.mkdir(w.path("dir"))
    w.tiers(fast=[command])
    w.red("fast")
    eq(w.step()["exitCode"], code, "exitCode")
    assert w.tail() or command.startswith("exit"), "what the shell said is lost"


# What a process may die by; the others are ignored, or stop, by default.
DEADLY = [s for s in range(1, 32) if s not in (signal.SIGCHLD, signal.SIGCONT, signal.SIGSTOP,
                                               signal.SIGTSTP, signal.SIGTTIN, signal.SIGTTOU,
                                               signal.SIGURG, signal.SIGWINCH)]


@each([(signal_name(s), int(s)) for s in DEADLY], "death by {0}: exitCode 128 + {1}, and the signal")
def death(w, name, number):
    w.tiers(fast=["exec " + mis("die", number), "touch RAN"])
    w.red("fast")
    s = w.step()
    eq((s["ok"], s["exitCode"]), (False, 128 + number), "step")
    # A number may have two names, as SIGIO and SIGPOLL.
    eq(getattr(signal, s["signal"]), number, "the signal %s for %s" % (s["signal"], name))
    assert not w.exists("RAN"), "the next step ran"


@test("a shell that says 128 + n for its child died of no signal itself")
def death_of_a_child(w):
    w.tiers(fast=[mis("die", "KILL") + "; exit $?"])
    w.red("fast")
    eq((w.step()["exitCode"], w.step().get("signal")), (137, None), "step")


@test("the report of a run: its fields, its form, its times")
def fields(w):
    w.config({"verify": {"fast": ["sleep 0.2; echo a/b", "exit 3", "true"]}, "budgets": {"fast": 99000}})
    before = datetime.datetime.now(datetime.timezone.utc)
    w.red("fast")
    after = datetime.datetime.now(datetime.timezone.utc)
    text, report = w.read(REPORT), w.report()
    assert text.startswith('{\n  "tier": "fast",\n  "startedAt": "'), text[:200]
    has(text, "a/b", "the report, slashes as they are")
    eq(json.dumps(report, indent=2, ensure_ascii=False).split(), text.split(), "two-space JSON")
    eq([k for k in report if k in ("unfinished", "interrupted", "replayed")], [], "keys")
    eq((report["tier"], report["ok"], report["budgetMs"]), ("fast", False, 99000), "head")
    times = []
    for key in ("startedAt", "finishedAt"):
        match(report[key], r"^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$", key)
        times.append(datetime.datetime.fromisoformat(report[key].replace("Z", "+00:00")))
    slip = datetime.timedelta(milliseconds=2)
    assert before - slip <= times[0] <= times[1] <= after + slip, (before, times, after)
    assert times[1] - times[0] >= datetime.timedelta(milliseconds=190), times
    s = report["steps"]
    eq([x["id"] for x in s], ["fast/1", "fast/2", "fast/3"], "plan order")
    eq([x["command"] for x in s], ["sleep 0.2; echo a/b", "exit 3", "true"], "commands")
    assert 190 <= s[0]["ms"] <= 60000, s[0]
    eq((s[0]["tail"].rstrip("\n"), s[0]["ok"], s[0].get("log")), ("a/b", True, None), "a green step")
    eq((s[2]["skipped"], s[2]["ok"], s[2]["exitCode"], s[2]["ms"], s[2]["tail"]),
       (True, False, -1, 0, ""), "a skipped step")


def on_disk(w):
    """the report as it lies there, or nothing when it is not there"""
    return w.report() if w.exists(REPORT) else None


@test("at its start a run replaces the old report by one that says unfinished, every step skipped")
def unfinished(w):
    flag, tok = w.beside("go"), token()
    w.tiers(fast=["true"])
    w.green("fast")
    eq(w.report()["ok"], True, "the old report")
    w.tiers(fast=["echo one", mis("touch", flag, "child", "sleep", tok), "echo three"])
    run = w.start("verify", "fast")
    until(lambda: os.path.exists(flag), 20, "the second step")
    appears(tok)
    report = on_disk(w)
    eq((report["ok"], report["unfinished"], report["tier"]), (False, True, "fast"), "while it runs")
    eq([(s["id"], s.get("skipped"), s["ok"], s["exitCode"]) for s in report["steps"]],
       [("fast/%d" % i, True, False, -1) for i in (1, 2, 3)], "its steps")
    run.signal(signal.SIGKILL)
    eq(run.wait(5).code, -9, "exit code")
    eq(on_disk(w), report, "the report after the kill")
    gone(tok, patience(1))


@test("the report is whole at every moment: a reader never sees half of it")
def whole(w):
    w.tiers(fast=["seq 1 2000"] * 30, wide=["seq 1 40; exit 1"] + ["true"] * 300)
    seen = {"ok": 0}
    for _ in range(3):
        for tier in ("fast", "wide"):
            run = w.start("verify", tier, "--fresh")
            while not run.ended():
                report = on_disk(w)
                if report is not None:
                    seen["ok"] += 1
                    assert report.get("unfinished") or "finishedAt" in report
            run.wait(1)
    assert seen["ok"] > 10, "the report was hardly ever there to be read: %r" % seen
    eq([f for f in os.listdir(w.path(".geonosis")) if "tmp" in f.lower() or f.startswith(".")], [],
       "temporary files")


@each((("an unknown tier", ["verify", "fats"]), ("an unknown option", ["verify", "fast", "--no-such"]),
       ("no tier", ["verify"]), ("a report that cannot be", ["verify", "fast", "--report", "geonosis.json/r"]),
       ("an unknown step", ["verify", "fast", "--only", "fast/77"])),
      "{0} leaves the report and the log as they were")
def refusal(w, _, args):
    w.tiers(fast=["echo why >&2; exit 4"])
    w.red("fast")
    before = (w.bytes(REPORT), w.log())
    w.tiers(fast=["touch RAN"])
    w.refused(*args)
    eq((w.bytes(REPORT), w.bytes(".geonosis/logs/fast/fast-1.log")), before, "report and log")


@test("a refused config leaves the report as it was")
def refused_config(w):
    w.tiers(fast=["true"])
    w.green("fast")
    w.config('{"verify": {"fast": ["touch RAN", ]} ')
    w.refused("verify", "fast", needles=["geonosis.json"])


@test("green with a report that cannot be written in the end is exit 2, not 0")
def report_lost(w):
    w.tiers(fast=["rm -rf .geonosis && touch .geonosis"])
    r = w.verify("fast")
    eq(r.code, 2, "exit code (%r)" % r)
    match(r.err, r"^geonosis: .+: .+", "stderr")


@test("a step that removes .geonosis: a report is there and it is 0, or it is not 0")
def report_directory_removed(w):
    w.tiers(fast=["rm -rf .geonosis"])
    r = w.verify("fast")
    if r.code == 0:
        eq(w.report()["ok"], True, "ok")
    else:
        eq(r.code, 2, "exit code (%r)" % r)


@test("a config that changes while the run goes on changes nothing of the run")
def config_changes(w):
    w.tiers(fast=["echo '{\"verify\": {\"fast\": [\"exit 9\"]}}' >geonosis.json", "echo still"])
    w.green("fast")
    eq([s["command"] for s in w.report()["steps"]][1], "echo still", "second step")


@test("the verdict line names the report, and PASS or FAIL stands there once")
def verdict_line(w):
    w.tiers(fast=["true"], bad=["false"])
    for tier, word, code in (("fast", "PASS", 0), ("bad", "FAIL", 1)):
        r = w.verify(tier, "--report", "a report.json")
        eq(r.code, code, "exit code")
        lines = [x for x in r.lines() if x.startswith("verify ")]
        eq(len(lines), 1, "verdict lines")
        match(lines[0], r"^verify %s — %s — (/\S.*/)?a report\.json" % (word, tier), "verdict")
        eq(r.lines()[-1], lines[0], "the last line")
        lacks(r.err, "geonosis:", "stderr")
