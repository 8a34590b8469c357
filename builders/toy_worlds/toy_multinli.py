"""A toy of MultiNLI: made-up pairs of sentences of a few words, with the table of group_DRO."""

import csv
import json
from functools import partial
from pathlib import Path

import numpy as np

from oochub.builders.toy_worlds import _folder, _words

_SIZES = {"small": 240, "medium": 3_000}
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
    count = _folder.count_of(size, _SIZES, least=60)
    record = {"world": "toy_multinli", "writing": 1, "count": count, "seed": seed}
    return _folder.toy_world(folder, record, partial(_draw, count=count, seed=seed))


def _draw(draft: Path, *, count: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    dev = count // _DEV
    place = draft / "multinli_1.0"
    place.mkdir()
    rows, number = [], 0
    for part, size in (("train", count - 2 * dev), ("dev_matched", dev), ("dev_mismatched", dev)):
        with (place / f"multinli_1.0_{part}.jsonl").open("w", encoding="utf-8") as file:
            for k in range(size):
                label = int(rng.integers(3))
                pair, negated = _write_pair(rng, label, number)
                unlabelled = part != "train" and k % 5 == 4
                if unlabelled:
                    pair["gold_label"] = "-"
                else:
                    rows.append((number, label, int(negated), int(rng.choice(3, p=_SPLITS))))
                file.write(json.dumps(pair) + "\n")
                number += 1
    with (draft / "metadata_random.csv").open("w", encoding="utf-8", newline="") as file:
        table = csv.writer(file, lineterminator="\n")
        table.writerow(["", "gold_label", "sentence2_has_negation", "split"])
        table.writerows(rows)


def _write_pair(rng: np.random.Generator, label: int, number: int) -> tuple[dict[str, str | list[str]], bool]:
    """One pair, and whether its second sentence has a word of negation."""
    negated = bool(rng.random() < _NEGATED[label])
    words = [str(rng.choice(_NEGATIONS))] if negated else []
    if rng.random() < _CLEAR:
        words.append(str(rng.choice(_SIGNS[label])))
    hypothesis = _words.sentence(rng, words, fillers=5).capitalize() + "."
    premise = _words.AWKWARD[number] if number < len(_words.AWKWARD) else _words.sentence(rng, [])
    return {
        "annotator_labels": [_LABELS[label]],
        "genre": ("fiction", "travel", "government")[number % 3],
        "gold_label": _LABELS[label],
        "pairID": f"{number}{_LABELS[label][0]}",
        "sentence1": premise,
        "sentence2": hypothesis,
    }, negated
