# SPDX-License-Identifier: MIT
"""`verify prove`: copies of every kind, what they keep in and what they keep out."""
import json
import os
import random
import shlex
import shutil
import signal
import subprocess

from harness import (Running, Skip, appears, between, binary, each, eq, gone, has, lacks, match, mis,
                     patience, test, token, until, with_token, worker_of)

PROVE_REPORT = ".geonosis/prove-report.json"
KINDS = ("overlay", "portable", "bare")
MARKER = "geonosis.lock"


def proves(plant, expect, command, **more):
    return dict({"command": command, "proves": {"plant": plant, "expect": expect}}, **more)


def kind_works(w, kind):
    """Skip where this machine has no such copy"""
    if kind != "overlay":
        return
    probe = subprocess.run([binary(), "verify", "prove", "probe"], cwd=w.path("probe"),
                           env=dict(w.env, GEONOSIS_PROVE_COPY="overlay"),
                           stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    if probe.returncode:
        raise Skip("no overlay here: %s" % probe.stdout.decode(errors="replace")[-300:])


def with_kind(w, kind):
    w.write("probe/geonosis.json", json.dumps(
        {"verify": {"probe": [proves("touch p", "x", "echo x; exit 1")]}}))
    kind_works(w, kind)
    shutil.rmtree(w.path("probe"))
    w.env["GEONOSIS_PROVE_COPY"] = kind


def state(w, top=None):
    """every path of the tree with mode, content or target; .geonosis aside"""
    found = {}
    top = top or w.dir
    for base, dirs, files in os.walk(os.fsencode(top)):
        if b".geonosis" in dirs:
            dirs.remove(b".geonosis")
        for name in dirs + files:
            path = os.path.join(base, name)
            st = os.lstat(path)
            if os.path.islink(path):
                data = os.readlink(path)
            elif os.path.isfile(path):
                with open(path, "rb") as f:
                    data = f.read()
            else:
                data = b""
            found[path] = (st.st_mode, data)
    return found


def comm(pid):
    with open("/proc/%d/comm" % pid) as f:
        return f.read().strip()


def no_copies(w):
    eq(os.listdir(w.env["TMPDIR"]), [], "TMPDIR")


def line(r, id):
    got = [l for l in r.lines() if " %s " % id in l and not l.startswith("  ")]
    eq(len(got), 1, "lines of %s in %r" % (id, r))
    return got[0]


def step(w, id="fast/1"):
    return w.steps(PROVE_REPORT)[id]


def git(w, *args, cwd=None):
    who = ["-c", "user.name=t", "-c", "user.email=t@example.invalid"]
    r = subprocess.run(["git", *who, *args], cwd=cwd or w.dir, env=w.env, check=True,
                       stdout=subprocess.PIPE)
    return r.stdout.decode().strip()


# ---------------------------------------------------------------- the verdicts

REASONS = (
    # command, plant, reason, what the line says
    ("true", "touch p", "stayed-green", "left it green"),
    ("[ ! -e p ]", "touch p", "no-evidence", "did not carry \"hit\""),
    ("echo hit; [ ! -e p ] || kill -KILL $$", "touch p", "signal", "SIGKILL"),
    ("echo hit; exit 1", "touch p; exit 7", "plant-failed", "it exited 7"),
    ("echo hit; exit 1", "touch p; kill -TERM $$", "plant-failed", "SIGTERM"),
    ("echo hit; exit 1", ":", "nothing-changed", "changed nothing"),
    ("[ ! -e p ]", "echo hit; touch p", "no-evidence", "did not carry"),
)


@each([(k, *r) for k in KINDS for r in REASONS], "{0}: {3}: {1} after {2}")
def reasons(w, kind, command, plant, reason, says):
    with_kind(w, kind)
    w.tiers(fast=[proves(plant, "hit", command)])
    r = w.red("prove", "fast")
    l = line(r, "fast/1")
    assert l.startswith("NOT PROVEN fast/1 "), l
    has(l, says)
    match(l, r" \(copy [0-9.]+ k?B\)$")
    s = step(w)
    eq((s["outcome"], s["reason"]), ("not proven", reason), "outcome")
    eq(s["copy"]["kind"], "overlay" if kind == "overlay" else "portable", "kind")
    no_copies(w)


@each(KINDS, "{0}: red before the plant, and green before it")
def baseline(w, kind):
    with_kind(w, kind)
    w.tiers(fast=[proves("touch p", "hit", "echo hit; exit 4"),
                  proves("touch p", "hit", "echo made >artifact; [ ! -e p ] || { echo hit; exit 1; }")])
    w.green("prove", "fast")
    r = w.red("prove", "fast", "--baseline")
    has(line(r, "fast/1"), "it was red before the plant: it exited 4")
    assert line(r, "fast/2").startswith("PROVEN"), r
    eq(step(w, "fast/2")["changed"], ["p"], "what the plant changed")


# Plants that change nothing, beside those that change something: in git's eyes and not.
NOTHING = ("touch a.txt", "cat a.txt >b && cat b >a.txt && rm b", "mv a.txt b && mv b a.txt",
           "cp -a d d2 && rm -r d && mv d2 d", "chmod 600 a.txt && chmod 644 a.txt",
           "mkdir -p x/y && rm -r x", "ln -sfn a.txt l", "git status", "echo 1 >a.txt",
           "mkdir -p .geonosis && echo 1 >.geonosis/x")
SOMETHING = (("chmod 755 a.txt", "a.txt"), ("echo 2 >a.txt", "a.txt"), ("rm a.txt", "a.txt"),
             ("rm -r d", "d"), ("rm -r d && mkdir d", "d/f"), ("ln -sfn d l", "l"),
             ("echo 1 >ignored.log", "ignored.log"), ("mkdir empty", "empty"),
             ("rm node_modules/dep/index.js", "node_modules/dep/index.js"),
             ("mv d e", "e"), ("rm a.txt && mkdir a.txt", "a.txt"),
             ("rm -r d && echo 1 >d", "d"), ("mkfifo p", "p"))


def small_tree(w):
    w.write("a.txt", "1\n", 0o644)
    w.write("d/f", "f\n")
    w.write("node_modules/dep/index.js", "1\n")
    os.symlink("a.txt", w.path("l"))
    w.repository()
    w.write(".gitignore", ".geonosis/\nnode_modules/\n*.log\n")


@each([(k, p) for k in KINDS for p in NOTHING], "{0}: {1} changes nothing")
def plant_nothing(w, kind, plant):
    with_kind(w, kind)
    small_tree(w)
    w.tiers(fast=[proves(plant + "; :", "hit", "echo hit; exit 1")])
    r = w.red("prove", "fast")
    eq(step(w)["reason"], "nothing-changed", "reason of %r, changed %s" % (r, step(w).get("changed")))


@each([(k, *p) for k in KINDS for p in SOMETHING], "{0}: {1} changes {2}")
def plant_something(w, kind, plant, path):
    with_kind(w, kind)
    small_tree(w)
    w.tiers(fast=[proves(plant, "hit", "echo hit; exit 1")])
    before = state(w)
    w.green("prove", "fast")
    assert path in step(w)["changed"], step(w)
    eq(state(w), before, "the tree")
    no_copies(w)


@each([(k, p) for k in KINDS for p in ("git tag planted", "git commit -q --allow-empty -m x",
                                       "git rm -q --cached a.txt", "git config x.y z")],
      "{0}: in history {1} is a change")
def plant_refs(w, kind, plant):
    with_kind(w, kind)
    small_tree(w)
    w.tiers(fast=[proves(plant, "hit", "echo hit; exit 1", history=True)])
    refs = git(w, "for-each-ref")
    w.green("prove", "fast")
    eq(git(w, "for-each-ref"), refs, "refs")


@each(KINDS, "{0}: in history git status is no change")
def plant_status(w, kind):
    with_kind(w, kind)
    small_tree(w)
    w.tiers(fast=[proves("touch a.txt; git status", "hit", "echo hit; exit 1", history=True)])
    w.red("prove", "fast")
    eq(step(w)["reason"], "nothing-changed", "reason")


# ------------------------------------------------------------------- the copy

@each(KINDS, "{0}: odd names, modes, links, holes and empty directories are there")
def copy_whole(w, kind):
    with_kind(w, kind)
    names = [b"sp ace", b"new\nline", b"\xff\xfe", b"-dash", b"quo'te\"", b"a:b,c=d\\e", b"\xc3\xa9"]
    for n in names:
        with open(os.path.join(os.fsencode(w.dir), n), "wb") as f:
            f.write(n)
    w.write("deep/" * 60 + "f", "deep")
    os.mkdir(w.path("empty"))
    w.write("tool", "#!/bin/sh\n", 0o751)
    os.symlink(w.path("tool"), w.path("absolute"))
    os.symlink("../beside-the-tree", w.path("outward"))
    w.write(w.beside("beside-the-tree"), "beside\n")
    os.symlink("/nonexistent", w.path("dangling"))
    with open(w.path("holes"), "wb") as f:
        f.truncate(50 << 20)
        f.seek(10 << 20)
        f.write(b"middle")
    w.write("big", b"\1" * 300000)
    os.utime(w.path("tool"), (1000000000, 1000000000))
    script = r"""
import os, sys
d = os.fsencode(os.getcwd())
assert not os.path.exists('.git'), 'git'
for n in %r:
    assert open(os.path.join(d, n), 'rb').read() == n, n
assert open('deep/' * 60 + 'f').read() == 'deep'
assert os.path.isdir('empty') and not os.listdir('empty')
st = os.stat('tool')
assert st.st_mode & 0o777 == 0o751 and st.st_mtime == 1000000000, st
assert os.path.realpath('absolute') == os.path.realpath('tool'), os.readlink('absolute')
assert open('outward').read() == 'beside\n'
assert os.path.islink('dangling')
h = os.stat('holes')
assert h.st_size == 50 << 20 and h.st_blocks * 512 < 5 << 20, h
f = open('holes', 'rb'); f.seek(10 << 20); assert f.read(6) == b'middle'
assert open('big', 'rb').read() == b'\1' * 300000
print('WHOLE')
sys.exit(1)
""" % names
    w.write(w.beside("check.py"), script)
    w.tiers(fast=[proves("touch p", "WHOLE", "python3 %s" % shlex.quote(w.beside("check.py")))])
    w.repository()
    before = state(w)
    w.green("prove", "fast")
    eq(state(w), before, "the tree")


@each(KINDS, "{0}: a link from node_modules to a workspace leads into the copy")
def copy_workspace_links(w, kind):
    with_kind(w, kind)
    w.write("packages/core/v", "good\n")
    w.write("packages/core/package.json", '{"name": "@t/core"}')
    os.makedirs(w.path("node_modules/@t"))
    os.symlink("../../packages/core", w.path("node_modules/@t/core"))
    os.symlink(w.path("packages/core"), w.path("node_modules/@t/absolute"))
    w.tiers(fast=[proves("echo bad >packages/core/v", "bad bad",
                         "echo $(cat node_modules/@t/core/v node_modules/@t/absolute/v); exit 1")])
    w.repository()
    w.green("prove", "fast")


@each(KINDS, "{0}: a config below the top: the whole repository is there")
def copy_subdirectory(w, kind):
    with_kind(w, kind)
    w.write("top.txt", "top\n")
    w.write("a/b/geonosis.json", json.dumps({"verify": {"fast": [
        proves("echo x >../../top.txt", "x", "pwd; cat ../../top.txt; ls -a; exit 1")]}}))
    w.write("a/b/.geonosis/left", "")
    w.repository()
    before = state(w)
    r = w.green("prove", "fast", cwd=w.path("a/b"))
    eq(state(w), before, "the tree")
    s = {s["id"]: s for s in w.report("a/b/" + PROVE_REPORT)["steps"]}["fast/1"]
    lacks(s["tail"], ".geonosis")
    eq(s["changed"], ["top.txt"], "changed (%r)" % r)


@each(KINDS, "{0}: a linked worktree: its repository is neither seen nor written to")
def copy_linked_worktree(w, kind):
    with_kind(w, kind)
    w.write("f", "1\n")
    w.tiers(fast=[proves("echo 2 >f; git add -A; git update-ref refs/heads/x HEAD; :", "NONE",
                         "git rev-parse --git-dir || echo NONE; exit 1"),
                  proves("echo 2 >f; git add -A; git commit -q -m x", "2",
                         "git log --oneline | wc -l; exit 1", history=True)])
    w.repository()
    tree = w.beside("linked")
    git(w, "worktree", "add", "-q", tree)
    before, index = git(w, "for-each-ref"), git(w, "ls-files", "-s", cwd=tree)
    w.green("prove", "fast", cwd=tree)
    eq(git(w, "for-each-ref"), before, "refs")
    eq(git(w, "ls-files", "-s", cwd=tree), index, "index")
    eq(git(w, "status", "--porcelain", cwd=tree), "", "status")


@each(("overlay", "portable"), "{0}: a step cannot write to the repository that a worktree is of")
def guard_worktree(w, kind):
    if os.getuid() != 0:
        raise Skip("only root is sure to have a mount namespace")
    with_kind(w, kind)
    w.write("f", "1\n")
    tree = w.beside("linked")
    tries = " ".join(shlex.quote(p) for p in (
        w.path(".git/refs/heads/evil"), w.path(".git/worktrees/linked/evil")))
    w.tiers(fast=[proves("touch p", "0 made", "n=0; for f in %s; do (: >$f) 2>/dev/null && n=$((n+1)); done; "
                         "echo $n made; exit 1" % tries)])
    w.repository()
    git(w, "worktree", "add", "-q", tree)
    w.green("prove", "fast", cwd=tree)


@test("bare: a write to the tree, its ignored files, its index or its refs is found")
def bare_detects(w):
    with_kind(w, "bare")
    w.write("f", "1\n")
    w.write("ignored.log", "1\n")
    top = shlex.quote(w.dir)
    writes = ("echo 2 >%s/f", "echo 2 >%s/ignored.log", "rm %s/ignored.log", "mkdir %s/new",
              "git -C %s tag evil", "git -C %s rm -q --cached f", "chmod 755 %s/f")
    w.tiers(**{"t%d" % i: [proves("touch p", "hit", (c % top) + "; echo hit; exit 1")]
               for i, c in enumerate(writes)})
    w.repository()
    w.write(".gitignore", ".geonosis/\n*.log\n")
    git(w, "commit", "-qam", "ignore")
    kept = w.beside("kept")
    shutil.copytree(w.dir, kept, symlinks=True)
    for i, c in enumerate(writes):
        r = w.red("prove", "t%d" % i)
        s = w.steps(PROVE_REPORT)["t%d/1" % i]
        eq(s["reason"], "tree-written", "reason after %s (%r)" % (c, r))
        shutil.rmtree(w.dir)
        shutil.copytree(kept, w.dir, symlinks=True)
        git(w, "reset", "-q")


@test("bare: a write that leaves size and time of an ignored file as they were is found")
def bare_detects_hidden(w):
    with_kind(w, "bare")
    w.write("ignored.log", "1\n")
    w.write(".gitignore", ".geonosis/\n*.log\n")
    top = shlex.quote(w.dir)
    w.tiers(fast=[proves("touch p", "hit", "cp -p %s/ignored.log ref; echo 2 >%s/ignored.log; "
                         "touch -r ref %s/ignored.log; echo hit; exit 1" % (top, top, top))])
    git(w, "init", "-q")
    git(w, "add", "-A")
    git(w, "commit", "-qm", "one")
    w.red("prove", "fast")
    eq((step(w)["reason"], step(w)["detail"]), ("tree-written", "ignored.log"), "reason")


@test("bare: a write to the repository of a linked working tree is found")
def bare_detects_repository(w):
    with_kind(w, "bare")
    w.write("f", "1\n")
    tree = w.beside("linked")
    top, common = shlex.quote(tree), shlex.quote(w.path(".git"))
    writes = ("git -C %s config x.y z" % top, "echo x >%s/hooks/pre-commit" % common,
              "echo x >>%s/info/exclude" % common, "git -C %s pack-refs --all" % top,
              "git -C %s update-ref --no-deref HEAD HEAD" % top, ": >%s/worktrees/linked/new" % common)
    w.tiers(**{"t%d" % i: [proves("touch p", "hit", c + "; echo hit; exit 1")]
               for i, c in enumerate(writes)})
    w.write("README", "1\n")
    w.repository()
    os.makedirs(w.path(".git/hooks"), exist_ok=True)
    git(w, "worktree", "add", "-q", tree)
    for i, c in enumerate(writes):
        r = w.red("prove", "t%d" % i, cwd=tree)
        with open(os.path.join(tree, PROVE_REPORT)) as f:
            eq(json.load(f)["steps"][0].get("reason"), "tree-written", "reason after %s (%r)" % (c, r))


@each(KINDS, "{0}: in history git takes the copy for ours, whoever owns its files")
def history_owner(w, kind):
    if os.getuid() != 0:
        raise Skip("only root can have another's files")
    with_kind(w, kind)
    w.write("f", "1\n")
    w.tiers(fast=[proves("echo 2 >f; git commit -qam two", "NAME f",
                         "git diff --name-only refs/geonosis/verified | sed 's/^/NAME /'; exit 1", history=True)])
    w.repository()
    for base, dirs, files in os.walk(w.dir):
        for n in dirs + files:
            os.lchown(os.path.join(base, n), 1000, 1000)
    os.chown(w.dir, 1000, 1000)
    w.green("prove", "fast")


@each(KINDS, "{0}: ten thousand files")
def copy_many(w, kind):
    with_kind(w, kind)
    for i in range(100):
        os.makedirs(w.path("d%d/e" % i))
        for k in range(100):
            with open(w.path("d%d/e/%d" % (i, k)), "w") as f:
                f.write("%d %d\n" % (i, k))
    w.tiers(fast=[proves("rm d7/e/7; echo x >>d9/e/9", "9998 9999",
                         "echo $(find . -type f -path './d*' -newermt @0 | wc -l | tr 9 9) "
                         "$(find . -type f -path './d*' | wc -l); "
                         "[ $(find . -type f -path './d*' | wc -l) = 9999 ] && echo 9998 9999; exit 1")])
    w.repository()
    r = w.green("prove", "fast")
    eq(sorted(step(w)["changed"]), ["d7/e/7", "d9/e/9"], "changed")
    no_copies(w)
    between(0, r.secs, patience(15), "seconds")


@test("an ignored cache is left out of a portable copy, one with a tracked file is not")
def copy_caches(w):
    with_kind(w, "portable")
    tag = "Signature: 8a477f597d28d172789f06886806bc55\n"
    for d in ("target", "tracked", "unignored", "build"):
        w.write(d + "/data", "x\n")
    for d in ("target", "tracked", "unignored"):
        w.write(d + "/CACHEDIR.TAG", tag)
    w.write("build/CMakeCache.txt", "")
    w.write("dist/out", "")
    w.tiers(fast=[proves("touch p", "dist tracked unignored", "echo $(ls -d */ | tr -d /); exit 1")])
    w.repository()
    git(w, "rm", "-qr", "--cached", "target", "build", "dist", "unignored")
    w.write(".gitignore", ".geonosis/\ntarget\ntracked\nbuild\ndist\n")
    w.green("prove", "fast")


@each(KINDS, "{0}: history has what is tracked although ignored, and not what is only ignored")
def history_files(w, kind):
    with_kind(w, kind)
    w.write("kept.log", "1\n")
    w.tiers(fast=[proves("touch p", "LIST .gitignore geonosis.json kept.log",
                         "echo LIST $(git ls-tree -r --name-only HEAD); git status --porcelain; exit 1",
                         history=True)])
    w.repository()
    w.write(".gitignore", ".geonosis/\n*.log\n")
    w.write("other.log", "1\n")
    w.green("prove", "fast")
    eq([l for l in step(w)["tail"].split("\n")[1:] if l], ["?? p"], "status")


@each(KINDS, "{0}: history with a submodule")
def history_submodule(w, kind):
    with_kind(w, kind)
    sub = w.beside("module")
    os.mkdir(sub)
    git(w, "init", "-q", cwd=sub)
    w.write(os.path.join(sub, "inner"), "1\n")
    git(w, "add", "-A", cwd=sub)
    git(w, "commit", "-qm", "m", cwd=sub)
    w.tiers(fast=[proves("echo 2 >mod/inner", "mod/inner",
                         "git diff --name-only refs/geonosis/verified; exit 1", history=True)])
    w.repository()
    git(w, "-c", "protocol.file.allow=always", "submodule", "add", "-q", sub, "mod")
    git(w, "commit", "-qm", "sub")
    w.green("prove", "fast")
    eq(git(w, "status", "--porcelain"), "", "status")
    eq(git(w, "status", "--porcelain", cwd=w.path("mod")), "", "the module's status")


@each(KINDS, "{0}: what names the tree in the environment names the copy; git and pnpm too")
def copy_environment(w, kind):
    with_kind(w, kind)
    os.makedirs(w.path("node_modules/.bin"))
    w.write("node_modules/.bin/tool", "#!/bin/sh\necho ran $0\n", 0o755)
    w.tiers(fast=[proves("touch p", "READY", "[ \"$OTHER\" = \"$PWD/x:/y\" ] && [ $(pwd) = \"$PWD\" ] && "
                         "[ \"$(tool)\" = \"ran $PWD/node_modules/.bin/tool\" ] && "
                         "[ $PNPM_CONFIG_VERIFY_DEPS_BEFORE_RUN$pnpm_config_verify_deps_before_run = falsefalse ] && "
                         "! env | grep -i '^npm_config' && [ \"$GEONOSIS_PROVING\" = fast ] && "
                         "[ -n \"$GEONOSIS_GATE_RUN\" ] && echo READY; env; exit 1")])
    w.green("prove", "fast", env={"OTHER": w.path("x") + ":/y", "GIT_DIR": w.path(".git"),
                                  "NPM_CONFIG_VERIFY_DEPS_BEFORE_RUN": "install",
                                  "PATH": w.path("node_modules/.bin") + ":" + w.env["PATH"]})


@each(KINDS, "{0}: a step is told what the plant changed, and what its history begins with")
def told_changes(w, kind):
    with_kind(w, kind)
    w.write("a/f", "1\n")
    w.write("a/geonosis.json", json.dumps({"verify": {"fast": [
        proves("echo 2 >f; : >\"$(printf 'new\\001name')\"; touch ../top; git tag x", "based",
               "sort $GEONOSIS_CHANGED_FILES; [ $(git rev-parse HEAD) = $GEONOSIS_BASE ] && echo based; exit 1",
               history=True)]}}))
    w.repository()
    w.green("prove", "fast", cwd=w.path("a"))
    tail = w.report("a/" + PROVE_REPORT)["steps"][0]["tail"]
    eq(sorted(tail.split("\n")), sorted(['"new\\001name"', "../top", "f", "based"]), "what it is told")


@test("the overlay sees what is mounted below the tree, and writes none of it")
def overlay_submounts(w):
    with_kind(w, "overlay")
    if os.getuid() != 0:
        raise Skip("mounts need root")
    w.write("sub/placeholder", "")
    w.write("file", "under\n")
    w.write(w.beside("over"), "over\n")
    w.tiers(fast=[proves("echo 2 >sub/inner; rm sub/gone", "2 over",
                         "echo $(cat sub/inner file); ls sub; exit 1")])
    r = w.mounted("mount -t tmpfs none sub && echo 1 >sub/inner && echo 1 >sub/gone && "
                  "mount --bind %s file && \"$0\" verify prove fast; c=$?; cat sub/inner sub/gone; exit $c"
                  % shlex.quote(w.beside("over")))
    eq(r.code, 0, "exit code (%r)" % r)
    has(r.out, "\n1\n1\n")
    no_copies(w)


@test("names with colons and commas, and TMPDIR with them")
def odd_tree_name(w):
    d = w.beside("a:b,c=d \\e")
    t = w.beside("t:m,p")
    os.mkdir(d)
    os.mkdir(t)
    w.write(d + "/geonosis.json", json.dumps({"verify": {"fast": [proves("touch p", "hit", "echo hit; exit 1")]}}))
    for kind in ("", "portable", "bare"):
        w.green("prove", "fast", cwd=d, env={"TMPDIR": t, "GEONOSIS_PROVE_COPY": kind})
        eq(os.listdir(t), [], "TMPDIR")


@test("TMPDIR inside the tree, and the tree inside TMPDIR")
def tmpdir_inside(w):
    w.write("tmp/kept", "1\n")
    w.tiers(fast=[proves("touch p", "hit", ": >$TMPDIR/x && echo hit; ls -R; exit 1")])
    w.repository()
    for kind in ("", "portable", "bare"):
        for tmp in (w.path("tmp"), w.dir, os.path.dirname(w.dir)):
            before = state(w)
            w.green("prove", "fast", env={"TMPDIR": tmp, "GEONOSIS_PROVE_COPY": kind})
            eq(state(w), before, "the tree")
            lacks(step(w)["tail"], "geonosis-copies-", "the copy") if tmp != os.path.dirname(w.dir) else None
            eq([n for n in os.listdir(tmp) if n.startswith("geonosis-")], [], "what is left")


@test("an overlay that is asked for and cannot be had is said to be so")
def overlay_refused(w):
    w.tiers(fast=[proves("touch p", "hit", "echo hit; exit 1")])
    r = w.red("prove", "fast", env={"GEONOSIS_PROVE_COPY": "overlay", "TMPDIR": w.dir})
    has(r.out, "TMPDIR lies in the tree")
    w.refused("verify", "prove", "fast", needles=("GEONOSIS_PROVE_COPY", "sideways"),
              env={"GEONOSIS_PROVE_COPY": "sideways"})


@each(KINDS, "{0}: an ordinary user")
def ordinary_user(w, kind):
    if os.getuid() != 0:
        raise Skip("it is one already")
    w.write("f", "1\n")
    w.write("d/g", "1\n")
    top = shlex.quote(w.dir)
    w.tiers(fast=[proves("echo 2 >f; rm -r d; mkdir d; touch p", "ids 65534 f 2",
                         "echo 9 2>/dev/null >%s/evil; echo ids $(id -u) f $(cat f); exit 1" % top
                         if kind != "bare" else "echo ids $(id -u) f $(cat f); exit 1"),
                  proves("touch q", "n 1", "echo n $(git rev-list --count HEAD); exit 1", history=True)])
    w.repository()
    for base, dirs, files in os.walk(w.root):
        for n in dirs + files:
            os.lchown(os.path.join(base, n), 65534, 65534)
    os.chmod(w.root, 0o755)
    os.lchown(w.root, 65534, 65534)
    before = state(w)
    # the program may have been built where only its owner may look
    os.environ["GEONOSIS"] = shutil.copy(binary(), w.beside("geonosis"))

    def become():
        os.setgroups([])
        os.setgid(65534)
        os.setuid(65534)
    w.env.pop("GEONOSIS_PROVE_COPY", None)
    r = w.verify("prove", "fast", before=become, env={"GEONOSIS_PROVE_COPY": kind})
    if kind == "overlay" and "namespace" in r.out + r.err:
        raise Skip("no user namespaces: %s" % r.out)
    eq(r.code, 0, "exit code (%r)" % r)
    eq(step(w)["copy"]["kind"], "overlay" if kind == "overlay" else "portable", "kind")
    eq(state(w), before, "the tree")
    no_copies(w)


@each(("", "portable"), "root without capabilities, which a user namespace cannot map ({0})")
def root_without_capabilities(w, kind):
    if os.getuid() != 0 or not shutil.which("setpriv"):
        raise Skip("root and setpriv are needed")
    w.write("f", "1\n")
    w.tiers(fast=[proves("echo 2 >f", "f 2", "echo f $(cat f); exit 1")])
    w.repository()
    r = w.shell('exec setpriv --bounding-set -all --inh-caps -all "$0" verify prove fast',
                env={"GEONOSIS_PROVE_COPY": kind})
    eq((r.code, w.read("f")), (0, "1\n"), "exit code and tree (%r)" % r)
    no_copies(w)


# ------------------------------------------------------------- shards, workspaces

@test("shards are planted once, and the line says which went red")
def shards(w):
    count = shlex.quote(w.beside("planted"))
    w.tiers(fast=[proves("echo x >>%s; touch p" % count, "shard 2",
                         "if [ -e p ] && [ {shard} = 2 ]; then echo shard 2; exit 1; fi",
                         per="shard", shards=3)])
    r = w.green("prove", "fast")
    has(line(r, "fast/1"), "the plant made it exit 1 and its output carried \"shard 2\" (shard 2/3)")
    eq(w.bytes(w.beside("planted")), b"x\n", "plants")
    r = w.red("prove", "fast", "--only", "fast/1@3/3")
    assert line(r, "fast/1@3/3").startswith("NOT PROVEN"), r


@test("a step per workspace runs over those that the plant reaches, dependents too")
def workspaces(w):
    w.write("package.json", json.dumps({"workspaces": ["packages/*"]}))
    w.write("packages/core/package.json", json.dumps({"name": "core"}))
    w.write("packages/ui/package.json", json.dumps({"name": "ui", "dependencies": {"core": "*"}}))
    w.write("packages/solo/package.json", json.dumps({"name": "solo"}))
    ran = shlex.quote(w.beside("ran"))
    w.tiers(fast=[proves("touch packages/core/bad", "bad core seen",
                         "echo {workspace} >>%s; if [ {workspace} = packages/ui ]; then "
                         "echo bad core seen; exit 1; fi" % ran, per="workspace")])
    r = w.green("prove", "fast")
    has(line(r, "fast/1"), "(packages/ui)")
    eq(w.bytes(w.beside("ran")), b"packages/core\npackages/ui\n", "what ran")


def three_workspaces(w):
    w.write("package.json", json.dumps({"workspaces": ["packages/*"]}))
    w.write("packages/core/package.json", json.dumps({"name": "core"}))
    w.write("packages/ui/package.json", json.dumps({"name": "ui"}))
    w.write("packages/x1/package.json", json.dumps({"name": "x1"}))


@each(KINDS, "{0}: a workspace that the plant took away is none that a run would notice anything in")
def workspace_gone(w, kind):
    with_kind(w, kind)
    three_workspaces(w)
    w.tiers(fast=[proves("rm -r packages/core", "gone", "[ -e {workspace}/package.json ] || { echo gone; exit 1; }",
                         per="workspace"),
                  proves("mv packages/core packages/kern", "ran packages/kern", "echo ran {workspace}; exit 1",
                         per="workspace"),
                  proves("mv packages/core packages/kern", "ran packages/core", "echo ran {workspace}; exit 1",
                         per="workspace")])
    w.repository()
    r = w.red("prove", "fast")
    eq([step(w, "fast/%d" % i)["outcome"] for i in (1, 2, 3)], ["not proven", "proven", "not proven"],
       "outcomes (%r)" % r)
    eq(step(w, "fast/1")["reason"], "stayed-green", "reason")
    has(line(r, "fast/2"), "(packages/kern)")
    eq([n for n in os.listdir(w.path(".geonosis/logs/fast@prove")) if not n.startswith("fast-3@")], [],
       "logs of what is proven")


@each(KINDS, "{0}: the step runs over a workspace that the plant made, unless it leaves it out")
def workspace_new(w, kind):
    with_kind(w, kind)
    three_workspaces(w)
    plant = "mkdir packages/%s; echo '{\"name\": \"new\"}' >packages/%s/package.json"
    bad = "case {workspace} in packages/x2|packages/new*) echo bad {workspace}; exit 1; esac"
    w.tiers(fast=[proves(plant % ("new", "new"), "bad packages/new", bad, per="workspace"),
                  proves(plant % ("x2", "x2"), "bad", bad, per="workspace", exclude=["packages/x*"]),
                  proves(plant % ("'new one'", "'new one'"), "bad packages/new one",
                         bad.replace("packages/new*", "'packages/new one'"), per="workspace")])
    w.repository()
    r = w.red("prove", "fast")
    eq([step(w, "fast/%d" % i)["outcome"] for i in (1, 2, 3)], ["proven", "not proven", "proven"],
       "outcomes (%r)" % r)
    r = w.red("prove", "fast", "--only", "fast/1@packages/ui")
    eq(step(w, "fast/1@packages/ui")["reason"], "stayed-green", "reason (%r)" % r)


@test("a dependency that the plant made counts")
def workspace_dependency(w):
    three_workspaces(w)
    w.tiers(fast=[proves("echo x >packages/core/bad; echo '{\"name\": \"ui\", \"dependencies\": {\"core\": \"*\"}}' "
                         ">packages/ui/package.json; rm packages/ui/none 2>/dev/null; :", "ui sees",
                         "[ {workspace} != packages/ui ] || { echo ui sees; exit 1; }", per="workspace")])
    w.green("prove", "fast")


@test("workspaces that cannot be read after the plant: a run would be refused, and the step not run")
def workspace_broken(w):
    three_workspaces(w)
    w.tiers(fast=[proves("echo '{' >packages/core/package.json", "hit", "echo hit; exit 1", per="workspace")])
    r = w.red("prove", "fast")
    has(line(r, "fast/1"), "packages/core/package.json:")


# ------------------------------------------------------------------ the front

@test("--json: one object a line, and the end is the report")
def events(w):
    w.tiers(fast=["true", proves("touch p", "hit", "echo hit; exit 1")])
    r = w.green("prove", "fast", "--json")
    got = [json.loads(l) for l in r.lines()]
    eq([e["event"] for e in got], ["start", "step-end", "step-start", "step-end", "end"], "events")
    eq([e.get("outcome") for e in got], [None, "unproven", None, "proven", None], "outcomes")
    report = w.report(PROVE_REPORT)
    end = dict(got[-1])
    end.pop("event")
    eq(end.pop("report"), w.path(PROVE_REPORT), "path")
    eq(end, report, "the report")
    eq((report["ok"], report["proven"], report["unproven"], report["notProven"]), (True, 1, 1, 0), "counts")


@test("refused: no tier, an unknown one, an unknown step, an unknown option, two tiers")
def refusals(w):
    w.tiers(fast=[proves("touch p", "hit", "touch RAN; echo hit; exit 1")])
    for args in (["prove"], ["prove", "nope"], ["prove", "fast", "--only", "fast/9"],
                 ["prove", "fast", "--fresh"], ["prove", "fast", "fast"], ["prove", "--jobs", "0", "fast"]):
        w.refused("verify", *args)
    no_copies(w)


@test("a step that proves its own tier is refused, and so proven red by nothing but that")
def nested(w):
    w.tiers(fast=[proves("touch p", "would go on for ever", "%s verify prove fast 2>&1" % shlex.quote(binary()))])
    w.green("prove", "fast")
    no_copies(w)


@test("the report cannot be written: exit 2, and nothing is left")
def report_unwritable(w):
    w.tiers(fast=[proves("touch p", "hit", "echo hit; exit 1")])
    w.write("in-the-way", "")
    r = w.verify("prove", "fast", "--report", "in-the-way/report.json")
    eq(r.code, 2, "exit code (%r)" % r)
    no_copies(w)


@test("proving leaves no green record, no mark and no report of a run")
def leaves_nothing(w):
    w.tiers(fast=[proves("touch p", "hit", "echo hit; exit 1")])
    w.repository()
    w.green("prove", "fast")
    eq(sorted(os.listdir(w.path(".geonosis"))), ["fast@prove.lock", "logs", "prove-report.json"], ".geonosis")
    eq(os.listdir(w.path(".geonosis/logs/fast@prove")), [], "logs of proven steps")
    eq(git(w, "for-each-ref", "refs/geonosis"), "", "marks")


@test("two that prove one tier at once: the second waits and says for whom, and neither loses a log")
def two_at_once(w):
    on, go = w.beside("on"), w.beside("go")
    w.tiers(fast=[proves("touch p", "none", "echo no; touch %s; %s; exit 1" % (on, mis("await", go)))])
    first = w.start("verify", "prove", "fast")
    until(lambda: os.path.exists(on), patience(10), "the first")
    second = w.start("verify", "prove", "fast", "--json")
    until(lambda: second.out, patience(10), "the wait")
    e = json.loads(second.out.splitlines()[0])
    eq((e["event"], "id" in e), ("wait", False), "event")
    has(e["reason"], "pid %d" % first.pid)
    third = w.start("verify", "prove", "fast")
    until(lambda: third.out, patience(10), "the other wait")
    third.signal(signal.SIGINT)
    eq((third.wait(patience(10)).code, third.out.count("\n")), (130, 1), "the one that is interrupted")
    w.write(go, "")
    eq((first.wait(patience(20)).code, second.wait(patience(20)).code), (1, 1), "exit codes")
    assert os.path.exists(w.path(step(w)["log"])), "no log"


@test("one that waited for its turn proves the config and the tree of then")
def turn_comes_late(w):
    on, go = w.beside("on"), w.beside("go")
    w.tiers(fast=[proves("touch p", "first", "echo first; touch %s; %s; exit 1" % (on, mis("await", go)))])
    first = w.start("verify", "prove", "fast")
    until(lambda: os.path.exists(on), patience(10), "the first")
    second = w.start("verify", "prove", "fast")
    until(lambda: second.out, patience(10), "the wait")
    w.tiers(fast=[proves("touch p", "later", "echo later; exit 1"), proves("touch q", "too", "echo too; exit 1")])
    w.write(go, "")
    first.wait(patience(20))
    r = second.wait(patience(20))
    eq((r.code, r.out.count("\nPROVEN ")), (0, 2), "exit code, proofs (%r)" % r)


# ------------------------------------------------------------- ends of all kinds

def mounts():
    with open("/proc/self/mounts") as f:
        return f.read()


@each([(k, s) for k in KINDS for s in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)],
      "{0}: interrupted by {1}: no copy, no process, exit 128 + signal, a report")
