# SPDX-License-Identifier: MIT
"""Groups, lanes, jobs, what a red stops, and the options that change what is run."""
import json
import os
import re
import resource
import signal

from harness import (appears, between, binary, each, eq, gone, has, lacks, match, mis, patience, test, token,
                     until)


def meet(w, name, i, n):
    """a command that passes only when N of its kind run at once"""
    d = w.beside("meet-" + name)
    os.makedirs(d, exist_ok=True)
    others = " ".join(mis("await", "%s/%d" % (d, k)) + " &&" for k in range(n) if k != i)
    return ": >%s/%d; %s true" % (d, i, others)


def logged(w, name, command="true"):
    return "echo +%s >>%s; %s; c=$?; echo -%s >>%s; exit $c" % (name, w.beside("log"), command, name, w.beside("log"))


def log(w):
    return w.read(w.beside("log")).split()


def most(words):
    now = top = 0
    for x in words:
        now += 1 if x[0] == "+" else -1
        top = max(top, now)
    return top


@test("steps run one after another, in order")
def serial(w):
    w.tiers(fast=[logged(w, n) for n in "abcd"])
    w.green("fast", "--jobs", "4")
    eq(log(w), ["+a", "-a", "+b", "-b", "+c", "-c", "+d", "-d"], "order")


@test("a tier in a group is a lane: its steps in order, beside the other lane; a group is one step")
def lanes(w):
    # Each lane's second step needs the other lane to be past its first.
    w.tiers(fast=[logged(w, "before"), {"parallel": ["left", "right"]}, logged(w, "after")],
            left=[logged(w, "l1", "( %s )" % meet(w, "one", 0, 2)), "more"], more=[logged(w, "l2", "( %s )" % meet(w, "two", 0, 2))],
            right=[logged(w, "r1", "( %s )" % meet(w, "one", 1, 2)), logged(w, "r2", "( %s )" % meet(w, "two", 1, 2))])
    w.green("fast", "--jobs", "2")
    words = log(w)
    for first, then in (("-before", "+l1"), ("-before", "+r1"), ("-l1", "+l2"), ("-r1", "+r2"), ("-l2", "+after"), ("-r2", "+after")):
        assert words.index(first) < words.index(then), words
    eq([s["id"] for s in w.report()["steps"]], ["fast/1", "left/1", "more/1", "right/1", "right/2", "fast/2"], "plan order")


@each((("--jobs", "1", {}, 1), ("--jobs", "3", {}, 3), ("GEONOSIS_JOBS", "", {"GEONOSIS_JOBS": "2"}, 2),
       ("--jobs over GEONOSIS_JOBS", "3", {"GEONOSIS_JOBS": "1"}, 3)), "{0} {1}: {3} at once, and not more")
def jobs(w, _, option, env, n):
    w.tiers(meet=[{"parallel": [meet(w, "m", i, n) for i in range(n)]}],
            fast=[{"parallel": [logged(w, "m%d" % i, "sleep 0.05") for i in range(4 * n)]}])
    args = ("--jobs", option) if option else ()
    w.green("meet", *args, env=env)
    w.green("fast", *args, env=env)
    eq(most(log(w)) <= n, True, "at once: %d" % most(log(w)))


@test("--jobs 1 runs the members of nested groups in their written order")
def jobs_one(w):
    w.tiers(fast=[{"parallel": [logged(w, "a"), "sub", {"parallel": [logged(w, "c"), logged(w, "d")]}, logged(w, "e")]}],
            sub=[logged(w, "b1"), logged(w, "b2")])
    w.green("fast", "--jobs", "1")
    eq([x for x in log(w) if x[0] == "+"], ["+a", "+b1", "+b2", "+c", "+d", "+e"], "order")


