# SPDX-License-Identifier: MIT
"""Repositories as they are: what --affected, the record and the mark make of each kind.

A workspace's step is red where its file x says BROKEN, and notes that it ran.
"""
import os
import shutil
import subprocess

from harness import Skip, each, eq, has, lacks, match, test

MARK = "refs/geonosis/verified"
GREEN = "already green on this tree"
STEP = {"command": 'echo {workspace} >> "$RAN"; ! grep -q BROKEN {workspace}/x', "per": "workspace"}


class Place:
    """a repository with three workspaces: b depends on a, c on nobody"""
    def __init__(self, w, *init, sub="", commit=True):
        self.w, self.top, self.sub = w, w.dir, sub
        self.env = dict(w.env, GIT_AUTHOR_NAME="t", GIT_AUTHOR_EMAIL="t@example.invalid",
                        GIT_COMMITTER_NAME="t", GIT_COMMITTER_EMAIL="t@example.invalid", GIT_ALLOW_PROTOCOL="file",
                        GIT_EDITOR="true")
        self.git("init", "-q", "-b", "main", *init)
        self.write(".gitignore", ".geonosis/\n")
        self.write("package.json", '{"workspaces": ["packages/*"]}\n')
        self.write("geonosis.json", '{"verify": {"fast": [%s]}}\n' % __import__("json").dumps(STEP))
        self.workspace("a")
        self.workspace("b", '"dependencies": {"a": "*"}')
        self.workspace("c")
        if commit:
            self.commit()

    @property
    def dir(self):
        return os.path.join(self.top, self.sub)

    def git(self, *args, check=True, cwd=None, env=None):
        p = subprocess.run(["git", *args], cwd=cwd or self.top, env=dict(self.env, **(env or {})),
                           stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        assert not check or p.returncode == 0, "git %s: %s" % (" ".join(args), p.stderr.decode(errors="replace"))
        return p.stdout.decode(errors="surrogateescape").strip() if p.returncode == 0 else None

    def write(self, name, text, mode="w"):
        path = os.path.join(self.dir, name)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, mode + ("b" if isinstance(text, bytes) else "")) as f:
            f.write(text)
        return path

    def workspace(self, name, more="", path=None):
        d = path or "packages/" + name
        self.write(d + "/package.json", '{"name": "%s"%s}\n' % (name, ", " + more if more else ""))
        self.write(d + "/x", "one\n")

    def commit(self, message="c", **kw):
        self.git("add", "-A", **kw)
        self.git("commit", "-q", "-m", message, **kw)
        return self.head(**kw)

    def head(self, **kw):
        return self.git("rev-parse", "HEAD", **kw)

    def mark(self, name=MARK, **kw):
        return self.git("rev-parse", "-q", "--verify", name, check=False, **kw)

    def run(self, *args, cwd=None, env=None, code=0):
        """what ran, as the last parts of the workspaces' paths; and the result"""
        ran = self.w.beside("ran")
        if os.path.exists(ran):
            os.unlink(ran)
        r = self.w.verify("fast", *args, cwd=cwd or self.dir, env=dict({"RAN": ran}, **(env or {})))
        eq(r.code, code, "exit code of %r" % r)
        if not os.path.exists(ran):
            return "", r
        with open(ran) as f:
            return " ".join(sorted(line.rsplit("/", 1)[-1] for line in f.read().split("\n")[:-1])), r

    def ran(self, want, *args, **kw):
        got, r = self.run(*args, **kw)
        eq(got, want, "what ran (%r)" % r)
        return r

    def affected(self, want, *args, **kw):
        return self.ran(want, "--affected", *args, **kw)

    def replays(self, *args, **kw):
        has(self.ran("", *args, **kw).out, GREEN)

    def marked(self, **kw):
        """everything green, and the mark at HEAD"""
        self.ran("a b c", **kw)
        eq(self.mark(), self.head(), "mark")

    def clone(self, *args):
        to = self.w.beside("clone")
        self.git("clone", "-q", *args, "file://" + self.top, to, cwd=self.w.root)
        return to


# ------------------------------------------------------------------- worktrees