def interrupted(w, kind, signo):
    with_kind(w, kind)
    tok, flag = token(), w.beside("on")
    w.tiers(fast=[proves("touch p", "x", "[ ! -e p ] || %s; exit 1" % mis("touch", flag, "sleep", tok)),
                  proves("touch p", "x", "true")])
    run = w.start("verify", "prove", "fast", "--jobs", "1")
    appears(tok)
    run.signal(signo)
    r = run.wait(patience(12))
    eq(r.code, 128 + signo, "exit code (%r)" % r)
    gone(tok, patience(2))
    no_copies(w)
    report = w.report(PROVE_REPORT)
    eq((report["ok"], report["interrupted"], [s["outcome"] for s in report["steps"]]),
       (False, signo.name, ["not run", "not run"]), "report")
    lacks(mounts(), w.root, "mounts")


@each(KINDS, "{0}: the run killed with SIGKILL: what runs ends, the copy goes")
def killed(w, kind):
    with_kind(w, kind)
    tok, flag, left = token(), w.beside("on"), token()
    w.tiers(fast=[proves("touch p", "x", "[ ! -e p ] || { %s; %s; }; exit 1" % (
        mis("bg", "session", "sleep", left), mis("touch", flag, "sleep", tok)))])
    run = w.start("verify", "prove", "fast")
    appears(tok)
    run.signal(signal.SIGKILL)
    gone(tok, patience(2))
    gone(left, patience(3), "what made a session of its own")
    until(lambda: not os.listdir(w.env["TMPDIR"]), patience(4), "the end of the copy")


