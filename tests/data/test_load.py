"""Own data from every place in one form; usual contexts, groups and challenges against loops and cases by hand."""

import json
import math

import datasets
import numpy as np
import pytest
from datasets import ClassLabel, Dataset, DatasetDict, Features, Image, Value
from own_data import CHALLENGES, ROWS, class_folder, jpeg, parquet_file, path_table, picture_folder, shard

import oochub
from oochub.data.challenge import challenge
from oochub.data.data_source import DataSource
from oochub.data.load import make_benchmark_builder
from oochub.data.user_data import _estimate_roles, make_user_data
from oochub.errors import OochubError
from oochub.records.build_record import BuildRecord
from oochub.settings.data_settings import DataSettings, parse_usual

USUAL = {"dog": ["beach", "grass"], "cat": ["sofa"]}
FORM = ["example_id", "image", "label", "context", "group", "challenge"]


def names(part, column):
    feature, values = part.features[column], part[column][:]
    if not isinstance(feature, ClassLabel):
        return values
    return [None if value < 0 else feature.names[value] for value in values]


def record(data):
    return BuildRecord.of(next(iter(data.values())).info)


def stored(folder):
    DatasetDict(train=datasets.load_dataset(str(picture_folder(folder / "pictures")))["train"]).save_to_disk(
        folder / "stored"
    )
    return folder / "stored"


SOURCES = {
    "metadata.csv": (lambda folder: picture_folder(folder / "mine"), {}),
    "metadata.jsonl": (lambda folder: picture_folder(folder / "mine", form="jsonl"), {}),
    "class folders and metadata.csv": (lambda folder: class_folder(folder / "mine", context=True), {"label": None}),
    "one Parquet file": (lambda folder: parquet_file(folder / "mine.parquet"), {}),
    "folder of Parquet": (lambda folder: parquet_file(folder / "some.parquet").parent, {"image": "photo"}),
    "CSV with paths": (lambda folder: path_table(folder / "mine"), {"image": "file"}),
    "save_to_disk": (stored, {}),
    "WebDataset": (lambda folder: shard(folder / "mine.tar"), {"label": "json.species", "context": "json.place"}),
    "folder of shards": (
        lambda folder: shard(folder / "mine" / "train-0.tar").parent,
        {"label": "json.species", "context": "json.place"},
    ),
}


@pytest.mark.parametrize("kind", SOURCES)
def test_the_same_rows_from_everywhere(kind, tmp_path):
    """By hand: ROWS and CHALLENGES. Planted fault seen: classes in the order of their first row."""
    make, changes = SOURCES[kind]
    columns = {"label": "species", "context": "place", "usual": USUAL} | changes
    data = oochub.load(make(tmp_path), **{key: value for key, value in columns.items() if value is not None})
    assert list(data) == ["train"]
    part = data["train"]
    order = sorted(range(len(part)), key=lambda row: np.asarray(part[row]["image"]).mean())  # the shade is the id
    assert part.column_names[:6] == FORM and part.features["image"] == Image()
    rows = [[names(part, column)[row] for column in ("label", "context", "group", "challenge")] for row in order]
    assert rows == [
        [species, place, f"{species}/{place}", hard] for (_, species, place), hard in zip(ROWS, CHALLENGES, strict=True)
    ]
    assert part.features["label"].names == ["cat", "dog"]
    found = record(data)
    assert found.benchmark == "custom" and found.facts.usual_contexts == {"cat": ("sofa",), "dog": ("beach", "grass")}
    assert found.notes == ("usual contexts of dog, cat are given",)
    assert found.facts.rows == {"train": 8} and str(tmp_path) not in part.info.description
    has_names = kind not in ("one Parquet file", "folder of Parquet")  # the bytes there came without
    width = 4 if "WebDataset" in kind or "shards" in kind else 1
    assert [part["example_id"][row] for row in order] == [
        name.zfill(width) if has_names else str(row) for row, (name, _, _) in zip(order, ROWS, strict=True)
    ]


def _wilson(count, n):
    """The interval at 95% by Wilson's formula (1927), by hand."""
    z, share = 1.959963984540054, count / n
    middle, half = share + z * z / (2 * n), z * math.sqrt(share * (1 - share) / n + z * z / (4 * n * n))
    return (middle - half) / (1 + z * z / n), (middle + half) / (1 + z * z / n)