@test("the first red: what runs is let finish, nothing new starts, the rest is written down as skipped")
def first_red(w):
    go, done = w.beside("go"), w.beside("done")
    # The red one's log is there when its worker ends; the moment after is for the run to see that.
    beside = "%s && sleep 0.5 && touch %s" % (
        mis("touch", go, "await", w.beside("red"), "await", ".geonosis/logs/fast/lane-1.log"), done)
    w.tiers(fast=[{"parallel": ["lane", beside, "touch RAN", "touch RAN"]},
                  "touch RAN", "later"], lane=["%s; touch %s; exit 3" % (mis("await", go), w.beside("red")), "touch RAN"],
            later=["touch RAN"])
    r = w.red("fast", "--jobs", "2")
    assert os.path.exists(done) and not w.exists("RAN"), "what ran"
    s = w.steps()
    eq((s["lane/1"]["exitCode"], s["fast/1"]["ok"]), (3, True), "the red, and what ran beside it")
    for i in ("lane/2", "fast/2", "fast/3", "fast/4", "later/1"):
        eq((s[i]["skipped"], s[i]["ok"], s[i]["exitCode"], s[i]["ms"], s[i]["tail"]), (True, False, -1, 0, ""), i)
        match(r.out, r"^skip %s .* \(0 ms\)" % i, "stdout")
    match(r.out, r"^ok fast/1 .*\(\d+ ms\)", "stdout")
    match(r.out, r"^FAIL lane/1 .*\(\d+ ms\)", "stdout")


@test("--keep-going runs everything and stays red")
def keep_going(w):
    w.tiers(fast=["exit 3", "touch A", {"parallel": ["lane", "touch B"]}, "touch C"], lane=["exit 4", "touch D"])
    w.red("fast", "--keep-going")
    eq([w.exists(x) for x in "ABCD"], [True] * 4, "what ran")
    eq({i: s["exitCode"] for i, s in w.steps().items()},
       {"fast/1": 3, "fast/2": 0, "lane/1": 4, "lane/2": 0, "fast/3": 0, "fast/4": 0}, "exit codes")
    eq(w.report()["ok"], False, "ok")


@each(("heavy", "light"), "sixty {0} steps at once where there are descriptors for fewer: fewer go at once, none is red for it")
def crowded(w, weight):
    step = "true" if weight == "heavy" else {"command": "true", "slots": 0}
    w.tiers(fast=["true", {"parallel": [step] * 60}, "true"])
    w.green("fast", "--jobs", "60", before=lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (64, 64)))
    eq([s["exitCode"] for s in w.steps().values()], [0] * 62, "exit codes")


@test("--only: that step alone, by its own tier's id; what it leaves out is no red")
def only(w):
    w.tiers(fast=["touch A", {"parallel": ["sub", "touch B"]}], sub=["touch C", "exit 5"])
    w.green("fast", "--only", "sub/1")
    eq([w.exists(x) for x in "ABC"], [False, False, True], "what ran")
    w.red("fast", "--only", "sub/2")
    eq(w.step("sub/2")["exitCode"], 5, "exitCode")
    w.green("fast", "--only", "fast/2")
    eq([w.exists(x) for x in "AB"], [False, True], "what ran")
    w.refused("verify", "fast", "--only", "fast/3", needles=["fast/3"])
    w.refused("verify", "fast", "--only", "sub", needles=["sub"])


@test("--only of a job that no change reaches: the refusal says that it is the change's doing")
def only_unreached(w):
    w.write("package.json", '{"workspaces": ["packages/*"]}')
    for name in "ab":
        w.write("packages/%s/package.json" % name, '{"name": "%s"}' % name)
    w.tiers(fast=[{"command": "echo {workspace}", "per": "workspace"}])
    w.repository()
    w.write("packages/b/new", "")
    w.green("fast", "--since", "HEAD", "--only", "fast/1@packages/b")
    w.refused("verify", "fast", "--since", "HEAD", "--only", "fast/1@packages/a", needles=["fast/1@packages/a", "what the change reaches"])
    r = w.refused("verify", "fast", "--only", "fast/1@packages/c", needles=["fast/1@packages/c"])
    lacks(r.err, "reaches", "stderr")


@test("--dry-run prints the plan and leaves everything as it is")
def dry_run(w):
    w.tiers(fast=["touch RAN", "sub", {"parallel": ["touch RAN2", "touch RAN3"]}], sub=["touch RAN4"])
    r = w.verify("fast", "--dry-run")
    eq((r.code, sorted(os.listdir(w.dir))), (0, ["geonosis.json"]), "exit code, files")
    at = [r.out.index(x) for x in ("fast/1", "sub/1", "fast/2", "fast/3")]
    eq(at, sorted(at), "order of the ids")
    for command in ("touch RAN", "touch RAN2", "touch RAN3", "touch RAN4"):
        has(r.out, command, "the plan")
    eq([x for x in r.lines() if x.startswith("verify ")], [], "verdicts")
    w.tiers(fast=["sub"], sub=["fast"])
    w.refused("verify", "fast", "--dry-run", needles=["→"])


