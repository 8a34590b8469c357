"""Plants small faults where numbers are made and names those that no test sees: `python tests/helpers/mutants.py`.

A fault is one changed operator, number, condition or keyword of a line that is drawn from `evaluation/`, `stats/` and
`context_finding/`. Each runs in a clone of the repository, so that the work tree stays as it is. A survivor is to be
looked at: some change nothing that anybody could see.
"""

import argparse
import ast
import copy
import os
import random
import re
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).parents[2]
ROOMS = ("src/oochub/stats", "src/oochub/evaluation", "src/oochub/context_finding")
_NONE_CHOSEN = 5
"""What pytest says where every test of its files is a slow one."""
_OTHER: dict[type, type] = {
    ast.Add: ast.Sub, ast.Sub: ast.Add, ast.Mult: ast.Div, ast.Div: ast.Mult, ast.Lt: ast.LtE, ast.LtE: ast.Lt,
    ast.Gt: ast.GtE, ast.GtE: ast.Gt, ast.Eq: ast.NotEq, ast.NotEq: ast.Eq, ast.And: ast.Or, ast.Or: ast.And,
    ast.Is: ast.IsNot, ast.IsNot: ast.Is,
}  # fmt: skip


class Mutant(NamedTuple):
    """One fault: the file, its line, what it does, and the file's text with it."""

    path: str
    line: int
    what: str
    text: str


def mutants_of(path: Path, source: str) -> Iterator[Mutant]:
    """Every fault that can be planted into a file; docstrings, annotations and messages stay as they are."""
    tree = ast.parse(source)
    skipped = {id(inner) for node in ast.walk(tree) for part in _unseen(node) for inner in ast.walk(part)}
    for number, node in enumerate(ast.walk(tree)):
        if id(node) in skipped:
            continue
        for what, change in _changes(node):
            other = copy.deepcopy(tree)
            change(next(each for k, each in enumerate(ast.walk(other)) if k == number))
            line = getattr(node, "lineno", 0)
            text = ast.unparse(ast.fix_missing_locations(other))
            yield Mutant(str(path), line, f"{what}: {ast.unparse(node)[:90]}", text)


def _unseen(node: ast.AST) -> Iterator[ast.AST]:
    if isinstance(node, ast.arg | ast.AnnAssign) and node.annotation is not None:
        yield node.annotation
    if isinstance(node, ast.FunctionDef) and node.returns is not None:
        yield node.returns
    if isinstance(node, ast.Raise | ast.JoinedStr | ast.Import | ast.ImportFrom):
        yield node
    if isinstance(node, ast.ClassDef):
        yield from node.bases


def _changes(node: ast.AST) -> Iterator[tuple[str, object]]:
    if isinstance(node, ast.BinOp | ast.BoolOp) and type(node.op) in _OTHER:
        yield "operator", lambda other: setattr(other, "op", _OTHER[type(other.op)]())
    if isinstance(node, ast.Compare) and type(node.ops[0]) in _OTHER:
        yield "comparison", lambda other: other.ops.__setitem__(0, _OTHER[type(other.ops[0])]())
    if isinstance(node, ast.Constant) and type(node.value) in (int, float):
        yield "number", lambda other: setattr(other, "value", _near(other.value))
    if isinstance(node, ast.Constant) and isinstance(node.value, bool):
        yield "flag", lambda other: setattr(other, "value", not other.value)
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
        yield "sign", lambda other: setattr(other, "op", ast.UAdd())
    if isinstance(node, ast.IfExp | ast.If):
        yield "condition", lambda other: setattr(other, "test", ast.UnaryOp(ast.Not(), other.test))
    if isinstance(node, ast.Call):
        for k, keyword in enumerate(node.keywords):
            if keyword.arg in ("cluster", "seed", "confidence", "resamples"):
                yield f"without {keyword.arg}", lambda other, k=k: other.keywords.pop(k)


def _near(number: float) -> float:
    return number + 1 if number in (0, 1) or isinstance(number, int) else number * 0.9


def main() -> int:
    """Draws faults, runs the everyday tests on each, prints the survivors; their number is the exit code."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seed", type=int, default=None, help="Draws the same faults again.")
    parser.add_argument("--count", type=int, default=40, help="How many faults.")
    given = parser.parse_args()
    seed = given.seed if given.seed is not None else random.SystemRandom().randrange(10**6)
    say = sys.stdout.write
    say(f"seed {seed}\n")
    generator, survivors = random.Random(seed), []
    files = [path.relative_to(ROOT) for room in ROOMS for path in sorted((ROOT / room).rglob("*.py"))]
    with tempfile.TemporaryDirectory() as folder:
        clone = Path(folder) / "clone"
        subprocess.run(["git", "clone", "--quiet", str(ROOT), str(clone)], check=True)
        for number in range(given.count):
            every: list[Mutant] = []
            while not every:  # files weigh alike, then their faults
                path = generator.choice(files)
                every = list(mutants_of(path, (ROOT / path).read_text("utf-8")))
            fault = generator.choice(every)
            seen_by = _seen_by(clone, fault)
            say(f"{number + 1:3} {fault.path}:{fault.line} {fault.what}\n    {seen_by or 'SURVIVED'}\n")
            sys.stdout.flush()
            survivors += [] if seen_by else [fault]
    say(f"{len(survivors)} of {given.count} survived, seed {seed}\n")
    return len(survivors)


def _seen_by(clone: Path, fault: Mutant) -> str | None:
    """The first everyday test that fails with the fault, None if all pass; those named for its file run first."""
    place = clone / fault.path
    before = place.read_text("utf-8")
    place.write_text(fault.text, "utf-8")
    name = re.compile(rf"\b{place.stem}\b")
    every = {str(path.relative_to(clone)): path for path in sorted((clone / "tests").rglob("test_*.py"))}
    named = [test for test, path in every.items() if place.stem in path.stem]
    mention = [test for test, path in every.items() if test not in named and name.search(path.read_text("utf-8"))]
    several = ["-n", "logical", "--dist", "loadfile"]
    environment = {**os.environ, "PYTHONPATH": str(clone / "src"), "OMP_NUM_THREADS": "1"}
    words = [sys.executable, "-m", "pytest", "-x", "-q", "-p", "no:cacheprovider", "-m", "not slow and not campaign"]
    try:
        for tests in (named, mention and [*mention, *several], ["tests", *several]):
            if not tests:
                continue
            run = subprocess.run(
                [*words, *tests], cwd=clone, env=environment, capture_output=True, text=True, check=False
            )
            if run.returncode not in (0, _NONE_CHOSEN):
                failed = (line for line in run.stdout.splitlines() if line.startswith(("FAILED", "ERROR")))
                return next(failed, (run.stdout + run.stderr)[-300:])[:200]
        return None
    finally:
        place.write_text(before, "utf-8")


if __name__ == "__main__":
    raise SystemExit(main())
