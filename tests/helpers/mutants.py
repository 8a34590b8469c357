"""Plants small faults where numbers are made and names those that no test sees: `python tests/helpers/mutants.py`.

A fault is one changed operator, number, condition or keyword of a line. The rooms take turns, and in a room files weigh
alike. Each fault runs in a clone of the last commit, so that the work tree stays as it is: first the examples of its
file and the everyday tests that are named like it, then those near what imports it, then those of its room. A survivor
is to be looked at: some change nothing that anybody could see. With `--out` a run goes on where it stopped, and what
survived before is tried again.
"""

import argparse
import ast
import copy
import json
import os
import random
import re
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterable, Iterator
from functools import cache, partial
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).parents[2]
CORE = Path("src/oochub")


class Room(NamedTuple):
    """Files of the core, and the tests that should see their faults, each as patterns."""

    files: tuple[str, ...]
    tests: tuple[str, ...]


ROOMS = {
    "evaluation": Room(("evaluation/**/*.py",), ("evaluation",)),
    "stats": Room(("stats/**/*.py",), ("stats",)),
    "leaderboard": Room(("leaderboard/**/*.py",), ("leaderboard",)),
    "repairs": Room(("repairs/**/*.py",), ("repairs", "test_repairing.py")),
    "checking": Room(("checking/*.py",), ("checking", "*/test_check*.py")),
    "exchange": Room(("exchange/**/*.py",), ("exchange",)),
    "browsing": Room(("browsing/**/*.py",), ("browsing",)),
    "scripts": Room(("*/templates/*.js",), ("browsing", "*/test_*in_browser.py")),
    "models": Room(("models/**/*.py",), ("models",)),
    "context_finding": Room(("context_finding/**/*.py",), ("context_finding",)),
}
_NONE_CHOSEN = 5
"""What pytest says where every test of its files is a slow one."""
_OF_SIZES = "test_layout"
"""A planted file is written without comments and line breaks: its rooms have other sizes, whatever the fault."""
_LONGEST = 900  # seconds of tests: what takes longer hangs by the fault
_OTHER: dict[type, type] = {
    ast.Add: ast.Sub, ast.Sub: ast.Add, ast.Mult: ast.Div, ast.Div: ast.Mult, ast.Lt: ast.LtE, ast.LtE: ast.Lt,
    ast.Gt: ast.GtE, ast.GtE: ast.Gt, ast.Eq: ast.NotEq, ast.NotEq: ast.Eq, ast.And: ast.Or, ast.Or: ast.And,
    ast.Is: ast.IsNot, ast.IsNot: ast.Is,
}  # fmt: skip
_TOKEN = re.compile(
    r"""(?P<text>//.*|"(?:\\.|[^"\\])*"|'(?:\\.|[^'\\])*'|`(?:\\.|[^`\\])*`)"""
    r"|(?P<comparison>===|!==|<=|>=|(?<= )[<>](?= ))|(?P<operator>&&|\|\||(?<= )[-+*/](?= )|[-+*/](?==))"
    r"|(?P<condition>\bif \(|(?<= )\? )|(?P<flag>\btrue\b|\bfalse\b)|(?P<number>(?<![\w.$])\d+(?:\.\d+)?(?![\w.]))"
)
"""What may be changed in a line of a script, and strings and comments, which may not."""
_OTHER_IN_SCRIPT = {
    "===": "!==", "!==": "===", "<=": "<", ">=": ">", "<": "<=", ">": ">=", "&&": "||", "||": "&&", "+": "-",
    "-": "+", "*": "/", "/": "*", "true": "false", "false": "true", "if (": "if (!", "? ": "=== null ? ",
}  # fmt: skip


class Mutant(NamedTuple):
    """One fault: the file, its line, what it does, and what makes the file's text with it."""

    path: str
    line: int
    what: str
    plant: Callable[[], str]


