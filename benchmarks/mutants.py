"""Mutation testing: one small change of the code at a time, and whether the tests notice.

``python benchmarks/mutants.py TARGET [NUMBER] [--seed N] [--only TEXT] [--again]``: TARGET is one of `TARGETS`. Mutants
are drawn from all that there are, always the same for a seed, and put into a copy of the package; tests run in a fork of
this process, which has imported what takes long. Results are kept in ``build/mutants-TARGET.json``, by what each mutant
changes: a run that was stopped goes on there. At first slow tests are left out; --again runs what survived with all of
them. Survivors are printed; exit code 1 if there are some that ``mutants.md`` does not explain.
"""

from __future__ import annotations

import argparse
import ast
import copy
import difflib
import importlib
import json
import os
import random
import shutil
import signal
import sys
import tempfile
import time
import traceback
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest

ROOT = Path(__file__).parent.parent
EXPLAINED = ROOT / "benchmarks" / "mutants.md"


class Target(NamedTuple):
    """Modules, the tests that know them (the quickest first), those left out at first, and whether Numba compiles."""

    modules: tuple[str, ...]
    tests: tuple[str, ...]
    slow: str
    compiled: bool = True


def _in(folder: str, names: str) -> tuple[str, ...]:
    return tuple(f"{folder}{name}.py" for name in names.split())


LONG_RUN, AGAIN = "tests/runs/test_long_run.py", "test_a_run_that_is_begun_again_finds_no_key_of_the_run_before"
TARGETS = {
    "certificate": Target(
        _in("tm2tfr/sources/turing/proof/", "attention cases certificate domain feed_forward prove rounding"),
        _in("tests/sources/turing/proof/test_", "pinned refusals guards certificate cases rounding"),
        "large or brute or below or within or every_machine or wrong_is_certified or transformed or attack",
    ),
    "check": Target(
        _in("tm2tfr/runs/", "comparison blocks long_run"),
        (*_in("tests/runs/test_", "check columns sabotage"), LONG_RUN),
        "random or sabotage or blocks_of or residual or new_run",
    ),
    "fast": Target(
        _in("tm2tfr/engines/fast/", "kernel attention arrays tail straight session plan heads"),
        (*_in("tests/engines/test_", "recognise kernel fast straight dependence"), f"{LONG_RUN}::{AGAIN}"),
        "spread or large or random_decoders or random_machines or shipped or hard or claimed or was_saved or sabotaged",
        compiled=False,  # the kernel as plain Python: nothing to compile for each mutant
    ),
}
NEVER = "hurried_saved or not_imported"
"""Tests that need compiled code, or another process."""
SWAPS: dict[type[ast.AST], type[ast.AST]] = {
    **{ast.Lt: ast.LtE, ast.LtE: ast.Lt, ast.Gt: ast.GtE, ast.GtE: ast.Gt, ast.Eq: ast.NotEq, ast.NotEq: ast.Eq},
    **{ast.In: ast.NotIn, ast.NotIn: ast.In, ast.Is: ast.IsNot, ast.IsNot: ast.Is, ast.And: ast.Or, ast.Or: ast.And},
    **{ast.Add: ast.Sub, ast.Sub: ast.Add, ast.Mult: ast.Div, ast.Div: ast.Mult, ast.FloorDiv: ast.Mult},
    **{ast.Pow: ast.Mult, ast.Mod: ast.FloorDiv, ast.BitAnd: ast.BitOr, ast.BitOr: ast.BitAnd},
}
NAMES = {"min": "max", "max": "min", "any": "all", "all": "any", "floor": "ceil", "ceil": "floor", "sorted": "list"}
UNREAD = {"annotation", "returns", "decorator_list", "exc", "msg"}
"""Fields that decide nothing, and the texts of errors."""


def variants(node: ast.AST) -> Iterator[ast.AST]:  # noqa: PLR0912  (one case for each kind)
    """Yield what could stand in the place of `node`."""
    match node:
        case ast.Compare(ops=ops):
            for n, op in enumerate(ops):
                if type(op) in SWAPS:
                    yield _with(node, ops=[*ops[:n], SWAPS[type(op)](), *ops[n + 1 :]])
        case ast.BinOp(op=op) | ast.AugAssign(op=op) if type(op) in SWAPS:
            yield _with(node, op=SWAPS[type(op)]())
        case ast.BoolOp(op=op, values=values):
            yield _with(node, op=SWAPS[type(op)]())
            yield from (_with(node, values=values[:n] + values[n + 1 :]) for n in range(len(values)))
        case ast.UnaryOp(op=ast.Not() | ast.USub(), operand=operand):
            yield operand
        case ast.Constant(value=bool(value)):
            yield ast.Constant(not value)
        case ast.Constant(value=int(value) | float(value)):
            yield from (ast.Constant(value + 1), ast.Constant(value - 1))
        case ast.IfExp(test=test, body=body, orelse=orelse):
            yield ast.IfExp(test, orelse, body)
        case ast.Name(id=name, ctx=ast.Load()) if name in NAMES:
            yield ast.Name(NAMES[name], ast.Load())
        case ast.Set(elts=elts) | ast.List(elts=elts, ctx=ast.Load()):
            yield from (_with(node, elts=elts[:n] + elts[n + 1 :]) for n in range(len(elts)) if len(elts) > 1)
        case ast.If(test=test):
            yield _with(node, test=ast.UnaryOp(ast.Not(), test))
        case ast.Return(value=ast.AST()):
            yield ast.Return(None)
        case ast.comprehension(ifs=[_, *_]):
            yield _with(node, ifs=[])
    if _droppable(node):
        yield ast.Pass()


