"""A criterion on any data set: what the columns hold, how classes are compared, and the command on every source."""

import csv
import json
from importlib.metadata import EntryPoint
from pathlib import Path

import datasets
import numpy as np
import pytest
from datasets import ClassLabel, Dataset, DatasetDict, Features, Image, List, Value
from numpy.typing import ArrayLike
from PIL import Image as Pictures

import oochub
from oochub import catalog
from oochub.data.challenge import KINDS, challenge
from oochub.errors import OochubError
from oochub.loading_scripts.build_repository import build_parquet
from oochub.storage.ownership import MANIFEST


def kinds(dataset) -> list[str]:
    return dataset.features["challenge"].int2str(dataset["challenge"][:])


def classes(names, **columns) -> Dataset:
    """A data set of ClassLabel columns: each the list of its names and its values by name."""
    features = Features({key: ClassLabel(names=names[key]) for key in columns})
    return Dataset.from_dict(columns, features)


def test_classes_are_compared_by_name():
    """A loop over names; planted fault seen: the numbers compared, which the context numbers otherwise."""
    rng = np.random.default_rng(0)
    birds, places = ["finch", "gull", "tern"], ["tern", "finch", "cave", "gull"]
    label, context = rng.choice(birds, 200), rng.choice(places, 200)
    data = classes({"label": birds, "place": places}, label=label, place=context)
    expected = ["easy" if y == c else "hard" for y, c in zip(label, context, strict=True)]
    assert kinds(challenge(data, "mismatch", context="place").dataset) == expected
    two = classes({"label": birds[:2], "place": places}, label=np.where(label == "tern", "gull", label), place=context)
    signs = {"finch": "hard_negative", "gull": "hard_positive"}  # class 1 is the positive
    rows = zip(two.features["label"].int2str(two["label"][:]), context, strict=True)
    assert kinds(challenge(two, "mismatch", context="place").dataset) == [
        "easy" if y == c else signs[y] for y, c in rows
    ]
    text = two.cast_column("place", Value("string")).remove_columns("place").add_column("place", context.tolist())
    assert kinds(challenge(text, "mismatch", context="place").dataset) == kinds(
        challenge(two, "mismatch", context="place").dataset
    )


def test_numbers_are_compared_where_one_side_has_no_names():
    """Waterbirds as it is often kept: a named label, a background of 0 and 1."""
    data = Dataset.from_dict({"label": [0, 0, 1, 1], "place": [0, 1, 0, 1]})
    expected = ["easy", "hard_negative", "hard_positive", "easy"]
    named = ClassLabel(names=["land bird", "water bird"])
    for column in (None, "label", "place"):
        item = data.cast_column(column, named) if column else data
        assert kinds(challenge(item, "mismatch", context="place").dataset) == expected


def test_a_sign_is_for_the_whole_data_set():
    """Planted fault seen: judged by split, where a split of the classes 0 and 1 only has signs that others lack."""
    parts = {"train": {"label": [0, 1, 2], "c": [1, 1, 1]}, "test": {"label": [0, 1], "c": [1, 1]}}
    for label in (Value("int64"), ClassLabel(names=["a", "b", "c"])):
        features = Features({"label": label, "c": Value("int64")})
        data = DatasetDict({name: Dataset.from_dict(rows, features) for name, rows in parts.items()})
        result = challenge(data, "mismatch", context="c").dataset
        assert kinds(result["test"]) == ["hard", "easy"] and kinds(result["train"]) == ["hard", "easy", "hard"]


def test_other_names_than_the_labels_are_an_error_that_shows_both():
    data = classes({"label": ["cow", "camel"], "place": ["grass", "sand"]}, label=["cow"], place=["sand"])
    for item in (data, Dataset.from_dict({"label": ["cow"], "place": ["sand"]})):
        with pytest.raises(OochubError, match=r"none of the names of the label.*sand against .*cow"):
            challenge(item, "mismatch", context="place")