def test_roles_of_contexts_by_a_loop():
    """Reference: Newcombe's interval of the difference of two shares (1998, method 10).

    It leaves 0 out exactly where that of their ratio leaves 1 out. Planted fault seen: the role by counts alone.
    """
    random, seen = np.random.default_rng(0), set()
    for rows in (1, 2, 4, 12, 40, 400):
        for _ in range(10):
            classes, contexts = random.integers(1, 4), random.integers(1, 5)
            label = random.integers(0, classes, rows)
            context = np.where(random.random(rows) < 0.3, label % contexts, random.integers(0, contexts, rows))
            roles = _estimate_roles(label, context, size=(classes, contexts))
            for y in range(classes):
                for c in range(contexts):
                    sides = [context[label == y] == c, context[label != y] == c]
                    if not all(map(len, sides)) or not any(side.any() for side in sides):
                        assert roles[y, c] == 0
                        continue
                    (p, (pl, pu)), (q, (ql, qu)) = ((s.mean(), _wilson(s.sum(), len(s))) for s in sides)
                    low = p - q - math.hypot(p - pl, qu - q)
                    high = p - q + math.hypot(pu - p, q - ql)
                    assert roles[y, c] == int(low > 0) - int(high < 0)
                    seen.add(int(roles[y, c]))
    assert seen == {-1, 0, 1}


def test_roles_know_the_clusters_of_rows(tmp_path):
    """Case by hand: 40 rows of two walks say no more than two rows. Planted fault seen: clusters not handed on."""
    rows = {"y": ["cow"] * 20 + ["camel"] * 20, "c": ["grass"] * 20 + ["sand"] * 20, "walk": ["a"] * 20 + ["b"] * 20}
    DatasetDict(train=Dataset.from_dict(rows)).save_to_disk(tmp_path / "walks")
    alone = oochub.load(tmp_path / "walks", label="y", context="c")
    shared = oochub.load(tmp_path / "walks", label="y", context="c", cluster="walk")
    assert set(names(alone["train"], "challenge")) == {"easy"}
    assert set(names(shared["train"], "challenge")) == {None}
    assert record(shared).facts.usual_contexts == {"camel": (), "cow": ()}


def of_rows(folder, **splits):
    """Text columns y and c of each split, kept by save_to_disk."""
    parts = {
        split: Dataset.from_dict({"y": [y for y, _ in rows], "c": [c for _, c in rows]})
        for split, rows in splits.items()
    }
    DatasetDict(parts).save_to_disk(folder)
    return folder


def test_the_training_split_says_what_is_usual(tmp_path):
    """Case by hand: sand goes with cows in test alone, ice occurs in test alone. Planted fault seen: all splits."""
    train = [("cow", "grass")] * 20 + [("camel", "sand")] * 10
    test = [("cow", "sand"), ("cow", "sand"), ("cow", "sand"), ("camel", "ice"), ("camel", "sand")]
    data = oochub.load(of_rows(tmp_path / "farm", train=train, test=test), label="y", context="c")
    assert record(data).facts.usual_contexts == {"camel": ("sand",), "cow": ("grass",)}
    assert record(data).notes == () and record(data).config == "farm"
    hard = ["hard_positive"] * 3 + [None, "easy"]  # classes by name: camel, cow; no row of train has ice
    assert names(data["test"], "challenge") == hard and set(names(data["train"], "challenge")) == {"easy"}
    alone = oochub.load(tmp_path / "farm", label="y", context="c", split="test")
    assert list(alone) == ["test"] and alone["test"][:] == data["test"][:]


