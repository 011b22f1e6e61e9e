# SPDX-License-Identifier: MIT
"""A wall clock that is set while a run goes on."""
import os
import subprocess

from harness import Skip, between, binary, compiled, each, eq, mis, sanitized, test


def preload(w, seconds):
    """the environment in which the wall clock jumps once the file `jumped` exists"""
    if sanitized():
        raise Skip("a sanitizer wants to be loaded first")
    library = os.environ.get("GEONOSIS_JUMP") or compiled("jump.c", "-shared", "-fPIC")
    file = subprocess.run(["ldd", binary()], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
    if file.returncode:
        raise Skip("the program is linked statically")
    return {"LD_PRELOAD": library, "JUMP_FILE": w.beside("jumped"), "JUMP_SECONDS": str(seconds)}


JUMPS = (("three days back", -3 * 86400), ("three days on", 3 * 86400), ("to before 1970", -4000000000))


@each(JUMPS, "the clock jumps {0} during a step: its ms stays right, and so does the verdict")
def during_a_step(w, _, seconds):
    w.config({"verify": {"fast": ["sleep 0.4; touch %s; sleep 0.4" % w.beside("jumped"), "exit 3"]}, "budgets": {"fast": 60000}})
    r = w.red("fast", env=preload(w, seconds))
    between(790, w.step("fast/1")["ms"], 15000, "ms of the first step")
    between(0, w.step("fast/2")["ms"], 10000, "ms of the second step")
    eq((w.report()["ok"], "D-042" in r.both), (False, False), "ok, over budget")


@each(JUMPS, "the clock jumps {0} while a child that is deaf is ended: two seconds stay two seconds")
def during_a_grace(w, _, seconds):
    flag = w.beside("on")
    w.tiers(fast=["%s & %s; touch %s" % (mis("ignore", "TERM", "touch", flag, "sleep", "deaf"), mis("await", flag),
                                         w.beside("jumped"))])
    r = w.green("fast", env=preload(w, seconds), secs=30)
    between(1.8, r.secs, 15, "seconds")
    eq(w.step()["leaked"], 1, "leaked")


@test("a clock before 1970 from the start gives a report that is JSON, and the verdict")
def before_the_epoch(w):
    w.write(w.beside("jumped"), "")
    w.tiers(fast=["true"])
    w.green("fast", env=preload(w, -4000000000))
    eq(w.report()["ok"], True, "ok")
