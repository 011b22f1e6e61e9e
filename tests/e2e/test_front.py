# SPDX-License-Identifier: MIT
"""The front door: what is understood, what is refused, and in which words."""
import json
import os
import resource
import signal

from harness import (appears, binary, each, eq, has, lacks, match, mis, patience, test, token,
                     until)

COMMANDS = ("verify", "gate", "hook", "doctor", "ratchet")
OPTIONS = ("--report", "--jobs", "--only", "--keep-going", "--dry-run", "--json", "--retry-environment-failures", "--prove",
           "--affected", "--since", "--require-work", "--fresh", "--exclusive", "--exclusive-timeout")


@test("--version is one line: the name and a version")
def version(w):
    r = w.run("--version")
    eq((r.code, r.err), (0, ""), "exit code, stderr")
    match(r.out, r"\Ageonosis \d+\.\d+\S*\n\Z", "stdout")


@test("help names every command")
def help_all(w):
    for args in (["help"], ["--help"]):
        r = w.run(*args)
        eq(r.code, 0, "exit code")
        for c in COMMANDS:
            has(r.out, c, "stdout")


@each(COMMANDS, "{0} --help is answered, exit 0, nothing done")
def help_command(w, command):
    w.tiers(fast=["touch RAN"])
    for args in ([command, "--help"], ["help", command]):
        r = w.run(*args)
        eq(r.code, 0, "exit code of %r" % (args,))
        has(r.out, command, "stdout")
    eq(sorted(os.listdir(w.dir)), ["geonosis.json"], "files")


@each((("verify prove",), ("verify green check",), ("verify stats",), ("verify lint-config",), ("gate run",), ("gate daemon",)),
      "help {0}, and {0} --help, are that command's own text")
def help_subcommand(w, command):
    for args in (["help", *command.split()], [*command.split(), "--help"]):
        r = w.run(*args)
        eq((r.code, r.err), (0, ""), "exit code, stderr of %r" % (args,))
        match(r.out, r"\Ausage: geonosis %s " % command, "stdout")


@each(((["help", "verfy"], "verify"), (["help", "gate", "rnu"], "run"), (["help", "schema", "x"], "x"),
       (["help", "verify", "green", "recrod"], "record"), (["--version", "--json"], "--json"), (["--verison"], "--version"),
       (["verify", "--help=1", "fast"], "--help"), (["gate", "status", "extra"], "extra"), (["schema", "extra"], "extra"),
       (["completion", "bahs"], "bash"), (["completion", "cmd.exe"], "cmd.exe"), (["gate", "run", "make", "-k"], "-- make -k"),
       (["verify", "--prove", "fast"], "verify prove fast")), "{0} is refused by name: {1}")
def more_words(w, args, needle):
    w.tiers(fast=["touch RAN"])
    w.refused(*args, needles=[needle])


@each(("stats", "lint-config"), "verify {0} is refused as what it is: not there yet, and no tier")
def planned_subcommand(w, word):
    w.tiers(fast=["touch RAN"])
    r = w.refused("verify", word, "--json", needles=["verify %s: not available in this version" % word])
    lacks(r.err, "tier", "stderr")


@test("verify --help names each option")
def help_options(w):
    r = w.run("verify", "--help")
    for o in OPTIONS:
        has(r.out, o, "stdout")


@each((("verfy fast", "verify"), ("gaet status", "gate"), ("doktor", "doctor"), ("verify fast --kepp-going", "--keep-going"),
       ("verify fast --reprot x", "--report"), ("verify fast --jbos 2", "--jobs"), ("verify --dryrun fast", "--dry-run"),
       ("verify fats", "fast"), ("verify fulll", "full"), ("verify fast --only fast/11", "fast/1")),
      "`{0}` is refused with the nearest: {1}")
def nearest(w, line, near):
    w.tiers(fast=["touch RAN"], full=["touch RAN"])
    words = line.split()
    wrong = [x for x in words if x not in ("verify", "fast", "prove", "--only", "status", "2", "x")][0]
    w.refused(*words, needles=[wrong, near])


