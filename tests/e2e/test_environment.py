# SPDX-License-Identifier: MIT
"""What a step finds around itself."""
import os
import signal
import subprocess

from harness import binary, each, eq, has, lacks, match, mis, stat_of, test


def state(w, id="fast/1"):
    """what `misbehave state` told, as {word: rest}, and its descriptors as {number: target}"""
    words, fds = {}, {}
    for line in w.tail(id):
        key, _, rest = line.partition(" ")
        if key == "fd":
            n, _, target = rest.partition(" ")
            fds[n] = target
        else:
            words[key.split(":")[0]] = rest or line.split()[-1]
    return words, fds


@test("descriptors 0, 1 and 2 only: /dev/null and one pipe twice, whatever the caller left open")
def descriptors(w):
    w.tiers(fast=[mis("state"), {"parallel": [mis("state")] * 3}, mis("state")])
    kept = [os.open("/dev/null", os.O_RDONLY) for _ in range(5)]
    for fd in kept:
        os.set_inheritable(fd, True)
    p = subprocess.run([binary(), "verify", "fast", "--jobs", "3"], cwd=w.dir, env=w.env, close_fds=False,
                       stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=50)
    eq(p.returncode, 0, "exit code of %s" % p.stdout.decode(errors="replace"))
    for i in range(1, 6):
        _, fds = state(w, "fast/%d" % i)
        eq(sorted(fds), ["0", "1", "2"], "descriptors of step %d: %r" % (i, fds))
        eq(fds["0"], "/dev/null", "stdin")
        assert fds["1"] == fds["2"] and fds["1"].startswith("pipe:"), fds


@test("stdin is at its end at once")
def stdin(w):
    w.tiers(fast=["read x && exit 9; " + mis("stdin")])
    w.green("fast")
    match(w.tail()[0], "^stdin 0 bytes, device 103$", "what was read (1:3 is /dev/null)")


@test("a session of its own without a terminal, apart from its worker's and its run's")
def session(w):
    w.tiers(fast=["echo shell $$; " + mis("state")])
    run = w.start("verify", "fast")
    mine = stat_of(run.pid)
    eq(run.wait(20).code, 0, "exit code")
    words, _ = state(w)
    eq((words["tty"], words["sid"]), ("none", words["shell"]), "tty, session: the shell leads it")
    assert mine is None or int(words["sid"]) not in (mine.sid, run.pid), words


@test("an empty signal mask and nothing ignored, though the caller blocks everything")
def signals(w):
    w.tiers(fast=[mis("state")])
    w.green("fast", before=lambda: signal.pthread_sigmask(signal.SIG_BLOCK, range(1, 65)))
    words, _ = state(w)
    eq((int(words["SigBlk"], 16), int(words["SigIgn"], 16)), (0, 0), "blocked, ignored")


@test("a broken pipe inside a step is as it is in a shell")
def sigpipe(w):
    w.tiers(fast=["yes | head -1; (yes; echo $? >&2) 2>status | head -1 >/dev/null; cat status"])
    w.green("fast")
    eq(w.tail(), ["y", "141"], "tail")


@test("it runs under /bin/sh, in the directory of its config, with the caller's environment")
def shell(w):
    w.tiers(fast=["readlink /proc/$$/exe; pwd -P; echo \"[$E2E_KEPT]\"; umask"])
    w.green("fast", env={"E2E_KEPT": "a  b\nc", "PWD": "/"}, before=lambda: os.umask(0o027))
    eq(w.tail(), [os.path.realpath("/bin/sh"), w.dir, "[a  b", "c]", "0027"], "tail")


def local_git_variables():
    out = subprocess.run(["git", "rev-parse", "--local-env-vars"], stdout=subprocess.PIPE, check=True).stdout
    return out.decode().split()


@test("git's variables of one repository reach no step, those of its config do")
def git_variables(w):
    kept = {"GIT_CONFIG_COUNT", "GIT_CONFIG_PARAMETERS", "GIT_CONFIG"}
    names = local_git_variables()
    assert len(names) > 10 and "GIT_INDEX_FILE" in names, names
    w.tiers(fast=["env | grep ^GIT_ | sort"])
    w.green("fast", env=dict({n: "/nonexistent" for n in names if n not in kept},
                             GIT_CONFIG_COUNT="0", GIT_AUTHOR_NAME="kept"))
    found = {x.split("=")[0] for x in w.tail()}
    eq(found & (set(names) - kept), set(), "variables that bind git")
    eq(found >= {"GIT_CONFIG_COUNT", "GIT_AUTHOR_NAME"}, True, "kept: %r" % found)


