"""Command lines that are refused, by subject: the line is the title of a case, and the answer is on standard error.

`python -m tests.golden cli/refused` records the answers anew.
"""

from __future__ import annotations

import io
import tempfile
from contextlib import chdir, redirect_stderr, redirect_stdout
from functools import cache
from pathlib import Path

import tm2tfr
from tests.golden import Case, Golden
from tm2tfr.cli import app
from tm2tfr.cli.commands import guarded


@cache
def folder() -> Path:
    """A folder with a machine, its weights, and those of a universal decoder."""
    made = Path(tempfile.mkdtemp())
    (made / "m.yaml").write_text(tm2tfr.load("chapter").yaml, encoding="utf-8")
    tm2tfr.save_weights("chapter", made / "c.safetensors")
    tm2tfr.save_weights(tm2tfr.Universal(states=8, symbols=4), made / "u.safetensors")
    return made


def refused(case: Case) -> str:
    """What is said on standard error; nothing goes to standard output, and the exit code is 2."""
    out, err = io.StringIO(), io.StringIO()
    with chdir(folder()), redirect_stdout(out), redirect_stderr(err):
        code = guarded(app, case.title.split())
    assert (code, out.getvalue(), "Traceback" in err.getvalue()) == (2, "", False)
    return err.getvalue()


REFUSED = Golden(Path(__file__).parent / "refused", refused)
test_what_makes_no_sense_is_refused = REFUSED.test()