@each(KINDS, "{0}: a daemon of the step's or the plant's own ends with its copy")
def daemons_end(w, kind):
    with_kind(w, kind)
    a, b = token(), token()
    w.tiers(fast=[proves("touch p; " + mis("bg", "session", "sleep", a), "hit",
                         mis("bg", "session", "sleep", b) + "; echo hit; exit 1")])
    w.green("prove", "fast")
    eq((with_token(a), with_token(b)), ([], []), "daemons")


@each(KINDS, "{0}: KILL for every process of the program's name, as pkill sends it: what runs ends, the copy goes")
def killed_by_name(w, kind):
    with_kind(w, kind)
    named = w.beside("geonosis")
    shutil.copy(binary(), named)
    a, b = token(), token()
    w.tiers(fast=[proves("touch p", "hit", mis("bg", "session", "sleep", a) + "; exec " + mis("sleep", b))])
    run = Running(w, [named, "verify", "prove", "fast"])
    step = appears(b)[0]
    appears(a)
    every = [run.pid, worker_of(step, run.pid), worker_of(step, worker_of(step, run.pid))]
    every = [pid for pid in every if "geonosis" in comm(pid)]
    eq(every, [run.pid], "those of the name")
    for sig in (signal.SIGSTOP, signal.SIGKILL):
        for pid in every:
            os.kill(pid, sig)
    gone(a, patience(3), "the daemon")
    gone(b, patience(3))
    until(lambda: not os.listdir(w.env["TMPDIR"]), patience(4), "the end of the copy")