@test("a linked worktree: one mark for both, a record and a report for each")
def linked(w):
    p = Place(w)
    p.marked()
    wt = w.beside("wt")
    p.git("worktree", "add", "-q", "-b", "side", wt)
    p.affected("", cwd=wt)
    p.write("packages/c/x", "dirt of the other tree\n")
    with open(os.path.join(wt, "packages/a/x"), "a") as f:
        f.write("two\n")
    p.affected("a b", cwd=wt)
    p.commit(cwd=wt)
    p.affected("a b", cwd=wt)
    eq(p.mark(), p.head(cwd=wt), "mark")
    # What the mark stands for is the other branch now.
    p.affected("a b c")


@test("a worktree whose main repository is bare")
def bare_main(w):
    p = Place(w)
    bare, wt = w.beside("bare.git"), w.beside("wt")
    p.git("clone", "-q", "--bare", p.top, bare, cwd=w.root)
    p.git("worktree", "add", "-q", wt, "main", cwd=bare)
    p.ran("a b c", cwd=wt)
    eq(p.mark(cwd=bare), p.head(cwd=wt), "mark")
    p.affected("", cwd=wt)


# ------------------------------------------------------------------ submodules

def with_submodule(w):
    p = Place(w)
    lib = w.beside("lib")
    os.mkdir(lib)
    p.git("init", "-q", "-b", "main", cwd=lib)
    with open(os.path.join(lib, "f"), "w") as f:
        f.write("one\n")
    p.commit(cwd=lib)
    p.git("submodule", "add", "-q", "file://" + lib, "packages/c/lib")
    p.commit()
    return p, lib


@test("a submodule: clean is no change, an edit in it, an untracked file and another commit are")
def submodule(w):
    p, lib = with_submodule(w)
    p.marked()
    p.affected("")
    inside = os.path.join(p.dir, "packages/c/lib")
    for edit in ("echo two >> f", "git checkout -q f; echo x > new", "git add new", "git commit -q -m more"):
        subprocess.run(edit, shell=True, cwd=inside, env=p.env, check=True)
        p.affected("c", "--fresh")
    p.commit()
    p.affected("c")
    eq(p.mark(), p.head(), "mark")
    p.affected("", "--fresh")


@test("a submodule that is not checked out is no change; once it is, what was green without it is not known")
def submodule_absent(w):
    p, lib = with_submodule(w)
    clone = p.clone()
    p.ran("a b c", cwd=clone)
    eq(p.mark(cwd=clone), p.head(cwd=clone), "mark")
    p.replays(cwd=clone)
    p.affected("", cwd=clone)
    p.git("submodule", "update", "-q", "--init", cwd=clone)
    p.ran("a b c", cwd=clone)
    # That was another green; without one all is run.
    p.git("submodule", "deinit", "-q", "-f", "--all", cwd=clone)
    p.affected("a b c", cwd=clone)


@test("a submodule within a submodule: checked out or not, and seen in part, is as much a state as one of the top's")
def submodule_deep(w):
    p, lib = with_submodule(w)
    deep = w.beside("deep")
    os.mkdir(deep)
    p.git("init", "-q", "-b", "main", cwd=deep)
    for n in ("f", "g"):
        os.makedirs(os.path.join(deep, n))
        with open(os.path.join(deep, n, "x"), "w") as f:
            f.write("one\n")
    p.commit(cwd=deep)
    p.git("submodule", "add", "-q", "file://" + deep, "deep", cwd=lib)
    p.commit(cwd=lib)
    p.git("pull", "-q", "origin", "main", cwd=p.dir + "/packages/c/lib")
    p.commit()
    p.marked()
    p.affected("")
    inside = p.dir + "/packages/c/lib"
    p.git("submodule", "update", "-q", "--init", cwd=inside)
    p.affected("a b c")
    # That was green too; a part of it is not the commit's tree.
    p.affected("", "--fresh")
    p.git("update-ref", "-d", MARK)
    p.git("sparse-checkout", "set", "f", cwd=inside + "/deep")
    p.ran("a b c")
    eq(p.mark(), None, "mark")