def events(r):
    out = []
    for line in r.out.rstrip("\n").split("\n"):
        out.append(json.loads(line))
        assert isinstance(out[-1].get("event"), str), line
    return out


@test("--json: one event a line in order, the report's own names, nothing else on stdout")
def json_events(w):
    w.tiers(fast=["echo a", {"parallel": ["echo b", "echo c; exit 6"]}, "touch RAN"])
    r = w.red("fast", "--json", "--jobs", "2")
    got = events(r)
    kinds = [e["event"] for e in got]
    eq((kinds[0], kinds[-1], kinds.count("start"), kinds.count("end")), ("start", "end", 1, 1), "kinds %r" % kinds)
    eq(set(kinds) <= {"start", "wait", "step-start", "step-end", "end"}, True, "kinds %r" % kinds)
    began, ended = ([e["id"] for e in got if e["event"] == k] for k in ("step-start", "step-end"))
    eq(sorted(began), ["fast/1", "fast/2", "fast/3"], "begun")
    for i in began:
        starts = [n for n, e in enumerate(got) if e.get("id") == i and e["event"] == "step-start"]
        ends = [n for n, e in enumerate(got) if e.get("id") == i and e["event"] == "step-end"]
        assert len(starts) == len(ends) == 1 and starts < ends, got
    eq(set(ended) >= set(began), True, "ended")
    assert ended.index("fast/1") == 0, ended
    for e in got:
        if e["event"] == "step-end":
            s = w.step(e["id"])
            eq({k: e.get(k) for k in ("ok", "exitCode", "ms", "tail")}, {k: s[k] for k in ("ok", "exitCode", "ms", "tail")}, e["id"])
    eq((got[0]["tier"], got[-1]["ok"]), ("fast", False), "start and end")


@test("--json with junk in the output: each line still parses")
def json_junk(w):
    w.tiers(fast=[mis("junk", 20000, 7) + "; exit 1", "echo '\u2028 \"'"])
    eq([e["ok"] for e in events(w.red("fast", "--json", "--keep-going")) if e["event"] == "step-end"], [False, True], "ok")


@test("--json of a run that is interrupted ends with its end")
def json_interrupted(w):
    tok = token()
    w.tiers(fast=[mis("child", "sleep", tok), "true"])
    run = w.start("verify", "fast", "--json")
    appears(tok)
    until(lambda: "step-start" in run.out, 10, "the event of the step, while it runs")
    run.signal(signal.SIGTERM)
    r = run.wait(patience(4))
    eq((r.code, events(r)[-1]["event"], events(r)[-1]["ok"]), (143, "end", False), "code and last event")
    gone(tok, patience(1))


# ---------------------------------------------------------------- environment

NETWORK = ("Error: getaddrinfo ENOTFOUND registry.example.invalid", "request failed: EAI_AGAIN x", "read ECONNRESET",
           "connect ETIMEDOUT 192.0.2.1:443", "connect ENETUNREACH 192.0.2.1", "connect EHOSTUNREACH 192.0.2.1")


@test("each failure of the network stays FAIL, is said, and its line recorded")
def network(w):
    w.tiers(fast=["echo '%s'; seq 1 3000; exit 1" % x for x in NETWORK])
    r = w.red("fast", "--keep-going")
    for i, line in enumerate(NETWORK, 1):
        has(w.step("fast/%d" % i)["environment"], line, "environment")
        match(r.out, r"^FAIL fast/%d " % i, "stdout")
    eq(len(re.findall(r"(?im)^(?!budget|FAIL|verify).*environment", r.out)) >= len(NETWORK), True, "said: " + r.out)


@test("the code's own failures, and greens, are none of the network's")
def not_network(w):
    w.tiers(fast=["echo 'connect ECONNREFUSED 127.0.0.1:1'; exit 1", "echo read ECONNRESET", "echo XECONNRESETX_; exit 1"])
    w.red("fast", "--keep-going", "--retry-environment-failures", "3")
    for i in (1, 2):
        eq(w.step("fast/%d" % i).get("environment"), None, "environment of step %d" % i)
        eq(w.step("fast/%d" % i).get("retried"), None, "retried of step %d" % i)