@each(KINDS, "{0}: a prover killed with SIGKILL: its step is not proven, and a daemon of it ends; other children stay")
def prover_killed(w, kind):
    with_kind(w, kind)
    a, b, other = token(), token(), token()
    w.tiers(fast=[proves("touch p", "hit", mis("bg", "session", "sleep", a) + "; exec " + mis("sleep", b))])
    w.write(w.beside("before"), "#!/bin/sh\n%s &\nexec %s verify prove fast\n" % (
        mis("sleep", other), shlex.quote(binary())), 0o755)
    run = Running(w, [w.beside("before")])
    appears(b)
    appears(a)
    os.kill(worker_of(with_token(b)[0], run.pid), signal.SIGKILL)
    r = run.wait(patience(20))
    eq(r.code, 1, "exit code (%r)" % r)
    has(line(r, "fast/1"), "prover was killed")
    eq((with_token(a), with_token(b)), ([], []), "what the step left")
    eq(len(with_token(other)), 1, "the other child")
    no_copies(w)


def everything_of(w):
    """every process of the test's but the driver's own"""
    from harness import with_mark
    return [p for p in with_mark(w.mark) if p != os.getpid() and p != os.getppid()]


@each([(k, n) for k in KINDS for n in range(4)],
      "{0}: all of it killed at a random moment; the next run clears up (round {1})")
