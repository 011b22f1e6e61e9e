# SPDX-License-Identifier: MIT
"""What the end-to-end tests stand on.

A test is a function registered with @test or @each; it gets a World: a private
directory with its own HOME, TMPDIR, XDG directories and shared-memory segment,
in which it runs the program that $GEONOSIS names.  It fails by AssertionError
and is left out by Skip.  Nothing here sleeps in the hope that something has
happened: until() waits for an event, with a deadline.

Every process of a test carries $GEONOSIS_E2E in its environment, with a value
of that test's own; by it the driver finds and ends what a test leaves behind.
"""
import json
import os
import re
import shlex
import shutil
import signal
import subprocess
import sys
import tempfile
import time

HERE = os.path.dirname(os.path.abspath(__file__))
MARK = "GEONOSIS_E2E"
REPORT = ".geonosis/gate-report.json"
SHELL_SIGNALS = (signal.SIGHUP, signal.SIGINT, signal.SIGQUIT, signal.SIGTERM,
                 signal.SIGPIPE)
TESTS = []


class Skip(Exception):
    """this machine cannot show it; the text says why"""


class Test:
    def __init__(self, name, fn, timeout):
        self.name, self.fn, self.timeout = name, fn, timeout


def _room(fn):
    return fn.__module__.split(".")[-1].replace("test_", "", 1)


def test(title, timeout=60):
    def register(fn):
        TESTS.append(Test("%s: %s" % (_room(fn), title), fn, timeout))
        return fn
    return register


def each(rows, title, timeout=60):
    """one independent test a row; TITLE is formatted with the row's members"""
    def register(fn):
        for row in rows:
            row = row if isinstance(row, tuple) else (row,)
            # One line of TAP, whatever the row holds.
            name = ascii("%s: %s" % (_room(fn), title.format(*row)))[1:-1]
            name = name if len(name) < 200 else name[:200] + " ..."
            TESTS.append(Test(name, lambda w, row=row: fn(w, *row), timeout))
        return fn
    return register


# ---------------------------------------------------------------- what is run

def binary():
    named = os.environ.get("GEONOSIS")
    if not named:
        raise SystemExit("set GEONOSIS to the program to test")
    named = os.path.abspath(named)
    if not os.access(named, os.X_OK):
        raise SystemExit("GEONOSIS: %s: no such program" % named)
    return named


def compiled(source, *flags):
    """SOURCE of tests/helper/ compiled with the machine's cc, once a checkout's state"""
    path = os.path.join(HERE, "..", "helper", source)
    with open(path, "rb") as f:
        text = f.read()
    state = "%08x" % (hash_of(text + " ".join(flags).encode()))
    out = os.path.join(tempfile.gettempdir(), "geonosis-e2e-%d" % os.getuid())
    os.makedirs(out, mode=0o700, exist_ok=True)
    if os.lstat(out).st_uid != os.getuid():
        raise SystemExit("%s: somebody else's" % out)
    target = os.path.join(out, "%s-%s" % (source.rsplit(".", 1)[0], state))
    if not os.path.exists(target):
        partial = "%s.%d" % (target, os.getpid())
        subprocess.run(["cc", "-std=c11", "-D_GNU_SOURCE", "-O1", *flags, path, "-o", partial],
                       check=True)
        os.rename(partial, target)
    return target


def hash_of(data):
    import zlib
    return zlib.crc32(data)


def misbehave():
    built = os.environ.get("GEONOSIS_MISBEHAVE")
    return os.path.abspath(built) if built else compiled("misbehave.c")


def mis(*words):
    """the shell command of tests/helper/misbehave.c with WORDS"""
    return " ".join(shlex.quote(str(w)) for w in (misbehave(), *words))


def sanitized():
    """a sanitizer's build has other measures of memory and time"""
    with open(binary(), "rb") as f:
        data = f.read()
    return b"__asan_init" in data or b"__tsan_init" in data


# ------------------------------------------------------------------- waiting

def patience(secs):
    """SECS on an idle machine, up to twice as much on one that is loaded"""
    load = os.getloadavg()[0] / len(os.sched_getaffinity(0))
    return secs * min(max(1.0, load), 2.0) + 0.3


def until(cond, secs, what, every=0.01):
    """the first true value of COND()"""
    end = time.monotonic() + secs
    while True:
        value = cond()
        if value:
            return value
        if time.monotonic() > end:
            raise AssertionError("waited %.1f s for %s" % (secs, what() if callable(what) else what))
        time.sleep(every)


# ----------------------------------------------------------------- processes