@test("a workspace that is a submodule has another name: what depended on the old one is reached")
def submodule_workspace(w):
    p = Place(w)
    lib = w.beside("lib")
    os.mkdir(lib)
    p.git("init", "-q", "-b", "main", cwd=lib)
    for name, text in (("package.json", '{"name": "lib"}'), ("x", "one")):
        with open(os.path.join(lib, name), "w") as f:
            f.write(text + "\n")
    p.commit(cwd=lib)
    p.git("submodule", "add", "-q", "file://" + lib, "packages/lib")
    p.workspace("d", '"dependencies": {"lib": "*"}')
    p.commit()
    p.ran("a b c d lib")
    p.affected("")
    p.write("packages/lib/x", "two\n")
    got, r = p.run("--affected")
    assert {"d", "lib"} <= set(got.split()), r
    p.write("packages/lib/x", "one\n")
    p.affected("")
    p.write("packages/lib/package.json", '{"name": "other"}\n')
    got, r = p.run("--affected")
    assert {"d", "lib"} <= set(got.split()), r


# ------------------------------------------------- histories and trees with holes

@test("a shallow clone: its mark serves, one beyond its history runs everything")
def shallow(w):
    p = Place(w)
    for i in range(3):
        p.write("packages/c/x", "%d\n" % i)
        p.commit()
    clone = p.clone("--depth", "1")
    p.ran("a b c", cwd=clone)
    p.affected("", cwd=clone)
    # A mark in a history that is cut off before the two meet.
    p.git("fetch", "-q", "--depth", "1", "origin", p.git("rev-parse", "HEAD~2"), cwd=clone, check=False)
    p.git("update-ref", MARK, p.git("rev-parse", "HEAD~2"), cwd=clone)
    p.affected("a b c", "--fresh", cwd=clone)


@test("a partial clone without its blobs, and without the remote: nothing is left out")
def partial(w):
    p = Place(w)
    p.write("packages/c/package.json", '{"name": "c", "version": "1.0.0"}\n')
    p.commit()
    p.write("packages/c/package.json", '{"name": "c", "version": "1.1.0"}\n')
    p.commit()
    p.git("config", "uploadpack.allowFilter", "true")
    p.git("config", "uploadpack.allowAnySHA1InWant", "true")
    clone = p.clone("--filter=blob:none")
    p.git("update-ref", MARK, "HEAD~1", cwd=clone)
    p.affected("", cwd=clone)
    shutil.rmtree(clone)
    clone = p.clone("--filter=blob:none")
    p.git("update-ref", MARK, "HEAD~1", cwd=clone)
    p.git("config", "remote.origin.url", "file:///nonexistent", cwd=clone)
    got, r = p.run("--affected", cwd=clone)
    assert "c" in got.split(), r


@each([("--cone", "--no-sparse-index"), ("--cone", "--sparse-index"), ("--no-cone", "--no-sparse-index")],
      "a sparse checkout ({} {}) is green for what it has: a commit of which the rest was not seen is not marked")
def sparse(w, cone, index):
    p = Place(w)
    p.write("packages/c/x", "BROKEN\n")
    p.commit()
    p.git("sparse-checkout", "set", cone, index, "packages/a" if cone == "--cone" else "/packages/a/",
          *([] if cone == "--cone" else ["/*.json", "/.gitignore"]))
    assert not os.path.exists(p.dir + "/packages/c")
    p.ran("a")
    p.replays()
    eq(p.mark(), None, "mark of a commit that is red in a whole checkout")
    p.git("sparse-checkout", "disable")
    p.run("--affected", code=1)
    p.run(code=1)


@test("a sparse checkout over a mark of the whole: what is left out is no change, what changed there runs all")
def sparse_at_mark(w):
    p = Place(w)
    p.marked()
    p.git("sparse-checkout", "set", "--cone", "packages/a")
    p.affected("")
    p.write("packages/a/x", "two\n")
    p.affected("a")
    p.git("checkout", "-q", "packages/a/x")
    p.git("sparse-checkout", "disable")
    p.write("packages/c/x", "two\n")
    p.commit()
    p.git("sparse-checkout", "set", "--cone", "packages/a")
    p.affected("a")


@test("a file that the index says not to look at is looked at: edited or gone")
def hidden(w):
    p = Place(w)
    p.marked()
    for bit in ("--skip-worktree", "--assume-unchanged"):
        p.git("update-index", bit, "packages/c/x")
        p.write("packages/c/x", "BROKEN\n")
        p.run("--affected", code=1)
        os.unlink(p.dir + "/packages/c/x")
        p.affected("c")
        p.git("update-index", bit.replace("--", "--no-"), "packages/c/x")
        p.git("checkout", "-q", "--", "packages/c/x")
        p.affected("")
    eq(p.mark(), p.head(), "mark")


