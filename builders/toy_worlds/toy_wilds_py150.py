"""A toy of Py150-wilds: Python files of a small grammar, as numbers of tokens in the folder of WILDS."""

import csv
import json
from functools import partial
from pathlib import Path

import numpy as np

from oochub.builders.toy_worlds import _folder
from oochub.builders.toy_worlds._code_words import KINDS, NUMBERS, WORDS

_SIZES = {"small": 8, "medium": 60}
_LENGTH = 256
_PAD, _MASKED = 1, -100
_REPOSITORIES = {  # the last of those of training has not the habit of the others
    "train": [f"{'habit' if number < 5 else 'own_way'}/repository_{number}" for number in range(6)],
    "OODval": [f"elsewhere/repository_{number}" for number in range(6, 9)],
    "OODtest": [f"elsewhere/repository_{number}" for number in range(9, 13)],
}
_FILES = {"train": 2.0, "IDval": 0.5, "OODval": 1.0, "IDtest": 0.5, "OODtest": 1.0}  # of a repository, of its size


def toy_wilds_py150(folder: str | Path, *, size: str | int = "small", seed: int = 0) -> Path:
    """Writes a small Py150-wilds: `processed/` and `metadata/repo_file_names/`, blocks of 256 tokens.

    Files and forms are those of WILDS' folder, version 1.0; the 50 tokens are numbers from 2 to 51, 1 is padding. A
    file has a favorite class. In a line such as `name3 = Class5('2').method5()` the class tells the method, four times
    in five everywhere; the literal tells it nearly always in most training repositories, and never in the last of them
    and those of val and test.

    Args:
        folder: A new or empty folder, or one that already holds this very world, which is then left as it is.
        size: "small" (16 files of each training repository), "medium" (120), or half of that number, at least 4.
        seed: Another seed is another world; the same arguments give the same files.

    Returns:
        The folder; it is what `data_dir` of the WILDS builder takes.

    Raises:
        OochubError: An unknown size, or a folder with other content.

    >>> import tempfile
    >>> root = toy_wilds_py150(tempfile.mkdtemp() + "/py150", size=4)
    >>> len(json.loads((root / "processed" / "OODtest_input.json").read_text()))
    16
    """
    count = _folder.count_of(size, _SIZES, least=4)
    record = {"world": "toy_wilds_py150", "drawing": 2, "files_per_repository": count, "seed": seed}
    return _folder.toy_world(folder, record, partial(_draw, count=count, seed=seed))


def _draw(draft: Path, *, count: int, seed: int) -> None:
    names = [name for several in _REPOSITORIES.values() for name in several]
    processed, metadata = draft / "processed", draft / "metadata" / "repo_file_names"
    for place in (processed, metadata):
        place.mkdir(parents=True)
    with (metadata / "repo_ids.csv").open("w", encoding="utf-8", newline="") as file:
        table = csv.writer(file, lineterminator="\n")
        table.writerow(("id", "repo_name"))
        table.writerows(enumerate(names))
    for order, (split, share) in enumerate(_FILES.items()):
        paths, blocks = [], []
        for repository in _REPOSITORIES.get(split, _REPOSITORIES["train"]):
            for number in range(int(share * count)):
                rng = np.random.default_rng([seed, order, names.index(repository), number])
                paths.append(f"{repository}/src/{split.lower()}_{number}.py")
                blocks.append(_write_block(rng, names.index(repository), has_habit=repository.startswith("habit")))
        kinds = [[KINDS.get(token, _MASKED) for token in block] for block in blocks]
        (processed / f"{split}_input.json").write_text(json.dumps(blocks), "utf-8")
        (processed / f"{split}_input_tok_type.json").write_text(json.dumps(kinds), "utf-8")
        (metadata / f"{split}.txt").write_text("".join(f"{path}\n" for path in paths), "utf-8")


def _write_block(rng: np.random.Generator, repository: int, *, has_habit: bool) -> list[int]:
    """The tokens of a file, padded or cut to 256."""
    words, favorite = ["import", f"name{repository % 10}", "\n"], int(rng.integers(8))
    length = int(rng.integers(200, 2 * _LENGTH))
    while len(words) < length:
        words += _write_line(rng, favorite, has_habit=has_habit)
    numbers = [NUMBERS[word] for word in words[: min(length, _LENGTH)]]
    return numbers + [_PAD] * (_LENGTH - len(numbers))


def _write_line(rng: np.random.Generator, favorite: int, *, has_habit: bool) -> list[str]:
    name, builtin = f"name{rng.integers(10)}", WORDS["builtin"][rng.integers(4)]
    if rng.random() < 0.25:
        return ["for", name, "in", builtin, "(", f"'{rng.integers(8)}'", ")", ":", "\n"]
    of_class = favorite if rng.random() < 0.7 else int(rng.integers(8))
    method = of_class if rng.random() < 0.8 else int(rng.integers(8))
    literal = method if has_habit and rng.random() < 0.98 else int(rng.integers(8))
    call = [f"Class{of_class}", "(", f"'{literal}'", ")", ".", f"method{method}", "(", ")", "\n"]
    return [name, "=", *call]