class Stat:
    """/proc/PID/stat, as far as it is asked for"""
    def __init__(self, text):
        fields = text.rsplit(")", 1)[1].split()
        self.state = fields[0]
        self.ppid, self.pgid, self.sid = (int(x) for x in fields[1:4])
        # proc(5), field 38: what its parent gets at its end; what fork made sends SIGCHLD.
        self.exit_signal = int(fields[35])


def stat_of(pid):
    try:
        with open("/proc/%d/stat" % pid) as f:
            return Stat(f.read())
    except OSError:
        return None


def _holders(file, needle):
    needle, found = needle.encode(), []
    for entry in os.listdir("/proc"):
        if not entry.isdigit() or int(entry) == os.getpid():
            continue
        try:
            with open("/proc/%s/%s" % (entry, file), "rb") as f:
                if needle not in f.read():
                    continue
        except OSError:
            continue
        stat = stat_of(int(entry))
        if stat and stat.state not in "ZX":
            found.append(int(entry))
    return sorted(found)


def with_token(token):
    """pids whose command line holds TOKEN"""
    return _holders("cmdline", token)


def with_mark(mark):
    """pids whose environment holds the test's mark"""
    return _holders("environ", "%s=%s" % (MARK, mark))


def token():
    return "tok%016x" % int.from_bytes(os.urandom(8), "big")


def appears(tok, n=1, secs=20):
    return until(lambda: len(with_token(tok)) >= n and with_token(tok), secs,
                 "%d process(es) of the step" % n)


def gone(tok, secs, what="the step's process"):
    until(lambda: not with_token(tok), secs,
          lambda: "the end of %s: %s" % (what, [describe(p) for p in with_token(tok)]))


def describe(pid):
    s = stat_of(pid)
    try:
        with open("/proc/%d/cmdline" % pid, "rb") as f:
            words = f.read().replace(b"\0", b" ").decode(errors="replace")[-120:]
    except OSError:
        words = ""
    return "%d (%s, parent %s, group %s, session %s) %s" % (
        (pid, s.state, s.ppid, s.pgid, s.sid, words) if s else (pid, "gone", 0, 0, 0, words))


def worker_of(pid, supervisor):
    """the process between the supervisor and PID, one of its step's processes"""
    at = pid
    for _ in range(64):
        s = stat_of(at)
        assert s, "the step has gone: %s" % describe(pid)
        if s.ppid == supervisor:
            assert at != pid, "the step is the supervisor's own child: there is no worker"
            return at
        assert s.ppid > 1, "no supervisor above %s" % describe(pid)
        at = s.ppid
    raise AssertionError("no end of parents above %d" % pid)


def kill(pid, sig):
    try:
        os.kill(pid, sig)
    except ProcessLookupError:
        pass


def sweep(mark):
    """ends every process of a test, by pid, until there is none"""
    for _ in range(200):
        left = with_mark(mark)
        if not left:
            return
        for pid in left:
            kill(pid, signal.SIGKILL)
        time.sleep(0.01)


def status_kb(pid, field):
    """a field of /proc/PID/status in kB; None when it is gone"""
    try:
        with open("/proc/%d/status" % pid) as f:
            m = re.search(r"^%s:\s+(\d+) kB" % field, f.read(), re.M)
            return int(m.group(1)) if m else None
    except OSError:
        return None


# --------------------------------------------------------------------- runs

class Result:
    def __init__(self, args, code, out, err, secs):
        self.args, self.code, self.out, self.err, self.secs = args, code, out, err, secs

    @property
    def both(self):
        return self.out + self.err

    def lines(self):
        return self.out.splitlines()

    def __repr__(self):
        return "geonosis %s: exit %s in %.2f s\n--- stdout\n%s--- stderr\n%s" % (
            " ".join(map(str, self.args)), self.code, self.secs, self.out[-3000:], self.err[-3000:])