@test("a test suite run from a git hook cannot write into the index of the commit being made")
def git_hook(w):
    w.tiers(fast=["git init -q inner && cd inner && git config user.email a@b && git config user.name a && "
                  ": >f && git add f && git commit -q -m inner && git rev-list --count HEAD"])
    w.repository()
    w.write(".gitignore", ".geonosis/\ninner/\n")
    w.write(".git/hooks/pre-commit", "#!/bin/sh\nexec %s verify fast >%s 2>&1\n" % (binary(), w.beside("hook")), 0o755)
    who = ["git", "-c", "user.name=t", "-c", "user.email=t@example.invalid"]
    w.write("x", "1")
    # With a path, git commits through an index of its own and says so in GIT_INDEX_FILE.
    subprocess.run(["git", "add", "-A"], cwd=w.dir, env=w.env, check=True)
    p = subprocess.run([*who, "commit", "-q", "-m", "two", "x", ".gitignore"], cwd=w.dir, env=w.env,
                       stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    eq(p.returncode, 0, "git commit: %s%s" % (p.stdout.decode(), w.read(w.beside("hook"))))
    eq(w.tail(), ["1"], "commits of the inner repository")
    names = subprocess.run(["git", "show", "--name-only", "--format=", "HEAD"], cwd=w.dir, env=w.env,
                           stdout=subprocess.PIPE, check=True).stdout.decode().split()
    eq(names, [".gitignore", "x"], "files of the outer commit")


@each((("--jobserver-auth=3,4",), ("--jobserver-fds=3,4",), ("--jobserver-auth=fifo:/nonexistent",)),
      "MAKEFLAGS loses {0} and keeps the rest")
def makeflags(w, word):
    w.tiers(fast=["echo \"[$MAKEFLAGS]\""])
    w.green("fast", env={"MAKEFLAGS": "k -j4 %s --no-print-directory -- A=1" % word})
    lacks(w.tail()[0], "jobserver", "MAKEFLAGS")
    for rest in ("k", "--no-print-directory", "A=1"):
        has(w.tail()[0], rest, "MAKEFLAGS")


@test("under an outer make -j a step's own make works and warns of nothing")
def under_make(w):
    w.write("outer.mk", "all:\n\t+@%s verify fast\n" % binary())
    w.write("inner.mk", "all: a b\na b:\n\t@echo made $@\n")
    w.tiers(fast=["make --no-print-directory -f inner.mk"])
    p = subprocess.run(["make", "-j3", "-f", "outer.mk"], cwd=w.dir, env=w.env, stdin=subprocess.DEVNULL,
                       stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=50)
    eq(p.returncode, 0, "exit code of %s" % p.stdout.decode(errors="replace"))
    eq(sorted(w.tail()), ["made a", "made b"], "tail")


@test("GEONOSIS_SLOTS is what the run was budgeted, GEONOSIS_GATE_RUN one id a run")
def gate_variables(w):
    w.config({"verify": {"fast": ["echo $GEONOSIS_SLOTS $GEONOSIS_GATE_RUN; [ -n \"$GEONOSIS_HEAVY_SLOT_HELD\" ]"] * 2},
              "caps": {"heavy": 3}})
    seen = set()
    for args, slots in (((), "3"), (("--jobs", "2"), "2"), (("--jobs", "9"), "3")):
        w.green("fast", *args)
        first, second = (w.tail("fast/%d" % i)[0].split() for i in (1, 2))
        eq((first, first[0]), (second, slots), "slots and id")
        seen.add(first[1])
    eq(len(seen), 3, "ids of three runs")


@test("without a repository GEONOSIS_BASE and GEONOSIS_CHANGED_FILES are unset, stale ones too")
def no_base(w):
    w.tiers(fast=["echo \"[${GEONOSIS_BASE-unset}]\""])
    w.green("fast", env={"GEONOSIS_BASE": "stale"})
    eq(w.tail(), ["[unset]"], "tail")


@test("an environment that is large, or odd, is handed on whole")
def large_environment(w):
    w.tiers(fast=["printf '%s' \"$BIG\" | wc -c; env | grep -c ^MANY_; tr '\\0' '\\n' </proc/$$/environ | grep -cx 'no-equals'"])
    many = {"MANY_%d" % i: "x" for i in range(3000)}
    w.verify("fast", env=dict(many, BIG="y" * 120000))
    eq(w.tail()[:2], ["120000", "3000"], "tail")
