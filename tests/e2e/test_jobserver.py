# SPDX-License-Identifier: MIT
"""A step's slots as the jobserver of make: a Makefile that was never told -j uses them all,
and not one more, however many makes of the step share them."""
from harness import eq, has, test

RULES = """all: a b c d e f
a b c d e f:
\t@echo +$@ >>%s; sleep 0.15; echo -$@ >>%s
"""


def most_at_once(words):
    now = top = 0
    for word in words:
        now += 1 if word[0] == "+" else -1
        top = max(top, now)
    return top


def make_in(w, command, slots, **step):
    log = w.beside("log")
    w.write("Makefile", RULES % (log, log))
    w.config({"verify": {"fast": [dict(command=command, slots=slots, **step)]}})
    w.green("fast", env={"GEONOSIS_HEAVY_SLOTS": "3"})
    return w.read(log).split()


@test("make runs as many jobs as the step holds slots, without being told")
def held(w):
    words = make_in(w, "make", 3, jobserver=True)
    eq((len(words), most_at_once(words)), (12, 3), "jobs, most at once")


@test("without the key a make of a step with slots stays serial")
def without(w):
    eq(most_at_once(make_in(w, "make", 3)), 1, "most at once")


@test("two makes of one step share its slots")
def shared(w):
    words = make_in(w, "make a b c & make d e f; wait", 3, jobserver=True)
    eq(len(words), 12, "jobs")
    # Each make has one job of its own beside the tokens that they share.
    assert most_at_once(words) <= 4, words


@test("the jobserver of an outer make is replaced, its other flags stay")
def outer(w):
    w.config({"verify": {"fast": [{"command": "echo [$MAKEFLAGS]", "slots": 2, "jobserver": True}]}})
    w.green("fast", env={"GEONOSIS_HEAVY_SLOTS": "2", "MAKEFLAGS": "k -j9 --jobserver-auth=7,8"})
    tail = w.step("fast/1")["tail"]
    eq(tail.count("jobserver"), 1, "jobservers in " + tail)
    has(tail, "k", "flags")
    has(tail, "-j2 --jobserver-auth=3,4", "flags")


@test("a step without the key has no such descriptors")
def no_descriptors(w):
    w.config({"verify": {"fast": [{"command": "ls /proc/self/fd | tr '\\n' ' '", "slots": 2}]}})
    w.green("fast", env={"GEONOSIS_HEAVY_SLOTS": "2"})
    assert "4" not in w.step("fast/1")["tail"].split(), w.step("fast/1")["tail"]