class Running:
    """a process in the background, its output in files"""
    def __init__(self, world, argv, env=None, cwd=None, before=None, group=True, stdout=None):
        base = os.path.join(world.root, "running-%d" % len(world.running))
        self.argv, self.began = argv, time.monotonic()
        self.out_path, self.err_path = base + ".out", base + ".err"
        with open(self.out_path, "wb") as out, open(self.err_path, "wb") as err:
            self.process = subprocess.Popen(
                argv, cwd=cwd or world.dir, env=dict(world.env, **(env or {})),
                stdin=subprocess.DEVNULL, stdout=out if stdout is None else stdout, stderr=err,
                start_new_session=group, preexec_fn=before)
        self.pid = self.process.pid
        world.running.append(self)

    @staticmethod
    def _text(path):
        with open(path, "rb") as f:
            return f.read().decode("utf-8", "surrogateescape")

    @property
    def out(self):
        return self._text(self.out_path)

    @property
    def err(self):
        return self._text(self.err_path)

    def signal(self, sig):
        if self.process.poll() is None:
            kill(self.pid, sig)

    def signal_group(self, sig):
        if self.process.poll() is None:
            os.killpg(self.pid, sig)

    def ended(self):
        return self.process.poll() is not None

    def wait(self, secs):
        """the Result; AssertionError when it does not end in time"""
        try:
            code = self.process.wait(secs)
        except subprocess.TimeoutExpired:
            raise AssertionError("still running after %.1f s: %s\n%s\n%s" % (
                secs, " ".join(self.argv), self.out[-2000:], self.err[-2000:])) from None
        return Result(self.argv[1:], code, self.out, self.err, time.monotonic() - self.began)


def root_of(mark):
    return os.path.join(os.path.realpath(tempfile.gettempdir()), "geonosis-e2e-" + mark)


def segment_of(mark):
    return "/geonosis-e2e-" + mark


def clean(mark):
    """ends what a test left running and removes what it wrote"""
    sweep(mark)
    for name in os.listdir("/dev/shm"):
        if segment_of(mark)[1:] in name:
            os.unlink("/dev/shm/" + name)
    shutil.rmtree(root_of(mark), ignore_errors=True)