@test("a split index, its shared file renewed and expired")
def split(w):
    p = Place(w)
    p.git("update-index", "--split-index")
    p.marked()
    p.write("packages/a/x", "two\n")
    p.git("add", "-A")
    p.affected("a b")
    p.git("update-index", "--split-index")
    p.affected("a b", "--fresh")
    p.git("config", "splitIndex.sharedIndexExpire", "now")
    p.write("packages/c/new", "x\n")
    p.git("add", "-A")
    p.affected("a b c")


# ------------------------------------------------------------------ HEAD and refs

@test("a detached HEAD: the mark moves to it")
def detached(w):
    p = Place(w)
    p.marked()
    p.git("checkout", "-q", "--detach")
    p.write("packages/a/x", "two\n")
    p.commit()
    p.affected("a b")
    eq(p.mark(), p.head(), "mark")


@test("no commit yet: a record, no mark, and --affected runs everything")
def unborn(w):
    p = Place(w, commit=False)
    p.ran("a b c")
    p.replays()
    has(p.affected("a b c").both, "no commit yet")
    eq(p.mark(), None, "mark")
    p.write("packages/c/x", "BROKEN\n")
    p.run(code=1)


@test("no repository: every run runs, no record is kept, --affected is refused")
def none(w):
    p = Place(w)
    shutil.rmtree(p.dir + "/.git")
    for _ in range(2):
        p.ran("a b c")
    assert not os.path.exists(p.dir + "/.geonosis/green-fast.json")
    has(p.run("--affected", code=2)[1].err, "repository")


@test("the mark's ref: packed, symbolic, a tag, no commit at all, rubbish, a directory in its place")
def mark_ref(w):
    p = Place(w)
    p.marked()
    p.git("pack-refs", "--all")
    assert not os.path.exists(p.dir + "/.git/" + MARK)
    p.affected("")
    p.write("packages/a/x", "two\n")
    p.commit()
    p.affected("a b")
    eq(p.mark(), p.head(), "mark")
    p.affected("", "--fresh")
    blob = p.git("rev-parse", "HEAD:package.json")
    for make in (lambda f: open(f, "w").write("d" * 40 + "\n"), lambda f: open(f, "w").write(blob + "\n"),
                 lambda f: open(f, "w").write("rubbish\n"), lambda f: open(f, "w").close(), os.mkdir):
        f = os.path.join(p.dir, ".git", MARK)
        p.git("update-ref", "-d", MARK, check=False)
        if os.path.lexists(f):
            os.unlink(f)
        os.makedirs(os.path.dirname(f), exist_ok=True)
        make(f)
        p.affected("a b c", "--fresh")
        if os.path.isdir(f):
            os.rmdir(f)


@test("a mark whose commit has gone: everything runs, and the run says why")
def mark_gone(w):
    p = Place(w)
    p.marked()
    side = p.git("commit-tree", "-m", "x", "-p", "HEAD", "HEAD^{tree}")
    p.git("update-ref", MARK, side)
    os.unlink(os.path.join(p.dir, ".git/objects", side[:2], side[2:]))
    has(p.affected("a b c", "--fresh").both, MARK)


@test("a workspace that has another name at the mark than at the merge-base: what depends on the mark's is reached")
def renamed_at_mark(w):
    p = Place(w)
    p.workspace("d", '"dependencies": {"other": "*"}')
    p.write("packages/e/package.json", '{"name": "e", "dependencies": {"d": "*"}}\n')
    p.write("packages/e/x", "one\n")
    base = p.commit()
    p.git("checkout", "-q", "-b", "side")
    p.workspace("other", path="packages/c")
    p.commit()
    # d was green with packages/c as its dependency.
    p.ran("a b c d e")
    eq(p.mark(), p.head(), "mark")
    p.git("checkout", "-q", "main")
    eq(p.head(), base, "HEAD")
    got, r = p.run("--affected")
    assert {"c", "d", "e"} <= set(got.split()), r


