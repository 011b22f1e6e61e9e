# SPDX-License-Identifier: MIT
"""Programs that nobody here wrote, with their own build and their own test suite.

Their sources come from the Debian archive that this machine itself installs from, by apt, which
checks their signatures; a machine that cannot reach it skips.  What was fetched is kept in a cache
of this user, so that it is fetched once.
"""
import fcntl
import glob
import os
import re
import shutil
import subprocess
import tempfile

from harness import Skip, eq, has, test


def release():
    with open("/etc/os-release") as f:
        return dict(x.rstrip("\n").split("=", 1) for x in f if "=" in x).get("VERSION_CODENAME", "").strip('"')


def deb_src_lines(suite):
    """`deb-src` entries for the distribution's own archive, out of what apt is configured with"""
    lines = []
    for path in glob.glob("/etc/apt/sources.list") + sorted(glob.glob("/etc/apt/sources.list.d/*.list")):
        with open(path, errors="replace") as f:
            for line in f:
                m = re.match(r"\s*deb(?:-src)?\s+(\[[^]]*\]\s+)?(\S+)\s+(\S+)\s+(.*\bmain\b.*)", line)
                if m and m.group(3) == suite:
                    lines.append("deb-src %s%s %s main" % (m.group(1) or "", m.group(2), suite))
    for path in sorted(glob.glob("/etc/apt/sources.list.d/*.sources")):
        with open(path, errors="replace") as f:
            stanzas = re.split(r"\n\s*\n", f.read())
        for stanza in stanzas:
            field = {k.lower(): v.strip() for k, v in re.findall(r"(?m)^([\w-]+):(.*)$", stanza)}
            if suite in field.get("suites", "").split() and "main" in field.get("components", "").split():
                signed = "[signed-by=%s] " % field["signed-by"] if field.get("signed-by", "").startswith("/") else ""
                lines += ["deb-src %s%s %s main" % (signed, uri, suite) for uri in field.get("uris", "").split()]
    return list(dict.fromkeys(lines))


def fetch(package):
    """the directory of the unpacked source in the cache"""
    for tool in ("apt-get", "dpkg-source", "make", "cc"):
        if not shutil.which(tool):
            raise Skip("no %s here" % tool)
    cache = os.path.join(tempfile.gettempdir(), "geonosis-e2e-%d" % os.getuid(), "sources")
    os.makedirs(cache, mode=0o700, exist_ok=True)
    with open(os.path.join(cache, "lock"), "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        return fetch_locked(package, cache)


def fetch_locked(package, cache):
    found = [d for d in glob.glob(os.path.join(cache, package + "-*")) if os.path.isdir(d)]
    if found:
        return found[0]
    lines = deb_src_lines(release())
    if not lines:
        raise Skip("apt knows no archive of %s" % (release() or "this distribution"))
    for d in ("lists/partial", "archives/partial", "unpack"):
        os.makedirs(os.path.join(cache, d), exist_ok=True)
    with open(os.path.join(cache, "sources.list"), "w") as f:
        f.write("\n".join(lines) + "\n")
    options = ["-o", "Dir::Etc::sourcelist=" + os.path.join(cache, "sources.list"), "-o", "Dir::Etc::sourceparts=-",
               "-o", "Dir::State::lists=" + os.path.join(cache, "lists"), "-o", "Dir::Cache=" + cache,
               "-o", "APT::Sandbox::User=", "-o", "Acquire::Retries=2", "-o", "Acquire::http::Timeout=30",
               "-o", "Acquire::Languages=none", "-q"]
    unpack = os.path.join(cache, "unpack")
    for command in (["update"], ["source", "--only-source", package]):
        try:
            p = subprocess.run(["apt-get", *options, *command], cwd=unpack, stdin=subprocess.DEVNULL,
                               stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=200)
        except subprocess.TimeoutExpired:
            raise Skip("apt-get %s: no answer in time" % command[0]) from None
        if p.returncode:
            raise Skip("apt-get %s: %s" % (command[0], p.stdout.decode(errors="replace").strip()[-300:]))
    unpacked = [d for d in glob.glob(os.path.join(unpack, package + "-*")) if os.path.isdir(d)]
    assert unpacked, "apt-get source %s left nothing: %s" % (package, os.listdir(unpack))
    target = os.path.join(cache, os.path.basename(unpacked[0]))
    os.rename(unpacked[0], target)
    return target


def plant(w, name, old, new):
    """one edit of a file, which has to be there to be made"""
    text = w.read(name)
    assert old in text, "%s has no %r: another version than this test knows" % (name, old)
    w.write(name, text.replace(old, new, 1).encode("utf-8", "surrogateescape"))


def place(w, package, tier):
    source = fetch(package)
    os.rmdir(w.dir)
    shutil.copytree(source, w.dir, symlinks=True)
    w.tiers(fast=tier)


def only_red(w, id, needles):
    """exactly that step is red, its cause is in its tail, and what came after is skipped"""
    steps = w.report()["steps"]
    at = [s["id"] for s in steps].index(id)
    eq([s["ok"] for s in steps[:at + 1]], [True] * at + [False], "the steps up to the red one")
    eq([s.get("skipped") for s in steps[at + 1:]], [True] * (len(steps) - at - 1), "the steps after it")
    for needle in needles:
        has(steps[at]["tail"], needle, "tail of " + id)


@test("zlib configures, builds and passes its own tests; a planted failure is that step's, with its cause", timeout=400)
def zlib(w):
    place(w, "zlib", ["./configure", "make -j2", "make test"])
    w.green("fast", secs=200)
    eq([s["ok"] for s in w.report()["steps"]], [True] * 3, "steps")
    has(w.step("fast/3")["tail"], "zlib test OK", "tail of its tests")

    plant(w, "uncompr.c", "err == Z_STREAM_END ? Z_OK", "err == Z_STREAM_END ? Z_DATA_ERROR")
    w.red("fast", secs=200)
    only_red(w, "fast/3", ["uncompress error: -3", "zlib test FAILED"])

    plant(w, "inflate.c", "#include \"zutil.h\"", "#include \"zutil.h\"\n#error planted in inflate.c")
    w.red("fast", secs=200)
    only_red(w, "fast/2", ["inflate.c", "planted in inflate.c"])


@test("hello configures, builds and passes its own tests; a planted failure is that step's, with its cause", timeout=600)
def hello(w):
    quiet = "--disable-dependency-tracking --disable-nls FORCE_UNSAFE_CONFIGURE=1"
    place(w, "hello", ["test -e Makefile || ./configure " + quiet, "make -j2 all", "make check"])
    # Timestamps of a copy are those of the source: automake is not asked for.
    w.green("fast", secs=300)
    has(w.step("fast/3")["tail"] + w.read("test-suite.log"), "PASS", "its tests")

    plant(w, "src/hello.c", "Hello, world!", "Hello, planted!")
    w.red("fast", secs=300)
    only_red(w, "fast/3", ["FAIL: tests/hello-1"])

    plant(w, "src/hello.c", "#include <config.h>", "#include <config.h>\n#error planted in hello.c")
    w.red("fast", secs=300)
    only_red(w, "fast/2", ["src/hello.c", "planted in hello.c"])