class World:
    """the private place of one test"""
    def __init__(self, mark):
        self.mark = mark
        self.root = root_of(mark)
        self.dir = os.path.join(self.root, "work")
        home, run, tmp = (os.path.join(self.root, d) for d in ("home", "run", "tmp"))
        os.mkdir(self.root, 0o700)
        for d in (self.dir, home, run, tmp):
            os.mkdir(d, 0o700)
        self.segment = segment_of(mark)
        self.running = []
        self.env = {k: v for k, v in os.environ.items() if k.endswith("SAN_OPTIONS")}
        self.env.update({
            "PATH": "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
            "HOME": home, "TMPDIR": tmp, "LC_ALL": "C.UTF-8", "TERM": "xterm-256color",
            "XDG_RUNTIME_DIR": run, "XDG_CONFIG_HOME": os.path.join(home, "config"),
            "XDG_CACHE_HOME": os.path.join(home, "cache"),
            "XDG_STATE_HOME": os.path.join(home, "state"),
            "GEONOSIS_SEGMENT": self.segment, "GEONOSIS_HEAVY_SLOTS": "4",
            "GIT_CONFIG_NOSYSTEM": "1", "GIT_CEILING_DIRECTORIES": self.root, MARK: mark,
        })

    # files: in the working directory unless the name is absolute

    def path(self, name):
        return os.path.join(self.dir, name)

    def beside(self, name):
        """a file beside the working directory: what steps write there is no change of the tree"""
        return os.path.join(self.root, name)

    def write(self, name, text, mode=None):
        path = self.path(name)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "wb") as f:
            f.write(text if isinstance(text, bytes) else text.encode())
        if mode is not None:
            os.chmod(path, mode)
        return path

    def bytes(self, name):
        with open(self.path(name), "rb") as f:
            return f.read()

    def read(self, name):
        return self.bytes(name).decode("utf-8", "surrogateescape")

    def exists(self, name):
        return os.path.lexists(self.path(name))

    def config(self, value):
        self.write("geonosis.json", value if isinstance(value, (str, bytes)) else json.dumps(value))

    def tiers(self, **tiers):
        self.config({"verify": tiers})

    def repository(self):
        """makes the directory a git repository with everything committed"""
        self.write(".gitignore", ".geonosis/\n")
        who = ["-c", "user.name=t", "-c", "user.email=t@example.invalid"]
        for args in (["init", "-q", "-b", "main"], ["add", "-A"], [*who, "commit", "-q", "-m", "one"]):
            subprocess.run(["git", *args], cwd=self.dir, env=self.env, check=True,
                           stdout=subprocess.DEVNULL)

    # the program

    def run(self, *args, secs=50, env=None, cwd=None, before=None):
        began = time.monotonic()
        try:
            p = subprocess.run([binary(), *args], cwd=cwd or self.dir,
                               env=dict(self.env, **(env or {})), stdin=subprocess.DEVNULL,
                               stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=secs,
                               preexec_fn=before)
        except subprocess.TimeoutExpired as e:
            raise AssertionError("hung for %d s: geonosis %s\n%s" % (
                secs, " ".join(args), (e.stdout or b"")[-2000:].decode(errors="replace"))) from None
        return Result(args, p.returncode, p.stdout.decode("utf-8", "surrogateescape"),
                      p.stderr.decode("utf-8", "surrogateescape"), time.monotonic() - began)

    def verify(self, *args, **kw):
        return self.run("verify", *args, **kw)

    def green(self, *args, **kw):
        r = self.verify(*args, **kw)
        assert r.code == 0, "a green run was expected: %r" % r
        return r

    def red(self, *args, **kw):
        r = self.verify(*args, **kw)
        assert r.code == 1, "a red run was expected: %r" % r
        return r

    def refused(self, *args, needles=(), **kw):
        """exit 2, `geonosis: what: why` with every needle; nothing run, no report written"""
        before = self.bytes(REPORT) if self.exists(REPORT) else None
        r = self.run(*args, **kw)
        assert r.code == 2, "a refusal was expected: %r" % r
        match(r.err, r"^geonosis: .+: .+", "stderr")
        for needle in needles:
            has(r.err, needle, "stderr")
        eq(self.bytes(REPORT) if self.exists(REPORT) else None, before, "the report")
        assert not self.exists("RAN"), "a step ran: %r" % r
        return r

    def start(self, *args, **kw):
        return Running(self, [binary(), *args], **kw)

    def shell(self, script, *args, secs=50, env=None, program="sh"):
        """a script around the program; "$0" is the program"""
        began = time.monotonic()
        argv = [*program.split(), "-c", script, binary(), *args]
        p = subprocess.run(argv, cwd=self.dir, env=dict(self.env, **(env or {})), timeout=secs,
                           stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        return Result(argv, p.returncode, p.stdout.decode("utf-8", "surrogateescape"),
                      p.stderr.decode("utf-8", "surrogateescape"), time.monotonic() - began)

    def mounted(self, script, **kw):
        """a script in a mount namespace of its own; Skip where the kernel gives none"""
        program = "unshare -m sh" if os.getuid() == 0 else "unshare -rm sh"
        probe = subprocess.run([*program.split(), "-c", "mount -t tmpfs none " + shlex.quote(self.root)],
                               stdin=subprocess.DEVNULL, stderr=subprocess.PIPE, env=self.env)
        if probe.returncode:
            raise Skip("no mount namespace: %s" % probe.stderr.decode(errors="replace").strip())
        return self.shell(script, program=program, **kw)

    # the report

    def report(self, name=REPORT):
        data = self.bytes(name)
        assert data.endswith(b"\n"), "no newline at the end of the report"
        return json.loads(data.decode("utf-8"))

    def steps(self, name=REPORT):
        return {s["id"]: s for s in self.report(name)["steps"]}

    def step(self, id="fast/1"):
        found = self.steps()
        assert id in found, "no step %s: %s" % (id, sorted(found))
        return found[id]

    def tail(self, id="fast/1"):
        text = self.step(id)["tail"]
        text = text[:-1] if text.endswith("\n") else text
        return text.split("\n") if text else []

    def log(self, id="fast/1"):
        return self.bytes(self.step(id)["log"])

    def close(self):
        sweep(self.mark)
        for r in self.running:
            r.process.wait(5)


# ------------------------------------------------------------------- claims

def eq(got, want, what="value"):
    assert got == want, "%s: got %.1500r, want %.1500r" % (what, got, want)


def has(text, needle, what="output"):
    assert needle in text, "%s lacks %r:\n%s" % (what, needle, text[-2500:])


def lacks(text, needle, what="output"):
    assert needle not in text, "%s holds %r:\n%s" % (what, needle, text[-2500:])


def match(text, pattern, what="output"):
    found = re.search(pattern, text, re.M)
    assert found, "%s does not match %r:\n%s" % (what, pattern, text[-2500:])
    return found


def between(low, value, high, what="value"):
    assert low <= value <= high, "%s: %r is not from %r to %r" % (what, value, low, high)


def signal_name(number):
    return signal.Signals(number).name


def fresh_signals():
    """what a test starts with: nothing ignored that a shell's `&` or nohup ignores, nothing blocked"""
    for s in SHELL_SIGNALS:
        signal.signal(s, signal.default_int_handler if s == signal.SIGINT else signal.SIG_DFL)
    signal.pthread_sigmask(signal.SIG_SETMASK, [])
    sys.setswitchinterval(0.005)
