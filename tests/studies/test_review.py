"""The review of the OOD images nearest to ID images: who is nearest, the page, the decisions, the command."""

import base64
import hashlib
import io
import json
import re
import tracemalloc
from dataclasses import replace
from functools import partial

import datasets
import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from PIL import Image
from sklearn.neighbors import NearestNeighbors

from oochub.detection import image_sets as nearest_module
from oochub.detection.image_sets import find_nearest_rows
from oochub.errors import OochubError
from oochub.prediction.predictions import Predictions
from oochub.records.metadata import PredictedBy
from oochub.reviewing import decisions as decisions_module
from oochub.reviewing.decisions import Decision, merge_decisions, write_decisions
from oochub.studies.imagenet_ood.keep_list import keep_list
from oochub.studies.imagenet_ood.review import QUESTION, class_pairs_page, list_class_pairs, pairs_page, review_queue

read_decisions = partial(decisions_module.read_decisions, allowed=QUESTION.allowed)
NOON, ONE = "2026-01-31T12:00:00.000Z", "2026-01-31T13:00:00.000Z"


def vectors(rows):
    flat = np.asarray(rows, np.float32)
    return pa.ListArray.from_arrays(np.arange(0, flat.size + 1, flat.shape[1], dtype=np.int32), pa.array(flat.ravel()))


def predictions(ids, features, label, *, split="test", config="m2m_hard", **columns):
    n = len(ids)
    arrays = {
        "example_id": pa.array(list(ids)),
        "split": pa.array([split] * n),
        "label": pa.array(list(label), pa.int64()),
    }
    arrays |= {"logits": vectors(np.zeros((n, 2))), **{name: pa.array(values) for name, values in columns.items()}}
    if features is not None:
        arrays["features"] = vectors(features)
    about = {"benchmark": "spawrious", "config": config, "version": "1.0.0", "fingerprint": "f1"}
    model = {"id": "a/resnet-50", "revision": None}
    return Predictions(
        pa.table(arrays), {**about, "model": model, "class_names": ["tench", "junco"], "rows": {split: n}}
    )


def picture(color, size=(40, 30)):
    file = io.BytesIO()
    Image.new("RGB", size, color).save(file, "PNG")
    return {"bytes": file.getvalue(), "path": None}


def some_data(ids, colors):
    features = datasets.Features({"example_id": datasets.Value("string"), "image": datasets.Image()})
    rows = {"example_id": list(ids), "image": [picture(color) for color in colors]}
    return datasets.Dataset.from_dict(rows, features=features)


def two_sets():
    """Five OOD images of two classes and three ID images whose neighbors are plain to see in two dimensions."""
    angle = np.deg2rad([10, 80, 45, 170, 2])
    wnid = ["n02666943", "n02666943", "n03158885", "n03158885", "n03158885"]
    ids = [f"{of}_{k}" for k, of in enumerate(wnid)]
    columns = {"wnid": wnid, "class_name": ["abattoir"] * 2 + ["dagger"] * 3}
    columns["file_name"] = [f"{name.partition('_')[0]}/{name}.JPEG" for name in ids]
    ood = predictions(ids, np.stack([np.cos(angle), np.sin(angle)], 1) * 7, [-1] * 5, **columns)
    known = predictions(["v0", "v1", "v2"], [[1, 0], [0, 1], [-1, 0]], [0, 1, 1], config="o2o_hard")
    colors = ["red", "green", "blue", "white", "black"]
    return ood, known, some_data(ids, colors), some_data(["v0", "v1", "v2"], colors[:3])