def flaky(w, times, then="exit 0", line="read ECONNRESET"):
    n = w.beside("tries")
    return "echo x >>%s; [ $(wc -l <%s) -gt %d ] || { echo %s; exit 1; }; %s" % (n, n, times, line, then)


@each(((2, "exit 0", "3", 0, 3, 2), (99, "exit 0", "2", 1, 3, 2), (99, "exit 0", "0", 1, 1, None), (1, "echo assert; exit 7", "5", 1, 2, 1),
       (99, "exit 0", None, 1, 1, None)), "a network red {0} times, then `{1}`, with retries {2}: exit {3} after {4} tries")
def retry(w, times, then, option, code, tries, retried):
    w.tiers(fast=[flaky(w, times, then)])
    r = w.verify("fast", *(("--retry-environment-failures", option) if option else ()))
    eq((r.code, w.read(w.beside("tries")).count("x"), w.step().get("retried")), (code, tries, retried), "code, tries, retried")
    if retried:
        between(retried, len(re.findall(r"(?im)^.*(?:re-?run|retr|again).*$", r.out)), 20, "lines that tell of a re-run")
    if code and then != "exit 0":
        eq(w.log(), b"assert\n", "the log is the last attempt's")


TIMEOUTS = ("Error: Test timed out in 5000ms.", "Hook timed out in 10000ms.", "thrown: \"Exceeded timeout of 5000 ms for a test.",
            "error: this test timed out after 5000ms")


@test("a runner's own timeout gets its note: load average and cores; the verdict stays")
def runner_timeouts(w):
    w.tiers(fast=["echo '%s'; seq 1 500; exit 1" % x for x in TIMEOUTS] + ["echo timed out; exit 1", "echo Test timed out in 5ms."])
    r = w.red("fast", "--keep-going")
    cores = len(os.sched_getaffinity(0))
    for i in range(1, len(TIMEOUTS) + 1):
        said = w.step("fast/%d" % i)["timedOut"]
        assert isinstance(said["loadAverage"], (int, float)) and said["cores"] >= cores, said
    eq(len(re.findall(r"(?m)^\s*timed out at load average [\d.]+ on \d+ cores?", r.out)), len(TIMEOUTS), "notes in " + r.out)
    eq([w.step("fast/%d" % i).get("timedOut") for i in (5, 6)], [None, None], "of what is no runner's timeout")


# ------------------------------------------------------------ budgets, legend

@test("over the budget: one WARN line that names D-042; the verdict stays; budgetMs in the report")
def over_budget(w):
    w.config({"verify": {"fast": ["sleep 0.1"], "red": ["sleep 0.1; exit 1"], "other": ["true"]}, "budgets": {"fast": 1, "red": 1}})
    for tier, code in (("fast", 0), ("red", 1)):
        r = w.verify(tier)
        eq(r.code, code, "exit code")
        lines = [x for x in r.both.splitlines() if "D-042" in x]
        assert len(lines) == 1 and "WARN" in lines[0], r
        eq(w.report()["budgetMs"], 1, "budgetMs")
    lacks(w.green("other").both, "D-042")
    eq("budgetMs" in w.report(), False, "budgetMs of a tier without one")


@test("over the budget with --json: the WARN is on stderr, the events alone on stdout")
def over_budget_json(w):
    w.config({"verify": {"fast": ["sleep 0.1"]}, "budgets": {"fast": 1}})
    r = w.green("fast", "--json")
    eq((len(r.err.splitlines()), "D-042" in r.err, "D-042" in r.out), (1, True, False), "lines and words of stderr, of stdout")


@each((("--jobs", ("--jobs", "3"), {}, 3), ("GEONOSIS_JOBS", (), {"GEONOSIS_JOBS": "2"}, 2), ("caps.heavy", ("--jobs", "9"), {}, 5),
       ("caps.heavy", (), {"GEONOSIS_JOBS": "7"}, 5)), "the budget line stands before the steps and names {0} ({3} jobs; {1} {2})")
