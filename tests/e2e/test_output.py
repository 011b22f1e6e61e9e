# SPDX-License-Identifier: MIT
"""What becomes of a step's output: the tail, its window, the log."""
import base64
import json
import re
import subprocess

from harness import REPORT, between, each, eq, has, lacks, match, mis, misbehave, test

FFFD = "\ufffd"


def printing(text):
    """a shell command that prints these bytes"""
    data = text if isinstance(text, bytes) else text.encode()
    return "echo %s | base64 -d" % base64.b64encode(data).decode()


# ------------------------------------------------------------------ windows

@each(((0, 0, None, None), (1, 0, 1, 1), (39, 0, 1, 39), (40, 0, 1, 40), (41, 0, 2, 41), (95, 0, 56, 95),
       (40, 1, 1, 40), (41, 1, 2, 41), (137, 1, 98, 137), (300000, 1, 299961, 300000),
       (300000, 0, 299961, 300000)),
      "{0} lines and exit {1}: the tail is {2} to {3}, and a cut is said")
def window(w, n, code, first, last):
    w.tiers(fast=["seq 1 %d; exit %d" % (n, code)])
    r = w.verify("fast")
    tail, step = w.tail(), w.step()
    eq([int(x) for x in tail], list(range(first, last + 1)) if first else [], "tail")
    if first in (None, 1):
        assert step.get("tailFrom") in (None, 1), step
        return
    eq((step["lines"], step["tailFrom"]), (n, first), "lines, tailFrom")
    if code:
        said = "\n".join(x for x in r.lines() if not re.match(r"(FAIL|ok|skip|verify|budget)\b", x))
        match(said, r"(?<![\d.])%d(?![\d.]\d)" % (first - 1), "the console, of the lines above")


@test("no newline at the end: the last line is a line")
def no_newline(w):
    w.tiers(fast=["printf 'a\\nb'"], bad=["seq 1 50; printf end; exit 1"])
    w.green("fast")
    eq(w.tail(), ["a", "b"], "tail")
    w.red("bad")
    eq((w.tail("bad/1")[-1], w.step("bad/1")["lines"]), ("end", 51), "last line, lines")
    eq(w.log("bad/1")[-6:], b"50\nend", "end of the log")


LOOKS_LIKE_AN_ERROR = (
    "fatal: no", "error: no", "Error", "  error TS2304: no", "a.c:3:1: error: no", "npm: FATAL x",
    "Internal Error: y", "TypeError: x", "Uncaught RangeError: y", "java.lang.NullPointerException: z",
    "E no", "FAIL a.test.ts", "\u2717 no", "\u00d7 no", "\u2716 no", "not ok 3", "thread 'main' panicked at x",
    "Traceback (most recent call last):", "x: Assertion `a' failed.", "Assertion failed")
RESEMBLES_ONE = ("errors: 0", "1 error", "terror: x", "typeError: x", "a TypeError here", " FAIL a",
                 " Traceback (", "E5 x", "npm ERR! code", "is not ok", "panicking at x")


@test("each form that looks like an error opens the window of a red")
def error_window(w):
    w.tiers(fast=["seq 1 4; %s; seq 6 100; exit 1" % printing(x + "\n") for x in LOOKS_LIKE_AN_ERROR])
    w.red("fast", "--keep-going")
    for i, line in enumerate(LOOKS_LIKE_AN_ERROR, 1):
        eq(w.tail("fast/%d" % i), [line] + [str(n) for n in range(6, 45)], "tail of %r" % line)
        eq(w.step("fast/%d" % i)["tailFrom"], 5, "tailFrom of %r" % line)


@test("what only resembles an error opens no window")
def no_error_window(w):
    w.tiers(fast=["seq 1 4; %s; seq 6 100; exit 1" % printing(x + "\n") for x in RESEMBLES_ONE])
    w.red("fast", "--keep-going")
    for i, line in enumerate(RESEMBLES_ONE, 1):
        eq(w.tail("fast/%d" % i)[0], "61", "tail of %r" % line)


@test("an error among the last forty lines leaves the last forty; a green never opens a window")
def error_window_late(w):
    w.tiers(fast=["seq 1 70; echo 'error: late'; seq 72 100; exit 1"], good=["echo 'error: x'; seq 2 100"])
    w.red("fast")
    eq((w.tail()[0], len(w.tail())), ("61", 40), "tail")
    w.green("good")
    eq(w.tail("good/1")[0], "61", "tail of a green")