def _with(node: ast.AST, **changed: Any) -> ast.AST:
    new = copy.copy(node)
    for name, value in changed.items():
        setattr(new, name, value)
    return new


def _droppable(node: ast.AST) -> bool:
    """Return whether a statement can be left out without a name missing afterwards."""
    if isinstance(node, ast.Assign):
        return all(isinstance(target, ast.Attribute | ast.Subscript) for target in node.targets)
    text = isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
    return isinstance(node, ast.Expr | ast.Raise | ast.AugAssign | ast.Continue | ast.Break) and not text


def changes(tree: ast.AST, where: str = "") -> Iterator[tuple[str, Callable[[], None]]]:
    """Yield (function, what makes the change in `tree`) for every mutant."""
    for name, value in ast.iter_fields(tree):
        for n, child in enumerate(value if isinstance(value, list) else [value]):
            if not isinstance(child, ast.AST) or name in UNREAD or isinstance(child, ast.FormattedValue):
                continue
            for variant in variants(child):
                yield where, lambda v=variant, f=name, at=n, old=value: _put(tree, f, at, old, v)
            here = child.name if isinstance(child, ast.FunctionDef | ast.ClassDef) else ""
            yield from changes(child, f"{where}.{here}".strip(".") if here else where)


def _put(tree: ast.AST, name: str, at: int, old: Any, new: ast.AST) -> None:
    if isinstance(old, list):
        old[at] = new
    else:
        setattr(tree, name, new)


class Mutant(NamedTuple):
    """A module, its changed text, and what is changed, for people and as a key."""

    module: str
    text: str
    key: str


def drawn(modules: tuple[str, ...], number: int, seed: int, only: str) -> list[Mutant]:
    """Return mutants, all different, in an order that depends on nothing but the code and the seed."""
    places = [(m, n) for m in modules for n, _ in enumerate(changes(ast.parse((ROOT / m).read_text("utf-8"))))]
    random.Random(seed).shuffle(places)
    found: dict[str, Mutant] = {}
    for module, n in places:
        tree = ast.parse((ROOT / module).read_text("utf-8"))
        before = ast.unparse(tree).splitlines()
        where, change = list(changes(tree))[n]
        change()
        text = ast.unparse(ast.fix_missing_locations(tree))
        key = f"{module.removeprefix('tm2tfr/')}, {where}: {shown(before, text.splitlines())}"
        if text.splitlines() != before and only in key:
            found.setdefault(key, Mutant(module, text, key))
        if len(found) == number:
            break
    return list(found.values())


def shown(before: list[str], after: list[str]) -> str:
    """Return in a line what is changed, with something of what stands around it."""
    lines = list(difflib.unified_diff(before, after, n=0, lineterm=""))[2:]
    old, new = (" ".join(line[1:].strip() for line in lines if line[0] == sign) for sign in "-+")
    start, stop = max(0, _alike(old, new) - 50), max(0, _alike(old[::-1], new[::-1]) - 30)
    cut = [text[start : max(start, len(text) - stop)] for text in (old, new)]
    return " → ".join(f"`{'…' * (start > 0)}{text}{'…' * (stop > 0)}`" for text in cut)


def _alike(one: str, other: str) -> int:
    """Return the number of characters at the beginning that are the same."""
    return next((n for n, (a, b) in enumerate(zip(one, other, strict=False)) if a != b), min(len(one), len(other)))