@each(((["verify", "fast", "--jobs", v],) for v in ("0", "-1", "x", "2x", "", " 1", "1.5", "99999999999999999999")),
      "{0} is refused")
def bad_jobs(w, args):
    w.tiers(fast=["touch RAN"])
    w.refused(*args, needles=["--jobs"])


@each(((["--retry-environment-failures", "-1"],), (["--retry-environment-failures", "many"],), (["--exclusive-timeout", "soon"],),
       (["--exclusive-timeout", "-5"],), (["--jobs"],), (["--report"],), (["--only"],), (["--report", ""],), (["--only", ""],),
       (["--keep-going=yes"],), (["--json=1"],)), "verify fast {0} is refused by name")
def bad_value(w, args):
    w.tiers(fast=["touch RAN"])
    w.refused("verify", "fast", *args, needles=[args[0].split("=")[0]])


@each((("GEONOSIS_JOBS", "many"), ("GEONOSIS_JOBS", "0"), ("GEONOSIS_JOBS", "-2")), "{0}={1} is refused by name")
def bad_jobs_variable(w, name, value):
    w.tiers(fast=["touch RAN"])
    w.refused("verify", "fast", env={name: value}, needles=[name])


@test("options stand before the tier as after it, with = as without; -- ends them")
def option_order(w):
    w.tiers(fast=["true"])
    for i, args in enumerate((["--report", "r0", "fast"], ["fast", "--report", "r1"], ["--report=r2", "fast"], ["fast", "--report=r3"])):
        w.green(*args)
        eq(w.report("r%d" % i)["tier"], "fast", "tier")


@each(((["verify", "fast", "full"], "full"), (["verify"], "fast"), (["verify", "prove"], "fast"), (["verify", ""], "fast"),
       (["verify", "fast", "--jobs", "1", "--jobs"], "--jobs")), "{0} is refused")
def words(w, args, needle):
    w.tiers(fast=["touch RAN"], full=["touch RAN"])
    w.refused(*args, needles=[needle])


@test("no tier named: every tier that exists is listed; none is the default")
def no_tier(w):
    w.tiers(fast=["touch RAN"], full=["touch RAN"], release=["touch RAN"])
    r = w.refused("verify", needles=["no tier is named", "fast", "full", "release"])
    lacks(r.err, '""', "stderr")
    w.refused("verify", "nothing-like-it", needles=["nothing-like-it", "fast", "full", "release"])


@test("no geonosis.json: refused by name; one in a parent directory is told of")
def no_config(w):
    w.refused("verify", "fast", needles=["geonosis.json"])
    w.tiers(fast=["touch RAN"])
    os.makedirs(w.path("a/b"))
    r = w.run("verify", "fast", cwd=w.path("a/b"))
    eq(r.code, 2, "exit code")
    match(r.err, r"^geonosis: .+: .+", "stderr")
    has(r.err, w.dir, "stderr, of the parent's")
    eq(os.listdir(w.path("a/b")), [], "files")


@each((("{}", "verify"), ('{"verify": []}', "verify"), ('{"verify": {}}', "verify"), ("[]", "geonosis.json"), ("", "geonosis.json"),
       ('{"verify": {"fast": ["touch RAN"]}} x', "1:"), ('{"verify": {"fast": ["touch RAN"], "fast": ["true"]}}', "fast"),
       ('{"verify": {"fast": ["touch RAN", ""]}}', "verify.fast[1]"), ('{"verify": {"fast": []}}', "verify.fast"),
       ('{"verify": {"fast": ["touch RAN", {"comand": "true"}]}}', "command"),
       ('{"verify": {"fast": ["touch RAN", {"command": "true", "parallel": ["true"]}]}}', "verify.fast[1]"),
       ('{"verify": {"fast": ["touch RAN"]}, "budgets": {"fsat": 1}}', "fsat"),
       ('{"verify": {"fast": ["touch RAN"]}, "caps": {"heavy": 0}}', "caps.heavy"),
       ('{"verify": {"fast": ["touch RAN"], "prove": ["true"]}}', "prove"),
       ("{\n \"verify\": {\n  \"fast\": [\"touch RAN\" \"true\"]\n }\n}", "3:")),
      "a config of {0} is refused with its place")