def mutants_of(path: Path, source: str) -> Iterator[Mutant]:
    """Every fault that can be planted into a file; docstrings, annotations and messages stay as they are."""
    if path.suffix != ".py":
        yield from _change_script(path, source)
        return
    tree = ast.parse(source)
    skipped = {id(inner) for node in ast.walk(tree) for part in _unseen(node) for inner in ast.walk(part)}
    for number, node in enumerate(ast.walk(tree)):
        if id(node) in skipped:
            continue
        for what, change in _changes(node):
            line = getattr(node, "lineno", 0)
            plant = partial(_change_tree, tree, number, change)
            yield Mutant(str(path), line, f"{what}: {ast.unparse(node)[:90]}", plant)


def _change_tree(tree: ast.AST, number: int, change: Callable[[ast.AST], object]) -> str:
    other = copy.deepcopy(tree)
    change(next(each for k, each in enumerate(ast.walk(other)) if k == number))
    return ast.unparse(ast.fix_missing_locations(other))


def _unseen(node: ast.AST) -> Iterator[ast.AST]:
    if isinstance(node, ast.arg | ast.AnnAssign) and node.annotation is not None:
        yield node.annotation
    if isinstance(node, ast.FunctionDef) and node.returns is not None:
        yield node.returns
    if isinstance(node, ast.Raise | ast.JoinedStr | ast.Import | ast.ImportFrom):
        yield node
    if isinstance(node, ast.ClassDef):
        yield from node.bases
    if isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING":
        yield node


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


def _change_script(path: Path, source: str) -> Iterator[Mutant]:
    """The faults of a script."""
    first = 0
    for number, line in enumerate(source.split("\n"), 1):
        for found in _TOKEN.finditer(line):
            kind, token = str(found.lastgroup), found[0]
            if kind != "text":
                other = _OTHER_IN_SCRIPT.get(token) or (str(int(token) + 1) if token.isdigit() else f"{token}1")
                start, end = first + found.start(), first + found.end()
                what = f"{kind} {token.strip()} at {found.start()}: {line.strip()[:90]}"
                yield Mutant(
                    str(path), number, what, lambda start=start, end=end, o=other: source[:start] + o + source[end:]
                )
        first += len(line) + 1