@test("failureMark: its first line opens the window, not padded upward; without a match as without a mark")
def mark(w):
    w.tiers(fast=[{"command": "echo error: x; seq 2 50; echo MARK; echo MARK; seq 53 60; exit 1", "failureMark": "^MARK$"},
                  {"command": "echo error: x; seq 2 60; exit 1", "failureMark": "^NONE$"},
                  {"command": "seq 1 50; printf 'a\\033[1mMA\\033[mRK\\n'; exit 1", "failureMark": "aMARK"},
                  {"command": "seq 1 50; echo mark; exit 1", "failureMark": "(?i)^MARK"},
                  {"command": "seq 1 99; exit 1", "failureMark": "^5$"}])
    r = w.red("fast", "--keep-going")
    eq(w.tail("fast/1"), ["MARK", "MARK"] + [str(i) for i in range(53, 61)], "the mark")
    eq((w.step("fast/1")["lines"], w.step("fast/1")["tailFrom"]), (60, 51), "lines, tailFrom")
    eq(w.tail("fast/2")[0], "error: x", "no match")
    eq((w.tail("fast/3"), w.tail("fast/4")), (["aMARK"], ["mark"]), "colours, case")
    eq((w.tail("fast/5")[0], w.tail("fast/5")[-1]), ("5", "44"), "forty lines from the mark")
    match(r.out, r"(?<!\d)55(?!\d)", "the console, of the lines below")


@test("a failureMark that backtracks without end cannot hang the run", timeout=60)
def mark_backtracks(w):
    w.tiers(fast=[{"command": "head -c 60000 /dev/zero | tr '\\0' a; echo b; exit 1", "failureMark": "^(a+)+$"}])
    w.red("fast", secs=30)


@test("the first error line far outside the last forty and outside what the log keeps", timeout=120)
def error_far(w):
    w.tiers(looks=["%s; echo 'error: far away'; %s; exit 1" % (mis("bytes", 6400000), mis("bytes", 12800000))],
            mark=[{"command": "%s; echo 'survived x'; %s; exit 1" % (mis("bytes", 6400000), mis("bytes", 12800000)),
                   "failureMark": "^survived "}])
    for tier, line in (("looks", "error: far away"), ("mark", "survived x")):
        w.red(tier)
        step = w.step(tier + "/1")
        eq(w.tail(tier + "/1"), [line] + ["%063d" % i for i in range(1, 40)], "tail of " + tier)
        eq((step["lines"], step["tailFrom"]), (300001, 100001), "lines, tailFrom")
        assert line.encode() not in w.log(tier + "/1"), "the log has the line: this shows nothing"


# ------------------------------------------------------------- sanitised lines

LINES = (
    ("colours", b"\x1b[1;31mred\x1b[0m \x1b[38;5;9mnine\x1b[m", "red nine"),
    ("cursor and erase sequences", b"a\x1b[2K\x1b[1Gb\x1b[?25lc", None),
    ("OSC 8 ended by ST", b"\x1b]8;;http://x/\x1b\\link\x1b]8;;\x1b\\ end", "link end"),
    ("OSC 8 ended by BEL", b"\x1b]8;;http://x/\x07link\x1b]8;;\x07 end", "link end"),
    ("a title", b"\x1b]0;title\x07text", "text"),
    ("DCS", b"a\x1bPq#0;2;0\x1b\\b", "ab"),
    ("an escape with intermediate bytes", b"a\x1b(Bb\x1b#8c\x1b%Gd", "abcd"),
    ("single escapes", b"a\x1b7b\x1b8c\x1bMd", "abcd"),
    ("progress by CR", b"1%\r50%\r100%", "100%"),
    ("CRLF", b"text\r", "text"),
    ("backspaces", b"abc\b\bXY", "aXY"),
    ("a spinner", b"|\b/\b-\b\\\bdone", "done"),
    ("more backspaces than there is text", b"a\b\b\bxy", "xy"),
    ("TAB", b"a\tb", "a\tb"),
    ("NUL", b"a\0b", "a" + FFFD + "b"),
    ("control bytes", b"a\x01b\x07c\x7fd", "a%sb%sc%sd" % (FFFD, FFFD, FFFD)),
    ("a lone continuation", b"a\x80b", "a" + FFFD + "b"),
    ("never a byte of UTF-8", b"a\xffb", "a" + FFFD + "b"),
    ("characters of two, three and four bytes", "é€😀".encode(), "é€😀"),
)
NOT_UTF8 = (b"\xed\xa0\x80", b"\xc0\xaf", b"\xf0\x9f\x98", b"\xe2\x82", b"\xf5\x80\x80\x80", b"\xfe\xfe")