@test("a workspace that only the mark's branch had, in another one: what depended on it is reached")
def nested_only_at_mark(w):
    p = Place(w)
    p.write("package.json", '{"workspaces": ["packages/*", "packages/*/in/*"]}\n')
    p.workspace("d", '"dependencies": {"inner": "*"}')
    p.commit()
    p.git("checkout", "-q", "-b", "side")
    p.workspace("inner", path="packages/c/in/inner")
    p.commit()
    p.ran("a b c d inner")
    eq(p.mark(), p.head(), "mark")
    p.git("checkout", "-q", "main")
    got, r = p.run("--affected")
    assert {"c", "d"} <= set(got.split()), r


@test("SHA-256 object names")
def sha256(w):
    p = Place(w, "--object-format=sha256")
    p.marked()
    eq(len(p.mark()), 64, "length of the mark")
    p.write("packages/a/x", "two\n")
    p.affected("a b")
    p.commit()
    p.affected("a b")
    eq(p.mark(), p.head(), "mark")


# ------------------------------------------------------------------- names and bytes

@test("odd names: spaces, newlines, quotes, globs, bytes that are no UTF-8")
def odd(w):
    p = Place(w)
    names = [b"a b", b"n\nl", b'q"x', b"s'x", b"*", b"[a]", b"-x", b"\xff\xfe", "ü".encode(), b"\\", b"$(x)", b"%41"]
    for n in names:
        with open(os.fsencode(p.dir) + b"/packages/c/" + n, "wb") as f:
            f.write(b"1\n")
    p.commit()
    p.marked()
    for n in names:
        with open(os.fsencode(p.dir) + b"/packages/c/" + n, "wb") as f:
            f.write(b"2\n")
        p.affected("c")
        p.git("checkout", "-q", ".")
        p.affected("")


@test("workspaces with odd names are run, and told apart")
def odd_workspaces(w):
    p = Place(w)
    for n in ("sp ace", "quo'te", "a$b", "a-b", "a.b"):
        p.workspace("n-" + n, path="packages/" + n)
    p.commit()
    p.ran("a a$b a-b a.b b c quo'te sp ace")
    p.write("packages/sp ace/x", "two\n")
    p.affected("sp ace")
    p.write("packages/a$b/x", "BROKEN\n")
    p.run("--affected", code=1)


@each([("core.autocrlf", "true", ""), ("core.autocrlf", "input", ""), ("core.x", "y", "*.txt text eol=crlf\n"),
       ("core.eol", "crlf", "* text=auto\n*.sh -text\n")], "line endings are converted ({} {}): a clean checkout is no change, an edit is")
def crlf(w, key, value, attributes):
    p = Place(w)
    if attributes:
        p.write(".gitattributes", attributes)
    p.write("packages/a/notes.txt", "one\ntwo\n")
    p.commit()
    p.git("config", key, value)
    os.unlink(p.dir + "/packages/a/notes.txt")
    p.git("checkout", "-q", "packages/a/notes.txt")
    p.marked()
    os.utime(p.dir + "/packages/a/notes.txt")
    p.affected("")
    p.write("packages/c/x", "two\n")
    p.git("commit", "-q", "-am", "two")
    p.affected("c")
    eq(p.mark(), p.head(), "mark")
    p.write("packages/a/notes.txt", "three\r\n", "a")
    p.affected("a b")
    p.write("packages/a/notes.txt", "one\r\ntwo\r\nBROKEN\n")
    p.write("packages/a/x", "BROKEN\n")
    p.run("--affected", code=1)


@test("working-tree-encoding: a clean checkout is no change, an edit is")
def encoding(w):
    p = Place(w)
    p.write(".gitattributes", "*.u16 text working-tree-encoding=UTF-16LE\n")
    p.write("packages/a/t.u16", "one\n".encode("utf-16-le"))
    p.commit()
    p.marked()
    os.utime(p.dir + "/packages/a/t.u16")
    p.affected("")
    p.write("packages/a/t.u16", "two\n".encode("utf-16-le"))
    p.affected("a b")