def killed_anywhere(w, kind, n):
    with_kind(w, kind)
    small_tree(w)
    for i in range(300):
        w.write("many/%d" % i, "x\n")
    w.tiers(fast=[proves("echo 2 >a.txt", "hit", "cat many/* >out; sleep 0.05; echo hit; exit 1",
                         history=i == 0) for i in range(3)])
    before = state(w)
    dice = random.Random("%s %d" % (kind, n))
    for _ in range(4):
        run = w.start("verify", "prove", "fast", "--jobs", "3")
        end = dice.random() * 0.4
        try:
            run.process.wait(end)
        except subprocess.TimeoutExpired:
            pass
        # The workers and provers first, so that none of them can clear up.
        for _ in range(50):
            left = [p for p in everything_of(w) if p != run.pid]
            for pid in left:
                try:
                    os.kill(pid, signal.SIGKILL)
                except ProcessLookupError:
                    pass
            run.signal(signal.SIGKILL)
            if not everything_of(w):
                break
        run.process.wait(5)
        eq(state(w), before, "the tree")
        lacks(mounts(), w.root, "mounts")
    w.green("prove", "fast", "--jobs", "3")
    # A storage that never got its name stays until it is old, and is empty but for its lock.
    for name in os.listdir(w.env["TMPDIR"]):
        assert name.endswith(".new"), name
        assert set(os.listdir(os.path.join(w.env["TMPDIR"], name))) <= {MARKER}, name
    eq(state(w), before, "the tree")


