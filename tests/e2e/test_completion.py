# SPDX-License-Identifier: MIT
"""Completions, asked of the shells themselves: bash and zsh at a terminal, fish by `complete -C`."""
import fcntl
import os
import pty
import re
import shutil
import subprocess
import termios
import time

from harness import Skip, binary, each, eq, has, match, patience, test, until

SHELLS = ("bash", "zsh", "fish")
TIERS = ["fast", "full", "nightly-1.x"]

# What stands behind `geonosis `, and the words that its last one can become.
CASES = (
    ("sch", ["schema"]),
    ("gate ", ["budget", "run", "status"]),
    ("gate st", ["status"]),
    ("verify ", [*TIERS, "green", "prove"]),
    ("verify prove ", TIERS),
    ("verify prove --ba", ["--baseline"]),
    ("verify prove --keep", []),
    ("verify --base", []),
    ("verify green ", ["check", "record", "tier"]),
    ("verify green tier fu", ["full"]),
    ("verify green record x --as", ["--asked"]),
    ("verify fast gre", []),
    ("verify nig", ["nightly-1.x"]),
    ("verify --ke", ["--keep-going"]),
    ("verify fast --js", ["--json"]),
    ("verify fast f", []),
    ("verify --jobs ", []),
    ("verify --jobs 3 fu", ["full"]),
    ("verify -j 3 fu", ["full"]),
    ("verify --report out", ["outside.json"]),
    ("gate status --", ["--help", "--json", "--watch"]),
    ("gate run --sl", ["--slots"]),
    ("gate run --slots 2 --ex", ["--exclusive"]),
    ("gate run -- zzpro", ["zzprogram"]),
    ("gate run -- cat outs", ["outside.json"]),
    ("gate budget --", ["--help"]),
    ("completion ", ["bash", "fish", "zsh"]),
    ("help sch", ["schema"]),
    ("nothing-like-it ", []),
)


class Terminal:
    """an interactive shell; ask() gives what it makes of a line when all matches are inserted"""
    SETUP = {
        "bash": ("bash --norc --noprofile -i",
                 "source {dir}/geonosis.bash; dump() {{ echo \"$READLINE_LINE\" >>{answers}; }}; "
                 "bind -x '\"\\C-xp\": dump'; bind '\"\\C-x*\": insert-completions'"),
        # Found in fpath as a package puts it there.
        "zsh": ("zsh -f -i",
                "fpath=({dir}/zsh $fpath); autoload -Uz compinit; compinit -u -D; "
                "zle -C all complete-word _generic; bindkey '^X*' all; "
                "zstyle ':completion:all:*' completer _all_matches _complete; "
                "zstyle ':completion:all:*' insert yes; "
                "dump() {{ print -r -- \"$BUFFER\" >>{answers}; BUFFER=; }}; zle -N dump; bindkey '^Xp' dump"),
    }

    def __init__(self, w, shell):
        command, setup = self.SETUP[shell]
        self.answers = w.beside("answers")
        self.asked = 0
        setup = setup.format(dir=w.root, answers=self.answers)
        self.master, slave = pty.openpty()

        def own():
            os.setsid()
            fcntl.ioctl(0, termios.TIOCSCTTY, 0)
        self.process = subprocess.Popen(command.split(), stdin=slave, stdout=slave, stderr=slave, cwd=w.dir,
                                        env=dict(w.env, PS1="$ ", INPUTRC="/dev/null", ZDOTDIR=w.root), preexec_fn=own)
        os.close(slave)
        os.set_blocking(self.master, False)
        self.screen = ""
        open(self.answers, "w").close()
        self.type(" %s; echo ready >>%s\n" % (setup, self.answers))
        self.answer()

    def type(self, text):
        data, end = text.encode(), time.monotonic() + 20
        while data:
            self.read()
            try:
                data = data[os.write(self.master, data):]
            except BlockingIOError:
                assert time.monotonic() < end, "the terminal takes nothing"

    def read(self):
        try:
            self.screen += os.read(self.master, 1 << 16).decode(errors="replace")
        except (BlockingIOError, OSError):
            pass

    def answer(self):
        self.asked += 1

        def there():
            self.read()
            with open(self.answers) as f:
                lines = f.read().split("\n")[:-1]
            return lines[self.asked - 1:self.asked]
        return until(there, patience(20), lambda: "the shell:\n" + self.screen[-1500:])[0]

    def ask(self, line):
        before = len(self.screen)
        self.type(line + "\x18*\x18p")
        said = self.answer()
        self.type("\x01\x0b")
        return said, self.screen[before:]

    def close(self):
        os.close(self.master)
        self.process.kill()
        self.process.wait()


def shell(w, name):
    if not shutil.which(name, path=w.env["PATH"]):
        raise Skip(name + ": not installed")
    w.config('{"verify": {"fast": ["true"], "full": ["fast"], "nightly-1.x": ["true"]}}')
    w.write("outside.json", "{}")
    os.makedirs(w.beside("bin"))
    os.symlink(binary(), w.beside("bin/geonosis"))
    w.write(w.beside("bin/zzprogram"), "#!/bin/sh\n", mode=0o755)
    w.env["PATH"] = w.beside("bin") + ":" + w.env["PATH"]
    r = w.run("completion", name)
    eq((r.code, r.err), (0, ""), "exit code, stderr")
    w.write(w.beside("geonosis." + name), r.out)
    w.write(w.beside("zsh/_geonosis"), r.out)


