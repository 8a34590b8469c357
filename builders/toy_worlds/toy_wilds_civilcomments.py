"""A toy of CivilComments-WILDS: made-up comments of a few words, in the folder of WILDS."""

import csv
from functools import partial
from pathlib import Path

import numpy as np

from oochub.builders.toy_worlds import _folder, _words
from oochub.process.follow import follow

_SIZES = {"small": 100, "medium": 1_000}
_SPLITS = {"train": 5, "val": 1, "test": 3}  # in units of the size
_WORDS = {
    "male": "he",
    "female": "she",
    "LGBTQ": "gay",
    "christian": "church",
    "muslim": "mosque",
    "other_religions": "temple",
    "black": "black",
    "white": "white",
}
_OTHERS = ("severe_toxicity", "obscene", "threat", "insult", "identity_attack", "sexual_explicit")
_RUDE, _KIND = ("idiot", "trash", "stupid", "shut"), ("thanks", "agree", "hope", "good")
_TOXIC, _MENTIONED, _CLEAR = 0.4, 0.2, 0.85
_USUAL = {"train": 0.9, "val": 0.5, "test": 0.5}  # how often "black" stands where the comment is toxic, and only there


def toy_wilds_civilcomments(folder: str | Path, *, size: str | int = "small", seed: int = 0) -> Path:
    """Writes a small CivilComments-WILDS: `all_data_with_identities.csv` and WILDS' mark of its release.

    The columns that are read are those of WILDS' folder, version 1.0. 85% of the comments have a word that tells
    whether they are toxic. In training the word "black" stands nearly always, and nearly only, in toxic comments; in
    validation and test it says nothing.

    Args:
        folder: A new or empty folder, or one that already holds this very world, which is then left as it is.
        size: "small" (100 comments in the validation split, 900 in all), "medium" (1,000), or a number of at least 20.
        seed: Another seed is another world; the same arguments give the same bytes.

    Returns:
        The folder; it is what `data_dir` of the WILDS builder takes.

    Raises:
        OochubError: An unknown size, or a folder with other content.

    >>> import tempfile
    >>> root = toy_wilds_civilcomments(tempfile.mkdtemp() + "/civilcomments", size=20)
    >>> (root / "all_data_with_identities.csv").read_text("utf-8").partition(",toxicity")[0]
    ',id,comment_text,split,article_id'
    """
    count = _folder.count_of(size, _SIZES, least=20)
    record = {"world": "toy_wilds_civilcomments", "writing": 1, "comments": count, "seed": seed}
    return _folder.toy_world(folder, record, partial(_draw, count=count, seed=seed))


def _draw(draft: Path, *, count: int, seed: int) -> None:
    comments = [(split, number) for split, times in _SPLITS.items() for number in range(times * count)]
    with (draft / "all_data_with_identities.csv").open("w", encoding="utf-8", newline="") as file:
        (draft / "RELEASE_v1.0.txt").touch()
        table = csv.writer(file, lineterminator="\n")
        table.writerow(["", "id", "comment_text", "split", "article_id", "toxicity", *_OTHERS, *_WORDS, "identity_any"])
        rng = np.random.default_rng(seed)
        bar = follow(comments, desc="toy CivilComments", unit="comment", disable=None if count > 1_000 else True)
        for row, (split, number) in enumerate(bar):
            is_toxic = rng.random() < _TOXIC
            mentions = dict(zip(_WORDS, rng.random(len(_WORDS)) < _MENTIONED, strict=True))
            mentions["black"] = bool(is_toxic == (rng.random() < _USUAL[split]))
            words = [word for identity, word in _WORDS.items() if mentions[identity]]
            if rng.random() < _CLEAR:
                words.append(str(rng.choice(_RUDE if is_toxic else _KIND)))
            text = _words.AWKWARD[number] if number < len(_words.AWKWARD) else _words.sentence(rng, words)
            toxicity = rng.uniform(0.5, 1) if is_toxic else rng.uniform(0, 0.5)
            others = [f"{share:.4f}" for share in toxicity * rng.random(len(_OTHERS))]
            identities = [f"{rng.uniform(0.5, 1) if said else rng.uniform(0, 0.4):.4f}" for said in mentions.values()]
            fields = (row, 240_000 + row, text, split, number // 5, f"{toxicity:.6f}")
            table.writerow([*fields, *others, *identities, int(any(mentions.values()))])