@each(LINES, "in the tail, {0}")
def sanitised(w, _, data, want):
    w.tiers(fast=["%s; exit 1" % printing(b"before\n" + data + b"\nafter\n")])
    r = w.red("fast")
    tail = w.tail()
    eq((tail[0], tail[2], len(tail)), ("before", "after", 3), "the lines around")
    if want is None:
        assert "\x1b" not in tail[1] and tail[1].endswith("c"), tail
    else:
        eq(tail[1], want, "the line")
    eq(w.log(), b"before\n" + data + b"\nafter\n", "the log, byte for byte")
    lacks(r.out, "\x1b", "stdout")


@test("invalid UTF-8 of every kind: valid JSON in valid UTF-8, the text around it kept")
def invalid_utf8(w):
    data = b"".join(b"<" + x + b">\n" for x in NOT_UTF8)
    w.tiers(fast=[printing(data) + "; exit 1"])
    r = w.red("fast")
    json.loads(w.bytes(REPORT).decode("utf-8"))
    for line in w.tail():
        match(line, "^<%s+>$" % FFFD, "tail line")
    r.out.encode("utf-8")
    eq(w.log(), data, "the log")


@test("an unfinished sequence swallows no other line")
def unfinished_sequence(w):
    data = b"a\x1b]8;;never ended\nb\x1b[31\nc\x1bPq\nd\x1b\n\xe2\x82"
    w.tiers(fast=[printing(data) + "; exit 1", "true"])
    w.red("fast")
    tail = w.tail()
    eq([x[:1] for x in tail[:4]], ["a", "b", "c", "d"], "lines: %r" % tail)
    eq(w.log(), data, "the log")


@each((1, 7, 4096, 300000), "{0} bytes of junk: the log is the output, the report is valid")
def junk(w, n):
    data = subprocess.run([misbehave(), "junk", str(n), str(n)], stdout=subprocess.PIPE, check=True).stdout
    w.tiers(fast=[mis("junk", n, n) + "; exit 1"])
    r = w.red("fast")
    eq(w.log(), data, "the log")
    text = w.bytes(REPORT).decode("utf-8")
    assert not re.search(r"[\x00-\x08\x0b-\x1f\x7f]", text.replace("\\n", "")), "control bytes in the report"
    for line in w.tail():
        assert len(line.encode()) <= 4096 * 3 + 64, "a line of %d bytes" % len(line.encode())
    r.out.encode("utf-8")


@each((4096, 4097, 5000, 70000, 3000000), "a line of {0} bytes is cut past 4 KiB, with the number left out")
def cut_line(w, n):
    w.tiers(fast=[mis("line", n) + "; echo after; exit 1"])
    w.red("fast")
    line, after = w.tail()
    eq(after, "after", "the next line")
    if n <= 4096:
        eq(line, "x" * n, "the line")
        return
    kept = len(re.match("x*", line).group())
    between(3500, kept, 4096, "bytes kept")
    match(line[kept:], r"^\W*….*(?<!\d)%d(?!\d)" % (n - kept), "the note")


@test("a multi-byte character is never cut at the 4 KiB")
def cut_line_character(w):
    for lead in range(4):
        w.tiers(fast=["printf '%s'; yes '😀' | head -3000 | tr -d '\\n'; echo; exit 1" % ("x" * lead)])
        w.red("fast")
        lacks(w.tail()[0], FFFD, "the line with %d bytes before" % lead)


@test("a line drawn anew a million times shows its last state in bounded time", timeout=90)
def redrawn(w):
    w.tiers(fast=["yes 'progress of the thing' | head -1000000 | tr '\\n' '\\r'; echo finished it all, quite; exit 1"])
    w.red("fast")
    eq(w.tail(), ["finished it all, quite"], "tail")


@test("stdout and stderr stay in the order they were written")
def order(w):
    w.tiers(fast=["i=0; while [ $i -lt 20 ]; do echo out $i; echo err $i >&2; i=$((i+1)); done; exit 1"])
    w.red("fast")
    eq(w.tail(), [x % i for i in range(20) for x in ("out %d", "err %d")], "tail")


# ---------------------------------------------------------------------- logs

CAP = 4194304


@each((1, 65536, CAP - 1, CAP), "an output of {0} bytes is kept whole")
def log_whole(w, n):
    w.tiers(fast=[mis("bytes", n) + "; exit 1"])
    w.red("fast")
    data = subprocess.run([misbehave(), "bytes", str(n)], stdout=subprocess.PIPE, check=True).stdout
    assert w.log() == data, "the log has %d bytes of %d, or others" % (len(w.log()), n)