def test_the_value_behind_and_several_columns():
    """reference: the rule of NOOCH-CE by hand; planted fault seen: the mean area for the largest."""
    rows = {"label": [1, 1, 0, 0], "road": [0.05, 0.3, 0.2, 0.0], "sky": [0.0, 0.0, 0.5, 0.05]}
    expected, value = ["hard_positive", "easy", "hard_negative", "easy"], [0.05, 0.3, 0.5, 0.05]
    result = challenge(Dataset.from_dict(rows), "co_occurrence", present="label", context_areas=["road", "sky"])
    assert kinds(result.dataset) == expected and result.dataset["challenge_value"][:] == value
    assert result.counts == {"train": {"easy": 2, "hard_positive": 1, "hard_negative": 1, "hard": 0}}
    areas = [list(pair) for pair in zip(rows["road"], rows["sky"], strict=True)]
    lists = Dataset.from_dict({"label": rows["label"], "areas": areas})
    for columns in ("areas", ["areas"]):
        result = challenge(lists, "co_occurrence", present="label", context_areas=columns)
        assert kinds(result.dataset) == expected and result.dataset["challenge_value"][:] == value
    empty = Dataset.from_dict(
        {"present": [1, 0], "context_areas": [[], []]},
        Features({"present": Value("bool"), "context_areas": List(Value("float32"))}),
    )
    result = challenge(empty, "co_occurrence").dataset
    assert kinds(result) == ["easy", "easy"] and np.isnan(result["challenge_value"][:]).all()
    scenes = Dataset.from_dict({"label": [1, 0], "similarity": [0.25, 0.75]})
    result = challenge(scenes, "gist", present="label", hard_positives=1, hard_negatives=0).dataset
    assert kinds(result) == ["hard_positive", "easy"] and result["challenge_value"][:] == [0.25, 0.75]
    for criterion, arguments in (
        ("mismatch", {"context": "similarity"}),
        ("membership", {"value": "label", "allowed": [1]}),
    ):
        assert "challenge_value" not in challenge(scenes, criterion, **arguments).dataset.column_names


def test_pictures_stay_closed_and_rows_in_order():
    """Bytes that are no image are never decoded; a shuffled data set keeps each row's challenge."""
    n = 300
    rows = {"image": [{"bytes": b"no picture", "path": None}] * n, "year": list(range(n))}
    data = Dataset.from_dict(rows, Features({"image": Image(), "year": Value("int64")})).shuffle(seed=0)
    result = challenge(data, "threshold", value="year", at=100).dataset
    result = result.remove_columns("image")
    assert [row["challenge"] for row in result] == [3 if row["year"] >= 100 else 0 for row in result]
    assert result["challenge_value"][:] == result["year"][:] == data["year"][:]


def test_training_is_restricted_only_when_asked():
    """reference: step 3 of NOOCH Section 2; planted fault seen: every split restricted."""
    rows = {"year": [2011, 2012, 2013, 2014]}
    data = DatasetDict({name: Dataset.from_dict(rows) for name in ("train", "test")})
    whole = challenge(data, "threshold", value="year", at=2013)
    assert whole.dropped == 0 and whole.dataset.num_rows == {"train": 4, "test": 4}
    result = challenge(data, "threshold", value="year", at=2013, restrict_train=True)
    assert result.counts == whole.counts and result.dropped == 2
    assert result.dataset["train"]["year"][:] == [2011, 2012] and result.dataset["test"]["year"][:] == rows["year"]
    with pytest.raises(OochubError, match="would leave none"):
        challenge(data, "threshold", value="year", at=2000, restrict_train=True)
    with pytest.raises(OochubError, match="there are only test"):
        challenge(DatasetDict(test=data["test"]), "threshold", value="year", at=2013, restrict_train=True)


def test_nothing_hard_is_counted():
    data = DatasetDict(train=Dataset.from_dict({"year": [1]}), test=Dataset.from_dict({"year": [3]}))
    none = {"easy": 1, "hard_positive": 0, "hard_negative": 0, "hard": 0}
    assert challenge(data, "threshold", value="year", at=2).counts["train"] == none


def test_columns_that_are_there_are_replaced_only_when_asked():
    """Planted fault seen: an old challenge_value kept beside a criterion that has none."""
    data = challenge(Dataset.from_dict({"year": [1, 3], "label": [0, 1]}), "threshold", value="year", at=2).dataset
    with pytest.raises(OochubError, match="already has a column 'challenge' in split train"):
        challenge(data, "mismatch", context="year")
    result = challenge(data, "mismatch", context="year", replace=True).dataset
    assert kinds(result) == ["hard_negative", "hard_positive"] and "challenge_value" not in result.column_names