def test_pairs_of_sister_classes_by_hand():
    """An abattoir is a building, as a greenhouse is; no class of ImageNet-1K is a knife, as a dagger is. 3 of 5 images.

    Planted faults seen: a parent's parent taken too; images of any class on a sheet.
    """
    wnid = ["n02666943"] * 5 + ["n03158885"]
    ood = predictions([f"o{k}" for k in range(6)], None, [-1] * 6, wnid=wnid)
    known = ["n03457902", "n02699494", "n03457902"]  # an altar is a structure, as a building is
    reference = predictions(["v0", "v1", "v2"], None, [0, 1, 0], config="o2o_hard", wnid=known)
    pairs = list_class_pairs(ood, reference)
    assert [[*row][:4] for row in pairs.to_numpy()] == [["n02666943", "abattoir", "n03457902", "greenhouse"]]
    data = some_data([f"o{k}" for k in range(6)], ["red"] * 5 + ["blue"])
    page = class_pairs_page(
        pairs, (ood, data), (reference, some_data(["v0", "v1", "v2"], ["green", "blue", "green"])), images=3
    )
    assert page.count("<li ") == 1 and 'data-do="class"' in page and 'data-do="keep"' not in page and "wide" in page
    sheets = re.findall(r"data:image/jpeg;base64,([^\"]+)", page)
    for sheet, count, (red, green) in zip(sheets, (3, 2), ((255, 0), (0, 128)), strict=True):
        drawn = np.asarray(Image.open(io.BytesIO(base64.b64decode(sheet))))[20, 32::64]
        assert len(drawn) == 10 and [bool(pixel.min() < 200) for pixel in drawn] == [True] * count + [False] * (
            10 - count
        )
        assert (abs(drawn[:count, :2].astype(int) - (red, green)) < 20).all()
    with pytest.raises(OochubError, match="No class of the OOD images shares"):
        list_class_pairs(predictions(["a"], None, [-1], wnid=["n03158885"]), reference)


@pytest.mark.parametrize("blocks", [7, 1024])
def test_nearest_as_by_scikit_learn(monkeypatch, blocks):
    """Planted faults seen: the largest distance instead of the smallest; a block's rows without its start."""
    monkeypatch.setattr(nearest_module, "_ROWS", blocks)
    rng = np.random.default_rng(0)
    bank, rows = rng.normal(size=(151, 19)).astype(np.float32), rng.normal(size=(83, 19)).astype(np.float32) * 1e3
    index, distance = find_nearest_rows(rows, bank)
    by_sklearn = NearestNeighbors(n_neighbors=1, metric="cosine", algorithm="brute").fit(bank.astype(np.float64))
    expected, at = by_sklearn.kneighbors(rows.astype(np.float64))
    assert (index == at[:, 0]).all()
    np.testing.assert_allclose(distance, expected[:, 0], rtol=1e-12, atol=1e-15)


def test_near_duplicates_keep_their_distance():
    """1 - cos of angles down to 1e-9, where a product in float64 gives 0; the truth is 2 sin(angle / 2)^2."""
    angle = np.array([1e-3, 1e-6, 1e-9])
    index, distance = find_nearest_rows(np.stack([np.cos(angle), np.sin(angle)], 1), [[0.0, 1.0], [3.0, 0.0]])
    assert index.tolist() == [1, 1, 1]
    np.testing.assert_allclose(distance, 2 * np.sin(angle / 2) ** 2, rtol=1e-6)
    index, distance = find_nearest_rows([[1e-300, 0.0], [0.0, 1e300]], [[1e300, 0.0], [0.0, 1e-300]])
    assert index.tolist() == [0, 1] and distance.tolist() == [0.0, 0.0]


def test_memory_does_not_grow_with_the_bank():
    def peak(n):
        bank = np.ones((n, 64), np.float32) + np.arange(n, dtype=np.float32)[:, None] * np.eye(1, 64, dtype=np.float32)
        tracemalloc.start()
        find_nearest_rows(bank[:100], bank)
        result = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        return result

    find_nearest_rows(np.eye(3), np.eye(3))  # imports tqdm
    assert peak(32_768) < 1.05 * peak(8192)


@pytest.mark.parametrize(
    ("rows", "bank", "message"),
    [
        (np.ones((2, 3)), np.ones((2, 4)), "3 columns and the bank 4"),
        (np.ones((2, 3)), np.ones((0, 3)), "bank must be a matrix"),
        (np.array([[1.0, 0.0], [0.0, 0.0]]), np.ones((2, 2)), "Row 1 of features is all zeros"),
        (np.ones((2, 2)), np.array([[1.0, np.inf]]), "Row 0 of bank"),
    ],
)
def test_rows_without_a_direction_are_refused(rows, bank, message):
    with pytest.raises(OochubError, match=re.escape(message)):
        find_nearest_rows(rows, bank)