@test("what is not ours in TMPDIR stays: links, files, other marks, live ones, another mode")
def sweep_only_ours(w):
    w.tiers(fast=[proves("touch p", "hit", "echo hit; exit 1")])
    tmp, prefix = w.env["TMPDIR"], "geonosis-copies-%d-" % os.getuid()
    target = w.beside("target")
    w.write(target + "/kept", "1")
    mark = b"copies of geonosis verify prove\n"

    def make(name, mode=0o700, text=mark):
        d = os.path.join(tmp, prefix + name)
        os.mkdir(d)
        w.write(d + "/kept", "1")
        if text is not None:
            w.write(d + "/" + MARKER, text)
        os.chmod(d, mode)
    make("unmarked", text=None)
    make("othermark", text=b"something else\n")
    make("open", mode=0o755)
    make("dead")
    make("fresh.new")
    os.symlink(target, os.path.join(tmp, prefix + "link"))
    w.write(os.path.join(tmp, prefix + "file"), "1")
    make("deadlink")
    os.unlink(os.path.join(tmp, prefix + "deadlink", "kept"))
    os.symlink(target, os.path.join(tmp, prefix + "deadlink", "inside"))
    make("old.new")
    os.utime(os.path.join(tmp, prefix + "old.new"), (1, 1))
    w.green("prove", "fast")
    eq(sorted(n[len(prefix):] for n in os.listdir(tmp)),
       ["file", "fresh.new", "link", "open", "othermark", "unmarked"], "what is left")
    assert os.path.exists(target + "/kept"), "a link was followed"


