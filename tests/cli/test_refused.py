"""Command lines that are refused, by subject: the line is the title of a case, and the answer is on standard error.

`python -m tests.golden cli/refused` records the answers anew.
"""

from __future__ import annotations

import io
import shlex
import tempfile
from contextlib import chdir, redirect_stderr, redirect_stdout
from functools import cache
from pathlib import Path

import tm2tfr
from tests.cli.test_machines import LIST
from tests.golden import Case, Golden
from tm2tfr.cli import app
from tm2tfr.cli.commands import guarded


@cache
def folder() -> Path:
    """A folder with sources, lists of machines, an empty file, and weights: a machine's, soft, of a universal decoder."""
    made = Path(tempfile.mkdtemp())
    (made / "l.csv").write_text(LIST, encoding="utf-8")
    (made / "bad.csv").write_text(f"{LIST}1RB1LA_1LA\nnothing\n", encoding="utf-8")
    (made / "two.txt").write_text("".join(f"1RB1LB_1LA{n}RZ\n" for n in "01"), encoding="utf-8")
    (made / "doubtful").write_text("0 * * r 1\n1 _ _ l halt\nand a remark\nanother one\n and a third\n", encoding="utf-8")
    (made / "two.tl").write_text("# alphabet: ab\nseen = once Q[a]\nlater = seen & Q[b]\n", encoding="utf-8")
    (made / "words.txt").touch()
    tm2tfr.save_weights(tm2tfr.soften("chapter", temperature=0.01), made / "s.safetensors")
    (made / "m.yaml").write_text(tm2tfr.load("chapter").yaml, encoding="utf-8")
    tm2tfr.save_weights("chapter", made / "c.safetensors")
    tm2tfr.save_weights(tm2tfr.Universal(states=8, symbols=4), made / "u.safetensors")
    return made


def refused(case: Case) -> str:
    """What is said on standard error; nothing goes to standard output or into the folder, and the exit code is 2."""
    out, err, before = io.StringIO(), io.StringIO(), sorted(folder().iterdir())
    with chdir(folder()), redirect_stdout(out), redirect_stderr(err):
        code = guarded(app, shlex.split(case.title))
    assert (code, out.getvalue(), "Traceback" in err.getvalue()) == (2, "", False), case.title
    assert sorted(folder().iterdir()) == before
    return err.getvalue()


REFUSED = Golden(Path(__file__).parent / "refused", refused)
test_what_makes_no_sense_is_refused = REFUSED.test()
