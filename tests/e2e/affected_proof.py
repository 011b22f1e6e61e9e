#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""Generated monorepos under random edits: no green that a full run would contradict.

    GEONOSIS=build/tools/geonosis tests/e2e/affected_proof.py --seed 7 --rounds 300 --workspaces 40

What each workspace's step reads is declared: its own files, those of the workspaces it
depends on, however far, a few files at the top, a keyFile, a keyEnv value, the record of the
install.  An oracle that shares nothing with the program reads the tree on disk (or a commit)
and says which workspaces are red; the step of a workspace is red when the oracle says so.
After every edit the program is asked, and must agree:

  - `--affected` is green when, and only when, a full run would be;
  - it runs every workspace whose declared reads are not those that the mark stands for;
  - what is answered from the record is what a full run would say;
  - the mark moves only at a green, to HEAD, and a clean checkout of it is green.

Every so often the oracle itself is held against `verify --fresh` in a copy of the tree.
A failure prints seed, round and the edits so far: the same seed plays the same edits.
"""
import argparse
import hashlib
import json
import os
import random
import re
import shutil
import stat
import subprocess
import sys
import tarfile
import io
import tempfile
import time

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import harness  # noqa: E402

KINDS = ("dependencies", "devDependencies", "peerDependencies", "optionalDependencies")
STEP = 'echo {workspace} >> "$RAN"; test ! -e "$RED"/{workspace}/red'
INSTALL = {"npm": ".package-lock.json", "pnpm": ".modules.yaml", "yarn": ".yarn-state.yml"}
LOCK = {"npm": "package-lock.json", "pnpm": "pnpm-lock.yaml", "yarn": "yarn.lock"}
TOP_READ = ("tsconfig.base.json", ".npmrc")
VERSION = re.compile(rb"\d+\.\d+\.\d+")
BROKEN = b"BROKEN"


class Refused(Exception):
    """the program must refuse this tree: a manifest does not parse"""


# ------------------------------------------------------------------- the oracle

class Tree:
    """files as a dict of path (from the working directory): (kind f, x or l, bytes)"""
    def __init__(self, files, flavour):
        self.files, self.flavour = files, flavour
        self.spaces = self.find_workspaces()          # path: manifest
        self.order = sorted(self.spaces, key=len, reverse=True)
        self.own = {w: {} for w in self.spaces}
        for path, entry in files.items():
            owner = self.owner(path)
            if owner is not None:
                self.own[owner][path] = entry
        self.by_name = {}
        for w, m in self.spaces.items():
            if m.get("name"):
                self.by_name.setdefault(m["name"], []).append(w)
        self.edges = {w: self.find_edges(w) for w in self.spaces}

    def json(self, path):
        kind, data = self.files[path]
        try:
            value = json.loads(data.decode("utf-8"))
        except ValueError as e:
            raise Refused(path) from e
        if not isinstance(value, dict):
            raise Refused(path)
        return value

    def patterns(self):
        # Every manager's root manifest must parse, whoever lists the workspaces.
        root = self.json("package.json") if "package.json" in self.files else {}
        if "pnpm-workspace.yaml" in self.files:
            text = self.files["pnpm-workspace.yaml"][1].decode()
            if not text.startswith("packages:\n"):
                raise Refused("pnpm-workspace.yaml")
            return re.findall(r"^  - '([^']*)'$", text, re.M)
        listed = root.get("workspaces", [])
        return listed["packages"] if isinstance(listed, dict) else listed

    def find_workspaces(self):
        found, inside, out = {}, [], []
        for p in self.patterns():
            text = re.escape(p.lstrip("!")).replace(r"\*\*", ".+").replace(r"\*", "[^/]+")
            (out if p.startswith("!") else inside).append(re.compile(text + r"\Z"))
        for path in self.files:
            if not path.endswith("/package.json") or path.startswith("../"):
                continue
            d = path[:-len("/package.json")]
            if "node_modules" in d.split("/") or self.files[path][0] == "l":
                continue
            if any(r.match(d) for r in inside) and not any(r.match(d) for r in out):
                found[d] = None
        for d in found:
            found[d] = self.json(d + "/package.json")
        return found

    def owner(self, path):
        while "/" in path:
            path = path.rsplit("/", 1)[0]
            if path in self.spaces:
                return path
        return None

    def find_edges(self, w):
        """(dependency as it is called, workspaces it means, is it broken without one)"""
        edges = []
        for kind in KINDS:
            for name, spec in sorted(self.spaces[w].get(kind, {}).items()):
                m = re.match(r"(?:workspace|npm):(@?[^@]+)@.*", spec)
                if m:
                    to = self.by_name.get(m.group(1), [])
                elif spec.startswith(("file:", "link:")):
                    d = os.path.normpath(os.path.join(w, spec[5:]))
                    to = [d] if d in self.spaces else []
                else:
                    to = self.by_name.get(name, [])
                edges.append((name, to, spec.startswith("workspace:")))
        return edges

    def closure(self, w):
        seen, todo = {w}, [w]
        while todo:
            for _, to, _ in self.edges[todo.pop()]:
                for t in to:
                    if t not in seen:
                        seen.add(t)
                        todo.append(t)
        return seen


def is_ours(path):
    return ".geonosis" in path.split("/")


def is_document(path):
    return path.endswith(".md") or path.startswith(".changeset/")


def is_version_file(path):
    return path.endswith("/src/version.js")


class Judge:
    """what a tree, with the parts of a run that no tree shows, says of each workspace"""
    def __init__(self, tree, parts):
        self.tree, self.parts = tree, parts
        self.reasons = {}                  # workspace or "": list of (what, where)
        self.local = {w: self.judge_own(w) for w in tree.spaces}
        self.top = self.judge_top()
        self.signs = {}
        halves = {w: [p for p, (k, d) in tree.own[w].items() if b"HALF" in d and not is_document(p)]
                  for w in tree.spaces}
        globals_ = self.sign_top()
        own = {w: self.sign_own(w) for w in tree.spaces}
        for w in tree.spaces:
            closure = sorted(tree.closure(w))
            why = list(self.top)
            half = []
            for c in closure:
                why += self.local[c]
                half += halves[c]
            if len(half) > 1:
                why.append(("half", half[0]))
            self.reasons[w] = why
            d = hashlib.sha1(globals_)
            for c in closure:
                d.update(c.encode() + b"\0" + own[c])
            d.update(repr(sorted((n, sorted(t)) for n, t, _ in tree.edges[w])).encode())
            self.signs[w] = d.digest()

    def judge_own(self, w):
        t, why = self.tree, []
        direct = {}
        for name, to, needed in t.edges[w]:
            direct.setdefault(name, []).extend(to)
            if needed and not to:
                why.append(("unresolved", (w, name)))
        for path, (kind, data) in t.own[w].items():
            if is_document(path):
                continue
            if BROKEN in data:
                why.append(("broken", path))
            if path.endswith("/run.sh") and kind != "x":
                why.append(("mode", path))
            if kind == "l":
                continue
            for line in re.findall(rb"^NEEDS (\S+):(\S+)$", data, re.M):
                name, file = line[0].decode(), line[1].decode()
                if not any(os.path.join(d, file) in t.files for d in direct.get(name, [])):
                    why.append(("needs", (path, line[0] + b":" + line[1])))
        return why

    def judge_top(self):
        why = []
        for path in (*TOP_READ, LOCK[self.tree.flavour]):
            if BROKEN in self.tree.files.get(path, ("f", b""))[1]:
                why.append(("broken", path))
        for what, value in self.parts.items():
            if value is not None and BROKEN in value:
                why.append(("part", what))
        return why

    def sign_top(self):
        d = hashlib.sha1()
        for path in (*TOP_READ, LOCK[self.tree.flavour]):
            d.update(repr((path, self.tree.files.get(path))).encode())
        d.update(repr(sorted(self.parts.items())).encode())
        return d.digest()

    def sign_own(self, w):
        d = hashlib.sha1()
        for path, (kind, data) in sorted(self.tree.own[w].items()):
            if is_document(path):
                continue
            if path == w + "/package.json":
                m = {k: v for k, v in self.tree.spaces[w].items() if k != "version"}
                data = json.dumps(m, sort_keys=True).encode()
            elif is_version_file(path) and kind != "l":
                data = VERSION.sub(b"V", data)
            d.update(repr((path, kind)).encode() + hashlib.sha1(data).digest())
        return d.digest()

    def red(self, without=()):
        return {w for w, why in self.reasons.items() if why and w not in without}


# ----------------------------------------------------------------- the repository

class Monorepo:
    def __init__(self, world, rng, count, sub, flavour):
        self.w, self.rng, self.sub, self.flavour = world, rng, sub, flavour
        self.tops = [world.dir]
        self.at = 0
        self.mode = "one"
        self.serial = 0
        self.commits = {}
        self.env = dict(world.env, GIT_AUTHOR_NAME="t", GIT_AUTHOR_EMAIL="t@example.invalid",
                        GIT_COMMITTER_NAME="t", GIT_COMMITTER_EMAIL="t@example.invalid",
                        GIT_EDITOR="true", GIT_MERGE_AUTOEDIT="no", GIT_CONFIG_NOSYSTEM="1")
        self.git("init", "-q", "-b", "main")
        for k, v in (("gc.auto", "0"), ("maintenance.auto", "false"), ("rerere.enabled", "false"),
                     ("advice.detachedHead", "false"), ("commit.gpgsign", "false")):
            self.git("config", k, v)
        self.make(count)
        self.git("add", "-A")
        self.git("commit", "-q", "-m", "base")
        self.git("tag", "base")

    # where the work goes on

    @property
    def top(self):
        return self.tops[self.at]

    @property
    def dir(self):
        return os.path.join(self.top, self.sub) if self.sub else self.top

    def git(self, *args, check=True, data=None):
        p = subprocess.run(["git", *args], cwd=self.top, env=self.env, input=data,
                           stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        if check and p.returncode:
            raise RuntimeError("git %s: %s" % (" ".join(args), p.stderr.decode(errors="replace")))
        return p.stdout if not p.returncode else None

    def path(self, name):
        return os.path.join(self.dir, name)

    def read(self, name):
        try:
            with open(self.path(name), "rb") as f:
                return f.read()
        except OSError:
            return None

    def write(self, name, data, mode=None):
        path = self.path(name)
        try:
            os.makedirs(os.path.dirname(path), exist_ok=True)
            if os.path.islink(path):
                os.unlink(path)
            with open(path, "wb") as f:
                f.write(data if isinstance(data, bytes) else data.encode())
            if mode is not None:
                os.chmod(path, mode)
        except (IsADirectoryError, NotADirectoryError, FileExistsError):
            pass

    def manifest(self, w, value):
        self.write(w + "/package.json", json.dumps(value, indent=2) + "\n")

    # as it begins

    def make(self, count):
        r = self.rng
        globs = ["packages/*", "apps/**", "libs/ui", "packages/*/plugins/*", "!packages/skip", "!**/fixtures/**"]
        self.write(".gitignore", ".geonosis/\nnode_modules/\n.dev.vars\n*.log\n")
        root = {"name": "root", "version": "1.0.0", "private": True}
        if self.flavour == "npm":
            root["workspaces"] = globs
        elif self.flavour == "yarn":
            root["workspaces"] = {"packages": globs, "nohoist": ["**/x"]}
        else:
            self.write("pnpm-workspace.yaml", "packages:\n" + "".join("  - '%s'\n" % g for g in globs))
        self.write("package.json", json.dumps(root, indent=2) + "\n")
        self.write(LOCK[self.flavour], "lock 1\n")
        for p in TOP_READ:
            self.write(p, "{}\n")
        self.write("tools/build.js", "x\n")
        self.write("packages/skip/package.json", '{"name": "skipped"}\n')
        self.write("packages/skip/x.js", "x\n")
        self.write("geonosis.json", json.dumps({
            "verify": {"fast": [{"command": STEP, "per": "workspace"}],
                       "full": ["fast", {"command": STEP, "per": "workspace", "exclude": ["packages/p0"]}]},
            "keyEnv": ["GN_MODE"], "keyFiles": [".dev.vars"],
            "versionFiles": ["**/src/version.js"]}, indent=2) + "\n")
        if self.sub:
            with open(os.path.join(self.top, "outside.txt"), "w") as f:
                f.write("x\n")
        names = []
        for i in range(count):
            w = self.place_of(i)
            self.new_workspace(w, "@s/n%d" % i if i % 3 else "n%d" % i, names)
            names.append(w)
        self.write(".dev.vars", "A=1\n")
        self.write("node_modules/" + INSTALL[self.flavour], "{}\n")

    def place_of(self, i):
        r = self.rng.random()
        if i == 0:
            return "packages/p0"
        if r < 0.6:
            return "packages/p%d" % i
        if r < 0.8:
            return "apps/%s/a%d" % (self.rng.choice("xyz"), i)
        return "packages/p%d/plugins/q%d" % (self.rng.randrange(i), i)

    def new_workspace(self, w, name, others):
        r = self.rng
        m = {"name": name, "version": "1.0.0", "scripts": {"test": "true"}}
        self.manifest(w, m)
        for i in range(r.randint(1, 3)):
            self.write("%s/src/f%d.js" % (w, i), "export const f%d = %d\n" % (i, r.randrange(1000)))
        self.write(w + "/src/version.js", "export const v = '1.0.0'\n")
        if r.random() < 0.2:
            self.write(w + "/run.sh", "#!/bin/sh\n", 0o755)
        if r.random() < 0.2:
            os.symlink("src/f0.js", self.path(w + "/link"))
        for _ in range(r.choice((0, 1, 1, 2, 3))):
            if others:
                self.add_dependency(w, r.choice(others))

    def add_dependency(self, w, other):
        r = self.rng
        try:
            m, o = json.loads(self.read(w + "/package.json")), json.loads(self.read(other + "/package.json"))
        except (TypeError, ValueError):
            return
        if not isinstance(m, dict) or not isinstance(o, dict) or not o.get("name"):
            return
        name = o["name"]
        shape = r.randrange(6)
        key, spec = name, "*"
        if shape == 0:
            spec = "workspace:*"
        elif shape == 1:
            spec = "^1.0.0"
        elif shape == 2:
            key, spec = "alias%d" % r.randrange(100), "npm:%s@^1.0.0" % name
        elif shape == 3:
            key, spec = "alias%d" % r.randrange(100), "workspace:%s@*" % name
        elif shape == 4:
            spec = "%s:%s" % (r.choice(("file", "link")), os.path.relpath(other, w))
        m.setdefault(r.choice(KINDS), {})[key] = spec
        self.manifest(w, m)
        if r.random() < 0.5 and w != other:
            self.write(w + "/src/use%d.js" % r.randrange(3), "NEEDS %s:src/f0.js\n" % key)

    # as it is

    def listed(self):
        out = self.git("ls-files", "-z", "-co", "--exclude-standard")
        return sorted(p for p in set(out.decode("utf-8", "surrogateescape").split("\0")) - {""} if not is_ours(p))

    def relative(self, path):
        if not self.sub:
            return path
        return path[len(self.sub) + 1:] if path.startswith(self.sub + "/") else "../" + path

    def disk(self):
        files = {}
        for path in self.listed():
            full = os.path.join(self.top, path)
            try:
                st = os.lstat(full)
                if stat.S_ISLNK(st.st_mode):
                    files[self.relative(path)] = ("l", os.readlink(full).encode())
                elif stat.S_ISREG(st.st_mode):
                    with open(full, "rb") as f:
                        files[self.relative(path)] = ("x" if st.st_mode & 0o100 else "f", f.read())
            except OSError:
                continue
        return files

    def committed(self, commit):
        tree = self.git("rev-parse", commit + "^{tree}").decode().strip()
        if tree not in self.commits:
            files = {}
            with tarfile.open(fileobj=io.BytesIO(self.git("archive", "--format=tar", commit))) as tar:
                for m in tar:
                    if is_ours(m.name):
                        continue
                    if m.issym():
                        files[self.relative(m.name)] = ("l", m.linkname.encode())
                    elif m.isreg():
                        files[self.relative(m.name)] = ("x" if m.mode & 0o100 else "f", tar.extractfile(m).read())
            self.commits[tree] = files
        return self.commits[tree]

    def parts(self):
        return {"keyEnv": self.mode.encode() if self.mode is not None else None,
                "keyFiles": self.read(".dev.vars"),
                "install": self.read("node_modules/" + INSTALL[self.flavour])}

    def head(self):
        return self.git("rev-parse", "HEAD").decode().strip()

    def mark(self, tier):
        name = "verified" if tier == "fast" else "verified-" + tier
        if self.sub:
            name = "in/%s/%s" % (self.sub.replace(" ", "%20"), name)
        out = self.git("rev-parse", "-q", "--verify", "refs/geonosis/" + name, check=False)
        return out.decode().strip() if out else None


# ----------------------------------------------------------------------- edits

class Edits:
    """each method is one kind of edit; it may find nothing to do"""
    def __init__(self, repo):
        self.m, self.r = repo, repo.rng

    def all(self):
        return sorted(n[5:] for n in dir(self) if n.startswith("edit_"))

    def spaces(self):
        try:
            return sorted(Tree(self.m.disk(), self.m.flavour).spaces)
        except Refused:
            return []

    def space(self):
        s = self.spaces()
        return self.r.choice(s) if s else None

    def files(self, want=lambda p: True):
        return [p for p, (k, _) in sorted(self.m.disk().items())
                if k != "l" and "/src/" in p and not p.startswith("../") and want(p)]

    def file(self, want=lambda p: True):
        f = self.files(want)
        return self.r.choice(f) if f else None

    def text(self):
        r = self.r.random()
        if r < 0.10:
            return b"BROKEN\n"
        if r < 0.16:
            return b"HALF\n"
        return b"edit %d\n" % self.r.randrange(10**6)

    def change(self, path):
        if path:
            self.m.write(path, (self.m.read(path) or b"") + self.text())

    # files

    def edit_edit(self):
        self.change(self.file())

    def edit_edit_many(self):
        for p in self.r.sample(self.files(), min(4, len(self.files()))):
            self.change(p)

    def edit_same_size(self):
        """another content of the same length, and the old times"""
        p = self.file()
        if not p:
            return
        data, st = self.m.read(p), os.stat(self.m.path(p))
        self.m.write(p, data[:-2] + (b"%d" % self.r.randrange(10)) + data[-1:])
        os.utime(self.m.path(p), ns=(st.st_atime_ns, st.st_mtime_ns))

    def edit_add(self):
        w = self.space()
        if w:
            self.m.write("%s/src/new%d.js" % (w, self.r.randrange(50)), self.text())

    def edit_delete(self):
        p = self.file()
        if p:
            os.unlink(self.m.path(p))

    def edit_rename(self):
        p, w = self.file(), self.space()
        if p and w:
            to = "%s/src/%s" % (w, os.path.basename(p))
            if self.r.random() < 0.5:
                self.m.git("mv", "-f", self.top(p), self.top(to), check=False)
            elif not os.path.isdir(self.m.path(to)):
                os.makedirs(os.path.dirname(self.m.path(to)), exist_ok=True)
                os.rename(self.m.path(p), self.m.path(to))

    def top(self, p):
        return os.path.join(self.m.sub, p) if self.m.sub else p

    def edit_chmod(self):
        p = self.r.choice([p for p, (k, _) in sorted(self.m.disk().items())
                           if p.endswith("/run.sh") and k != "l"] or [self.file()] or [None])
        if p:
            os.chmod(self.m.path(p), os.stat(self.m.path(p)).st_mode ^ 0o111)

    def edit_link(self):
        w = self.space()
        if not w:
            return
        path = self.m.path(w + "/link")
        if os.path.lexists(path):
            os.unlink(path)
        os.symlink(self.r.choice(("src/f0.js", "src/f1.js", "nowhere", "../BROKEN", "src")), path)

    def edit_file_to_link(self):
        p = self.file(lambda p: not p.endswith("version.js"))
        if p:
            os.unlink(self.m.path(p))
            os.symlink(self.r.choice(("f0.js", "gone", "version.js")), self.m.path(p))

    def edit_touch(self):
        for p in self.r.sample(self.files(), min(20, len(self.files()))):
            os.utime(self.m.path(p))

    def edit_document(self):
        w = self.space() or "."
        self.m.write(self.r.choice((w + "/README.md", "README.md", w + "/docs/BROKEN.md", ".changeset/a.txt",
                                    w + "/CHANGELOG.md", "GROUP-CHANGELOG.md")), self.text())

    def edit_nobodys(self):
        self.m.write(self.r.choice(("tools/build.js", "scripts/x", "packages/loose.js", "packages/skip/x.js",
                                    "apps/x/note")), self.text())
        if self.m.sub and self.r.random() < 0.3:
            with open(os.path.join(self.m.top, "outside.txt"), "ab") as f:
                f.write(b"y\n")

    def edit_root(self):
        self.change(self.r.choice(TOP_READ))

    def edit_lockfile(self):
        self.change(LOCK[self.m.flavour])

    def edit_ignore(self):
        w = self.space()
        if w:
            self.m.write(w + "/.gitignore", self.r.choice(("*.tmp\n", "dist/\n", "*.log\n!keep.log\n")))

    def edit_ignored(self):
        w = self.space()
        if w:
            self.m.write(w + "/out.log", self.text())

    def edit_force_ignored(self):
        w = self.space()
        if w:
            self.m.write(w + "/src/kept.log", self.text())
            self.m.git("add", "-f", self.top(w + "/src/kept.log"), check=False)

    # parts that no diff shows

    def edit_key_file(self):
        if self.r.random() < 0.2:
            if os.path.lexists(self.m.path(".dev.vars")):
                os.unlink(self.m.path(".dev.vars"))
        else:
            self.m.write(".dev.vars", self.r.choice(("A=1\n", "A=2\n", "BROKEN\n")))

    def edit_key_env(self):
        self.m.mode = self.r.choice(("one", "two", "", None, "BROKEN"))

    def edit_install(self):
        self.m.write("node_modules/" + INSTALL[self.m.flavour], self.r.choice(("{}\n", "{ }\n", "BROKEN\n")))

    # manifests

    def loaded(self, w):
        try:
            m = json.loads(self.m.read(w + "/package.json"))
            return m if isinstance(m, dict) else None
        except (TypeError, ValueError):
            return None

    def edit_dep_add(self):
        s = self.spaces()
        if len(s) > 1:
            self.m.add_dependency(*self.r.sample(s, 2))

    def edit_dep_remove(self):
        w = self.space()
        m = self.loaded(w) if w else None
        if m:
            for kind in KINDS:
                if m.get(kind):
                    del m[kind][self.r.choice(sorted(m[kind]))]
                    break
            self.m.manifest(w, m)

    def edit_dep_unknown(self):
        w = self.space()
        m = self.loaded(w) if w else None
        if m:
            name = "later%d" % self.r.randrange(3)
            m.setdefault("dependencies", {})[name] = self.r.choice(("workspace:*", "^1.0.0", "*"))
            self.m.manifest(w, m)

    def edit_package_rename(self):
        w = self.space()
        m = self.loaded(w) if w else None
        if not m:
            return
        old = m.get("name")
        m["name"] = self.r.choice(("later%d" % self.r.randrange(3), "@s/r%d" % self.r.randrange(1000), "n1", "@s/n2"))
        self.m.manifest(w, m)
        if self.r.random() < 0.5:
            for other in self.spaces():
                o = self.loaded(other)
                for kind in KINDS:
                    if o and old in o.get(kind, {}):
                        o[kind][m["name"]] = o[kind].pop(old)
                        self.m.manifest(other, o)

    def edit_version(self):
        w = self.r.choice((self.space(), None))
        path = w + "/package.json" if w else "package.json"
        text = self.m.read(path)
        if text:
            self.m.write(path, re.sub(rb'"version": "[^"]*"', b'"version": "%d.%d.0"' % (
                self.r.randrange(9), self.r.randrange(9)), text, count=1))

    def edit_version_file(self):
        p = self.file(is_version_file)
        if p and self.m.read(p):
            text = VERSION.sub(b"%d.%d.%d" % tuple(self.r.randrange(20) for _ in range(3)), self.m.read(p))
            self.m.write(p, text + (self.text() if self.r.random() < 0.3 else b""))

    def edit_script(self):
        w = self.space()
        m = self.loaded(w) if w else None
        if m:
            m["scripts"] = {"test": "true %d" % self.r.randrange(100)}
            self.m.manifest(w, m)

    def edit_unparsable(self):
        w = self.space()
        if w and self.r.random() < 0.3:
            self.m.write(w + "/package.json", '{"name": ')

    def edit_workspace_add(self):
        i = self.m.serial = self.m.serial + 1
        s = self.spaces()
        w = self.r.choice(("packages/z%d" % i, "apps/z/z%d" % i, "%s/plugins/z%d" % (self.r.choice(s or ["packages/p0"]), i)))
        self.m.new_workspace(w, self.r.choice(("@s/z%d" % i, "later%d" % self.r.randrange(3))), s)

    def edit_workspace_delete(self):
        w = self.space()
        if w and w != "packages/p0":
            if self.r.random() < 0.5:
                shutil.rmtree(self.m.path(w), ignore_errors=True)
            elif os.path.lexists(self.m.path(w + "/package.json")):
                os.unlink(self.m.path(w + "/package.json"))

    def edit_workspace_move(self):
        w = self.space()
        i = self.m.serial = self.m.serial + 1
        if w and w != "packages/p0":
            os.makedirs(self.m.path("apps/m"), exist_ok=True)
            os.rename(self.m.path(w), self.m.path("apps/m/m%d" % i))

    def edit_globs(self):
        p = "pnpm-workspace.yaml" if self.m.flavour == "pnpm" else "package.json"
        text = self.m.read(p)
        w = self.space()
        if text and w and w != "packages/p0" and self.r.random() < 0.5:
            self.m.write(p, text.replace(b"!packages/skip", self.r.choice((b"!" + w.encode(), b"!packages/skip"))))

    # the index and the history

    def edit_stage(self):
        self.m.git("add", "-A", check=False)

    def edit_stage_one(self):
        p = self.file()
        if p:
            self.change(p)
            self.m.git("add", self.top(p), check=False)
            if self.r.random() < 0.5:
                self.change(p)

    def edit_stage_and_undo(self):
        p = self.file()
        if p:
            before = self.m.read(p)
            self.change(p)
            self.m.git("add", self.top(p), check=False)
            self.m.write(p, before)

    def edit_unstage(self):
        self.m.git("reset", "-q", check=False)

    def edit_intent(self):
        w = self.space()
        if w:
            p = "%s/src/intent%d.js" % (w, self.r.randrange(9))
            self.m.write(p, self.text())
            self.m.git("add", "-N", self.top(p), check=False)

    def edit_rm_cached(self):
        p = self.file()
        if p:
            self.m.git("rm", "-q", "--cached", self.top(p), check=False)

    def edit_commit(self):
        self.m.git("add", "-A", check=False)
        self.m.git("commit", "-q", "-m", "edits", check=False)

    def edit_commit_staged(self):
        self.m.git("commit", "-q", "-m", "staged", check=False)

    def edit_amend(self):
        if self.r.random() < 0.5:
            self.m.git("add", "-A", check=False)
        self.m.git("commit", "-q", "--amend", "-m", "amended", check=False)

    def commits(self):
        return (self.m.git("log", "--all", "-40", "--format=%H", check=False) or b"").decode().split()

    def edit_reset_hard(self):
        where = self.r.choice(self.commits() + ["HEAD", "HEAD~1", "HEAD~2"])
        self.m.git("reset", "-q", "--hard", where, check=False)

    def edit_reset_soft(self):
        self.m.git("reset", "-q", self.r.choice(("--soft", "--mixed")), "HEAD~1", check=False)

    def branches(self):
        return (self.m.git("for-each-ref", "--format=%(refname:short)", "refs/heads") or b"").decode().split()

    def edit_branch(self):
        i = self.m.serial = self.m.serial + 1
        self.m.git("checkout", "-q", "-b", "b%d" % i, self.r.choice(["HEAD"] + self.commits()), check=False)

    def edit_checkout(self):
        self.m.git("checkout", "-q", *self.r.choice(((), ("-f",), ("--detach",))), self.r.choice(self.branches()), check=False)

    def settle(self):
        """a conflict is put away, or what lies on disk is taken as its end"""
        how = self.r.randrange(4)
        if how == 0 and self.m.git("diff", "--name-only", "--diff-filter=U"):
            self.m.git("add", "-A", check=False)
            self.m.git("commit", "-q", "--no-verify", "-m", "settled", check=False)
        for what in ("merge", "rebase", "cherry-pick", "revert"):
            self.m.git(what, "--abort", check=False)
        if self.m.git("diff", "--name-only", "--diff-filter=U"):
            self.m.git("reset", "-q", "--hard", check=False)

    def edit_merge(self):
        self.m.git("merge", "-q", "--no-edit", self.r.choice(self.branches()), check=False)
        if self.r.random() < 0.8:
            self.settle()

    def edit_rebase(self):
        self.m.git("rebase", "-q", self.r.choice(self.branches()), check=False)
        self.settle()

    def edit_cherry_pick(self):
        self.m.git("cherry-pick", self.r.choice(self.commits()), check=False)
        self.settle()

    def edit_revert(self):
        self.m.git("revert", "--no-edit", self.r.choice(["HEAD", "HEAD~1"]), check=False)
        self.settle()

    def edit_stash(self):
        self.m.git("stash", *self.r.choice((("push", "-q", "-u"), ("push", "-q"), ("pop", "-q"), ("pop", "-q"))), check=False)
        if self.m.git("diff", "--name-only", "--diff-filter=U"):
            self.m.git("reset", "-q", "--hard", check=False)

    def edit_hidden(self):
        """an edit that the index says not to look at"""
        p = self.file()
        if p and self.m.git("ls-files", "--error-unmatch", self.top(p), check=False) is not None:
            self.m.git("update-index", self.r.choice(("--assume-unchanged", "--skip-worktree")), self.top(p), check=False)
            self.change(p)

    def edit_unhide(self):
        out = self.m.git("ls-files", "-v", "-z").decode(errors="surrogateescape").split("\0")
        for line in out:
            if line[:1] in "hS" and line[2:]:
                self.m.git("update-index", "--no-assume-unchanged", "--no-skip-worktree", line[2:], check=False)

    def edit_gc(self):
        self.m.git(*self.r.choice((("gc", "-q"), ("pack-refs", "--all"), ("repack", "-q", "-a", "-d"),
                                   ("update-index", "-q", "--really-refresh"),
                                   ("update-index", "--index-version", "4"), ("commit-graph", "write", "--reachable"))), check=False)

    def edit_worktree(self):
        if len(self.m.tops) < 2:
            i = self.m.serial = self.m.serial + 1
            d = os.path.join(self.m.w.root, "wt%d" % i)
            if self.m.git("worktree", "add", "-q", "-b", "w%d" % i, d, check=False) is None:
                return
            self.m.tops.append(d)
        self.m.at = 1 - self.m.at
        if self.m.sub and not os.path.isdir(self.m.dir):
            self.m.at = 1 - self.m.at

    # back to green

    def repair(self):
        """mend all that the oracle finds"""
        self.m.git("checkout", "-q", "--", "geonosis.json", check=False)
        for _ in range(6):
            try:
                judge = Judge(Tree(self.m.disk(), self.m.flavour), self.m.parts())
            except Refused as path:
                self.mend_manifest(str(path))
                continue
            why = {x for list_ in judge.reasons.values() for x in list_}
            if not why:
                return
            for what, where in sorted(why, key=repr):
                self.mend(what, where)

    def mend_manifest(self, path):
        if path in ("package.json", "pnpm-workspace.yaml"):
            self.m.git("checkout", "-q", "-f", "main", "--", self.top(path), check=False)
        else:
            i = self.m.serial = self.m.serial + 1
            self.m.write(path, json.dumps({"name": "@s/m%d" % i, "version": "1.0.0"}) + "\n")

    def mend(self, what, where):
        m = self.m
        if what == "part":
            if where == "keyEnv":
                m.mode = "one"
            else:
                m.write(".dev.vars" if where == "keyFiles" else "node_modules/" + INSTALL[m.flavour], "A=3\n")
        elif what in ("broken", "half"):
            if os.path.islink(m.path(where)):
                os.unlink(m.path(where))
            elif m.read(where):
                m.write(where, m.read(where).replace(b"BROKEN\n", b"").replace(b"HALF\n", b"").replace(b"BROKEN", b""))
        elif what == "mode":
            os.chmod(m.path(where), 0o755)
        elif what == "needs":
            path, line = where
            m.write(path, (m.read(path) or b"").replace(b"NEEDS " + line + b"\n", b""))
        elif what == "unresolved":
            w, name = where
            value = self.loaded(w)
            for kind in KINDS:
                if value and value.get(kind, {}).get(name, "").startswith("workspace:"):
                    del value[kind][name]
            if value:
                m.manifest(w, value)


# ----------------------------------------------------------------------- the proof

class Table:
    def __init__(self):
        self.rows = {}

    # What changes nothing that a workspace reads.
    NEUTRAL = {"commit", "commit_staged", "stage", "unstage", "touch", "gc", "amend", "unhide", "repair", "reset_soft",
               "branch", "document"}

    def add(self, kinds, total, least, ran):
        kinds = kinds - self.NEUTRAL
        key = next(iter(kinds)) if len(kinds) == 1 else "several" if kinds else "nothing"
        row = self.rows.setdefault(key, [0, 0, 0, 0])
        for i, n in enumerate((1, total, least, ran)):
            row[i] += n

    def text(self):
        lines = ["%-18s %6s %10s %10s %10s %8s" % ("changed since green", "runs", "workspaces", "reached", "selected", "ratio")]
        total = [0, 0, 0, 0]
        for key, row in sorted(self.rows.items()):
            lines.append(self.line(key, row))
            total = [a + b for a, b in zip(total, row)]
        lines.append(self.line("all", total))
        return "\n".join(lines)

    @staticmethod
    def line(key, row):
        return "%-18s %6d %10d %10d %10d %8s" % (key, *row, "%.2f" % (row[3] / row[2]) if row[2] else "-")


class Proof:
    def __init__(self, world, seed, count, flavour=None, copies=12, verbose=False):
        rng = random.Random(seed)
        self.seed, self.count, self.rng = seed, count, rng
        flavour = flavour or rng.choice(("npm", "pnpm", "yarn"))
        self.w, self.copies, self.verbose = world, copies, verbose
        self.m = Monorepo(world, rng, count, "some dir" if rng.random() < 0.25 else "", flavour)
        self.e = Edits(self.m)
        self.history, self.table, self.counts = [], Table(), {}
        self.marks = {}          # tier: (commit, signatures, workspaces)
        self.since = {}          # tier: kinds of edits since its mark's green
        self.red, self.ran = world.beside("red"), world.beside("ran")

    def fail(self, what, result=None):
        raise AssertionError("%s\nseed %d, %d workspaces, round %d\n%s%s" % (
            what, self.seed, self.count, self.round, "\n".join(self.history[-60:]), "\n%r" % result if result else ""))

    def count_one(self, what):
        self.counts[what] = self.counts.get(what, 0) + 1

    def run(self, tier, *args, cwd=None, mode=None):
        env = {"RED": self.red, "RAN": self.ran, "GEONOSIS_HEAVY_SLOTS": "8"}
        if self.m.mode is not None:
            env["GN_MODE"] = self.m.mode
        if os.path.exists(self.ran):
            os.unlink(self.ran)
        r = self.w.verify(tier, *args, env=env, cwd=cwd or self.m.dir, secs=600)
        lines = []
        if os.path.exists(self.ran):
            with open(self.ran) as f:
                lines = f.read().split("\n")[:-1]
        return r, lines

    def show_red(self, red):
        shutil.rmtree(self.red, ignore_errors=True)
        for w in red:
            os.makedirs(os.path.join(self.red, w), exist_ok=True)
            open(os.path.join(self.red, w, "red"), "w").close()

    def judge_disk(self):
        return Judge(Tree(self.m.disk(), self.m.flavour), self.m.parts())

    def tree_is_heads(self):
        """as the oracle sees it: what lies on disk, and the index, are HEAD's, documents aside"""
        keep = lambda files: {p: e for p, e in files.items() if not is_document(p)}
        staged = self.m.git("diff-index", "--cached", "--name-only", "-z", "HEAD").decode(errors="surrogateescape")
        return keep(self.m.disk()) == keep(self.m.committed("HEAD")) and all(
            is_document(self.m.relative(p)) or is_ours(p) for p in staged.split("\0") if p)

    def step(self, kinds):
        for k in kinds:
            self.history.append("%d %s" % (self.round, k))
            if k == "repair":
                self.e.repair()
            else:
                getattr(self.e, "edit_" + k)()
            for s in self.since.values():
                s.add(k)
            # What every edit relies on stays.
            if not all(os.path.lexists(self.m.path(p)) for p in ("geonosis.json", ".gitignore", "packages/p0/package.json")):
                self.m.git("reset", "-q", "--hard", "base")

    def check(self, tier, args):
        """one run, and all that is claimed of it"""
        self.history.append("%d   verify %s %s (worktree %d)" % (self.round, tier, " ".join(args), self.m.at))
        try:
            judge = self.judge_disk()
        except Refused as path:
            return self.check_refused(tier, args, path)
        spaces = set(judge.tree.spaces)
        if not spaces or "packages/p0" not in spaces:
            return None
        red = judge.red()
        self.show_red(red)
        before = self.m.mark(tier)
        r, ran = self.run(tier, *args)
        replayed = "already green on this tree" in r.out
        if r.code not in (0, 1):
            self.fail("a run was refused", r)
        self.count_one("%s%s" % ("replayed" if replayed else "green" if r.code == 0 else "red",
                                 " --affected" if "--affected" in args else ""))
        if r.code == 0 and red:
            self.fail("FALSE GREEN%s: %s" % (" from the record" if replayed else "", self.explain(judge, red)), r)
        if r.code == 1 and not red:
            self.fail("a red run of a green tree", r)
        if replayed and (ran or "--fresh" in args):
            self.fail("a replay that ran something, or was not asked for", r)
        if not replayed:
            self.check_ran(tier, args, judge, r, ran, before)
        self.check_mark(tier, args, judge, r, before)
        self.history[-1] += " -> %d%s" % (r.code, " replayed" if replayed else "")
        return judge

    def explain(self, judge, red):
        return "; ".join("%s: %s" % (w, judge.reasons[w][:3]) for w in sorted(red)[:5])

    def check_refused(self, tier, args, path):
        before = self.m.mark(tier)
        r, ran = self.run(tier, *args)
        self.count_one("refused")
        self.history[-1] += " -> %d" % r.code
        if r.code != 2 or ran:
            self.fail("%s does not parse, and the run was not refused" % path, r)
        if self.m.mark(tier) != before:
            self.fail("a refused run moved the mark", r)

    def check_ran(self, tier, args, judge, r, ran, mark):
        spaces = set(judge.tree.spaces)
        got = set(ran)
        if not got <= spaces:
            self.fail("what ran is no workspace: %s" % sorted(got - spaces), r)
        whole = r.code == 0 or "--keep-going" in args
        if "--affected" not in args:
            if whole and got != spaces:
                self.fail("not every workspace ran: %s" % sorted(spaces - got), r)
            return
        known = self.marks.get(tier)
        if not whole or known is None or known[0] != mark:
            return
        reached = {w for w in spaces if known[1].get(w) != judge.signs[w]}
        if not reached <= got:
            self.fail("LEFT OUT though what it reads is not what the mark stands for: %s\nran %s" % (
                sorted(reached - got)[:10], sorted(got)[:20]), r)
        self.table.add(self.since.get(tier, {"?"}), len(spaces), len(reached), len(got))

    def check_mark(self, tier, args, judge, r, before):
        after = self.m.mark(tier)
        at_head = r.code == 0 and self.tree_is_heads()
        if after != before:
            self.count_one("marks moved")
            if r.code != 0:
                self.fail("a red run moved the mark", r)
            if after != self.m.head():
                self.fail("the mark was moved, and not to HEAD", r)
            if not at_head:
                self.fail("the mark was moved over a tree that is not HEAD's", r)
            clean = Judge(Tree(self.m.committed(after), self.m.flavour), self.m.parts())
            if clean.red():
                self.fail("THE MARK STANDS AT A RED COMMIT: %s" % self.explain(clean, clean.red()), r)
        elif at_head and after != self.m.head():
            self.fail("a green run over HEAD's tree left the mark behind", r)
        if at_head and after == self.m.head():
            self.marks[tier] = (after, judge.signs)
            self.since[tier] = set()

    def check_copy(self, tier, judge):
        """the oracle against the program, in a copy that has no past"""
        d = os.path.join(self.w.root, "copy")
        shutil.rmtree(d, ignore_errors=True)
        at = os.path.join(d, self.m.sub) if self.m.sub else d
        for path, (kind, data) in self.m.disk().items():
            full = os.path.normpath(os.path.join(at, path))
            os.makedirs(os.path.dirname(full), exist_ok=True)
            if kind == "l":
                os.symlink(data.decode(), full)
            else:
                with open(full, "wb") as f:
                    f.write(data)
                os.chmod(full, 0o755 if kind == "x" else 0o644)
        subprocess.run("git init -q && git add -A -f && git commit -q -m copy", shell=True, cwd=d, env=self.m.env, check=True)
        red = judge.red()
        self.show_red(red)
        r, ran = self.run(tier, "--fresh", "--keep-going", cwd=at)
        self.count_one("copies")
        if r.code != (1 if red else 0):
            self.fail("the oracle and a full run in a copy disagree", r)
        if set(ran) != set(judge.tree.spaces):
            self.fail("the oracle and the program have other workspaces: %s" % sorted(set(ran) ^ set(judge.tree.spaces)), r)
        shutil.rmtree(d, ignore_errors=True)

    def play(self, rounds, kinds=None):
        rng = self.rng
        names = kinds or self.e.all()
        # What reaches every workspace is seldom, so that there is something to leave out.
        wide = {"root", "lockfile", "nobodys", "key_file", "key_env", "install", "globs", "workspace_delete",
                "workspace_move", "unparsable", "ignore"} & set(names)
        narrow = [k for k in names if k not in wide]
        self.round = 0
        self.step(["repair", "commit"])
        self.check("fast", [])
        self.check("full", [])
        was_red = 0
        for self.round in range(1, rounds + 1):
            todo = [rng.choice(narrow if narrow and rng.random() < 0.8 else names)
                    for _ in range(rng.choice((1, 1, 1, 2, 3)))]
            if was_red and rng.random() < 0.4:
                todo.append("repair")
            if rng.random() < 0.4:
                todo.append("commit")
            self.step(todo)
            tier = rng.choice(("fast", "fast", "fast", "full"))
            args = rng.choice((["--affected"],) * 5 + (["--affected", "--keep-going"],) * 5 + (
                ["--affected", "--fresh"], ["--affected", "--fresh", "--keep-going"], [], ["--fresh"], ["--keep-going"]))
            judge = self.check(tier, list(args))
            if rng.random() < 0.25:
                judge = self.check(tier, list(args))
            was_red = was_red + 1 if judge is None or judge.red() else 0
            if judge is not None and self.copies and self.round % self.copies == 0:
                self.check_copy(tier, judge)
            if self.verbose and self.round % 50 == 0:
                print("# seed %d round %d: %s" % (self.seed, self.round, self.counts), flush=True)

    def summary(self):
        return "seed %d: %d workspaces, %s%s, %d rounds: %s" % (
            self.seed, self.count, self.m.flavour, " below the top" if self.m.sub else "", self.round,
            ", ".join("%d %s" % (n, k) for k, n in sorted(self.counts.items())))