def budget_line(w, word, args, env, n):
    w.config({"verify": {"fast": ["echo $GEONOSIS_SLOTS"]}, "caps": {"heavy": 5}})
    r = w.green("fast", *args, env=dict(env, GEONOSIS_HEAVY_SLOTS="8"))
    lines = r.lines()
    at = [i for i, x in enumerate(lines) if re.match(r"budget\b", x)]
    assert len(at) == 1 and at[0] < [i for i, x in enumerate(lines) if x.startswith("ok ")][0], r.out
    assert word in lines[at[0]] and re.search(r"(?<!\d)%d(?!\d)" % n, lines[at[0]]), lines[at[0]]
    eq(w.tail(), [str(n)], "GEONOSIS_SLOTS")


@test("one legend line lists where each missing proves goes; none where all are proven")
def legend(w):
    p = {"plant": "true", "expect": "x"}
    w.tiers(fast=["true", {"command": "true", "proves": p}, {"parallel": [{"command": "true", "proves": p}, "true", {"parallel": ["true"]}]},
                  "sub"], sub=[{"command": "true"}], all=[{"command": "true", "proves": p}])
    r = w.green("fast")
    lines = [x for x in r.lines() if ".proves" in x]
    eq(len(lines), 1, "legend lines")
    eq(sorted(re.findall(r"verify\.[\w.\[\]]+\.proves", lines[0])),
       sorted(["verify.fast[0].proves", "verify.fast[2].parallel[1].proves", "verify.fast[2].parallel[2].parallel[0].proves",
               "verify.sub[0].proves"]), "places")
    match(r.out, r"^ok fast/1 true \(\d+ ms\) \(unproven\)$", "stdout")
    match(r.out, r"^ok fast/2 true \(\d+ ms\)$", "stdout")
    eq([s.get("unproven") for s in w.report()["steps"]], [True, None, None, True, True, True], "unproven")
    lacks(w.green("all").out, "proves", "stdout")


@test("ids count what a tier declares, members one by one; a tier reached twice runs once")
def ids(w):
    w.tiers(fast=["echo A", "sub", {"parallel": ["echo B", "sub", {"parallel": ["echo C"]}]}, "echo D"], sub=["echo S >>" + w.beside("log")])
    w.green("fast")
    eq([(s["id"], s["command"][:6]) for s in w.report()["steps"]],
       [("fast/1", "echo A"), ("sub/1", "echo S"), ("fast/2", "echo B"), ("fast/3", "echo C"), ("fast/4", "echo D")], "plan")
    eq(log(w), ["S"], "runs of the tier that is reached twice")
    assert [x for x in w.verify("fast", "--dry-run").lines() if re.search(r"\bsub\b(?!/)", x)], "--dry-run does not say so"


@test("two runs of one tier in one directory: the second waits and says for whom")
def two_runs(w):
    go, on = w.beside("go"), w.beside("on")
    w.tiers(fast=[logged(w, "s", mis("touch", on, "await", go))])
    first = w.start("verify", "fast")
    until(lambda: os.path.exists(on), 20, "the first run's step")
    second = w.start("verify", "fast")
    until(lambda: re.search(r"(?<!\d)%d(?!\d)" % first.pid, second.out + second.err), 20, "the second run to say for whom it waits")
    eq(log(w), ["+s"], "what has run")
    open(go, "w").close()
    eq((first.wait(20).code, second.wait(20).code), (0, 0), "exit codes")
    eq(most(log(w)), 1, "at once")


@test("a step that runs its own tier in its own directory is refused, and waits for nobody")
def own_tier(w):
    w.tiers(fast=["%s verify fast; echo code $?" % binary(), "mid"], mid=["%s verify fast >/dev/null 2>&1; echo code $?" % binary()])
    w.green("fast", secs=30)
    eq((w.tail("fast/1")[-1], w.tail("mid/1")), ("code 2", ["code 2"]), "codes of the inner runs")
    match("\n".join(w.tail("fast/1")), r"^geonosis: .+: .+", "what it said")


def workspaces(w, *names):
    w.write("package.json", '{"name": "root", "workspaces": ["packages/*"]}')
    for n in names:
        w.write("packages/%s/package.json" % n, '{"name": "%s"}' % n)