def test_queue_is_nearest_first():
    """By hand: 2 degrees from v0, 10 from v0 and from v1 (80) and from v2 (170), 45 between the first two."""
    ood, known, *_ = two_sets()
    queue = review_queue(ood, known)
    assert queue["example_id"].tolist()[0] == "n03158885_4" and queue["example_id"].tolist()[-1] == "n03158885_2"
    np.testing.assert_allclose(queue["distance"], 1 - np.cos(np.deg2rad([2, 10, 10, 10, 45])), atol=1e-7)
    by_id = queue.set_index("example_id")
    assert by_id.loc["n02666943_1", ["nearest_id", "nearest_class", "class_name", "class_id"]].tolist() == [
        "v1", "junco", "abattoir", "n02666943",
    ]  # fmt: skip
    assert by_id.loc["n03158885_3", "nearest_id"] == "v2"
    assert review_queue(ood, known, top=2)["example_id"].tolist() == queue["example_id"].tolist()[:2]


def test_queue_says_what_is_wrong():
    ood, known, *_ = two_sets()
    without = predictions(["a"], None, [-1])
    other = Predictions(known.table, replace(known.metadata, model=PredictedBy(id="b")))
    twice = Predictions(
        pa.concat_tables([ood.table, ood.table.set_column(1, "split", pa.array(["train"] * 5))]),
        replace(ood.metadata, rows={"test": 5, "train": 5}),
    )
    for words, message in (
        ((without, known), "The OOD predictions have no features. Predict again with --features."),
        ((ood, other), "two models"),
        ((known, ood), "5 of the ID images are outside the label set"),
        ((twice, known), "n02666943_0 in two splits"),
    ):
        with pytest.raises(OochubError, match=re.escape(message)):
            review_queue(*words)
    with pytest.raises(OochubError, match="1 or more; got 0"):
        review_queue(ood, known, top=0)


def _shown(page):
    return [
        Image.open(io.BytesIO(base64.b64decode(item)))
        for item in re.findall(r'src="data:image/jpeg;base64,(\S+)"', page)
    ]


def test_page_holds_the_pairs_and_loads_nothing():
    ood, known, ood_data, known_data = two_sets()
    queue = review_queue(ood, known, top=3)
    earlier = {("image", "elsewhere"): Decision("image", "elsewhere", "drop", NOON)}
    page = pairs_page(queue, (ood, ood_data), (known, {"test": known_data}), decisions=earlier)
    pictures = _shown(page)
    assert len(pictures) == 6 and {item.size for item in pictures} == {(40, 30)}
    black, red = pictures[0].getpixel((5, 5)), pictures[1].getpixel((5, 5))
    assert max(black) < 8 and red[0] > 240 and max(red[1:]) < 16  # n03158885_4 beside v0
    policy = re.search(r'Content-Security-Policy" content="([^"]+)"', page)[1].replace("&#39;", "'")
    for tag in ("style", "script"):
        text = re.findall(rf"<{tag}>(.*?)</{tag}>", page, re.DOTALL)
        assert len(text) == 1
        assert f"{tag}-src 'sha256-{base64.b64encode(hashlib.sha256(text[0].encode()).digest()).decode()}'" in policy
    assert "default-src 'none'" in policy and not re.search(r"(?:src|href)=\"(?:http|//)", page)
    assert "&#34;elsewhere&#34;" in page and "3 of 5 images nearest to 3" in page
    assert page == pairs_page(queue, (ood, ood_data), (known, known_data), decisions=earlier)


def test_page_escapes_what_it_is_given():
    ood, known, ood_data, known_data = two_sets()
    evil = '"><script>alert(1)</script>\u202e'
    queue = review_queue(ood, known, top=1).assign(class_name=evil, nearest_class=evil, class_id=evil)
    page = pairs_page(queue, (ood, ood_data), (known, known_data))
    assert page.count("<script>") == 1 and "\u202e" not in page


def test_page_needs_its_pictures():
    ood, known, ood_data, known_data = two_sets()
    queue = review_queue(ood, known)
    with pytest.raises(OochubError, match="1 of the 5 OOD images to show are not in the data, first n02666943_0"):
        pairs_page(queue, (ood, ood_data.select(range(1, 5))), (known, known_data))
    broken = known_data.cast_column("image", datasets.Image(decode=False)).map(
        lambda row: {"image": {"bytes": row["image"]["bytes"][:40], "path": None}}
    )
    with pytest.raises(OochubError, match="ID image v"):
        pairs_page(queue, (ood, ood_data), (known, broken))