def test_challenges_are_those_of_the_criterion(tmp_path):
    """Reference: `challenge` on hand-made columns: the class that each context goes with, of two and of three."""
    two = [("cow", "grass")] * 20 + [("camel", "sand")] * 20 + [("camel", "grass"), ("cow", "sand")]
    three = [*two, *[("fish", "sea")] * 20, ("fish", "sand"), ("camel", "sand")]
    goes_with = {"grass": "cow", "sand": "camel", "sea": "fish"}
    for number, rows in enumerate((two, three)):
        data = oochub.load(of_rows(tmp_path / str(number), train=rows), label="y", context="c")["train"]
        classes = ClassLabel(names=sorted({y for y, _ in rows}))
        by_hand = {"label": [y for y, _ in rows], "context": [goes_with[c] for _, c in rows]}
        reference = challenge(Dataset.from_dict(by_hand, Features(dict.fromkeys(by_hand, classes))), "mismatch")
        assert data["challenge"][:] == reference.dataset["challenge"][:]
        assert data.features["challenge"] == reference.dataset.features["challenge"]


def test_given_contexts_replace_those_that_are_counted(tmp_path):
    folder = picture_folder(tmp_path / "mine")
    data = oochub.load(folder, label="species", context="place", usual={"dog": ["street"]})
    assert record(data).facts.usual_contexts == {"cat": (), "dog": ("street",)}
    assert record(data).notes[1] == "usual contexts of dog are given; those of the other classes are counted"
    dogs = [
        hard for y, hard in zip(*(names(data["train"], c) for c in ("label", "challenge")), strict=True) if y == "dog"
    ]
    assert dogs == ["hard_positive"] * 3 + ["easy"]
    cats = names(data["train"].filter(lambda row: row["label"] == 0), "challenge")
    assert cats == [None] * 4  # eight rows say nothing of what is usual for a cat
    every = oochub.load(folder, label="species", context="place", usual={"dog": "grass", "cat": []})
    assert record(every).notes == (
        "usual contexts of dog, cat are given",
        "no context is usual for cat, so that all its rows are hard: none is given",
    )
    with pytest.raises(OochubError, match=r"class with usual contexts named 'dgo'. Did you mean 'dog'"):
        oochub.load(folder, label="species", context="place", usual={"dgo": ["grass"]})
    with pytest.raises(OochubError, match=r"named 'gras'. Did you mean 'grass'"):
        oochub.load(folder, label="species", context="place", usual={"dog": ["gras"]})
    with pytest.raises(OochubError, match="requires a label column and a context column"):
        oochub.load(of_rows(tmp_path / "two", train=[("dog", "grass"), ("cat", "sofa")]), label="y", usual={"dog": "a"})


def test_nothing_usual_is_said(tmp_path):
    few = oochub.load(of_rows(tmp_path / "few", train=[("cow", "grass"), ("camel", "grass")]), label="y", context="c")
    assert "fewer than 5 rows of a class are too few to tell. Coarser classes" in record(few).notes[-1]
    ties = [("cow", "grass"), ("camel", "grass")] * 5
    data = oochub.load(of_rows(tmp_path / "ties", train=ties), label="y", context="c")
    assert record(data).notes[-1] == (
        "no context is usual for camel, cow: none is clearly more frequent with it than without it. "
        "--usual camel=grass (usual= in Python) names those of a class"
    )
    assert set(names(data["train"], "challenge")) == {None}
    data = oochub.load(of_rows(tmp_path / "one", train=[("cow", "grass"), ("cow", "sand")]), label="y", context="c")
    assert record(data).notes[-1].endswith("there is only one class")


def test_labels_alone(tmp_path):
    """No context: no group, no challenge, and `check_context` says how to add one."""
    data = oochub.load(class_folder(tmp_path / "mine"))
    assert data["train"].column_names == ["example_id", "image", "label"]
    assert data["train"].features["label"].names == ["cat", "dog"]
    with pytest.raises(
        OochubError, match=r"no column named context, group or challenge, only example_id, image, label"
    ) as e:
        DataSource(given=data, rows=data).check_context()
    assert "file_name,label,context\n  1.jpg,dog,grass" in str(e.value)
    data = oochub.load(class_folder(tmp_path / "more", context=True), context="place")
    DataSource(given=data, rows=data).check_context()


def test_folders_train_and_test_are_no_classes(tmp_path):
    """Planted fault seen: the labels test and train that `datasets` reads from them, kept."""
    for split in ("train", "test"):
        picture_folder(tmp_path / "mine" / split)
        (tmp_path / "mine" / split / "metadata.csv").unlink()
    data = oochub.load(tmp_path / "mine")
    assert list(data) == ["train", "test"]
    assert all(part.column_names == ["example_id", "image"] for part in data.values())


