"""A toy of CivilComments-WILDS: made-up comments of a few words, in the folder of WILDS."""

from pathlib import Path

import numpy as np

from oochub.builders.toy_worlds._folder import Files, World, write_table
from oochub.builders.toy_worlds._words import AWKWARD, write_sentence

_SIZES = {"small": 100, "medium": 1_000}
_WORLD = World("toy_wilds_civilcomments", _SIZES, 20, counts="comments", version={"writing": 1})
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
    return _WORLD.draw(folder, _draw, size, seed=seed)


def _draw(count: int, *, seed: int) -> Files:
    comments = [(split, number) for split, times in _SPLITS.items() for number in range(times * count)]
    table: list[list[object]] = [
        ["", "id", "comment_text", "split", "article_id", "toxicity", *_OTHERS, *_WORDS, "identity_any"]
    ]
    rng = np.random.default_rng(seed)
    for row, (split, number) in enumerate(_WORLD.follow(comments)):
        is_toxic = rng.random() < _TOXIC
        mentions = dict(zip(_WORDS, rng.random(len(_WORDS)) < _MENTIONED, strict=True))
        mentions["black"] = bool(is_toxic == (rng.random() < _USUAL[split]))
        words = [word for identity, word in _WORDS.items() if mentions[identity]]
        if rng.random() < _CLEAR:
            words.append(str(rng.choice(_RUDE if is_toxic else _KIND)))
        text = AWKWARD[number] if number < len(AWKWARD) else write_sentence(rng, words)
        toxicity = rng.uniform(0.5, 1) if is_toxic else rng.uniform(0, 0.5)
        others = [f"{share:.4f}" for share in toxicity * rng.random(len(_OTHERS))]
        identities = [
            f"{rng.uniform(0.5, 1) if is_mentioned else rng.uniform(0, 0.4):.4f}" for is_mentioned in mentions.values()
        ]
        fields = (row, 240_000 + row, text, split, number // 5, f"{toxicity:.6f}")
        table.append([*fields, *others, *identities, int(any(mentions.values()))])
    yield "all_data_with_identities.csv", write_table(*table)
    yield "RELEASE_v1.0.txt", ""