def test_classes_of_a_set_are_checked():
    data = classes({"place": ["grass", "sand"]}, place=["grass", "sand"])
    assert kinds(challenge(data, "membership", value="place", allowed=iter(["sand"])).dataset) == ["hard", "easy"]
    with pytest.raises(OochubError, match="Did you mean 'sand'"):
        challenge(data, "membership", value="place", allowed=["snad"])
    numbered = Dataset.from_dict({"place": ["1", "7"]})
    assert kinds(challenge(numbered, "membership", value="place", allowed=range(1, 4)).dataset) == ["easy", "hard"]


def _longest(title: ArrayLike, more_than: float, label: ArrayLike | None = None) -> list[str]:
    return ["hard" if len(item) > more_than else "easy" for item in np.asarray(title).tolist()]


def test_criteria_of_others(monkeypatch):
    """A function, and one of an entry point; what they return is checked."""
    data = Dataset.from_dict({"title": ["a", "long"], "n": [1, 2]})
    assert kinds(challenge(data, _longest, more_than=2.5).dataset) == ["easy", "hard"]
    point = EntryPoint("_longest", f"{__name__}:_longest", "oochub.criterion")
    monkeypatch.setattr(catalog, "_find_plugins", lambda kind: {"_longest": point} if kind == "criterion" else {})
    assert kinds(challenge(data, "_longest", more_than=2.5).dataset) == ["easy", "hard"]

    def wrong_length(title: ArrayLike) -> list[str]:
        return ["easy"]

    def wrong_names(title: ArrayLike) -> list[str]:
        return ["simple", "easy"]

    def bare(title):
        return title

    for function, words in ((wrong_length, "must return 2"), (wrong_names, "must return 2"), (bare, "ArrayLike")):
        with pytest.raises(OochubError, match=words):
            challenge(data, function)


@pytest.mark.parametrize(
    ("criterion", "arguments", "words"),
    [
        ("mismatch", {"contxt": "place"}, "Did you mean 'context'"),
        ("threshold", {"value": "year"}, "threshold needs a value for 'at'"),
        ("threshold", {"value": 2013, "at": 2013}, "give the column's name"),
        ("threshold", {"value": "yaer", "at": 2013}, "Did you mean 'year'"),
        ("threshold", {"value": "image", "at": 2013}, "holds Image"),
        ("threshold", {"value": "place", "at": 2013}, "Split train: value takes finite numbers"),
        ("threshold", {"value": "year", "at": 2013, "label": "classes"}, "0 and 1 only"),
        ("mismatch", {"label": "unlabeled", "context": "year"}, "'unlabeled' of train has no value in 1 of 2 rows"),
        ("co_occurrence", {"present": "classes", "context_areas": ["year"]}, "0 and 1 only"),
        ("co_occurrence", {"present": "binary", "context_areas": "ragged"}, "lists of 1 to 2"),
        ("membership", {"value": "year", "allowed": ["grass"]}, "never equal"),
    ],
)
def test_what_cannot_be_judged_is_said(criterion, arguments, words):
    features = {
        "image": Image(),
        "year": Value("int64"),
        "gaps": Value("int64"),
        "place": Value("string"),
        "classes": ClassLabel(names=["a", "b", "c"]),
        "unlabeled": ClassLabel(names=["a", "b"]),
        "binary": ClassLabel(names=["no", "yes"]),
        "ragged": List(Value("float32")),
    }
    rows = {
        "image": [None, None],
        "year": [2012, 2013],
        "gaps": [1, None],
        "place": ["grass", "sand"],
        "classes": [0, 2],
        "unlabeled": [0, -1],
        "binary": [0, 1],
        "ragged": [[0.1], [0.1, 0.2]],
    }
    with pytest.raises(OochubError) as caught:
        challenge(Dataset.from_dict(rows, Features(features)), criterion, **arguments)
    assert words in str(caught.value)


@pytest.mark.parametrize(
    ("criterion", "arguments"),
    [
        ("threshold", {"value": "x", "at": 0.5, "label": "label"}),
        ("membership", {"value": "x", "allowed": [0.1], "label": "label"}),
        ("gist", {"present": "label", "similarity": "x", "tau": 0.5}),
    ],
)
def test_a_label_of_text_says_how_to_name_its_classes(criterion, arguments):
    """And the cast that it names is what works."""
    data = Dataset.from_dict({"label": ["cat", "dog"], "x": [0.1, 0.9]})
    with pytest.raises(OochubError, match=r'cast_column\("(label|present)", datasets.ClassLabel\(names='):
        challenge(data, criterion, **arguments)
    challenge(data.cast_column("label", ClassLabel(names=["cat", "dog"])), criterion, **arguments)