@test("the copies of a run that lives are not touched by another")
def sweep_not_live(w):
    tok = token()
    w.tiers(slow=[proves("touch p", "x", "[ ! -e p ] || %s; exit 1" % mis("sleep", tok))],
            fast=[proves("touch p", "hit", "echo hit; exit 1")])
    run = w.start("verify", "prove", "slow")
    appears(tok)
    eq(len(os.listdir(w.env["TMPDIR"])), 1, "copies")
    w.green("prove", "fast")
    eq(len(os.listdir(w.env["TMPDIR"])), 1, "copies")
    run.signal(signal.SIGTERM)
    run.wait(patience(10))
    no_copies(w)


@each(("portable", "bare", ""), "a full disk under the copies: said, nothing left ({0})")
def disk_full(w, kind):
    if os.getuid() != 0:
        raise Skip("mounts need root")
    w.write("big", os.urandom(3 << 20))
    w.tiers(fast=[proves("cat big big big >bigger || exit 5", "hit", "echo hit; exit 1")])
    w.repository()
    small = w.beside("small")
    os.mkdir(small)
    r = w.mounted("mount -t tmpfs -o size=2m none %s && TMPDIR=%s GEONOSIS_PROVE_COPY=%s \"$0\" verify prove fast; "
                  "c=$?; ls -A %s; exit $c" % (small, small, kind or "''", small))
    eq(r.code, 1, "exit code (%r)" % r)
    has(r.out, "NOT PROVEN fast/1")
    if kind:
        has(r.out, "No space left on device")
    eq(r.lines()[-1], "prove fast: 0 proven, 0 unproven, 1 not proven", "the last line: nothing in TMPDIR")