def bad_config(w, text, needle):
    w.config(text)
    w.refused("verify", "fast", needles=[needle])
    eq(w.exists(".geonosis/gate-report.json"), False, "a report")


@test("a cycle is refused by the path it went round")
def cycle(w):
    w.tiers(fast=["touch RAN", {"parallel": ["true", "mid"]}], mid=["full"], full=["fast"])
    w.refused("verify", "fast", needles=["fast → mid → full → fast"])


@test("a command of gate run that is not there is named on one line without controls")
def hostile_command(w):
    r = w.run("gate", "run", "--", "\x1b[31mno\nverify PASS")
    eq((r.code, "\x1b" in r.err, len(r.err.splitlines())), (127, False, 1), "exit code, controls, lines (%r)" % r)


@test("an error in a terminal's language stays one line without controls")
def hostile_words(w):
    w.tiers(fast=["touch RAN"])
    for word in ("\x1b[31mred", "a\nb", "x" * 100000, "\udcff\udcfe"):
        r = w.refused("verify", word)
        eq(("\x1b" in r.err, len(r.err) < 20000), (False, True), "controls, short")
        for line in r.err.splitlines():
            lacks(line, "\x07", "stderr")


@test("under the name geonosis-gate it is the daemon's command, and of the same version")
def daemon_name(w):
    link = w.beside("geonosis-gate")
    os.symlink(binary(), link)
    for words, code, says in (("", 2, "geonosis: gate daemon: "), ("--help", 0, "usage: geonosis gate daemon"),
                              ("--version", 0, w.run("--version").out), ("verify fast", 2, "geonosis: gate daemon: ")):
        r = w.shell("exec %s %s" % (link, words))
        eq(r.code, code, "exit code of %s (%r)" % (words, r))
        has(r.both, says)


@test("verify --prove shows this very program going red, and touches nothing")
def prove_itself(w):
    w.config("{ broken")
    r = w.run("verify", "--prove")
    eq(r.code, 0, "exit code (%r)" % r)
    has(r.out, 'PROVEN — a planted "exit 3" step reached the report and exited 1\n', "stdout")
    eq((sorted(os.listdir(w.dir)), os.listdir(w.env["TMPDIR"])), (["geonosis.json"], []), "files")


@test("verify --prove in a directory that cannot be written, and under another name of the program")
def prove_elsewhere(w):
    link = w.beside("link")
    os.symlink(binary(), link)
    r = w.shell("cd / && exec %s verify --prove" % link)
    eq(r.code, 0, "exit code (%r)" % r)


@test("verify --prove where no temporary directory is: exit 2, never PROVEN")
def prove_nowhere(w):
    r = w.run("verify", "--prove", env={"TMPDIR": w.beside("absent")})
    eq(r.code, 2, "exit code (%r)" % r)
    lacks(r.out, "PROVEN —", "stdout")
    match(r.err, r"^geonosis: .+: .+", "stderr")


@each(("--json", "--report", "--jobs"), "verify --prove with {0} is refused: it would mean nothing")
def prove_alone(w, option):
    w.refused("verify", "--prove", *([option] if option == "--json" else [option, "2"]),
              needles=("--prove", option))


@each((signal.SIGTERM, signal.SIGINT), "verify --prove that waits for a slot is ended by {0}, and leaves nothing")
def prove_waits(w, signo):
    w.env["GEONOSIS_HEAVY_SLOTS"] = "1"
    tok = token()
    holder = w.start("gate", "run", "--", *mis("sleep", tok).split())
    appears(tok)
    run = w.start("verify", "--prove")
    until(lambda: json.loads(w.run("gate", "status", "--json").out)["waiting"], patience(10), "the wait")
    run.signal(signo)
    eq(run.wait(patience(10)).code, -signo, "exit code")
    eq(os.listdir(w.env["TMPDIR"]), [], "what is left")
    holder.signal(signal.SIGTERM)
    holder.wait(patience(10))