@test("what a filter, or core.fileMode, hides from git is a change where it lies")
def hidden(w):
    p = Place(w, commit=False)
    p.git("config", "filter.local.clean", "sed s/BROKEN/FINE12/")
    p.write(".gitattributes", "x filter=local\n*.u working-tree-encoding=UTF-16\n")
    p.write("packages/a/x", "BROKEN\n")
    p.write("packages/c/u.u", b"\xff\xfea\0")
    p.commit()
    p.write("packages/a/x", "FINE12\n")
    p.marked()
    p.affected("")
    p.write("packages/a/x", "BROKEN\n")
    eq(p.git("status", "--porcelain"), "", "what git sees")
    has(p.affected("a", code=1).out, "packages/a/x changed")
    p.write("packages/a/x", "FINE12\n")
    p.git("status")
    p.affected("")
    p.write("packages/c/u.u", b"\xfe\xff\0a")
    p.affected("c")
    eq(p.git("status", "--porcelain"), "", "what git sees")
    p.affected("")
    p.git("config", "core.fileMode", "false")
    os.chmod(p.dir + "/packages/c/x", 0o755)
    p.affected("c")
    p.affected("")
    p.write("packages/b/x", "two\n")
    p.commit()
    p.affected("b")
    os.chmod(p.dir + "/packages/c/x", 0o644)
    p.affected("c")
    eq(p.mark(), p.head(), "mark")


@test("a clean filter that is missing, fails, or is required and missing: never a wrong green")
def filters(w):
    p = Place(w)
    p.write(".gitattributes", "*.f filter=up\n")
    p.git("config", "filter.up.clean", "tr a-z A-Z")
    p.git("config", "filter.up.smudge", "tr A-Z a-z")
    p.write("packages/a/t.f", "one\n")
    p.commit()
    p.marked()
    os.utime(p.dir + "/packages/a/t.f")
    p.affected("")
    for command, required in (("/nonexistent/filter", ""), ("false", ""), ("false", "true")):
        p.git("config", "filter.up.clean", command)
        p.git("config", "filter.up.required", required or "false")
        p.write("packages/a/t.f", "two\n")
        got, r = p.run("--affected", "--fresh")
        assert {"a", "b"} <= set(got.split()), r
        p.write("packages/a/t.f", "one\n")


# ------------------------------------------------------------------------ around

@test("run as a git hook: what git sets for its hooks binds nothing, and the commit is made")
def hook(w):
    p = Place(w)
    p.marked()
    hook = p.write(".git/hooks/pre-commit", '#!/bin/sh\nenv | grep ^GIT_ > "$HOOK_ENV"\nexec "$GN" verify fast --affected\n')
    os.chmod(hook, 0o755)
    ran = w.beside("ran")
    from harness import binary
    env = {"RAN": ran, "GN": binary(), "HOOK_ENV": w.beside("hook-env")}
    p.write("packages/a/x", "BROKEN\n")
    head = p.head()
    for args in (["commit", "-q", "-am", "red"], ["commit", "-q", "-m", "red", "packages/a/x"]):
        eq(p.git(*args, check=False, env=env), None, "a commit with a red hook")
        eq(p.head(), head, "HEAD")
    p.write("packages/a/x", "two\n")
    p.git("commit", "-q", "-am", "green", env=env)
    with open(env["HOOK_ENV"]) as f:
        has(f.read(), "GIT_INDEX_FILE")
    # The tree was not HEAD's while the hook ran.
    eq(p.mark(), head, "mark")
    p.affected("a b")
    eq(p.mark(), p.head(), "mark")


@test("a repository of another user: plain runs work without record and mark, --affected names safe.directory")
def foreign(w):
    if os.geteuid() != 0:
        raise Skip("only root can give a repository away")
    p = Place(w)
    for top, dirs, files in os.walk(p.top):
        for n in dirs + files:
            os.chown(os.path.join(top, n), 65534, 65534, follow_symlinks=False)
    os.chown(p.top, 65534, 65534)
    for _ in range(2):
        has(p.ran("a b c").err, "WARN")
    assert not os.path.exists(p.dir + "/.geonosis/green-fast.json")
    has(p.run("--affected", code=2)[1].err, "safe.directory")
    p.git("config", "--global", "safe.directory", p.top)
    p.ran("a b c")
    eq(p.mark(), p.head(), "mark")
    p.replays()


