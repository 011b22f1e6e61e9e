#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The key and its list of changes against git itself, on random repositories.

usage: differential.py TREEKEY [-n COUNT] [-s SEED] [-k]

Makes COUNT repositories from SEED, each from its own number (SEED + i), and in each
  - compares the changes with `git status` (and with the disk, where the index says not
    to look),
  - checks that what is no edit (touch, refresh, gc, add, other threads, the index read
    through git) leaves the key, and that edits change it.
A failure prints the number that makes this repository again (-n 1 -s NUMBER; -k keeps it).
"""
import argparse
import os
import random
import shutil
import stat
import subprocess
import sys
import tempfile

NAMES = [b"a", b"b", b"c.txt", b"d.js", b"A", b"foo", b"foo.o", b"bar.log", b"x y", b" lead",
         b"trail ", b"new\nline", b"\xff\xfe.bin", b"qu\"ote", b"back\\slash", b"*star", b"[set]",
         b"-dash", b"#hash", b"!bang", b"tab\tx", b"caf\xc3\xa9", b"a.b", b"a-b", b"a0", b"aa",
         b"build", b"out", b"node_modules", b"Foo", b"foo.O", b"w.sec", b"e.crlf", b".hidden"]
DIRS = [b"", b"src", b"src/lib", b"src/lib/deep", b"build", b"a", b"a/b", b"docs", b"out/x", b"Src",
        b"foo", b"d.d", b"sub mod", b"[set]d"]
PATTERNS = ["*.o", "*.log", "build/", "/build", "out", "!keep", "foo", "/foo", "src/*.js", "**/deep", "a/**",
            "a/**/b", "src/**/x y", "*", "!*/", "!*.txt", "\\#hash", "\\!bang", "trail\\ ", "trail ", "[a-c]",
            "[!a-c]", "[[:upper:]]*", "?", "??", "fo?", "d.[jt]s", "/src/lib/", "lib/", "!lib/", "!/src/lib/c.txt",
            "node_modules", "a.*", "*.sec", "# comment", "", "src/lib", "**/foo", "foo/**", "**", "*/a", "/*/a",
            "\\*star", "[[]set]", "qu\"ote", "back\\\\slash", "a**", "src/l*", "!src", "[]-]", "[^a]", "x\\ y",
            "*.[oO]", "/*", "!/src", "src/", "docs/*", "!docs/a", "/", "//", "**/", "a\\", "[a", "*a*", "*/*/*"]
ATTRS = ["*.sec filter=up", "*.crlf text eol=crlf", "* text=auto", "*.txt text", "*.js -text", "*.bin binary",
         "src/** eol=lf", "*.log ident", "[attr]sealed filter=up", "a sealed", "\"x y\" filter=up", "docs/* text",
         "*.txt !text"]


class Failure(Exception):
    pass


class Repo:
    def __init__(self, tool, seed, root):
        self.tool, self.r = tool, random.Random(seed)
        self.base = root
        self.top = os.path.join(root, b"repo")
        home = os.path.join(root, b"home")
        os.mkdir(home)
        self.env = {k: v for k, v in os.environb.items() if not k.startswith(b"GIT_")}
        self.env.update({
            b"HOME": home, b"XDG_CONFIG_HOME": home + b"/.config", b"GIT_CONFIG_NOSYSTEM": b"1",
            b"GIT_AUTHOR_NAME": b"t", b"GIT_AUTHOR_EMAIL": b"t@t", b"GIT_COMMITTER_NAME": b"t",
            b"GIT_COMMITTER_EMAIL": b"t@t", b"LC_ALL": b"C", b"GIT_ADVICE": b"0"})
        self.converts = self.sparse_index = self.split = self.icase = self.sub = self.is_sparse = False
        self.filemode = self.symlinks = True
        self.format = "sha1"
        self.log = []

    # ---- plumbing

    def git(self, *args, cwd=None, check=False, stdin=None):
        self.log.append("git " + " ".join(repr(a)[1:] if isinstance(a, bytes) else a for a in args))
        p = subprocess.run(["git", *args], cwd=cwd or self.top, env=self.env, input=stdin,
                           stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        if check and p.returncode:
            raise Failure("git %r: %r" % (args, p.stderr[-300:]))
        return p.stdout if p.returncode == 0 else (b"" if not check else p.stdout)

    def run_tool(self, *args):
        p = subprocess.run([self.tool, *args, "."], cwd=self.top, env=self.env,
                           stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        if p.returncode:
            raise Failure("treekey %s: exit %d: %r" % (args, p.returncode, p.stderr[-400:]))
        head, _, rest = p.stdout.partition(b"\n")
        if not head.startswith(b"key "):
            raise Failure("treekey: %r" % head)
        return head[4:], sorted(rest.split(b"\0")[:-1])

    def key(self, *args):
        return self.run_tool(*args)[0]

    def path(self, rel):
        return os.path.join(self.top, rel)

    def chance(self, p):
        return self.r.random() < p

    # ---- making

    def content(self):
        r = self.r
        kind = r.random()
        if kind < 0.1:
            return b""
        if kind < 0.2:
            return b"one\r\ntwo\r\n"
        if kind < 0.25:
            return b"$Id$\n"
        if kind < 0.3:
            return bytes(r.randrange(256) for _ in range(r.randrange(40)))
        return b"".join(r.choice([b"alpha\n", b"beta\n", b"gamma\n", b"delta"]) for _ in range(r.randrange(1, 6)))

    def dir(self):
        d = self.r.choice(DIRS)
        return d.lower() if self.icase else d

    def name(self):
        d = self.dir()
        n = self.r.choice(NAMES)
        p = d + b"/" + n if d else n
        return p.lower() if self.icase else p  # git is at a loss with a and A on a disk that has both

    def write(self, rel, data):
        self.log.append("write %r %d" % (rel, len(data)))
        p = self.path(rel)
        try:
            os.makedirs(os.path.dirname(p), exist_ok=True)
            if os.path.islink(p):
                os.unlink(p)
            with open(p, "wb") as f:
                f.write(data)
            if self.chance(0.1):
                os.chmod(p, 0o755)
            return True
        except OSError:
            return False

    def link(self, rel, target):
        if target == os.path.basename(rel):
            target = b"nowhere"  # a link to itself: git takes its error for no change
        self.log.append("link %r %r" % (rel, target))
        p = self.path(rel)
        try:
            os.makedirs(os.path.dirname(p), exist_ok=True)
            if os.path.lexists(p):
                os.unlink(p)
            os.symlink(target, p)
            return True
        except OSError:
            return False

    def files(self):
        out = []
        for d, dirs, names in os.walk(self.top):
            dirs[:] = [x for x in dirs if x != b".git"]
            if b".git" in names:
                names.remove(b".git")
            out += [os.path.relpath(os.path.join(d, n), self.top) for n in names]
            out += [os.path.relpath(os.path.join(d, n), self.top) for n in dirs if os.path.islink(os.path.join(d, n))]
        return sorted(out)

    def tracked(self):
        return [p for p in self.git("ls-files", "-z").split(b"\0") if p and not p.endswith(b"/")]

    def ignore_text(self):
        lines = [self.r.choice(PATTERNS) for _ in range(self.r.randrange(1, 7))]
        return "\n".join(lines).encode() + self.r.choice([b"\n", b"", b"\r\n"])

    def make(self):
        r = self.r
        args = ["init", "-q", "-b", "main"]
        if self.chance(0.1):
            self.format = "sha256"  # git cannot read a nested repository of another format
        args.append("--object-format=" + self.format)
        os.mkdir(self.top)
        self.git(*args, check=True)
        conf = []
        if self.chance(0.06):
            conf.append(("core.fileMode", "false"))
            self.filemode = False
        if self.chance(0.03):
            conf.append(("core.symlinks", "false"))
            self.symlinks = False
        if self.chance(0.08):
            conf.append(("core.autocrlf", r.choice(["true", "input"])))
            self.converts = True
        if self.chance(0.05):
            conf.append(("core.ignoreCase", "true"))
            self.icase = True
        if self.chance(0.2):
            conf.append(("index.version", r.choice(["2", "3", "4"])))
        if self.chance(0.12):
            self.split = True
            conf.append(("core.splitIndex", "true"))
            conf.append(("splitIndex.maxPercentChange", r.choice(["0", "50", "100"])))
        if self.chance(0.1):
            conf.append(("core.untrackedCache", "true"))
        if self.chance(0.15):
            with open(os.path.join(self.base, b"excludes"), "wb") as f:
                f.write(self.ignore_text())
            conf.append(("core.excludesFile", os.fsdecode(os.path.join(self.base, b"excludes"))))
        elif self.chance(0.1):
            os.makedirs(self.env[b"XDG_CONFIG_HOME"] + b"/git")
            with open(self.env[b"XDG_CONFIG_HOME"] + b"/git/ignore", "wb") as f:
                f.write(self.ignore_text())
        conf.append(("filter.up.clean", "tr a-z A-Z"))
        conf.append(("filter.up.smudge", "tr A-Z a-z"))
        if self.chance(0.1):
            inc = os.path.join(self.base, b"included")
            with open(inc, "w") as f:
                f.write("[core]\n\tfileMode = true\n[user]\n\tname = x\n" if self.chance(0.5) else "[user]\n\tname = x\n")
            conf.append((r.choice(["include.path", "includeIf.gitdir:/nowhere/.path"]), os.fsdecode(inc)))
        for k, v in conf:
            self.git("config", k, v, check=True)
        if self.chance(0.15):
            with open(self.path(b".git/info/exclude"), "ab") as f:
                f.write(self.ignore_text())
        for _ in range(r.randrange(0, 25)):
            if self.chance(0.1):
                self.link(self.name(), r.choice([b"a", b"src", b"nowhere", b"../x"]))
            else:
                self.write(self.name(), self.content())
        for _ in range(r.randrange(0, 4)):
            d = self.dir()
            self.write(d + b"/.gitignore" if d else b".gitignore", self.ignore_text())
        if self.chance(0.15):
            d = r.choice(DIRS[:4])
            self.converts = True
            self.write(d + b"/.gitattributes" if d else b".gitattributes",
                       "\n".join(r.sample(ATTRS, r.randrange(1, 4))).encode() + b"\n")
        self.git("add", "-A", *(["-f"] if self.chance(0.3) else []))
        if self.chance(0.92):
            self.git("commit", "-qm", "one", "--allow-empty")

    # ---- changing

    def pick(self):
        f = self.files()
        return self.r.choice(f) if f else None

    def edit(self):
        p = self.pick()
        if p is None or os.path.islink(self.path(p)) or not os.path.isfile(self.path(p)):
            return
        full = self.path(p)
        st = os.stat(full)
        how = self.r.random()
        self.log.append("edit %r %.2f" % (p, how))
        with open(full, "rb") as f:
            data = f.read()
        if how < 0.3 and data:
            i = self.r.randrange(len(data))
            data = data[:i] + bytes([data[i] ^ 1]) + data[i + 1:]
        elif how < 0.4:
            data = data.replace(b"\n", b"\r\n") if b"\r" not in data else data.replace(b"\r\n", b"\n")
        elif how < 0.5:
            data = data.swapcase()
        else:
            data += b"more\n"
        with open(full, "r+b") as f:
            f.truncate(0)
            f.write(data)
        if self.chance(0.3):
            os.utime(full, ns=(st.st_atime_ns, st.st_mtime_ns))

    def remove(self):
        p = self.pick()
        if p:
            self.log.append("rm %r" % p)
            os.unlink(self.path(p))

    def chmod(self):
        p = self.pick()
        if p and not os.path.islink(self.path(p)):
            full = self.path(p)
            self.log.append("chmod %r" % p)
            os.chmod(full, stat.S_IMODE(os.stat(full).st_mode) ^ 0o111)

    def swap(self):
        """A file for a directory, a link, a fifo, or the reverse."""
        p = self.pick()
        if not p:
            return
        full = self.path(p)
        how = self.r.randrange(6)
        self.log.append("swap %r %d" % (p, how))
        if how == 0:
            os.unlink(full)
            os.mkdir(full)
            self.write(p + b"/inside", b"x\n")
        elif how == 1:
            self.link(p, self.r.choice([b"a", b"src", b"other"]))
        elif how == 2:
            if not os.path.basename(p).startswith(b".git"):  # git waits for ever for a writer
                os.unlink(full)
                os.mkfifo(full)
        elif how == 3:
            self.nested(p)
        elif os.path.dirname(p):
            d = self.path(os.path.dirname(p))
            if os.path.isdir(d) and not os.path.islink(d) and not os.path.exists(os.path.join(d, b".git")):
                shutil.rmtree(d)
                if how == 4:
                    self.write(os.path.dirname(p), b"was a directory\n")
                else:
                    self.link(os.path.dirname(p), self.r.choice([b"src", b"docs", b"."]))

    def nested(self, rel=None):
        rel = rel or self.r.choice(DIRS[1:]) + b"/" + self.r.choice([b"nest", b"foo", b"vendor"])
        full = self.path(rel)
        self.log.append("nested %r" % rel)
        try:
            if os.path.lexists(full) and not os.path.isdir(full):
                os.unlink(full)
            os.makedirs(full, exist_ok=True)
        except OSError:
            return
        if self.chance(0.15):
            os.makedirs(full + b"/.git", exist_ok=True)
            self.write(rel + b"/f", b"x\n")
            return
        self.git("init", "-q", "--object-format=" + self.format, cwd=full)
        self.write(rel + b"/f", b"x\n")
        if self.chance(0.6):
            self.git("add", "-A", cwd=full)
            self.git("commit", "-qm", "n", cwd=full)
            if self.chance(0.4):
                self.write(rel + b"/f", b"y\n")

    def submodule(self):
        lib = os.path.join(self.base, b"lib")
        if os.path.exists(lib):
            return
        os.mkdir(lib)
        self.git("init", "-q", "-b", "main", "--object-format=" + self.format, cwd=lib)
        with open(lib + b"/l", "w") as f:
            f.write("1\n")
        self.git("add", "-A", cwd=lib)
        self.git("commit", "-qm", "lib", cwd=lib)
        at = self.r.choice([b"vendor/lib", b"src/subm", b"subm"])
        self.git("-c", "protocol.file.allow=always", "submodule", "add", "-q", "-f", lib, at)
        if self.chance(0.7):
            self.git("commit", "-qm", "sub")
        sub = self.path(at)
        if not os.path.exists(sub + b"/.git"):
            return
        self.sub = True
        how = self.r.randrange(9)
        self.log.append("submodule %r %d" % (at, how))
        if how == 0:
            self.write(at + b"/l", b"2\n")
        elif how == 1:
            self.write(at + b"/untracked", b"2\n")
        elif how == 2:
            self.write(at + b"/l", b"2\n")
            self.git("commit", "-qam", "2", cwd=sub)
        elif how == 3:
            self.git("submodule", "-q", "deinit", "-f", at)
        elif how == 4:
            self.git("submodule", "-q", "deinit", "-f", at)
            self.write(at + b"/stray", b"x\n")
        elif how == 5:
            shutil.rmtree(sub)
        elif how == 6:
            self.write(at + b"/l", b"2\n")
            self.git("add", "-A", cwd=sub)
        elif how == 7:
            shutil.rmtree(sub)
            self.write(at, b"file\n")

    def stage(self):
        how = self.r.randrange(6)
        t = self.tracked()
        f = self.files()
        one = self.r.choice(f) if f else None
        if how == 0:
            self.git("add", "-A")
        elif how == 1 and one:
            self.git("--literal-pathspecs", "add", "-f", "--", one)
        elif how == 2 and one:
            self.git("--literal-pathspecs", "add", "-N", "-f", "--", one)
        elif how == 3 and t:
            self.git("--literal-pathspecs", "rm", "-q", "--cached", "-f", "--", self.r.choice(t))
        elif how == 4:
            self.git("commit", "-qam", "more")
        elif how == 5 and t:
            p = self.r.choice(t)
            self.edit_one(p)
            self.git("--literal-pathspecs", "add", "-f", "--", p)
            self.edit_one(p)

    def edit_one(self, rel):
        full = self.path(rel)
        if os.path.isfile(full) and not os.path.islink(full):
            with open(full, "ab") as f:
                f.write(b"%d\n" % self.r.randrange(3))

    def bits(self):
        t = [p for p in self.tracked() if not os.path.isdir(self.path(p))]
        if t and not self.converts:  # neither git nor the key asks what a filter would make of these
            self.git("update-index", self.r.choice(["--assume-unchanged", "--skip-worktree"]), "-z", "--stdin",
                     stdin=self.r.choice(t) + b"\0")

    def sparse(self):
        cone = self.chance(0.6)
        args = ["sparse-checkout", "set", "--cone" if cone else "--no-cone"]
        if cone and self.chance(0.5) and not self.split:
            args.append("--sparse-index")
            self.sparse_index = True
        args += [os.fsdecode(d) for d in self.r.sample(DIRS[1:6], self.r.randrange(1, 3))]
        self.git(*args)
        self.is_sparse = True
        if self.chance(0.3):
            self.write(self.name(), b"outside?\n")

    def conflict(self):
        t = [p for p in self.tracked() if os.path.isfile(self.path(p)) and not os.path.islink(self.path(p))]
        if not t:
            return
        p = self.r.choice(t)
        self.git("checkout", "-qb", "side")
        self.write(p, b"side\n")
        self.git("commit", "-qam", "side")
        self.git("checkout", "-q", "main")
        if self.chance(0.3):
            self.git("--literal-pathspecs", "rm", "-qf", "--", p)
            self.git("commit", "-qm", "gone")
        else:
            self.write(p, b"main\n")
            self.git("commit", "-qam", "main")
        self.git("merge", "-q", "side")

    def worktree(self):
        wt = os.path.join(self.base, b"wt")
        if os.path.exists(wt) or not self.git("rev-parse", "-q", "--verify", "HEAD"):
            return
        self.git("worktree", "add", "-q", "--detach", wt)
        if os.path.exists(wt):
            self.top = wt
            self.log.append("into the worktree")

    def own(self):
        self.write(self.r.choice([b".geonosis/report", b"src/.geonosis/x", b"a/.geonosis"]), b"x\n")

    def create(self):
        if self.chance(0.15):
            self.link(self.name(), self.r.choice([b"a", b"src", b"nowhere"]))
        else:
            self.write(self.name(), self.content())

    def reignore(self):
        d = self.dir()
        self.write(d + b"/.gitignore" if d else b".gitignore", self.ignore_text())

    def upkeep(self):
        self.git(*self.r.choice([("gc", "-q"), ("pack-refs", "--all"), ("status",), ("update-index", "--refresh", "-q"),
                                 ("repack", "-adq"), ("update-index", "--really-refresh", "-q"), ("checkout-index", "-a", "-q")]))

    def mutate(self):
        ops = [(self.edit, 6), (self.create, 5), (self.remove, 3), (self.chmod, 2), (self.swap, 2), (self.nested, 1),
               (self.stage, 3), (self.bits, 1.5), (self.reignore, 1), (self.own, 0.5), (self.upkeep, 1), (self.sparse, 0.5),
               (self.conflict, 0.5), (self.worktree, 0.4), (self.submodule, 0.6)]
        for op in self.r.choices([o for o, _ in ops], [w for _, w in ops], k=self.r.randrange(0, 12)):
            try:
                op()
            except OSError as e:
                self.log.append("%s: %s" % (op.__name__, e))

    # ---- checking

    def expected(self):
        out = self.git("-c", "core.fsmonitor=false", "status", "--porcelain=v2", "-z", "--untracked-files=all",
                       "--ignore-submodules=none", "--no-renames", check=True)
        want = set()
        for rec in out.split(b"\0")[:-1]:
            if rec[:1] == b"?":
                want.add(b"? " + rec[2:])
            elif rec[:1] == b"u":
                want.add(b"U " + rec.split(b" ", 10)[10])
            elif rec[:1] == b"1" and rec[3:4] != b".":
                want.add(rec[3:4] + b" " + rec.split(b" ", 8)[8])
        want |= self.hidden()
        return sorted(w for w in want if not w[2:].startswith(b".geonosis/") and b"/.geonosis/" not in w)

    def hidden(self):
        """What git does not look at because of a bit in the index."""
        want = set()
        stages = {}
        for rec in self.git("ls-files", "-s", "-z").split(b"\0")[:-1]:
            meta, _, p = rec.partition(b"\t")
            stages[p] = meta.split(b" ")
        for rec in self.git("ls-files", "-v", "-z").split(b"\0")[:-1]:
            tag, p = rec[:1], rec[2:]
            if not (tag.islower() or tag == b"S") or p not in stages:
                continue
            mode, oid, stage = stages[p]
            full = self.path(p)
            skip = tag in b"Ss"
            if stage != b"0" or mode == b"160000":
                continue
            parents = p.split(b"/")[:-1]
            broken = any(os.path.islink(self.path(b"/".join(parents[:i + 1]))) for i in range(len(parents)))
            gone = broken or not os.path.lexists(full)
            if gone or (os.path.isdir(full) and not os.path.islink(full)):
                if not (gone and skip and self.is_sparse):
                    repo = not gone and os.path.exists(full + b"/.git") and \
                        self.git("rev-parse", "-q", "--verify", "HEAD", cwd=full)
                    want.add((b"T " if repo else b"D ") + p)
                continue
            st = os.lstat(full)
            if stat.S_ISLNK(st.st_mode):
                now, got = b"120000", self.git("hash-object", "--stdin", "--no-filters", stdin=os.readlink(full)).strip()
            elif stat.S_ISREG(st.st_mode):
                now = b"100755" if st.st_mode & 0o100 else b"100644"
                if not self.filemode:
                    now = mode if mode != b"120000" else b"100644"
                if mode == b"120000" and not self.symlinks:
                    now = mode
                # The key looks at the raw bytes here: git would not look at all.
                got = self.git("hash-object", "--no-filters", "--", full).strip()
            else:
                want.add((b"T " if mode == b"120000" else b"M ") + p)
                continue
            if now[:3] != mode[:3]:
                want.add(b"T " + p)
            elif now != mode or got != oid:
                want.add(b"M " + p)
        return want

    def compare(self, when):
        key, got = self.run_tool("-c")
        want = self.expected()
        if got != want:
            raise Failure("%s: changes differ: only ours %r, only git's %r"
                          % (when, sorted(set(got) - set(want)), sorted(set(want) - set(got))))
        return key

    def same(self, key, what, *args):
        got = self.key(*args)
        if got != key:
            raise Failure("%s changed the key" % what)

    def differs(self, key, what):
        if self.key() == key:
            raise Failure("%s left the key" % what)

    def check_invariance(self, key):
        self.same(key, "two threads", "-t", "2")
        if not self.sparse_index:
            self.same(key, "asking git", "-g")
        for p in self.files():
            if self.chance(0.3):
                os.utime(self.path(p), follow_symlinks=False)
        self.same(key, "a touch")
        if self.chance(0.3):
            self.git("gc", "-q") if self.chance(0.3) else self.git("pack-refs", "--all")
            self.same(key, "gc or pack-refs")
        self.git("update-index", "-q", "--refresh")
        self.same(key, "a refresh")

    def check_add(self, key):
        """Staging what lies on disk is no edit, where the index had nothing of its own."""
        if self.converts or self.sparse_index or not self.symlinks or not self.filemode:
            return
        out = self.git("status", "--porcelain=v2", "-z", "--untracked-files=all", "--no-renames")
        tracked = self.tracked()
        for rec in out.split(b"\0")[:-1]:
            if rec[:1] == b"?" and not rec.endswith(b"/"):
                p = rec[2:]
                if self.git("--literal-pathspecs", "ls-tree", "HEAD", "--", p):
                    continue  # staged as deleted: that is something of the index's own
            elif rec[:2] == b"1 " and rec[2:3] == b"." and rec[3:4] in b"MDT" and rec[5:6] == b"N":
                p = rec.split(b" ", 8)[8]
            else:
                continue
            if any(p.startswith(q + b"/") or q.startswith(p + b"/") for q in tracked):
                continue  # takes out of the index what stands in its place
            if b".geonosis" in p or self.chance(0.5) or b".git" in p:
                continue
            full = self.path(p)
            if os.path.lexists(full) and not os.path.islink(full) and not os.path.isfile(full):
                continue
            self.git("--literal-pathspecs", "add", "-f", "-A", "--", p)
            self.same(key, "git add of %r" % p)
            return

    def check_edits(self, key):
        t = [p for p in self.tracked() if b".geonosis" not in p and b"/" not in p]
        t = [p for p in t if os.path.isfile(self.path(p)) and not os.path.islink(self.path(p))]
        if t and not self.converts:
            p = self.r.choice(t)
            full = self.path(p)
            if p not in (b".gitignore", b".gitattributes"):
                with open(full, "rb") as f:
                    old = f.read()
                st = os.stat(full)
                with open(full, "r+b") as f:
                    f.write(bytes([old[0] ^ 1]) if old else b"!")
                os.utime(full, ns=(st.st_atime_ns, st.st_mtime_ns))
                self.differs(key, "an edit of %r" % p)
                with open(full, "wb") as f:
                    f.write(old)
                self.same(key, "an edit taken back of %r" % p)
                if self.filemode and self.symlinks:
                    os.chmod(full, st.st_mode ^ 0o111)
                    self.differs(key, "a chmod of %r" % p)
                    os.chmod(full, st.st_mode)
                    self.same(key, "a chmod taken back of %r" % p)
        fresh = b"zz-fresh"
        if self.git("check-ignore", "-q", fresh, cwd=self.top) == b"" and not os.path.lexists(self.path(fresh)):
            ignored = subprocess.run(["git", "check-ignore", "-q", fresh], cwd=self.top, env=self.env).returncode == 0
            with open(self.path(fresh), "wb"):
                pass
            if ignored:
                self.same(key, "an ignored file")
            else:
                self.differs(key, "a new file")
            os.unlink(self.path(fresh))
            self.same(key, "a new file taken back")

    def run(self):
        self.make()
        self.compare("at first")
        self.mutate()
        key = self.compare("after changes")
        self.check_invariance(key)
        self.check_edits(key)
        self.check_add(key)
        self.git("status")
        self.compare("at last")


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("tool")
    ap.add_argument("-n", type=int, default=100)
    ap.add_argument("-s", type=int, default=None)
    ap.add_argument("-k", action="store_true", help="keep a repository that fails")
    ap.add_argument("-f", type=int, default=1, help="stop after so many failures")
    a = ap.parse_args()
    seed = a.s if a.s is not None else random.randrange(1 << 30)
    tool = os.path.abspath(a.tool)
    failed = 0
    for i in range(a.n):
        root = tempfile.mkdtemp(prefix="treekey-").encode()
        repo = Repo(tool, seed + i, root)
        try:
            repo.run()
        except Failure as e:
            failed += 1
            print("FAIL seed %d: %s\n  %s" % (seed + i, e, "\n  ".join(repo.log[-60:])))
            sys.stdout.flush()
            if a.k:
                print("  kept: %s" % os.fsdecode(repo.top))
                root = None
            if failed >= a.f:
                break
        finally:
            if root:
                shutil.rmtree(root, ignore_errors=True)
    print("%d repositories from seed %d: %d failed" % (i + 1, seed, failed))
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
