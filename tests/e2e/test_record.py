# SPDX-License-Identifier: MIT
"""What the record of a green answers, and what takes it away."""
import os
import signal

from harness import eq, has, lacks, match, mis, test, until

GREEN = "already green on this tree"


def waits(run):
    until(lambda: "wait" in run.out, 20, "the second run to wait")


@test("a config that is edited while a run waits for its turn is the one that is run and recorded")
def edited_while_waiting(w):
    go = w.beside("go")
    old = {"verify": {"fast": [mis("await", go), "echo one"]}}
    w.config(old)
    w.repository()
    first = w.start("verify", "fast")
    until(lambda: w.exists(".geonosis/gate-report.json"), 20, "the first run's start")
    second = w.start("verify", "fast", "--fresh")
    waits(second)
    w.config({"verify": {"fast": ["echo one", "echo two; exit 1"]}})
    w.write(go, "")
    eq(first.wait(20).code, 0, "the first run")
    r = second.wait(20)
    eq(r.code, 1, "the second run (%r)" % r)
    has(r.out, "FAIL fast/2")
    again = w.verify("fast")
    lacks(again.out, GREEN)
    eq(again.code, 1, "a third run (%r)" % again)


@test("a tier that has gone from the config while a run waited for its turn is refused")
def gone_while_waiting(w):
    go = w.beside("go")
    w.config({"verify": {"fast": [mis("await", go)], "full": ["echo x"]}})
    w.repository()
    first = w.start("verify", "fast")
    until(lambda: w.exists(".geonosis/gate-report.json"), 20, "the first run's start")
    second = w.start("verify", "fast", "--fresh")
    waits(second)
    w.config({"verify": {"full": ["echo x"]}})
    w.write(go, "")
    eq(first.wait(20).code, 0, "the first run")
    r = second.wait(20)
    eq(r.code, 2, "the second run (%r)" % r)
    has(r.err, "no such tier")


@test("a config edited while a run waits for the whole machine is the one that is run and recorded")
def edited_before_exclusive(w):
    go = w.beside("go")
    w.config({"verify": {"fast": ["echo one"]}})
    w.repository()
    holder = w.start("gate", "run", "--", *mis("await", go).split())
    until(lambda: '"held": [\n' in w.run("gate", "status", "--json").out, 20, "the holder")
    second = w.start("verify", "fast", "--exclusive")
    waits(second)
    w.config({"verify": {"fast": ["echo one; exit 1"]}})
    w.write(go, "")
    eq(holder.wait(20).code, 0, "the holder")
    eq(second.wait(20).code, 1, "the run")
    eq(w.verify("fast").code, 1, "the next one")


@test("a red of the same tree takes an older green away though its step left something behind")
def red_that_litters(w):
    flag = w.beside("flag")
    w.tiers(fast=["test ! -e %s || { : >left; exit 1; }" % flag])
    w.repository()
    w.green("fast")
    has(w.green("fast").out, GREEN)
    w.write(flag, "")
    w.red("fast", "--fresh")
    # The tree as it was green, and as it was red.
    import os
    os.unlink(w.path("left"))
    r = w.red("fast")
    lacks(r.out, GREEN)


@test("a red step takes an older green away though the run was interrupted after it")
def red_then_interrupted(w):
    flag, on = w.beside("flag"), w.beside("on")
    w.tiers(fast=[{"parallel": ["test ! -e %s" % flag,
                                "test ! -e %s || %s" % (flag, mis("touch", on, "sleep", "60"))]}])
    w.repository()
    w.green("fast")
    w.write(flag, "")
    run = w.start("verify", "fast", "--fresh", "--jobs", "2", "--keep-going")
    until(lambda: "FAIL fast/1" in run.out and w.exists(on), 20, "the red step")
    run.signal(signal.SIGINT)
    eq(run.wait(20).code, 130, "exit code")
    lacks(w.red("fast", "--jobs", "2", "--only", "fast/1").out, GREEN)
    r = w.start("verify", "fast", "--jobs", "2")
    until(lambda: "FAIL fast/1" in r.out, 20, lambda: "the step to run again: " + r.out)
    r.signal(signal.SIGINT)
    r.wait(20)


@test("a red step of --only takes the tier's older green of the same tree away")
def red_of_only(w):
    flag = w.beside("flag")
    w.tiers(fast=["echo one", "test ! -e %s" % flag])
    w.repository()
    w.green("fast")
    w.write(flag, "")
    w.red("fast", "--only", "fast/2")
    lacks(w.red("fast").out, GREEN)


@test("an interrupted run takes no green away: nothing was red")
def interrupted(w):
    flag, on = w.beside("flag"), w.beside("on")
    w.tiers(fast=["test ! -e %s || %s" % (flag, mis("touch", on, "sleep", "60"))])
    w.repository()
    w.green("fast")
    w.write(flag, "")
    run = w.start("verify", "fast", "--fresh")
    until(lambda: w.exists(on), 20, "the step")
    run.signal(signal.SIGINT)
    eq(run.wait(20).code, 130, "exit code")
    match(w.green("fast").out, "^green fast " + GREEN)