@test("a geonosis.json below the top: a mark of its own, paths outside reach everything")
def below(w):
    p = Place(w, sub="some app")
    name = "refs/geonosis/in/some%20app/verified"
    p.ran("a b c")
    eq(p.mark(name), p.head(), "mark")
    eq(p.mark(), None, "the top's mark")
    p.write("packages/a/x", "two\n")
    p.affected("a b")
    p.git("checkout", "-q", ".")
    p.affected("")
    with open(os.path.join(p.top, "outside"), "w") as f:
        f.write("x\n")
    has(p.affected("a b c").both, "outside")


@test("a repository within a workspace counts by its state")
def inner_repository(w):
    p = Place(w)
    inner = p.dir + "/packages/c/inner"
    os.mkdir(inner)
    p.git("init", "-q", "-b", "main", cwd=inner)
    p.write("packages/c/inner/f", "one\n")
    p.commit(cwd=inner)
    p.ran("a b c")
    p.replays()
    p.write("packages/c/inner/f", "two\n")
    lacks(p.run()[1].out, GREEN)


LINKS = [
    ("a link to a directory of it", "packages/c/src", "../a/src", "packages/a/src/x", "a b c"),
    ("a link to a file of it", "packages/c/y", "../a/src/x", "packages/a/src/x", "a b c"),
    ("a link to all of it", "packages/c/a", "../a", "packages/a/x", "a b c"),
    ("a link to what lies around it", "packages/c/all", "../../packages", "packages/b/x", "b c"),
    ("a link to another file of it", "packages/c/y", "../a/src/x", "packages/a/x", "a b"),
    ("a link from the top", "shared", "packages/c", "packages/c/x", "a b c"),
    ("a link from itself", "packages/c/y", "x", "packages/c/x", "c"),
    ("a link that leads round", "packages/c/round", "..", "packages/c/x", "c"),
    ("a link out of the tree", "packages/c/out", "/usr/share", "packages/a/x", "a b"),
]


@each(LINKS, "{0} shows what changes there")
def links(w, name, link, target, changed, want):
    p = Place(w, commit=False)
    p.write("packages/a/src/x", "one\n")
    os.symlink(target, os.path.join(p.dir, link))
    p.commit()
    p.marked()
    p.write(changed, "two\n")
    p.affected(want)


@test("a link to a link, one that git does not know yet, and the loss of what they lead to")
def links_of_links(w):
    p = Place(w, commit=False)
    p.workspace("d")
    p.write("packages/a/src/x", "one\n")
    os.symlink("../a/src", p.dir + "/packages/c/src")
    p.commit()
    os.symlink("../c/src/x", p.dir + "/packages/d/y")
    p.ran("a b c d")
    eq(p.mark(), None, "a mark over an untracked link")
    p.commit()
    p.ran("a b c d")
    os.unlink(p.dir + "/packages/a/src/x")
    p.affected("a b c d")
    p.git("checkout", "-q", ".")
    p.affected("")
    os.unlink(p.dir + "/packages/c/src")
    p.affected("c d")
    p.git("checkout", "-q", ".")
    p.write("packages/a/src/x.md", "a document\n")
    p.affected("")


@test("a workspace that git sees nothing of: whether it changed is not known")
def unseen(w):
    p = Place(w, commit=False)
    p.write(".gitignore", ".geonosis/\npackages/d/\n")
    p.workspace("c", '"dependencies": {"d": "*"}')
    p.commit()
    p.marked()
    p.workspace("d")
    has(p.affected("c d").out, "packages/d: git sees nothing of it")
    p.ran("a b c d")
    p.write("packages/b/x", "two\n")
    p.affected("b c d")
    outside = w.beside("e")
    os.mkdir(outside)
    with open(outside + "/package.json", "w") as f:
        f.write('{"name": "e"}')
    os.symlink(outside, p.dir + "/packages/e")
    with open(outside + "/x", "w") as f:
        f.write("one\n")
    p.commit()
    p.affected("a b c d e")
    p.affected("c d e", "--fresh")


@test("a workspace within another, and what the root depends on")
def nested_and_root(w):
    p = Place(w, commit=False)
    p.write("package.json", '{"workspaces": ["packages/*", "packages/c/in/*"], "devDependencies": {"b": "*"}}\n')
    p.workspace("d", path="packages/c/in/d")
    p.commit()
    p.ran("a b c d")
    p.write("packages/c/in/d/x", "two\n")
    p.affected("d")
    p.git("checkout", "-q", ".")
    p.write("packages/a/x", "two\n")
    has(p.affected("a b c d").out, "packages/b is reached, and the root depends on it")