def test_whole_numbers_stay_numbers(tmp_path):
    """A model tells their names; groups are named by them."""
    rows = {"y": [7, 7, 2], "c": [True, True, False]}
    Dataset.from_dict(rows).to_parquet(tmp_path / "n.parquet")
    data = oochub.load(tmp_path / "n.parquet", label="y", context="c")["train"]
    assert data.features["label"] == Value("int64") and data["label"][:] == [7, 7, 2]
    assert names(data, "group") == ["7/True", "7/True", "2/False"] and set(names(data, "challenge")) == {None}


def test_numbers_with_fractions_are_a_label_of_numbers(tmp_path):
    Dataset.from_dict({"y": [0.5, 1.0], "c": ["a", "b"]}).to_parquet(tmp_path / "n.parquet")
    data = oochub.load(tmp_path / "n.parquet", label="y", group="c")["train"]
    assert data["label"][:] == [0.5, 1.0] and names(data, "group") == ["a", "b"]
    with pytest.raises(OochubError, match=r"'y' holds continuous numbers, first 0.5"):
        oochub.load(tmp_path / "n.parquet", label="y", context="c")


def test_other_columns_of_these_names_are_kept(tmp_path):
    rows = {"label": ["x", "z"], "y": ["cow", "camel"], "n": [1, 2], "group": ["g", "h"], "example_id": [10, 11]}
    Dataset.from_dict(rows).to_parquet(tmp_path / "n.parquet")
    data = oochub.load(tmp_path / "n.parquet", label="y")["train"]
    assert data.column_names == ["example_id", "label", "group", "own_label", "n"]
    assert data["own_label"][:] == ["x", "z"] and data["example_id"][:] == ["10", "11"]
    assert names(data, "group") == ["g", "h"]
    other = oochub.load(tmp_path / "n.parquet", label="y", group="n")["train"]
    assert names(other, "group") == ["1", "2"] and other["own_group"][:] == ["g", "h"]


def test_two_pictures_of_one_name(tmp_path):
    """By their numbers, as their names would not tell them apart."""
    folder = class_folder(tmp_path / "mine")
    (folder / "cat" / "0.jpg").write_bytes(jpeg("9"))
    assert oochub.load(folder)["train"]["example_id"][:] == [str(row) for row in range(9)]


def test_what_was_loaded_loads_again(tmp_path):
    """From a folder of save_to_disk: the same columns, notes and facts, without naming a column again."""
    data = oochub.load(picture_folder(tmp_path / "mine"), label="species", context="place")
    data.save_to_disk(tmp_path / "kept")
    again = oochub.load(tmp_path / "kept")
    assert record(again) == record(data) and again["train"].features == data["train"].features
    assert again["train"].remove_columns("image")[:] == data["train"].remove_columns("image")[:]
    with pytest.raises(OochubError, match="already have a column challenge, by their own criterion: remove usual="):
        oochub.load(tmp_path / "kept", usual={"dog": ["grass"]})


def test_a_context_of_a_benchmark(spawrious):
    """Reference: the backgrounds of Spawrious' training split, counted by hand from its rows."""
    data = oochub.load("spawrious/o2o_easy", data_dir=str(spawrious), context="background")
    plain = oochub.load("spawrious/o2o_easy", data_dir=str(spawrious))
    found = record(data)
    assert (found.benchmark, found.config) == ("spawrious", "o2o_easy") and found.notes == record(plain).notes
    assert found.facts.usual_contexts["bulldog"] == ("desert",) == found.facts.usual_contexts["bulldog"]
    rows = zip(names(data["test"], "label"), names(data["test"], "background"), strict=True)
    expected = ["easy" if c in found.facts.usual_contexts[y] else "hard" for y, c in rows]
    assert names(data["test"], "challenge") == expected and set(expected) == {"hard"}
    kept = data["test"].remove_columns(["challenge", "context", "image"])
    assert {name: kept[name][:] for name in kept.column_names} == {
        name: plain["test"][name][:] for name in kept.column_names
    }
    with pytest.raises(OochubError, match=r"spawrious/o2o_easy defines its own label. Remove label="):
        oochub.load("spawrious/o2o_easy", data_dir=str(spawrious), label="breed")
    with pytest.raises(OochubError, match=r"column named 'backgrund'. Did you mean 'background'"):
        oochub.load("spawrious/o2o_easy", data_dir=str(spawrious), context="backgrund")