def test_large_pictures_become_small():
    ood, known, ood_data, known_data = two_sets()
    features = ood_data.features
    rows = {"example_id": ood_data["example_id"][:], "image": [picture("red", (500, 250))] * 5}
    large = datasets.Dataset.from_dict(rows, features=features)
    page = pairs_page(review_queue(ood, known, top=1), (ood, large), (known, known_data))
    assert _shown(page)[0].size == (256, 128)


def _decisions(*rows):
    return {(row[0], row[1]): Decision(*row) for row in rows}


def test_keep_list_by_a_plain_loop():
    """An image's own mark before its class's; what was taken back counts for nothing."""
    ood, *_ = two_sets()
    decisions = _decisions(
        ("class", "n03158885", "drop", NOON),
        ("image", "n03158885_3", "keep", NOON),
        ("image", "n03158885_4", "open", NOON),
        ("image", "n02666943_0", "drop", NOON),
        ("image", "n02666943_1", "keep", NOON),
    )
    expected = []
    for name in ("n02666943_0", "n02666943_1", "n03158885_2", "n03158885_3", "n03158885_4"):
        if name not in ("n02666943_0", "n03158885_2", "n03158885_4"):
            expected.append(f"{name.partition('_')[0]}/{name}.JPEG")
    assert keep_list(ood, decisions) == expected
    assert len(keep_list(ood, {})) == 5
    plain = predictions(["a", "b"], [[1], [1]], [-1, -1])
    assert keep_list(plain, _decisions(("image", "a", "drop", NOON))) == ["b"]


def test_the_later_decision_holds_in_any_order():
    first, second = (_decisions(("image", "a", word, at)) for word, at in (("drop", NOON), ("keep", ONE)))
    for parts in ((first, second), (second, first)):
        assert merge_decisions(parts)["image", "a"].decision == "keep"
    later_file = _decisions(("image", "a", "open", ONE))
    assert merge_decisions([second, later_file])["image", "a"].decision == "open"


def test_times_of_other_zones_are_compared_as_times(tmp_path):
    (tmp_path / "one.csv").write_text("scope,id,decision,at\nimage,a,drop,2026-01-31T12:00:00+02:00\n")
    (tmp_path / "two.csv").write_text('scope,id,decision,at\n"image","a","keep","2026-01-31T10:30:00.000Z"\n')
    both = merge_decisions([read_decisions(tmp_path / "two.csv"), read_decisions(tmp_path / "one.csv")])
    assert both["image", "a"] == ("image", "a", "keep", "2026-01-31T10:30:00.000Z")


def test_decisions_are_written_as_they_are_read(tmp_path):
    rows = _decisions(("image", 'a "b", c', "drop", NOON), ("class", "n02666943", "open", ONE))
    write_decisions(tmp_path / "d.csv", rows)
    assert read_decisions(tmp_path / "d.csv") == rows
    assert pd.read_csv(tmp_path / "d.csv")["id"].tolist() == ["n02666943", 'a "b", c']


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("id,decision\na,drop\n", "its first line must be scope,id,decision,at"),
        (
            f"scope,id,decision,at\nimage,a,remove,{NOON}\n",
            "line 2: 'remove' is not a decision on 'image'. Allowed are image: keep",
        ),
        (f"scope,id,decision,at\nclass,a,keep,{NOON}\n", "'keep' is not a decision on 'class'"),
        (f"scope,id,decision,at\npair,a,keep,{NOON}\n", "on 'pair'"),
        ("scope,id,decision,at\nimage,a,keep,yesterday\n", "'yesterday' is not a time"),
        ("scope,id,decision,at\nimage,a,drop,0001-01-01T00:00:00+14:00\n", "is not a time with a time zone"),
        (f"scope,id,decision,at\nimage,{'x' * 2**20},drop,{NOON}\n", "line 2: field larger than"),
        (f'scope,id,decision,at\nimage,"a,drop,{NOON}\n', "line 2: expected 4 values, got 2"),
        ("scope,id,decision,at\nimage,a,keep,2026-01-31T12:00:00\n", "not a time with a time zone"),
        (f"scope,id,decision,at\nimage,a,keep,{NOON}\nimage,a,drop,{ONE}\n", "line 3: a second decision on image a"),
        (None, "There are no decisions at"),
    ],
)
def test_wrong_decisions_are_named(tmp_path, text, message):
    if text is not None:
        (tmp_path / "d.csv").write_text(text)
    with pytest.raises(OochubError, match=re.escape(message)):
        read_decisions(tmp_path / "d.csv")