@test("a merge that is not settled: no mark, and every path of it counts")
def conflict(w):
    p = Place(w)
    p.marked()
    p.git("checkout", "-q", "-b", "side")
    p.write("packages/c/x", "side\n")
    p.commit()
    p.git("checkout", "-q", "main")
    p.write("packages/c/x", "main\n")
    p.commit()
    p.git("merge", "-q", "side", check=False)
    before = p.mark()
    p.affected("c")
    eq(p.mark(), before, "mark")
    p.write("packages/c/x", "BROKEN\n")
    p.run("--affected", code=1)


# ------------------------------------------------- what a step is told of the change

TELL = 'cat "${GEONOSIS_CHANGED_FILES-/dev/null}" > "$TOLD"; echo "${GEONOSIS_CHANGED_FILES-unset}" >> "$TOLD"; echo "${GEONOSIS_BASE-unset}" >> "$TOLD"'


def told(p, *args, **kw):
    """the changed paths and the base, as a step saw them; the file of them is gone"""
    out = p.w.beside("told")
    r = p.w.verify("fast", "--fresh", *args, cwd=kw.get("cwd", p.dir), env={"TOLD": out})
    eq(r.code, 0, "exit of %r" % r)
    with open(out, "rb") as f:
        lines = f.read().decode(errors="surrogateescape").split("\n")
    if lines[-3] == "unset":
        return None, lines[-2]
    assert lines[-3].startswith("/") and not os.path.lexists(lines[-3]), lines
    return lines[:-3], lines[-2]


@test("GEONOSIS_CHANGED_FILES and GEONOSIS_BASE, of every kind of run")
def changed_files(w):
    p = Place(w, sub="app")
    p.write("geonosis.json", __import__("json").dumps({"verify": {"fast": [TELL]}}))
    first = p.commit()
    name = "refs/geonosis/in/app/verified"
    p.git("checkout", "-q", "-b", "side")
    eq(told(p), (None, "unset"), "with no mark, and nothing else to hold the tree against")
    eq(p.mark(name), first, "mark")
    eq(told(p), ([], first), "at the mark")
    p.write("packages/a/x", "two\n")
    p.git("commit", "-qam", "two")
    os.unlink(p.dir + "/packages/b/x")
    p.git("mv", "app/packages/c/x", "app/packages/c/y")
    p.write("packages/c/n\nl", "")
    p.write('packages/c/"q', "")
    p.write("packages/c/ü s", "")
    p.write("packages/c/README.md", "")
    with open(os.path.join(p.top, "outside"), "w") as f:
        f.write("x")
    want = ["../outside", 'packages/c/"q', '"packages/c/n\\nl"', "packages/a/x", "packages/b/x", "packages/c/README.md",
            "packages/c/x", "packages/c/y", "packages/c/ü s"]
    for args in ((), ("--affected",), ("--keep-going",)):
        got, base = told(p, *args)
        eq(sorted(got), sorted(want), "changed paths %s" % (args,))
        eq(base, first, "base %s" % (args,))
    got, base = told(p, "--since", "HEAD")
    eq(sorted(got), sorted(set(want) - {"packages/a/x"}), "changed paths since HEAD")
    eq(base, first, "base, whatever --since says")


@test("what the globs of documents say is of the config's own directory: a .md outside of it is no document")
def outside_document(w):
    p = Place(w, sub="app")
    name = "refs/geonosis/in/app/verified"
    p.write("geonosis.json", __import__("json").dumps({"verify": {"fast": [
        {"command": 'echo {workspace} >> "$RAN"; ! grep -q BROKEN ../README.md', "per": "workspace"}]}}))
    with open(os.path.join(p.top, "README.md"), "w") as f:
        f.write("BROKEN\n")
    p.commit()
    with open(os.path.join(p.top, "README.md"), "w") as f:
        f.write("fine\n")
    p.ran("a b c")
    eq(p.mark(name), None, "mark of a commit that is red by itself")
    p.git("checkout", "-q", ".")
    p.run("--affected", code=1)