def broken(folder, rows, **features):
    kinds = Features({key: features[key] for key in rows}) if features else None
    Dataset.from_dict(rows, kinds).to_parquet(folder / "broken.parquet")
    return folder / "broken.parquet"


@pytest.mark.parametrize(
    ("rows", "columns", "words"),
    [
        ({"spec": ["a"]}, {"label": "speck"}, "No column named 'speck'. Did you mean 'spec'"),
        ({"y": ["a", None, None]}, {"label": "y"}, "'y' has no value in 2 of 3 rows, first row 1 of split train"),
        ({"y": ["a", " "]}, {"label": "y"}, "'y' has no value in 1 of 2 rows, first row 1"),
        ({"y": [1.0, float("nan")]}, {"label": "y"}, "'y' has no value in 1 of 2 rows"),
        ({"y": ["a", "b"], "c": [0.25, 1.0]}, {"label": "y", "context": "c"}, "continuous numbers, first 0.25"),
        ({"y": ["a", "b"], "c": ["d", None]}, {"label": "y", "context": "c"}, "context column 'c' has no value"),
        ({"y": [[1], [2]]}, {"label": "y"}, "label column 'y' holds list<"),
        ({"p": ["nope.jpg"]}, {"image": "p"}, "The image 'p' of row 0, split train, has no file at"),
        ({"p": ["a.jpg", None]}, {"image": "p"}, "row 1 of split train has none"),
        ({"p": [1]}, {"image": "p"}, "not images or paths"),
        ({"example_id": ["a", "b", "a"]}, {}, "Rows 0 and 2 of split train have the same example_id, 'a'"),
        ({"example_id": ["a", None]}, {}, "example_id has no value in 1 of 2 rows"),
        ({"y": ["a/b", "a"], "c": ["c", "b/c"]}, {"label": "y", "context": "c"}, "Two groups have the same name"),
        ({"label": ["a"], "challenge": ["tough"]}, {}, "No challenge named 'tough'"),
    ],
)
def test_wrong_columns_are_said(rows, columns, words, tmp_path):
    with pytest.raises(OochubError) as caught:
        oochub.load(broken(tmp_path, rows), **columns)
    assert words in str(caught.value)


def test_a_class_of_none_has_no_context(tmp_path):
    """A ClassLabel of -1, which the Hub writes where there is no label, has no group and no challenge."""
    rows = {"y": [0, -1], "c": ["sea", "land"]}
    file = broken(tmp_path, rows, y=ClassLabel(names=["gull"]), c=Value("string"))
    assert oochub.load(file, label="y")["train"]["label"][:] == [0, -1]
    data = oochub.load(file, label="y", context="c")["train"]
    assert data["group"][1] == data["challenge"][1] == -1 and data.features["group"].names == ["gull/sea"]
    assert "the label is -1, no class, in 1 of train" in (data.info.description or "")


def test_wrong_places_are_said(tmp_path):
    (tmp_path / "empty").mkdir()
    (tmp_path / "none.csv").write_text("species,place\n")
    folder = picture_folder(tmp_path / "broken")
    (folder / "metadata.csv").write_text('file_name,species\n0.jpg,"dog\n1.jpg,cat,too,many\n')
    other = picture_folder(tmp_path / "unnamed")
    (other / "metadata.csv").write_text("name,species\n0.jpg,dog\n")
    lost = picture_folder(tmp_path / "lost")
    (lost / "5.jpg").unlink()
    (tmp_path / "no.tar").write_bytes(b"no tar at all" * 100)
    (tmp_path / "torn.parquet").write_bytes(parquet_file(tmp_path / "whole.parquet").read_bytes()[:-40])
    for source, words in (
        (tmp_path / "nope", "No dataset at"),
        ("spawrios/o2o_easy", "Did you mean 'spawrious/o2o_easy'"),
        (tmp_path / "empty", "Could not load"),
        (tmp_path / "none.csv", "none.csv"),
        (folder, r"broken/metadata\.csv cannot be read as CSV"),
        (other, "file_name"),
        (lost, "The image 'image' of row 5, split train, has no file at"),
        (tmp_path / "no.tar", r"no\.tar is corrupted or not a tar archive: at byte 0"),
        ("", "No dataset is named"),
        (tmp_path / "torn.parquet", "torn.parquet"),
    ):
        with pytest.raises(OochubError, match=words):
            oochub.load(source)
    with pytest.raises(OochubError, match=r"split named 'tset'. Did you mean 'test'"):
        oochub.load(of_rows(tmp_path / "two", train=[("a", "b")], test=[("a", "b")]), split="tset")


