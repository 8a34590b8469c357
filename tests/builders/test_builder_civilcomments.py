"""CivilComments-WILDS: every row against the table as pandas reads it, groups by a loop, wrong rows by number."""

import csv

import pandas as pd
from datasets import load_dataset

_FILE = "all_data_with_identities.csv"
_IDENTITIES = ["male", "female", "LGBTQ", "christian", "muslim", "other_religions", "black", "white"]
_OTHERS = ["identity_any", "severe_toxicity", "obscene", "threat", "insult", "identity_attack", "sexual_explicit"]


def test_it_is_its_table(raw):
    folder = raw("wilds/civilcomments")
    table = pd.read_csv(folder / _FILE, index_col=0, keep_default_na=False, lineterminator="\n")
    data = load_dataset("wilds", "civilcomments", data_dir=str(folder))
    assert list(data) == ["train", "val", "test"]
    for split, part in data.items():
        of, features = table[table["split"] == split], part.features
        assert part["example_id"] == of.index.astype(str).tolist() and part["text"] == of["comment_text"].tolist()
        names = features["label"].int2str(part["label"])
        assert names == ["toxic" if share >= 0.5 else "non-toxic" for share in of["toxicity"]]
        for field in (*_IDENTITIES, *_OTHERS):
            assert part[field] == (of[field] >= 0.5).tolist()
        for row, (name, (_, stored)) in zip(part, zip(names, of.iterrows(), strict=True), strict=True):
            assert row["groups"] == [f"{each}/{name}" for each in _IDENTITIES if stored[each] >= 0.5]
            race = "black" if stored["black"] >= 0.5 else "not black"
            assert features["environment"].int2str(row["environment"]) == f"{race}/{name}"
    assert {"NA", "nan", "", " ", "null"} <= set(data["train"]["text"])


def test_half_of_the_people_are_enough(raw, tmp_path):
    """WILDS' code: `>= 0.5`. The first row with shares of exactly one half. Written against: `>` for each."""
    with (raw("wilds/civilcomments") / _FILE).open(newline="") as file:
        rows = list(csv.reader(file))
    for column in ("toxicity", *_IDENTITIES):
        rows[1][rows[0].index(column)] = "0.5"
    with (tmp_path / _FILE).open("w", newline="") as file:
        csv.writer(file).writerows(rows)
    split = rows[1][rows[0].index("split")]
    part = load_dataset("wilds", "civilcomments", data_dir=str(tmp_path), streaming=True)[split]
    row = next(iter(part))
    assert row["example_id"] == "0" and part.features["label"].int2str(row["label"]) == "toxic"
    assert row["groups"] == [f"{identity}/toxic" for identity in _IDENTITIES]
    assert part.features["environment"].int2str(row["environment"]) == "black/toxic"