def test_what_is_no_whole_data_set_is_said():
    streamed = Dataset.from_dict({"year": [1]}).to_iterable_dataset()
    with pytest.raises(OochubError, match="got IterableDataset"):
        challenge(streamed, "threshold", value="year", at=1)
    parts = {"train": Dataset.from_dict({"year": [1]}), "test": Dataset.from_dict({"yr": [1]})}
    with pytest.raises(OochubError, match="in split test named 'year'"):
        challenge(DatasetDict(parts), "threshold", value="year", at=1)
    parts["test"] = Dataset.from_dict({"year": [1.0]})
    with pytest.raises(OochubError, match="differs between splits"):
        challenge(DatasetDict(parts), "threshold", value="year", at=1)


@pytest.fixture
def run(run):
    """Runs `oochub challenge`."""
    return lambda *words: run("challenge", *words)


@pytest.fixture
def birds(tmp_path) -> Path:
    """A folder of images with a metadata.csv: train 12, test 6; label 0/1, background 0/1, the year."""
    rng = np.random.default_rng(0)
    for split, n in (("train", 12), ("test", 6)):
        folder = tmp_path / "birds" / split
        folder.mkdir(parents=True)
        with (folder / "metadata.csv").open("w", newline="") as lines:
            writer = csv.writer(lines)
            writer.writerow(["file_name", "label", "background", "year"])
            for k in range(n):
                Pictures.fromarray(rng.integers(0, 255, (8, 8, 3), dtype=np.uint8)).save(folder / f"{k}.jpg")
                writer.writerow([f"{k}.jpg", k % 2, k % 2 if k % 3 else 1 - k % 2, 2008 + k])
    return tmp_path / "birds"


def test_a_folder_of_pictures(run, birds, tmp_path):
    """reference: the rows of metadata.csv, every third one mismatched; the bytes those of the files."""
    out = tmp_path / "out"
    code, output, err = run(
        birds, "--criterion", "mismatch", "--context", "background", "--restrict-train", "--out", out
    )
    assert code == 0 and output.strip().endswith(str(out)), err
    lines = [line.split() for line in output.splitlines()]
    assert ["train", "8", "2", "2", "0"] in lines and ["test", "4", "1", "1", "0"] in lines
    assert "Dropped the 4 hard examples" in output
    data = datasets.load_dataset(str(out)).cast_column("image", Image(decode=False))
    assert data.num_rows == {"train": 8, "test": 6} and data["test"].features["challenge"] == ClassLabel(
        names=list(KINDS)
    )
    for split, part in data.items():
        for row in part:
            name = row["image"]["path"]
            assert row["image"]["bytes"] == (birds / split / name).read_bytes()
            k = int(name.removesuffix(".jpg"))
            hard = "easy" if k % 3 else "hard_positive" if k % 2 else "hard_negative"
            assert KINDS[row["challenge"]] == hard and row["year"] == 2008 + k
    card = (out / "README.md").read_text()
    assert "| train | 8 | 2 | 2 | 0 |" in card and "column `background`" in card and str(tmp_path) not in card


def test_csv_and_json(run, tmp_path):
    (tmp_path / "traps.csv").write_text("camera,label\n1,0\n245,1\n246,1\n300,0\n")
    words = (tmp_path / "traps.csv", "--criterion", "membership", "--value", "camera", "--allowed", "1..245")
    code, output, err = run(*words, "--label", "label", "--out", tmp_path / "out", "--json")
    assert code == 0, err
    counts = {"easy": 2, "hard_positive": 1, "hard_negative": 1, "hard": 0}
    assert json.loads(output) == {"repository": str(tmp_path / "out"), "counts": {"train": counts}, "dropped": 0}
    assert datasets.load_dataset(str(tmp_path / "out"))["train"]["challenge"][:] == [0, 0, 1, 2]
    assert "| `allowed` | 1 to 245 |" in (tmp_path / "out" / "README.md").read_text()
    code, output, err = run(*words[:-1], "245,1..2,300", "--inside", "--out", tmp_path / "inside", "--json")
    assert code == 0 and json.loads(output)["counts"]["train"]["hard"] == 3, err
    code, output, err = run(*words[:-1], "1..400", "--out", tmp_path / "none")
    assert code == 0 and "Nothing is hard in train." in output, err


