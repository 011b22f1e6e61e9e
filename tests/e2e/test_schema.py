# SPDX-License-Identifier: MIT
"""The JSON Schema that the program prints, held by a validator of others against the configurations
of tests/data: what is read must pass, what is refused must not, as far as a schema can tell."""
import json
import os
import re
import shutil
import subprocess
import tempfile

from harness import HERE, Skip, each, eq, has, test

AJV = "8.17.1"
DATA = os.path.join(HERE, "..", "data")

# What is refused for a reason that no schema can give: the words of the refusal.
BEYOND = (
    ("a key that stands twice", r"the key stands here twice"),
    ("nesting", r"nested past 64 levels"),
    ("a cycle", r"a tier that reaches itself"),
    ("a key on the name of a tier", r"is a tier, not one command"),
    ("a budget for an unknown tier", r"a budget for a tier that is not declared"),
    ("a regex that does not compile", r"the regex does not compile"),
    ("a glob that is none", r"no glob: |is a directory: write"),
    ("half a character", r"half of a surrogate pair"),
    ("U+0000, which no command holds", r"\\u0000 in "),
    ("a path that climbs out", r'\.\..*" is outside the repository'),
)

VALIDATE = """
const [schema, ...docs] = JSON.parse(require("fs").readFileSync(0, "utf8"));
const Ajv = require("ajv/dist/2020");
const ajv = new Ajv({strict: true, strictRequired: false, strictTypes: false, allErrors: false});
ajv.addKeyword("allowTrailingCommas");
const valid = ajv.compile(schema);
console.log(JSON.stringify(docs.map(d => valid(d) ? null : ajv.errorsText(valid.errors))));
"""


def expand(text):
    """the notation @{hex*n} of tests/data, as bytes"""
    out, at = b"", 0
    for m in re.finditer(r"@\{([0-9a-f]*)(?:\*(\d+))?\}", text):
        out += text[at:m.start()].encode() + bytes.fromhex(m[1]) * int(m[2] or 1)
        at = m.end()
    return out + text[at:].encode()


def cases(name):
    """(line, the file's bytes, what is expected) of each case"""
    with open(os.path.join(DATA, name), encoding="utf-8", newline="\n") as f:
        lines = f.read().split("\n") + [""]
    block, begin = [], 0
    for number, line in enumerate(lines, 1):
        if line and (block or not line.startswith("#")):
            begin = begin if block else number
            block.append(line)
        elif block:
            text = [x for x in block if not x.startswith("=>")]
            yield begin, b"\n".join(map(expand, text)), "\n".join(block[len(text):])
            block = []


TOKEN = re.compile(r'("(?:[^"\\]|\\.)*")|//[^\n]*|/\*.*?\*/', re.S)


def document(data):
    """the value as an editor that knows comments and trailing commas sees it; ValueError where it is none"""
    text = data.decode("utf-8-sig")
    text = TOKEN.sub(lambda m: m[1] or " ", text)
    text = re.sub(r'("(?:[^"\\]|\\.)*")|,(?=\s*[}\]])', lambda m: m[1] or "", text)

    def none(word):
        raise ValueError(word)
    try:
        # 1e999 is a number of JSON that no double holds.
        return json.loads(text, parse_constant=none, parse_float=lambda s: min(float(s), 1e308))
    except RecursionError:
        raise ValueError("too deep") from None


def validator(w):
    """a directory outside of the repository that holds the validator, installed once"""
    for program in ("node", "npm"):
        if not shutil.which(program, path=w.env["PATH"]):
            raise Skip(program + ": not installed")
    home = os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache")
    place = os.path.join(home, "geonosis-tests", "ajv-" + AJV)
    if not os.path.isdir(place):
        os.makedirs(os.path.dirname(place), exist_ok=True)
        fresh = tempfile.mkdtemp(dir=os.path.dirname(place))
        # In the environment of whoever runs the tests: there npm knows its registry.
        p = subprocess.run(["npm", "install", "--prefix", fresh, "--no-audit", "--no-fund", "--ignore-scripts",
                            "--fetch-retries=0", "ajv@" + AJV], cwd=fresh, stdin=subprocess.DEVNULL,
                           stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=100)
        if p.returncode:
            shutil.rmtree(fresh)
            said = re.search(r"npm (?:ERR!|error) code (\S+)", p.stdout.decode(errors="replace"))
            raise Skip("npm cannot install ajv: " + (said[1] if said else "exit %d" % p.returncode))
        try:
            os.rename(fresh, place)
        except OSError:
            shutil.rmtree(fresh)
    return place


def judge(w, documents):
    """of each document None, or why the schema refuses it"""
    schema = json.loads(w.run("schema").out)
    p = subprocess.run(["node", "-e", VALIDATE], cwd=validator(w), env=w.env, text=True,
                       input=json.dumps([schema, *documents]), stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=50)
    eq((p.returncode, p.stderr), (0, ""), "the validator's exit code and stderr")
    verdicts = json.loads(p.stdout)
    eq(len(verdicts), len(documents), "verdicts")
    return verdicts


def bad():
    """the refused configurations that are documents at all"""
    for line, data, why in cases("bad-configs.txt"):
        try:
            yield line, document(data), why
        except ValueError:
            pass


@test("every configuration that is read passes", timeout=120)
def good(w):
    rows = [(line, document(data)) for line, data, _ in cases("good-configs.txt")]
    assert len(rows) >= 20, "only %d cases" % len(rows)
    for (line, value), verdict in zip(rows, judge(w, [value for _, value in rows])):
        eq(verdict, None, "the schema on good-configs.txt:%d" % line)


@test("every refused document is refused by the schema too, but for what none can tell", timeout=120)
def refused(w):
    rows = [row for row in bad() if not any(re.search(words, row[2]) for _, words in BEYOND)]
    assert len(rows) >= 150, "only %d cases" % len(rows)
    passed = ["bad-configs.txt:%d: %s" % (line, why) for (line, _, why), verdict in
              zip(rows, judge(w, [value for _, value, _ in rows])) if verdict is None]
    assert not passed, "what the schema lets pass:\n" + "\n".join(passed)


@each(BEYOND, "no schema can tell: {0}", timeout=120)
def beyond(w, name, words):
    rows = [row for row in bad() if re.search(words, row[2])]
    assert rows, "bad-configs.txt has no such case"
    verdicts = judge(w, [value for _, value, _ in rows])
    assert None in verdicts, "the schema refuses them all: strike the row\n%s" % verdicts


@test("the project's own geonosis.json passes", timeout=120)
def own(w):
    with open(os.path.join(HERE, "..", "..", "geonosis.json"), "rb") as f:
        eq(judge(w, [document(f.read())]), [None], "the schema's verdict")


@test("schema takes no word and no option of others; --help says what it is")
def refusals(w):
    w.refused("schema", "fast", needles=["fast"])
    w.refused("schema", "--jsn", needles=["--jsn"])
    r = w.run("schema", "--help")
    eq((r.code, r.err), (0, ""), "exit code, stderr")
    has(r.out, "JSON Schema", "stdout")