@test("no TMPDIR: refused by its name")
def no_tmpdir(w):
    w.tiers(fast=[proves("touch p", "hit", "echo hit; exit 1")])
    w.refused("verify", "prove", "fast", env={"TMPDIR": w.beside("none")}, needles=("TMPDIR",))


@test("several at once, each in a copy of its own, on the machine's slots")
def at_once(w):
    flags = [w.beside("on%d" % i) for i in range(3)]
    meet = "; ".join(mis("await", f) for f in flags)
    w.tiers(fast=[{"parallel": [proves("touch p%d" % i, "met", "ls p*; touch %s; %s; [ $(ls p* | wc -l) = 1 ] && echo met; exit 1"
                                       % (flags[i], meet)) for i in range(3)]}])
    w.green("prove", "fast", "--jobs", "3")


@test("slots: a step that holds some is told how many")
def slots_told(w):
    w.tiers(fast=[proves("touch p", "told 2", "echo told $GEONOSIS_SLOTS; [ -n \"$GEONOSIS_HEAVY_SLOT_HELD\" ] && exit 1",
                         slots=2)])
    w.green("prove", "fast", "--jobs", "4")


@test("jobserver: a step has in its copy what it has in a run")
def jobserver_offered(w):
    w.tiers(fast=[proves("printf 'all: a b\\na b:\\n\\t@echo $$MAKEFLAGS; exit 1\\n' >Makefile", "-j2 --jobserver-auth=3,4",
                         "make", slots=2, jobserver=True)])
    w.green("prove", "fast")
    lacks(step(w)["tail"], "warning")