@pytest.mark.slow
def test_other_sources(run, birds, spawrious, tmp_path):
    """save_to_disk, a Parquet repository with several configurations, and a benchmark give the same as their rows."""
    stored = datasets.load_dataset(str(birds))
    stored.save_to_disk(tmp_path / "stored")
    stored["test"].save_to_disk(tmp_path / "one")
    words = ("--criterion", "threshold", "--value", "year", "--at", "2013")
    code, output, err = run(tmp_path / "stored", *words, "--out", tmp_path / "a", "--json")
    assert code == 0 and {split: n["hard"] for split, n in json.loads(output)["counts"].items()} == {
        "train": 7,
        "test": 1,
    }, err
    code, output, err = run(tmp_path / "one", *words, "--out", tmp_path / "b", "--json")
    assert code == 0 and json.loads(output)["counts"]["test"]["hard"] == 1, err
    assert datasets.load_dataset(str(tmp_path / "b"))["test"]["challenge_value"][:] == [
        2008,
        2009,
        2010,
        2011,
        2012,
        2013,
    ]

    for config in ("o2o_hard", "o2o_easy"):
        build_parquet(f"spawrious/{config}", tmp_path / "repo", data_dir=str(spawrious))
    words = ("--criterion", "membership", "--value", "background", "--allowed", "beach,jungle")
    code, output, err = run("spawrious/o2o_hard", "--data-dir", spawrious, *words, "--out", tmp_path / "c", "--json")
    assert code == 0, err
    code, again, err = run(tmp_path / "repo", "--option", "name=o2o_hard", *words, "--out", tmp_path / "d", "--json")
    assert code == 0 and json.loads(again)["counts"] == json.loads(output)["counts"], err
    code, _, err = run(tmp_path / "repo", *words, "--out", tmp_path / "e")
    assert code == 2 and "Config name is missing" in err
    source = datasets.load_dataset("spawrious", "o2o_hard", data_dir=str(spawrious))
    for result in (oochub.load(tmp_path / name) for name in ("c", "d")):
        for split, part in result.items():
            names = part.features["background"].int2str(part["background"][:])
            assert kinds(part) == ["easy" if item in ("beach", "jungle") else "hard" for item in names]
            assert {key: part.features[key] for key in source[split].features} == source[split].features
            closed = [item.cast_column("image", Image(decode=False)) for item in (part, source[split])]
            assert closed[0].remove_columns("challenge")[:] == closed[1][:]
    assert "partial: 20 of 3,168" in (tmp_path / "c" / "README.md").read_text()


def test_long_splits_are_several_files(run, tmp_path, monkeypatch):
    """Planted fault seen: the second file written over the first."""
    monkeypatch.setattr("oochub.repository.write_repository._FILE", 1)
    Dataset.from_dict({"year": list(range(2500))}).to_parquet(tmp_path / "years.parquet")
    words = (tmp_path / "years.parquet", "--criterion", "threshold", "--value", "year", "--at", 7)
    code, _, err = run(*words, "--out", tmp_path / "out")
    assert code == 0 and len(list((tmp_path / "out" / "data").iterdir())) == 3, err
    assert datasets.load_dataset(str(tmp_path / "out"))["train"]["year"][:] == list(range(2500))


def test_parameters_of_other_criteria(run, tmp_path, monkeypatch):
    (tmp_path / "books.csv").write_text("title\nIt\nEmma\n")
    point = EntryPoint("_longest", f"{__name__}:_longest", "oochub.criterion")
    monkeypatch.setattr(catalog, "_find_plugins", lambda kind: {"_longest": point} if kind == "criterion" else {})
    words = (tmp_path / "books.csv", "--criterion", "_longest", "--parameter", "more_than=3")
    code, output, err = run(*words, "--out", tmp_path / "out", "--json")
    assert code == 0 and json.loads(output)["counts"]["train"] == {
        "easy": 1,
        "hard_positive": 0,
        "hard_negative": 0,
        "hard": 1,
    }, err


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (
            ("CSV", "--criterion", "mismatch", "--beta", "0.1"),
            "No parameter of mismatch named 'beta'. Allowed: context, label",
        ),
        (("CSV", "--criterion", "threshold", "--value", "year"), "needs a value for 'at'"),
        (("CSV", "--criterion", "gist", "--tau", "high"), "--tau must be a number"),
        (("CSV", "--criterion", "mismatch", "--context", "yer"), "Did you mean 'year'"),
        (("CSV", "--criterion", "mismatch", "--context", "year", "--option", "sepp=;"), "sepp"),
        (("NONE.csv", "--criterion", "mismatch"), "file or folder not found"),
        (("nobody/nothing", "--criterion", "mismatch"), "No dataset at nobody/nothing"),
        (("spawrious/o2o_hrad", "--criterion", "mismatch"), "Did you mean 'o2o_hard'"),
        (("spawrious/o2o_hard", "--data-dir", "/no", "--criterion", "mismatch", "--context", "group"), "not a folder"),
    ],
)
def test_wrong_turns_say_what_to_do_and_leave_nothing(run, words, message, tmp_path):
    (tmp_path / "a.csv").write_text("label,year\n0,1\n")
    places = {"CSV": tmp_path / "a.csv", "NONE.csv": tmp_path / "none.csv"}
    code, output, err = run(*(places.get(word, word) for word in words), "--out", tmp_path / "out")
    assert code == 2 and message in err and "Traceback" not in err and not output, err
    assert not (tmp_path / "out").exists()