@pytest.mark.slow
def test_from_predictions_to_a_list_by_the_command_line(run, spawrious, tmp_path):
    """Page, decisions, list, and the page again with what was decided; unknown ids and missing parts are exit 2."""
    from oochub.data.load import load

    review = partial(run, "imagenet_ood", "review")
    rng = np.random.default_rng(1)
    paths = {}
    for config in ("m2m_hard", "o2o_hard"):
        ids = load(f"spawrious/{config}", data_dir=str(spawrious))["test"]["example_id"][:]
        label = [-1 if config == "m2m_hard" else 1] * len(ids)
        paths[config] = tmp_path / f"{config}.parquet"
        predictions(ids, rng.normal(size=(len(ids), 8)), label, config=config).save(paths[config])
        if config == "m2m_hard":
            ood_ids = ids
    both, page, decided = list(paths.values()), tmp_path / "review.html", tmp_path / "decisions.csv"
    data = ("--data-dir", spawrious)
    code, output, err = review(*both, *data, "--out", page, "--decisions", decided, "--top", 6)
    assert code == 0 and output.strip().endswith("review.html") and not decided.exists(), err
    assert page.read_text().count("<li ") == 6

    saved, keep = tmp_path / "saved.csv", tmp_path / "keep.txt"
    write_decisions(saved, _decisions(("image", ood_ids[3], "drop", NOON), ("image", ood_ids[5], "keep", NOON)))
    code, output, err = review(both[0], "--apply", saved, "--decisions", decided, "--keep", keep)
    assert code == 0 and f"{len(ood_ids) - 1} of {len(ood_ids)} images stay" in output, err
    assert keep.read_text().splitlines() == [item for item in ood_ids if item != ood_ids[3]]
    assert read_decisions(decided) == read_decisions(saved)
    write_decisions(saved, _decisions(("image", ood_ids[3], "open", ONE), ("image", ood_ids[0], "drop", ONE)))
    before, apply = (keep.read_text(), decided.read_text()), (both[0], "--apply", saved, "--decisions", decided)
    code, _, err = run(
        "imagenet_ood", "review", *apply, "--keep", keep
    )  # a list has no place for a mark: it may be the user's
    assert code == 2 and "add --overwrite" in err and before == (keep.read_text(), decided.read_text())
    code, output, err = review(*apply, "--keep", keep, "--overwrite", "--json")
    assert code == 0 and json.loads(output) == {"decisions": str(decided), "keep": str(keep)}
    assert keep.read_text().splitlines() == ood_ids[1:] and len(read_decisions(decided)) == 3
    code, _, err = review(*both, *data, "--out", page, "--decisions", decided, "--top", 6)
    assert code == 0 and ood_ids[3] in page.read_text(), err

    before = keep.read_text(), decided.read_text()
    write_decisions(saved, _decisions(("image", "nobody", "drop", ONE), ("class", "n02666943", "drop", ONE)))
    for words, message in (
        ((both[0], "--apply", saved, "--decisions", decided, "--keep", keep), "2 decisions refer to nothing"),
        ((both[0], "--out", page), "The page needs both"),
        ((both[0], "--apply", decided), "Nothing to write"),
        ((both[0], both[1], "--out", tmp_path / "keep.txt" / "x.html"), "is a file, not a folder"),
        ((tmp_path / "none.parquet", "--apply", decided, "--keep", keep), "Prediction file not found"),
        ((both[0], "--apply", tmp_path / "none.csv", "--keep", keep), "no decisions at"),
    ):
        code, _, err = review(*words, "--overwrite")
        assert code == 2 and message in err, (words, err)
    assert (keep.read_text(), decided.read_text()) == before
