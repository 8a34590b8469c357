"""A toy of Py150-wilds: Python files of a small grammar, as numbers of tokens in the folder of WILDS."""

import json
from pathlib import Path

import numpy as np

from oochub.builders.toy_worlds._folder import Files, World, write_table
from oochub.builders.toy_worlds._words import CODE_WORDS, TOKEN_KINDS_OF, TOKENS

_SIZES = {"small": 8, "medium": 60}
_WORLD = World("toy_wilds_py150", _SIZES, 4, counts="files_per_repository", version={"drawing": 2})
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
    return _WORLD.draw(folder, _draw, size, seed=seed)


def _draw(count: int, *, seed: int) -> Files:
    names = [name for several in _REPOSITORIES.values() for name in several]
    yield "metadata/repo_file_names/repo_ids.csv", write_table(("id", "repo_name"), *enumerate(names))
    for order, (split, share) in enumerate(_FILES.items()):
        paths, blocks = "", []
        for repository in _REPOSITORIES.get(split, _REPOSITORIES["train"]):
            for number in range(int(share * count)):
                rng = np.random.default_rng([seed, order, names.index(repository), number])
                paths += f"{repository}/src/{split.lower()}_{number}.py\n"
                blocks.append(_write_block(rng, names.index(repository), has_habit=repository.startswith("habit")))
        kinds = [[TOKEN_KINDS_OF.get(token, _MASKED) for token in block] for block in blocks]
        yield f"processed/{split}_input.json", json.dumps(blocks)
        yield f"processed/{split}_input_tok_type.json", json.dumps(kinds)
        yield f"metadata/repo_file_names/{split}.txt", paths


def _write_block(rng: np.random.Generator, repository: int, *, has_habit: bool) -> list[int]:
    """The tokens of a file, padded or cut to 256."""
    words, favorite = ["import", f"name{repository % 10}", "\n"], int(rng.integers(8))
    length = int(rng.integers(200, 2 * _LENGTH))
    while len(words) < length:
        words += _write_line(rng, favorite, has_habit=has_habit)
    numbers = [TOKENS[word] for word in words[: min(length, _LENGTH)]]
    return numbers + [_PAD] * (_LENGTH - len(numbers))


def _write_line(rng: np.random.Generator, favorite: int, *, has_habit: bool) -> list[str]:
    name, builtin = f"name{rng.integers(10)}", CODE_WORDS["builtin"][rng.integers(4)]
    if rng.random() < 0.25:
        return ["for", name, "in", builtin, "(", f"'{rng.integers(8)}'", ")", ":", "\n"]
    of_class = favorite if rng.random() < 0.7 else int(rng.integers(8))
    method = of_class if rng.random() < 0.8 else int(rng.integers(8))
    literal = method if has_habit and rng.random() < 0.98 else int(rng.integers(8))
    call = [f"Class{of_class}", "(", f"'{literal}'", ")", ".", f"method{method}", "(", ")", "\n"]
    return [name, "=", *call]
