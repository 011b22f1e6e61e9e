# SPDX-License-Identifier: MIT
"""The proof of --affected, of the record and of the mark, as much of it as a gate may cost.

affected_proof.py by hand plays as many rounds, seeds and workspaces as one likes.
"""
from affected_proof import Proof
from harness import each

ROWS = [("npm", 14, 70, 1), ("pnpm", 22, 60, 2), ("yarn", 30, 50, 3), ("npm", 60, 25, 4)]


@each(ROWS, "{0}: no green that a full run contradicts ({1} workspaces, {2} rounds of edits, seed {3})", timeout=400)
def proof(w, flavour, workspaces, rounds, seed):
    p = Proof(w, seed, workspaces, flavour)
    p.play(rounds)
    # A proof that met no red and left nothing out has shown nothing.
    for what in ("green --affected", "red", "replayed", "marks moved", "copies"):
        assert any(k.startswith(what) for k in p.counts), "%s never happened: %s" % (what, p.summary())
    total, least, ran = (sum(row[i] for row in p.table.rows.values()) for i in (1, 2, 3))
    assert least < total and ran < total, "nothing was left out: %s" % p.summary()
