# SPDX-License-Identifier: MIT
"""A real terminal, of tmux, in which a test's programs run."""
import os
import shlex
import subprocess

from harness import binary, until


class Terminal:
    """one command on a terminal of its own, and what is to be seen there"""
    def __init__(self, world, script, columns=80, rows=24, env=None):
        self.world, self.socket = world, world.beside("tmux")
        self.tmux("new-session", "-d", "-s", "e2e", "-x", str(columns), "-y", str(rows), script,
                  env=dict(world.env, **(env or {})))

    def tmux(self, *args, env=None):
        p = subprocess.run(["tmux", "-f", "/dev/null", "-S", self.socket, *args],
                           env=env or self.world.env, cwd=self.world.dir, stdin=subprocess.DEVNULL,
                           stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        text = p.stdout.decode("utf-8", "surrogateescape")
        assert p.returncode == 0, "tmux %s: %s" % (args, text)
        return text

    def type(self, *keys):
        self.tmux("send-keys", "-t", "e2e", *keys)

    def resize(self, columns, rows):
        self.tmux("resize-window", "-t", "e2e", "-x", str(columns), "-y", str(rows))

    def text(self, colours=False):
        """everything, what has scrolled away too; what wrapped is joined again"""
        return self.tmux("capture-pane", "-p", "-J", "-t", "e2e", "-S", "-", *(["-e"] if colours else []))

    def screen(self):
        """the rows that are to be seen now"""
        return self.tmux("capture-pane", "-p", "-t", "e2e").split("\n")[:-1]

    def lines(self):
        """the lines of text() without blanks at their ends and without the empty ones at the end"""
        return [x.rstrip() for x in self.text().rstrip().split("\n")]


def recorded(world, *words):
    """a script that runs a program as a shell on a terminal would, and keeps how it ended, for `ended`"""
    return "trap : INT QUIT; %s; echo $? >%s; mv %s %s; exec sleep 100" % (
        " ".join(shlex.quote(x) for x in words), *[world.beside(x) for x in ("ended.t", "ended.t", "ended")])


def program(world, *args):
    return recorded(world, binary(), *args)


def ended(world, secs):
    """the exit code of what `recorded` ran"""
    path = world.beside("ended")
    until(lambda: os.path.exists(path), secs, "the end of the program on the terminal")
    with open(path) as f:
        return int(f.read())