class Copy:
    """A copy of the package and its tests, in which one module at a time is another."""

    def __init__(self, base: Path) -> None:
        self.base = base
        for path in ROOT.iterdir():
            if path.name in ("tm2tfr", "tests"):
                shutil.copytree(path, base / path.name, ignore=shutil.ignore_patterns("__pycache__"))
            elif not path.name.startswith(".git"):
                (base / path.name).symlink_to(path)
        self._written = 1_000_000_000

    def put(self, module: str, text: str) -> None:
        """Write a module; its time is new each time, so that no compiled code of the last one is used."""
        (self.base / module).write_text(text, "utf-8")
        self._written += 10
        os.utime(self.base / module, (self._written, self._written))

    def outcome(self, target: Target, limit: float, each: int, *, whole: bool) -> str:
        """Run the tests, `each` for so many seconds, and return ``survived``, ``killed``, or ``timeout``: as good."""
        child = os.fork()
        if not child:
            self._tests(target, each, NEVER if whole or not target.slow else f"{NEVER} or {target.slow}")
        started = time.monotonic()
        while time.monotonic() - started < limit:
            done, status = os.waitpid(child, os.WNOHANG)
            if done:
                return "survived" if os.waitstatus_to_exitcode(status) == 0 else "killed"
            time.sleep(0.05)
        os.killpg(child, signal.SIGKILL)
        os.waitpid(child, 0)
        return "timeout"

    def _tests(self, target: Target, each: int, without: str) -> None:
        os.setsid()
        log = os.open(self.base / "log.txt", os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
        os.dup2(log, 1)
        os.dup2(log, 2)
        os.chdir(self.base)
        sys.path.insert(0, str(self.base))
        code = 70
        try:
            tests = [name for name in target.tests if (self.base / name.split("::")[0]).exists()]
            code = int(
                pytest.main(
                    [
                        "-xq",
                        "--assert=plain",
                        "-pno:cacheprovider",
                        "-Wignore::RuntimeWarning",
                        f"--timeout={each}",
                        "-k",
                        f"not ({without})",
                        *tests,
                    ]
                )
            )
            if str(self.base) not in str(sys.modules["tm2tfr"].__file__):
                print(f"the tests ran on {sys.modules['tm2tfr'].__file__}")
                code = 70
        except BaseException:  # noqa: BLE001  (a mutant can end in anything)
            traceback.print_exc(file=sys.stdout)
        finally:
            sys.stdout.flush()
            os._exit(code)


def run(name: str, target: Target, mutants: list[Mutant], results: Path, again: bool) -> dict[str, str]:
    """Run what is not in `results` yet and return key -> outcome of all mutants."""
    known: dict[str, str] = json.loads(results.read_text("utf-8")) if results.exists() else {}
    with tempfile.TemporaryDirectory(prefix="mutants-") as folder:
        scratch, started = Copy(Path(folder)), time.monotonic()
        if scratch.outcome(target, 3600, each=3600, whole=again) != "survived":
            raise SystemExit(f"{name}: the tests fail without a mutant: {(Path(folder) / 'log.txt').read_text()[-3000:]}")
        limit = 30 + 4 * (time.monotonic() - started)
        for n, mutant in enumerate(mutants, start=1):
            if known.get(mutant.key, "survived" if again else "") not in (("", "survived") if again else ("",)):
                continue
            before = (scratch.base / mutant.module).read_text("utf-8")
            scratch.put(mutant.module, mutant.text)
            known[mutant.key] = scratch.outcome(target, limit, each=60, whole=again)
            scratch.put(mutant.module, before)
            results.write_text(json.dumps(known, ensure_ascii=False, indent=1), "utf-8")
            print(f"{n}/{len(mutants)} {known[mutant.key]:8} {mutant.key}", flush=True)
    return {mutant.key: known[mutant.key] for mutant in mutants}


def main() -> int:
    """Run the mutants that are asked for and print what survived."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("target", choices=TARGETS)
    parser.add_argument("number", type=int, nargs="?", default=100)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--only", default="", help="mutants whose description holds this text")
    parser.add_argument("--again", action="store_true", help="run those that survived again")
    asked = parser.parse_args()
    target, results = TARGETS[asked.target], ROOT / "build" / f"mutants-{asked.target}.json"
    results.parent.mkdir(exist_ok=True)
    os.environ.update({"CI": "1", "TM2TFR_DEPTH": "1", "OMP_NUM_THREADS": "1"})
    os.environ["NUMBA_DISABLE_JIT"] = str(int(not target.compiled))
    os.environ.setdefault("NUMBA_CACHE_DIR", str(results.parent / "numba"))
    for module in ("numpy", "hypothesis", "numba"):  # before the fork, once and not for each mutant
        importlib.import_module(module)
    found = run(asked.target, target, drawn(target.modules, asked.number, asked.seed, asked.only), results, asked.again)
    explained = EXPLAINED.read_text("utf-8") if EXPLAINED.exists() else ""
    left = [key for key, outcome in found.items() if outcome == "survived"]
    open_ = [key for key in left if key not in explained]
    per = Counter((key.split(",")[0], "survived" if outcome == "survived" else "killed") for key, outcome in found.items())
    for module in sorted({module for module, _ in per}):
        print(f"{module:40} {per[module, 'killed']:4} killed {per[module, 'survived']:4} survived")
    print(
        f"{len(found)} mutants, {len(found) - len(left)} killed, {len(left)} survived, {len(open_)} of them not explained"
    )
    print(*(f"  {key}" for key in open_), sep="\n")
    return 1 if open_ else 0


if __name__ == "__main__":
    sys.exit(main())