def complete(w, name, lines):
    """the words that the last word of each line becomes"""
    if name == "fish":
        script = "source %s/geonosis.fish\nfor l in $argv\ncomplete -C \"$l\"; echo ----\nend" % w.root
        p = subprocess.run(["fish", "-N", "-c", script, *lines], cwd=w.dir, env=w.env, stdin=subprocess.DEVNULL,
                           stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, timeout=50)
        eq(p.stderr, "", "stderr of fish")
        return [sorted(x.split("\t")[0] for x in b.split("\n") if x) for b in p.stdout.split("----\n")[:-1]]
    terminal, found = Terminal(w, name), []
    try:
        for line in lines:
            said = terminal.ask(line)[0]
            kept = line[:line.rindex(" ") + 1]
            assert said.startswith(kept), "%r became %r" % (line, said)
            found.append([] if said == line else sorted(x.rstrip("=") for x in said[len(kept):].split()))
    finally:
        terminal.close()
    return found


@each(SHELLS, "{0} completes commands, subcommands, options, tiers, paths and words", timeout=120)
def completes(w, name):
    shell(w, name)
    lines = ["geonosis " + line for line, _ in CASES]
    for line, found, (_, want) in zip(lines, complete(w, name, lines), CASES):
        eq(found, sorted(want), "what %s makes of %r" % (name, line))


@each(SHELLS, "{0}: the commands are those of help that can be run")
def commands(w, name):
    shell(w, name)
    listed = w.run("help").out.split("Commands:\n")[1].split("\n\n")[0].splitlines()
    runnable = sorted(line.split()[0] for line in listed if "(not available yet)" not in line)
    assert "verify" in runnable and len(runnable) > 3, runnable
    eq(complete(w, name, ["geonosis "])[0], runnable, "commands")


@each(SHELLS, "{0}: the options are those of --help that can be used")
def options(w, name):
    shell(w, name)
    lines = w.run("verify", "--help").out.splitlines()
    named = [(at, re.match(r" +(?:-., )?(--[a-z-]+)", line)) for at, line in enumerate(lines)]
    usable = sorted(m[1] for at, m in named if m and "(not available" not in "".join(lines[at:at + 2]))
    assert "--report" in usable, usable
    found = complete(w, name, ["geonosis verify --"])[0]
    eq([o for o in found if o.startswith("--")], usable, "options")


@each(SHELLS, "{0}: the tiers are those of the program that is named on the line")
def program_by_path(w, name):
    shell(w, name)
    w.env["PATH"] = w.env["PATH"].split(":", 1)[1]
    os.symlink(binary(), w.path("geonosis"))
    eq(complete(w, name, ["./geonosis verify prove "])[0], TIERS, "tiers")


@each(SHELLS, "{0}: a broken geonosis.json, and none, leave the line and the screen alone")
def broken(w, name):
    shell(w, name)
    for config in ("{ broken", None):
        w.config(config) if config else os.unlink(w.path("geonosis.json"))
        if name == "fish":
            eq(complete(w, name, ["geonosis verify f"]), [[]], "words")
            continue
        terminal = Terminal(w, name)
        said, screen = terminal.ask("geonosis verify f")
        terminal.close()
        eq((said.strip(), "json" in screen), ("geonosis verify f", False), "the line, an error on the screen")


@test("a path after --report= is completed where = parts words")
def bash_equals(w):
    shell(w, "bash")
    eq(complete(w, "bash", ["geonosis verify --report=out"])[0], ["--report=outside.json"], "word")


@test("no shell, another one, two: refused by name; completion --help says how")
def refusals(w):
    w.refused("completion", needles=["bash", "zsh", "fish"])
    w.refused("completion", "cmd.exe", needles=["bash, zsh or fish"])
    w.refused("completion", "bash", "zsh", needles=["bash"])
    w.refused("completion", "--shell", needles=["--shell"])
    has(w.run("completion", "--help").out, "source <(geonosis completion bash)", "stdout")


@test("completions that cannot be written are an error")
def full(w):
    for args in (["completion", "bash"], ["schema"], ["help"]):
        r = w.shell('"$0" %s >/dev/full' % " ".join(args))
        eq(r.code, 2, "exit code")
        match(r.err, r"^geonosis: standard output: .+", "stderr")


@test("tiers for completions: one a line, in the file's order, or nothing at all")
def tiers(w):
    w.config('{"verify": {"z": ["true"], "a": ["true"]}}')
    r = w.run("completion", "tiers")
    eq((r.code, r.out, r.err), (0, "z\na\n", ""), "code, stdout, stderr")
    for text in ('{"verify": {"z": ["true"], "$(touch RAN)": ["true"]}}', "{"):
        w.config(text)
        r = w.run("completion", "tiers")
        eq((r.out, r.err, r.code == 0), ("", "", False), "stdout, stderr, code")