def test_what_can_be_known_is_said_before_the_data_are_read(run, spawrious, tmp_path, monkeypatch):
    """Planted fault seen: the columns checked after the build only."""

    def slow(*_, **__):
        raise AssertionError("read")

    monkeypatch.setattr(datasets.DatasetBuilder, "download_and_prepare", slow)
    monkeypatch.setattr(datasets, "load_from_disk", slow)
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "file").write_text("mine")
    benchmark = ("spawrious/o2o_easy", "--data-dir", spawrious, "--criterion", "mismatch", "--context")
    for words, message in (
        ((*benchmark, "backgrund", "--out", tmp_path / "out"), "Did you mean 'background'"),
        ((*benchmark, "background", "--out", tmp_path / "full"), "is not a Parquet repository"),
        ((*benchmark, "background", "--out", tmp_path / "full" / "file"), "it is a file"),
        ((*benchmark, "background", "--out", tmp_path / "full" / "file" / "x"), "is a file, not a folder"),
        ((*benchmark, "background", "--tau", "0.1", "--out", tmp_path / "out"), "named 'tau'"),
    ):
        code, _, err = run(*words)
        assert code == 2 and message in err, err
    assert (tmp_path / "full" / "file").read_text() == "mine"


def test_the_same_command_replaces_its_own_repository_and_nothing_else(run, tmp_path):
    """Planted faults: any folder with a card replaced; a file of the user's removed."""
    (tmp_path / "a.csv").write_text("label,year\n0,1\n1,9\n")
    out = tmp_path / "out"
    words = (tmp_path / "a.csv", "--criterion", "threshold", "--value", "year", "--out", out, "--at")
    for at, hard in ((5, 1), (5, 1), (0, 2)):
        code, _, err = run(*words, at)
        assert code == 0, err
        counts = datasets.load_dataset(str(out))["train"].to_pandas()["challenge"].ne(0).sum()
        names = sorted(path.name for path in out.iterdir())
        assert counts == hard and names == [MANIFEST, "README.md", "build.json", "croissant.json", "data"]
    (out / "data" / "notes.txt").write_text("mine")
    assert run(*words, 5)[0] == 0 and (out / "data" / "notes.txt").read_text() == "mine"
    (out / "README.md").write_text("# Another dataset\n")
    code, _, err = run(*words, 0)
    assert code == 2 and "README.md: it was changed after oochub wrote it" in err, err
    assert (out / "README.md").read_text() == "# Another dataset\n"
    counts = datasets.load_dataset(str(out / "data"))["train"].to_pandas()["challenge"].ne(0).sum()
    assert counts == 1  # the rows are those of before too


def test_a_damaged_repository_is_no_source(run, birds, tmp_path):
    """A bit of its Parquet flipped: plain `datasets` may read other rows, a challenge set of it is refused."""
    made = tmp_path / "made"
    assert run(birds, "--criterion", "mismatch", "--context", "background", "--out", made)[0] == 0
    file = next(made.glob("data/*.parquet"))
    content = bytearray(file.read_bytes())
    content[len(content) // 2] ^= 1
    file.write_bytes(content)
    again = ("--criterion", "mismatch", "--context", "background", "--replace", "--out", tmp_path / "again")
    for source in (made, file):
        code, _, err = run(source, *again)
        assert code == 2 and "is corrupted" in " ".join(err.split()), err
    assert not (tmp_path / "again").exists()