@test("an exclude that leaves no workspace is refused: such a step measures nothing")
def exclude_all(w):
    workspaces(w, "a", "b")
    w.tiers(fast=[{"command": "touch RAN # {workspace}", "per": "workspace", "exclude": ["packages/*"]}],
            some=[{"command": "echo {workspace}", "per": "workspace", "exclude": ["packages/a"]}])
    w.refused("verify", "fast", needles=["verify.fast[0].exclude", "measures nothing"])
    w.green("some")
    eq([s["id"] for s in w.report()["steps"]], ["some/1@packages/b"], "steps")


@test("a dry run says of a step that it has nothing to run, and why")
def dry_nothing(w):
    workspaces(w, "a")
    w.tiers(fast=["echo one", {"command": "echo {workspace}", "per": "workspace"}])
    w.repository()
    w.green("fast")
    r = w.green("fast", "--affected", "--dry-run")
    match(r.out, r"^ +fast/1 echo one$", "stdout")
    match(r.out, r"^ +fast/2 echo \{workspace\} — nothing to run: no workspace is affected: nothing changed$", "stdout")


@test("a dry run with --json is one event: steps with workspace and why, what is affected, repeats; nothing else")
def dry_events(w):
    workspaces(w, "a", "b")
    w.tiers(fast=["sub", {"command": "echo {workspace}", "per": "workspace"}, "sub"], sub=["echo sub"])
    w.repository()
    r = w.green("fast", "--dry-run", "--json")
    eq(len(r.lines()), 1, "lines")
    e = json.loads(r.out)
    eq((e["event"], e["tier"], e["repeats"]), ("plan", "fast", [{"tier": "sub", "in": "fast"}]), "event")
    eq([(s["id"], s.get("workspace")) for s in e["steps"]],
       [("sub/1", None), ("fast/1@packages/a", "packages/a"), ("fast/1@packages/b", "packages/b")], "steps")
    assert not w.exists(".geonosis"), "it wrote"
    w.green("fast")
    w.write("packages/a/x.js", "x")
    e = json.loads(w.green("fast", "--affected", "--dry-run", "--json").out)
    eq([s["workspace"] for s in e["affected"]["workspaces"] if s["selected"]], ["packages/a"], "affected")
    has(e["steps"][1]["why"], "packages/a/x.js", "why")
    starts = [json.loads(x) for x in w.green("fast", "--affected", "--json").lines()]
    eq((starts[0]["event"], starts[0]["affected"]), ("start", e["affected"]), "start")


@test("--prove with a tier is refused: it proves the program, and no tier")
def prove_no_tier(w):
    w.tiers(fast=["touch RAN"])
    w.refused("verify", "--prove", "fast", needles=["verify prove fast"])


@test("a reader of stderr that leaves before the first warning ends no run")
def stderr_gone(w):
    w.config({"verify": {"fast": ["true"]}, "budget": {"fast": 1}})
    r = w.shell('"$0" verify fast 2>&1 >/dev/null | :; exit ${PIPESTATUS[0]}', program="bash -o pipefail")
    has(w.verify("fast").err, "WARN", "stderr")
    eq((r.code, w.report()["ok"]), (0, True), "exit code and report")


@test("a tier that is met again in another lane runs once, and what follows it there waits for it")
def repeat_is_waited_for(w):
    built, on = w.beside("built"), w.beside("on")
    w.tiers(fast=[{"parallel": ["a", "b"]}], a=["build", logged(w, "a")], b=["build", logged(w, "b", "test -e " + built)],
            build=[logged(w, "build", "sleep 0.3; : >" + built)])
    w.green("fast", "--jobs", "2")
    words = log(w)
    eq((words.count("+build"), words[:2]), (1, ["+build", "-build"]), "order")
    # In a group of its own, and at the end of one.
    w.write(w.beside("log"), "")
    w.tiers(fast=[{"parallel": ["build", "mid"]}], mid=[{"parallel": ["build", logged(w, "lint")]}, logged(w, "test")],
            build=[logged(w, "build", mis("await", on))])
    run = w.start("verify", "fast", "--jobs", "3")
    until(lambda: "-lint" in log(w), 20, "the other member")
    assert "+test" not in log(w), log(w)
    open(on, "w").close()
    eq(run.wait(20).code, 0, "exit code")
    eq(log(w)[-3:], ["-build", "+test", "-test"], "order")