@test("verify --prove says why the program would not run")
def prove_says_why(w):
    r = w.run("verify", "--prove", env={"GEONOSIS_JOBS": "x"})
    eq(r.code, 1, "exit code (%r)" % r)
    match(r.out, r"\ANOT PROVEN — .*GEONOSIS_JOBS.*[^; ]\n\Z", "stdout")


ANY = (("verify", "fast"), ("verify", "prove", "fast"), ("verify", "--prove"), ("gate", "run", "true"))


@each([(a,) for a in ANY], "a caller that ignores SIGCHLD: {0}")
def child_signal_ignored(w, args):
    w.tiers(fast=[{"command": "[ ! -e p ] || { echo hit; exit 1; }",
                   "proves": {"plant": "touch p", "expect": "hit"}}])
    r = w.run(*args, before=lambda: signal.signal(signal.SIGCHLD, signal.SIG_IGN))
    eq(r.code, 0, "exit code (%r)" % r)


@each([(a,) for a in ANY], "files that may not grow (ulimit -f 0) are said, and kill nobody: {0}")
def files_limited(w, args):
    w.tiers(fast=["true"])
    r = w.run(*args, before=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0)))
    if args[0] == "verify":
        eq(r.code, 2, "exit code (%r)" % r)
        has(r.err, "File too large", "stderr")
    eq(os.listdir(w.env["TMPDIR"]), [], "what is left")
    assert r.code >= 0, r


@test("a step is ended by a file that grows past its limit, as without us")
def step_files_limited(w):
    w.tiers(fast=["true"], red=["exec head -c 9000000 /dev/zero >big"])
    limit = lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (8000000, 8000000))
    w.green("fast", before=limit)
    r = w.red("red", before=limit)
    eq(w.report()["steps"][0]["exitCode"], 128 + signal.SIGXFSZ, "exit code (%r)" % r)
    r = w.run("gate", "run", "--", "sh", "-c", "exec head -c 9000000 /dev/zero >big", before=limit)
    eq(r.code, 128 + signal.SIGXFSZ, "gate run (%r)" % r)


@test("a refusal is one line whatever it names: a repository's paths print no verdict and no escape")
def refusal_is_one_line(w):
    name = "packages/x\n\x1b[31mverify PASS"
    w.write("package.json", '{"workspaces": ["packages/*"]}')
    w.write(name + "/package.json", "{ bad")
    w.tiers(fast=[{"command": "touch RAN # {workspace}", "per": "workspace"}])
    r = w.refused("verify", "fast", needles=["packages/x", "verify PASS/package.json"])
    eq((len(r.err.splitlines()), "\x1b" in r.err), (1, False), "lines, and an escape (%r)" % r)


@test("a workspace's path prints no verdict and no escape: not in a line, a plan, a wait, gate status")
def path_is_one_line(w):
    path, on = "packages/x\nverify PASS — fast — \x1b[31mok", w.beside("on")
    w.write("package.json", '{"workspaces": ["packages/*"]}')
    w.write(path + "/package.json", '{"name": "x"}')
    w.tiers(fast=[{"command": ": {workspace}; %s" % mis("await", on), "per": "workspace"}],
            red=[{"command": ": {workspace}; exit 1", "per": "workspace"}])
    run = w.start("verify", "fast", env={"GEONOSIS_HEAVY_SLOTS": "1"})
    until(lambda: "fast/1" in w.run("gate", "status").out, 20, "the hold")
    status = w.run("gate", "status")
    second = w.start("verify", "red", env={"GEONOSIS_HEAVY_SLOTS": "1"})
    until(lambda: "wait" in second.out, 20, "the wait")
    w.write(on, "")
    texts = [status.out, w.verify("fast", "--dry-run").out, run.wait(20).out, second.wait(20).out]
    for text in texts:
        assert "fast/1@" in text or "red/1@" in text, text
        assert "\x1b" not in text, repr(text)
        for line in text.splitlines():
            assert not line.startswith("verify PASS") or line.endswith("gate-report.json"), text