def main():
    a = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    a.add_argument("--seed", type=int, default=1)
    a.add_argument("--rounds", type=int, default=100, help="of each seed")
    a.add_argument("--workspaces", type=int, default=0, help="0: from 10 to 100, by the seed")
    a.add_argument("--seeds", type=int, default=1, help="how many, from --seed on")
    a.add_argument("--flavour", choices=("npm", "pnpm", "yarn"))
    a.add_argument("--kinds", help="only these edits, separated by commas")
    a.add_argument("--copies", type=int, default=12, help="every how many rounds a full run in a copy")
    a.add_argument("--keep", action="store_true", help="leave the repository of a failure")
    args = a.parse_args()
    harness.fresh_signals()
    failed, tables = 0, Table()
    for seed in range(args.seed, args.seed + args.seeds):
        mark = "%d-%s" % (os.getpid(), os.urandom(4).hex())
        world = harness.World(mark)
        try:
            count = args.workspaces or random.Random(-seed).randint(10, 100)
            proof = Proof(world, seed, count, args.flavour, args.copies, True)
            began = time.monotonic()
            proof.play(args.rounds, args.kinds.split(",") if args.kinds else None)
            print("ok %s (%.0f s)" % (proof.summary(), time.monotonic() - began), flush=True)
            for key, row in proof.table.rows.items():
                into = tables.rows.setdefault(key, [0, 0, 0, 0])
                for i in range(4):
                    into[i] += row[i]
        except AssertionError as why:
            failed += 1
            print("not ok seed %d: %s" % (seed, why), flush=True)
            if args.keep:
                print("kept: %s" % world.root, flush=True)
                continue
        finally:
            if not (args.keep and failed):
                world.close()
                harness.clean(mark)
    print(tables.text())
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