def test_usual_contexts_as_typed():
    assert parse_usual(["dog=grass, beach", "cat=sofa"]) == {"dog": ("grass", "beach"), "cat": ("sofa",)}
    for texts, words in ((["dog"], "CLASS=CONTEXT"), (["dog=a,"], "CLASS=CONTEXT"), (["a=b", "a=c"], "a twice")):
        with pytest.raises(OochubError, match=words):
            parse_usual(texts)


def test_the_record_is_json(tmp_path):
    data = oochub.load(picture_folder(tmp_path / "mine"), label="species", context="place", usual=USUAL)
    line = data["train"].info.description.rpartition("\n")[2].removeprefix("Build record: ")
    assert json.loads(line)["facts"]["usual_contexts"] == {"cat": ["sofa"], "dog": ["beach", "grass"]}


def test_text_of_the_hub_opens_no_file_here(tmp_path):
    """A data set of somebody else would say which images of this machine are opened, and later pushed."""
    (tmp_path / "own.jpg").write_bytes(jpeg("1"))
    data = DatasetDict(train=Dataset.from_dict({"p": [str(tmp_path / "own.jpg")]}))
    with pytest.raises(OochubError, match="for data on this disk only"):
        make_user_data(DataSource(given="somebody/data", rows=data), DataSettings(image="p"))
    mine = DataSource(given="mine", rows=data, folder=tmp_path)
    assert "image" in make_user_data(mine, DataSettings(image="p")).rows["train"].column_names


@pytest.mark.slow
@pytest.mark.parametrize("role", ["label", "context"])
def test_a_text_of_megabytes_is_no_name(role, tmp_path):
    """Fault seen: a cell of 20 MB became the name of a class, and its report never ended."""
    rows = {"text": ["a"] * 4, "label": ["x", "y"] * 2, "context": ["sea", "land"] * 2}
    rows[role] = [*rows[role][:-1], "x" * 20_000_000]
    Dataset.from_dict(rows).to_parquet(tmp_path / "rows.parquet")
    with pytest.raises(OochubError, match=r"text of 20,000,000 characters, 'x+'\.\.\., in 1 of 4 rows, first row 3"):
        oochub.load(tmp_path / "rows.parquet", label="label", context="context")
    names = ["x", "y" * 20_000_000]
    with pytest.raises(OochubError, match="may have at most 2,000 characters, got one of 20,000,000"):
        oochub.Predictions.from_arrays(logits=[[1.0, 0.0]], label=[0], class_names=names)
    with pytest.raises(OochubError, match="group: a name may have at most 2,000 characters"):
        oochub.Predictions.from_arrays(logits=[[1.0, 0.0]] * 2, label=[0, 1], group=names)


@pytest.mark.parametrize("name", ["spawrious/o2o_hard", "nooch/ce_car", "waterbirds"])
def test_a_benchmark_is_built_where_load_dataset_builds_it(name, raw):
    """Without the names of `datasets` that registration changes. Fault planted: no fingerprint of the sources."""
    benchmark, _, config = name.partition("/")
    place, options = str(raw(name)), {"contexts": ["road"]} if benchmark == "nooch" else {}
    theirs = datasets.load_dataset_builder(benchmark, config or None, data_dir=place, **options)
    ours = make_benchmark_builder(benchmark, config or None, data_dir=place, options=options)
    assert (ours.cache_dir, ours.config, ours.info) == (theirs.cache_dir, theirs.config, theirs.info)
