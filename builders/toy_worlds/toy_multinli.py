"""A toy of MultiNLI: made-up pairs of sentences of a few words, with the table of group_DRO."""

import json
from pathlib import Path

import numpy as np

from oochub.builders.toy_worlds._folder import Files, World, write_table
from oochub.builders.toy_worlds._words import AWKWARD, write_sentence

_WORLD = World("toy_multinli", {"small": 240, "medium": 3_000}, 60, version={"writing": 1})
_LABELS = ("contradiction", "entailment", "neutral")
_SIGNS = (("wrong", "false"), ("so", "true"), ("maybe", "perhaps"))
_NEGATIONS = ("nobody", "no", "never", "nothing")
_CLEAR = 0.7
_NEGATED = (0.5, 0.06, 0.06)  # how often a pair of each label has a word of negation
_SPLITS = (0.5, 0.2, 0.3)
_DEV = 10  # each development set has one of so many pairs


def toy_multinli(folder: str | Path, *, size: str | int = "small", seed: int = 0) -> Path:
    """Writes `multinli_1.0/` with its three files and `metadata_random.csv`.

    70% of the second sentences have a word that tells the label. Half of the contradictions have a word of negation,
    and one of 16 others. Some pairs of the development sets have no label ("-") and are not in the table.

    Args:
        folder: A new or empty folder, or one that already holds this very world, which is then left as it is.
        size: Pairs: "small" (240), "medium" (3,000), or a number of at least 60.
        seed: Another seed is another world; the same arguments give the same bytes.

    Returns:
        The folder; it is what `data_dir` of `multinli` takes.

    Raises:
        OochubError: An unknown size, or a folder with other content.

    >>> import tempfile
    >>> root = toy_multinli(tempfile.mkdtemp() + "/multinli", size=60)
    >>> (root / "metadata_random.csv").read_text().splitlines()[0]
    ',gold_label,sentence2_has_negation,split'
    """
    return _WORLD.draw(folder, _draw, size, seed=seed)


def _draw(count: int, *, seed: int) -> Files:
    rng = np.random.default_rng(seed)
    dev = count // _DEV
    rows: list[tuple[object, ...]] = []
    number = 0
    for part, size in (("train", count - 2 * dev), ("dev_matched", dev), ("dev_mismatched", dev)):
        lines = ""
        for k in range(size):
            label = int(rng.integers(3))
            pair, negated = _write_pair(rng, label, number)
            if part != "train" and k % 5 == 4:
                pair["gold_label"] = "-"
            else:
                rows.append((number, label, int(negated), int(rng.choice(3, p=_SPLITS))))
            lines += json.dumps(pair) + "\n"
            number += 1
        yield f"multinli_1.0/multinli_1.0_{part}.jsonl", lines
    yield "metadata_random.csv", write_table(("", "gold_label", "sentence2_has_negation", "split"), *rows)


def _write_pair(rng: np.random.Generator, label: int, number: int) -> tuple[dict[str, str | list[str]], bool]:
    """One pair, and whether its second sentence has a word of negation."""
    negated = bool(rng.random() < _NEGATED[label])
    words = [str(rng.choice(_NEGATIONS))] if negated else []
    if rng.random() < _CLEAR:
        words.append(str(rng.choice(_SIGNS[label])))
    hypothesis = write_sentence(rng, words, fillers=5).capitalize() + "."
    premise = AWKWARD[number] if number < len(AWKWARD) else write_sentence(rng, [])
    return {
        "annotator_labels": [_LABELS[label]],
        "genre": ("fiction", "travel", "government")[number % 3],
        "gold_label": _LABELS[label],
        "pairID": f"{number}{_LABELS[label][0]}",
        "sentence1": premise,
        "sentence2": hypothesis,
    }, negated