def main() -> int:
    """Draws faults, runs the everyday tests on each, prints the survivors; their number is the exit code."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seed", type=int, default=None, help="Draws the same faults again.")
    parser.add_argument("--count", type=int, default=40, help="How many faults.")
    parser.add_argument("--rooms", nargs="+", default=list(ROOMS), choices=ROOMS, help="Where.")
    parser.add_argument("--out", type=Path, help="File of outcomes, one JSON object a line.")
    given = parser.parse_args()
    seed = given.seed if given.seed is not None else random.SystemRandom().randrange(10**6)
    say = partial(print, flush=True)
    say(f"seed {seed}")
    lines = given.out.read_text("utf-8").splitlines() if given.out and given.out.exists() else []
    known = {(each["seed"], each["number"]): each["seen_by"] for each in map(json.loads, lines)}
    survived, seen = 0, set[str]()
    with tempfile.TemporaryDirectory() as folder:
        clone = Path(folder) / "clone"
        subprocess.run(["git", "clone", "--quiet", str(ROOT), str(clone)], check=True)
        for number in range(given.count):
            room = given.rooms[number % len(given.rooms)]
            fault = _draw(clone, ROOMS[room], random.Random(f"{seed} {number}"))
            seen_by = known.get((seed, number)) or _seen_by(clone, ROOMS[room], fault)
            say(f"{number + 1:3} {room} {fault.path}:{fault.line} {fault.what}\n    {seen_by or 'SURVIVED'}")
            survived += not seen_by
            seen.add(str(seen_by))
            if given.out:
                row = {"seed": seed, "number": number, "room": room, "path": fault.path, "line": fault.line}
                with given.out.open("a", encoding="utf-8") as file:
                    file.write(json.dumps({**row, "what": fault.what, "seen_by": seen_by}) + "\n")
        clean = sorted(each.partition("::")[0] for each in seen if each.startswith("tests/"))
        if doubtful := _find_failures(clone, dict.fromkeys(clean), "--maxfail=1000"):
            say(f"These fail without a fault too: {doubtful}")
    say(f"{survived} of {given.count} survived, seed {seed}")
    return survived


def _draw(clone: Path, room: Room, generator: random.Random) -> Mutant:
    """A fault of a room; files weigh alike, then their faults."""
    files = sorted({path for pattern in room.files for path in (clone / CORE).glob(pattern)})
    every: list[Mutant] = []
    while not every:
        path = generator.choice(files)
        every = list(mutants_of(path.relative_to(clone), path.read_text("utf-8")))
    return generator.choice(every)


def _seen_by(clone: Path, room: Room, fault: Mutant) -> str | None:
    """The first everyday test that fails with the fault; None if all pass."""
    place = clone / fault.path
    before = place.read_text("utf-8")
    place.write_text(fault.plant(), "utf-8")
    try:
        return next(
            (failed for tests in _choose_tests(clone, room, place) if (failed := _find_failures(clone, tests))), None
        )
    finally:
        place.write_text(before, "utf-8")


def _choose_tests(clone: Path, room: Room, place: Path) -> Iterator[list[str]]:
    """Sets of tests, those first that should see a fault in the file."""
    name = ".".join(place.relative_to(clone / "src").with_suffix("").parts)
    if ">>>" in place.read_text("utf-8"):
        yield [f"tests/test_readme.py::test_docstring_examples[{name}]"]
    module = re.compile(rf"\b{name}\b")
    importing = [path for path in _list_python_files(clone) if module.search(path.read_text("utf-8"))]
    stems = {path.stem for path in importing} - {"__init__"}
    left = [path for path in _list_python_files(clone) if path.name.startswith("test_") and path.stem != _OF_SIZES]
    own = {path for pattern in room.tests for path in (clone / "tests").glob(pattern)}
    for is_chosen in (
        lambda path: f"_{place.stem}_" in f"{path.stem}_",
        lambda path: path in importing or any(path.stem.endswith(f"_{stem}") for stem in stems),
        lambda path: own & {path, *path.parents},
    ):
        chosen = [path for path in left if is_chosen(path)]
        left = [path for path in left if path not in chosen]
        yield [str(path.relative_to(clone)) for path in chosen]


@cache
def _list_python_files(clone: Path) -> list[Path]:
    names = subprocess.run(["git", "ls-files", "*.py"], cwd=clone, capture_output=True, text=True, check=True).stdout
    return [clone / name for name in names.splitlines()]


def _find_failures(clone: Path, tests: Iterable[str], *options: str) -> str | None:
    """The first tests that fail, or what else ended the run; None if all pass, or none is an everyday test."""
    if not tests:
        return None
    environment = {**os.environ, "PYTHONPATH": str(clone / "src"), "OMP_NUM_THREADS": "1", "HF_HUB_OFFLINE": "1"}
    words = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-m", "not slow and not campaign"]
    words += [*(options or ["-x"]), *tests]
    try:
        run = subprocess.run(
            words, cwd=clone, env=environment, capture_output=True, text=True, check=False, timeout=_LONGEST
        )
    except subprocess.TimeoutExpired:
        return f"hangs for {_LONGEST} seconds"
    if run.returncode in (0, _NONE_CHOSEN):
        return None
    failed = [
        line.split(maxsplit=1)[1].split(" - ")[0]
        for line in run.stdout.splitlines()
        if line.startswith(("FAILED", "ERROR"))
    ]
    return " ".join(failed) or (run.stdout + run.stderr)[-300:]


if __name__ == "__main__":
    raise SystemExit(main())