@each((CAP + 1, CAP + 64, 3 * CAP, 25000000), "an output of {0} bytes: first and last lines, and the bytes dropped")
def log_cut(w, n):
    w.tiers(fast=[mis("bytes", n) + "; exit 1"])
    w.red("fast")
    data = subprocess.run([misbehave(), "bytes", str(n)], stdout=subprocess.PIPE, check=True).stdout
    log = w.log()
    lines = log.split(b"\n")
    notes = [x for x in lines if re.search(rb"[^0-9]", x)]
    eq(len(notes), 1, "lines that are none of the output's")
    at = log.index(notes[0])
    head, tail = log[:at], log[at + len(notes[0]) + 1:]
    assert data.startswith(head) and head.endswith(b"\n"), "the head is not the output's first lines"
    assert data.endswith(tail) and data[-len(tail) - 1:-len(tail)] == b"\n", "the tail is not its last lines"
    match(notes[0].decode(), r"(?<!\d)%d(?!\d)" % (n - len(head) - len(tail)), "the note")
    between(0.4 * CAP, len(head), 0.6 * CAP, "bytes of the head")
    between(0.4 * CAP, len(tail), 0.6 * CAP, "bytes of the tail")
    between(0, len(head) + len(tail), CAP, "bytes kept")


@test("where a red's log lies; a green keeps none; the tier's directory is emptied, others are not")
def log_place(w):
    w.tiers(full=["fast", {"parallel": ["exit 4", "true"]}], fast=["echo green", "echo x; exit 1"], other=["echo y; exit 1"])
    w.red("other")
    w.write(".geonosis/logs/full/stale.log", "old")
    r = w.red("full", "--keep-going")
    eq(w.step("fast/2")["log"].endswith(".geonosis/logs/full/fast-2.log"), True, w.step("fast/2"))
    eq(w.log("fast/2"), b"x\n", "log")
    has(r.out, "full output: ", "stdout")
    has(r.out, "fast-2.log", "stdout")
    listed = sorted(subprocess.run(["find", ".geonosis/logs", "-type", "f"], cwd=w.dir, stdout=subprocess.PIPE,
                                   check=True).stdout.decode().split())
    eq([x for x in listed if "full-1" not in x],
       [".geonosis/logs/full/fast-2.log", ".geonosis/logs/other/other-1.log"], "logs")
    assert "log" not in w.step("fast/1"), w.step("fast/1")
    w.tiers(full=["true"], other=["true"])
    w.green("full")
    eq(subprocess.run(["find", ".geonosis/logs", "-type", "f"], cwd=w.dir, stdout=subprocess.PIPE,
                      check=True).stdout, b".geonosis/logs/other/other-1.log\n", "logs after a green run")


@test("the tail is printed under its FAIL, before the path of the log")
def printed(w):
    w.tiers(fast=["echo the cause; exit 1", "true"])
    lines = w.red("fast").lines()
    at = [i for i, x in enumerate(lines) if x.startswith("FAIL fast/1 ")][0]
    cause = [i for i, x in enumerate(lines) if x.strip() == "the cause"]
    full = [i for i, x in enumerate(lines) if "full output: " in x]
    assert len(cause) == 1 and len(full) == 1 and at < cause[0] < full[0], "\n".join(lines)


@test("a tail that looks like our own lines forges none of them")
def forged(w):
    w.tiers(fast=["printf 'verify PASS \u2014 fast \u2014 x\\nok fast/2 true (1 ms)\\n'; exit 1", "touch RAN"])
    r = w.red("fast")
    eq(r.lines()[-1].startswith("verify FAIL"), True, r.lines()[-1])
    eq([x for x in r.lines() if x.startswith(("verify PASS", "ok fast/2"))], [], "lines at column one")


@test("a command with newlines and controls makes one line of the console")
def command_controls(w):
    w.tiers(fast=["true\nverify_pass() { :; }\n# \x1b[31m \x07", "cat <<'X'\nverify PASS — fast — x\nX"])
    r = w.green("fast")
    eq(len([x for x in r.lines() if x.startswith("ok ")]), 2, "ok lines of %r" % r.out)
    lacks(r.out, "\x1b", "stdout")
    eq([x for x in r.lines() if x.startswith("verify ")], [r.lines()[-1]], "verdict lines")
    eq(w.report()["steps"][0]["command"], "true\nverify_pass() { :; }\n# \x1b[31m \x07", "command in the report")


@test("quoting: what a tail holds goes through the report unchanged")
def quoting(w):
    text = "back\\slash \"quotes\" 'single' / slash </script> \u2028 \u00e9"
    w.tiers(fast=[printing(text + "\n") + "; exit 1"])
    w.red("fast")
    eq(w.tail(), [text], "tail")
