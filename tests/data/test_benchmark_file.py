"""Benchmarks without Python: what is declared reaches rows, cards and reports; what is wrong has its line."""

import csv
import io
import json
import re
import shutil
import tarfile
from dataclasses import replace
from pathlib import Path

import datasets
import numpy as np
import pyarrow as pa
import pytest
from own_data import picture_folder

import oochub
from oochub.data.benchmark_file import BenchmarkFile
from oochub.data.describe_data import describe_data
from oochub.errors import OochubError
from oochub.models.mode import find_declared
from oochub.records.build_record import BuildRecord
from oochub.repository.write_repository import write_user_repository
from oochub.settings.data_settings import DataSettings

_ROWS = [  # species, place, area
    *([("cow", "grass", 0.6)] * 3),
    *([("cow", "sand", 0.2)] * 1),
    *([("camel", "sand", 0.6)] * 3),
    *([("camel", "grass", 0.1)] * 1),
]
_TEXT = """
title = "Cows on sand"
summary = "Cows and camels, each also where it is not at home."
version = "3.1.0"
license = "CC BY 4.0"
labels_license = "CC0"
homepage = "https://example.org/cows"
citation = "@misc{cows, title = {Cows}}"
sources = ["cows"]
headline = "accuracy"
metrics = ["accuracy", "nll"]
practical_gap = 0.05

[data]
source = "rows.csv"
label = "species"
context = "place"

[in_context]
name = "at home"
split = "train"
where = { challenge = ["easy"] }

[out_of_context]
name = "abroad"
split = "train"
where = { challenge = ["hard_positive", "hard_negative"] }

[words]
inside = "at home"
outside = "abroad"
outside_title = "abroad"
cause = "the ground"
"""

_USUAL = '[usual]\ncow = ["grass"]\ncamel = ["sand"]\n'


def _folder(place: Path, text: str = _TEXT) -> Path:
    place.mkdir(parents=True)
    with (place / "rows.csv").open("w", newline="") as file:
        csv.writer(file).writerows([("species", "place", "area"), *_ROWS])
    is_said = "[usual]" in text or "criterion" in text  # eight rows say nothing of what is usual
    (place / "benchmark.toml").write_text(text if is_said else f"{text}\n{_USUAL}", "utf-8")
    return place


def _predictions(data, wrong=(), columns=("group", "challenge", "context")):
    """Predictions of a model that is wrong on the rows of these numbers."""
    part = data["train"]
    label = np.array(part["label"][:])
    answer = np.where(np.isin(np.arange(len(label)), wrong), 1 - label, label)
    record = BuildRecord.of(part.info)
    given = {name: part.features[name].int2str(part[name][:]) for name in columns}
    made = oochub.Predictions.from_arrays(
        logits=np.eye(2)[answer] * 3, label=label, class_names=part.features["label"].names, split="train", **given
    )
    about = replace(made.metadata, benchmark=record.benchmark, config=record.config, version=record.version)
    return replace(made, metadata=replace(about, facts=record.facts))


def test_what_is_declared_reaches_the_report(tmp_path):
    """Sides by hand: 6 rows at home, all right; 2 abroad, one wrong."""
    data = oochub.load(_folder(tmp_path / "cows"))
    report = oochub.evaluate(_predictions(data, wrong=[3]))
    about = report.benchmark
    assert (about.title, about.version, about.homepage) == ("Cows on sand", "3.1.0", "https://example.org/cows")
    assert (about.summary, about.citation) == (
        "Cows and camels, each also where it is not at home.",
        "@misc{cows, title = {Cows}}",
    )
    assert [(each.what, each.license) for each in about.licenses] == [("images", "CC BY 4.0"), ("labels", "CC0")]
    assert (about.primary_metric, about.practical_gap, about.words.cause) == ("accuracy", 0.05, "the ground")
    inside, outside = report.slice_of("in"), report.slice_of("out")
    assert (about.in_context.name, inside.n, float(inside.metrics["accuracy"])) == ("at home", 6, 1.0)
    assert (about.out_of_context.name, outside.n, float(outside.metrics["accuracy"])) == ("abroad", 2, 0.5)
    assert {*report.metrics} == {"accuracy", "nll"} and "abroad" in report.to_html()


def test_the_file_itself_and_its_folder_are_the_same_source(tmp_path):
    folder = _folder(tmp_path / "cows")
    one, other = oochub.load(folder), oochub.load(folder / "benchmark.toml")
    assert one["train"][:] == other["train"][:] and one["train"].info.license == "CC BY 4.0"


def test_what_the_user_names_wins(tmp_path):
    usual = {"grass": ["cow"], "sand": ["camel"]}
    data = oochub.load(_folder(tmp_path / "cows"), label="place", context="species", usual=usual)
    assert data["train"].features["label"].names == ["grass", "sand"]


def test_a_built_repository_needs_no_file(tmp_path):
    """Reference: the source itself; its card says what is declared."""
    folder = _folder(tmp_path / "cows")
    out = write_user_repository(str(folder), tmp_path / "out")
    source, again = (BuildRecord.of(oochub.load(each)["train"].info) for each in (folder, out))
    assert again == source and again.facts.declared.title == "Cows on sand"
    card = (out / "README.md").read_text()
    assert "# Cows on sand" in card and "| license of the images | CC BY 4.0 |" in card and "@misc{cows" in card


def test_a_criterion_says_which_rows_are_hard(tmp_path):
    """By hand: an area of 0.5 and more is hard here. Planted fault seen: the usual contexts left in the record."""
    criterion = '[criterion]\nname = "threshold"\nvalue = "area"\nat = 0.5\n'
    data = oochub.load(
        _folder(tmp_path / "cows", _TEXT.replace('"hard_negative"]', '"hard_negative", "hard"]') + criterion)
    )
    part = data["train"]
    hard = [word != "easy" for word in part.features["challenge"].int2str(part["challenge"][:])]
    assert hard == [area >= 0.5 for *_, area in _ROWS]
    assert BuildRecord.of(part.info).facts.usual_contexts is None


def test_usual_contexts_of_the_file_count(tmp_path):
    usual = '[usual]\ncow = ["sand"]\ncamel = []\n'
    part = oochub.load(_folder(tmp_path / "cows", _TEXT + usual))["train"]
    easy = [word == "easy" for word in part.features["challenge"].int2str(part["challenge"][:])]
    assert easy[:4] == [False, False, False, True]


def test_the_worst_group_and_a_percentile_as_sides(tmp_path):
    """Groups by hand: cow/sand is all wrong, so the worst group's accuracy is 0."""
    sides = (
        '[in_context]\nname = "all"\nsplit = "train"\n[out_of_context]\nname = "worst"\nsplit = "train"\n'
        'form = "worst_group"\n'
    )
    head = _TEXT.partition("[in_context]")[0]
    data = oochub.load(_folder(tmp_path / "cows", head + sides))
    report = oochub.evaluate(_predictions(data, wrong=[3]))
    assert float(report.slice_of("out").metrics["accuracy"]) == 0 and report.slice_of("in").n == 8
    sides = sides.replace("worst_group", "group_percentile") + "percentile = 50\n"
    data = oochub.load(_folder(tmp_path / "others", head + sides))
    report = oochub.evaluate(_predictions(data, wrong=[0, 3]))
    accuracies = [2 / 3, 0.0, 1.0, 1.0]
    assert float(report.slice_of("out").metrics["accuracy"]) == pytest.approx(np.percentile(accuracies, 50))


_ONE = _TEXT[_TEXT.index("[in_context]") : _TEXT.index("[out_of")]
_WRONG = {  # what is replaced by what, the error, and what stands on the line that it names
    "a wrong field": ("headline =", "headlin =", "No field named 'headlin'.*'headline'", "headlin ="),
    "a wrong table": ("[words]", "[word]", "No field named 'word'.*'words'", "[word]"),
    "of a side": ('name = "abroad"', 'nam = "a"', r"No field of out_of_context named 'nam'.*'name'", 'nam = "a"'),
    "a missing field": ('name = "abroad"\n', "", "the field out_of_context.name is missing", "[out_of_context]"),
    "another type": ("gap = 0.05", 'gap = "small"', "practical_gap must be a finite number", "practical_gap"),
    "a share over 1": ("gap = 0.05", "gap = 5", r"practical_gap must be a finite number in \[0, 1\]", "practical_gap"),
    "no title": ('title = "Cows on sand"\n', "", "the field title is missing", None),
    "an empty title": ("Cows on sand", " ", "title must have a text", "title ="),
    "one side": (_ONE, "", r"There is \[out_of_context\] without", None),
    "no metric": ('headline = "accuracy"', 'headline = "acuracy"', "No metric named 'acuracy'.*'accuracy'", "headline"),
    "no such split": ('split = "train"', 'split = "tset"', "No split named 'tset'", 'split = "tset"'),
    "no such column": ("where = { challenge", "where = { chalenge", "No column named 'chalenge'.*'challenge'", "where"),
    "no such value": ('["easy"]', '["esy"]', "No value of the column challenge named 'esy'.*'easy'", '["esy"]'),
    "no such rows": ('"rows.csv"', '"row.csv"', "there is no 'row.csv' beside", "source"),
    "rows elsewhere": ('"rows.csv"', '"../rows.csv"', "source must lie in the folder", "source"),
    "no such label": ('label = "species"', 'label = "specie"', "No column named 'specie'.*'species'", None),
    "no TOML": ("title =", "title", "is not TOML: ", "title"),
    "a number as a column": ('label = "species"', "label = 3", "data.label must be text, got 3", "label = 3"),
    "usual as text": ("[words]", '[usual]\ncow = "grass"\n[words]', "usual.cow must be a list, each text", "cow ="),
    "both rules": (
        "[words]",
        '[usual]\ncow = ["grass"]\n[criterion]\nname = "mismatch"\n[words]',
        r"and \[usual\] both say",
        "[criterion]",
    ),
    "no criterion": ("[words]", '[criterion]\nname = "treshold"\n[words]', "No criterion named 'treshold'", "treshold"),
    "its argument": (
        "[words]",
        '[criterion]\nname = "threshold"\nvalue = "area"\natt = 1\n[words]',
        "No parameter of threshold named 'att'",
        "[criterion]",
    ),
    "a percentile": ('name = "abroad"', 'name = "a"\npercentile = 101', r"percentile of a side must be in", None),
    "a template": ("practical_gap", 'templates = ["a cow"]\npractical_gap', r"A template needs \{\}", None),
    "no such pair": ('context = "place"', 'context = "place"\npair = "plase"', "No column named 'plase'", None),
    "a pair that is the context": (
        'context = "place"',
        'context = "place"\npair = "place"',
        "column 'place', which holds the context. Name a column of what rows share, such as a foreground",
        None,
    ),
    **{
        f"chance of {chance}": ("practical_gap =", f"chance = {chance}\npractical_gap =", words, "chance =")
        for chance, words in (
            ("nan", "chance must be a finite number, got nan"),
            ("2", r"chance must be in \[0, 1\], got 2: what accuracy can be"),
            ("-1", r"chance must be in \[0, 1\], got -1"),
            ("1.001", r"chance must be in \[0, 1\], got 1.001"),
            ("9" * 400, "chance must be a finite number"),
        )
    },
    "a chance of another metric": (
        'headline = "accuracy"',
        'headline = "pearson"\nchance = -1.5',
        r"chance must be in \[-1, 1\], got -1.5: what pearson can be",
        "chance",
    ),
    "a gap of nan": ("gap = 0.05", "gap = nan", "practical_gap must be a finite number, got nan", "practical_gap"),
    "a null in a name": ('"rows.csv"', r'"rows\u0000.csv"', "source must be the name of a file or folder", "source"),
    "a table as text": ("[data]", 'words = "a"\n[data]', r"words must be a table", "words ="),
}


@pytest.mark.parametrize("case", _WRONG)
def test_what_is_wrong_is_named_with_its_line(case, tmp_path):
    """Before any row is read, but for splits, columns and values. Planted fault seen: lines counted from 0."""
    old, new, words, stands = _WRONG[case]
    assert old in _TEXT
    text = _TEXT.replace(old, new, 1) if case != "a table as text" else _TEXT.partition("[words]")[0].replace(old, new)
    folder = _folder(tmp_path / "cows", text)
    with pytest.raises(OochubError, match=words) as refused:
        oochub.load(folder)
    if stands is not None:
        line = re.search(r"line (\d+)", str(refused.value))
        assert line and stands in text.splitlines()[int(line[1]) - 1]


@pytest.mark.parametrize(("headline", "chance"), [("accuracy", 0.5), ("accuracy", 0), ("pearson", -0.5), ("nll", 7.5)])
def test_a_chance_that_the_metric_can_have_is_read(headline, chance, tmp_path):
    text = _TEXT.replace('headline = "accuracy"', f'headline = "{headline}"\nchance = {chance}')
    file = BenchmarkFile.find(str(_folder(tmp_path / "cows", text)))
    assert file.declaration.chance == chance


def test_sides_that_show_the_same_things(tmp_path):
    """One cow is on both sides, five animals at home alone, a camel abroad. Planted fault seen: pair not read."""
    animals = ["cow 1", "cow 2", "cow 3", "cow 1", "camel 1", "camel 2", "camel 3", "camel 4"]
    text = _TEXT.replace('context = "place"', 'context = "place"\npair = "animal"')
    folder = _folder(tmp_path / "cows", text)
    rows = [(*row, animal) for row, animal in zip(_ROWS, animals, strict=True)]
    with (folder / "rows.csv").open("w", newline="") as file:
        csv.writer(file).writerows([("species", "place", "area", "animal"), *rows])
    data = oochub.load(folder)
    facts = BuildRecord.of(data["train"].info).facts
    assert (facts.pair, facts.cluster) == ("animal", "animal")
    made = _predictions(data, wrong=[3], columns=("group", "challenge", "context"))
    table = made.table.append_column("animal", pa.array(animals))
    pairs = oochub.evaluate(made.with_table(table)).gap.pairs
    assert (pairs.column, pairs.both, pairs.only_in, pairs.only_out) == ("animal", 1, 5, 1)
    with pytest.raises(OochubError, match=r"a pair has a row on each side, and .out_of_context. is of the form worst"):
        groups = text.replace('name = "abroad"', 'name = "abroad"\nform = "worst_group"')
        oochub.load(_folder(tmp_path / "groups", groups))


def test_templates_reach_a_model_of_images_and_texts(tmp_path):
    """Planted fault seen: those of all own data."""
    data = oochub.load(_folder(tmp_path / "cows", _TEXT.replace("[data]", 'templates = ["a {} at dusk"]\n[data]')))
    assert find_declared(BuildRecord.of(data["train"].info)).templates == ("a {} at dusk",)


def test_a_side_without_its_column_in_predictions_is_an_error(tmp_path):
    data = oochub.load(_folder(tmp_path / "cows"))
    with pytest.raises(OochubError, match="reads the column challenge, which these predictions lack"):
        oochub.evaluate(_predictions(data, columns=("group", "context")))


def test_a_first_file_declares_what_would_follow_anyway(tmp_path):
    """Rows and challenges with it are those without it; the file is never replaced."""
    folder = picture_folder(tmp_path / "mine")
    columns = {"label": "species", "context": "place"}
    before = oochub.load(folder, **columns)["train"]
    file = folder / "benchmark.toml"
    text = describe_data(str(folder), file, settings=DataSettings(**columns))
    file.write_text(text, "utf-8")
    after = oochub.load(folder)["train"]
    assert after.remove_columns("image")[:] == before.remove_columns("image")[:]
    with pytest.raises(OochubError, match="already exists"):
        describe_data(str(folder), file)
    with pytest.raises(OochubError, match=r"benchmark.toml, got mine.toml"):
        describe_data(str(folder), folder / "mine.toml")
    (tmp_path / "beside").mkdir()
    with pytest.raises(OochubError, match="beside its data or above"):
        describe_data(str(folder), tmp_path / "beside" / "benchmark.toml")


_NAMES = ['a "cow"', "back\\slash", "two\nlines", "a = b", "[table]", "# no", "ü 日本", "\x7f", "tab\there", "'", "a.b"]


@pytest.mark.parametrize("name", _NAMES)
def test_any_name_survives_the_first_file(name, tmp_path):
    """Planted fault seen: names between quotes as they are."""
    place = tmp_path / "mine"
    place.mkdir()
    rows = [{"label": name, "context": "x"}, {"label": "z", "context": name}] * 3
    (place / "rows.jsonl").write_text("\n".join(map(json.dumps, rows)))
    (place / "benchmark.toml").write_text(describe_data(str(place / "rows.jsonl"), place / "benchmark.toml"), "utf-8")
    found = BenchmarkFile.find(str(place))
    assert found.settings.usual is None and oochub.load(place)["train"].features["label"].names == sorted([name, "z"])
    text = (place / "benchmark.toml").read_text("utf-8")
    (place / "benchmark.toml").write_text(re.sub(r"^# (?=\[usual\]$|.* = \[)", "", text, flags=re.MULTILINE), "utf-8")
    assert {*BenchmarkFile.find(str(place)).settings.usual} == {name, "z"}


def _as_class_folders(pictures: Path, place: Path) -> None:
    """A folder a class, the context in the file's name of another table."""
    for row in csv.DictReader((pictures / "metadata.csv").open()):
        target = place / "images" / row["species"]
        target.mkdir(parents=True, exist_ok=True)
        shutil.copy(pictures / row["file_name"], target / row["file_name"])


def _as_json_lines(pictures: Path, place: Path) -> None:
    place.mkdir()
    rows = [
        {"picture": str((pictures / row["file_name"]).absolute()), "what": row["species"], "where": row["place"]}
        for row in csv.DictReader((pictures / "metadata.csv").open())
    ]
    (place / "list.jsonl").write_text("\n".join(map(json.dumps, rows)))


def _as_parquet(pictures: Path, place: Path) -> None:
    place.mkdir()
    rows = list(csv.DictReader((pictures / "metadata.csv").open()))
    data = {"img": [str(pictures / row["file_name"]) for row in rows], "cls": [row["species"] for row in rows]}
    data["bg"] = [row["place"] for row in rows]
    part = datasets.Dataset.from_dict(data).cast_column("img", datasets.Image())
    part.to_parquet(place / "rows.parquet")


_LAYOUTS = {
    "json lines": (_as_json_lines, 'source = "list.jsonl"\nimage = "picture"\nlabel = "what"\ncontext = "where"'),
    "parquet": (_as_parquet, 'source = "rows.parquet"\nimage = "img"\nlabel = "cls"\ncontext = "bg"'),
    "class folders": (_as_class_folders, 'source = "images"'),
}


@pytest.mark.parametrize("layout", _LAYOUTS)
def test_other_layouts_without_python(layout, tmp_path):
    """The same images folded in three ways, each declared by its file alone."""
    pictures = picture_folder(tmp_path / "pictures")
    wanted = oochub.load(pictures, label="species", context="place")["train"]
    fold, columns = _LAYOUTS[layout]
    place = tmp_path / "mine"
    fold(pictures, place)
    (place / "benchmark.toml").write_text(f'title = "Mine"\n[data]\n{columns}\n', "utf-8")
    part = oochub.load(place)["train"]
    label = sorted(part.features["label"].int2str(part["label"][:]))
    assert label == sorted(wanted.features["label"].int2str(wanted["label"][:])) and "image" in part.features
    if "context" in columns:
        assert sorted(part["challenge"][:]) == sorted(wanted["challenge"][:])


def test_the_command_describes_and_builds(run, tmp_path):
    folder = picture_folder(tmp_path / "mine")
    file = folder / "benchmark.toml"
    columns = ("--label-column", "species", "--context-column", "place")
    code, out, _ = run("build", folder, *columns, "--describe", file)
    assert code == 0 and 'label = "species"' in file.read_text() and str(file) in out
    assert run("build", folder, "--out", tmp_path / "out").code == 0
    assert "# mine" in (tmp_path / "out" / "README.md").read_text()
    code, _, err = run("build", folder, "--describe", file)
    assert code == 2 and "not replaced" in err
    assert run("build", folder, "--describe", tmp_path / "benchmark.toml", "--out", tmp_path / "o").code == 2
    assert run("build", "spawrious/o2o_easy", "--describe", tmp_path / "benchmark.toml").code == 2


def _list_real(source: Path) -> list[tuple[Path, str, str, float]]:
    """Each real image with a person or not, what else is largest in it, and the share of the image that this takes."""
    content = json.loads((source / "instances.json").read_text())
    kinds = {each["id"]: each["supercategory"] for each in content["categories"]}
    rows = []
    for image in content["images"]:
        things = [each for each in content["annotations"] if each["image_id"] == image["id"]]
        others = {kinds[each["category_id"]]: each["area"] for each in sorted(things, key=lambda each: each["area"])}
        has_person = others.pop("person", None) is not None
        largest = max(others, key=others.get) if others else "nothing"
        share = others.get(largest, 0.0) / (image["height"] * image["width"])
        rows.append((source / "images" / image["file_name"], "person" if has_person else "nobody", largest, share))
    return rows


def _fold_shards(rows, place: Path) -> str:
    with tarfile.open(place / "images.tar", "w") as archive:
        for file, label, context, share in rows:
            said = json.dumps({"who": label, "beside": context, "share": share}).encode()
            for suffix, data in (("jpg", file.read_bytes()), ("json", said)):
                member = tarfile.TarInfo(f"{file.stem}.{suffix}")
                member.size = len(data)
                archive.addfile(member, io.BytesIO(data))
    return 'source = "images.tar"\nlabel = "json.who"\ncontext = "json.beside"'


def _fold_class_folders(rows, place: Path) -> str:
    lines = ["file_name,around,share"]
    for file, label, context, share in rows:
        (place / "all" / label).mkdir(parents=True, exist_ok=True)
        shutil.copy(file, place / "all" / label / file.name)
        lines.append(f"{label}/{file.name},{context},{share}")
    (place / "all" / "metadata.csv").write_text("\n".join(lines) + "\n")
    return 'source = "all"\ncontext = "around"'


def _fold_list(rows, place: Path) -> str:
    said = [{"path": str(file), "is": label, "with": context, "share": share} for file, label, context, share in rows]
    (place / "list.jsonl").write_text("\n".join(map(json.dumps, said)))
    return 'source = "list.jsonl"\nimage = "path"\nlabel = "is"\ncontext = "with"'


@pytest.mark.parametrize("fold", [_fold_shards, _fold_class_folders, _fold_list], ids=["shards", "folders", "list"])
def test_real_images_in_three_foldings(fold, real_data, tmp_path):
    """What is hard is said by a share, counted by hand; a built repository has the images and the declaration."""
    rows = _list_real(real_data / "coco" / "permissive_subset")
    place = tmp_path / "mine"
    place.mkdir()
    columns = fold(rows, place)
    share = "json.share" if fold is _fold_shards else "share"
    criterion = f'[criterion]\nname = "threshold"\nvalue = "{share}"\nat = 0.1\n'
    (place / "benchmark.toml").write_text(f'title = "Real"\nlicense = "CC"\n[data]\n{columns}\n{criterion}', "utf-8")
    out = write_user_repository(str(place), tmp_path / "out")
    part = oochub.load(out)["train"]
    names = part.features["label"].int2str(part["label"][:])
    kinds = part.features["challenge"].int2str(part["challenge"][:])
    assert sorted(zip(names, (kind != "easy" for kind in kinds), strict=True)) == sorted(
        (label, share >= 0.1) for _, label, _, share in rows
    )
    sizes = sorted(image.size for image in part["image"][:])
    assert len(sizes) == 76 and min(sizes)[0] > 100
    assert "# Real" in (out / "README.md").read_text()


def test_a_name_takes_the_place_of_the_folders(tmp_path):
    """Two folders called shapes stay apart. Planted fault seen: a name with a slash, which is a path on boards."""
    found = []
    for author in ("ada", "bob"):
        folder = tmp_path / author / "shapes"
        folder.mkdir(parents=True)
        (folder / "rows.csv").write_text("label,context\n" + "a,x\n" * 9 + "b,y\n" * 9)
        (folder / "benchmark.toml").write_text(f'title = "Shapes"\nname = "shapes-of-{author}"\n')
        found.append(BuildRecord.of(oochub.load(folder)["train"].info))
    assert [record.config for record in found] == ["shapes-of-ada", "shapes-of-bob"]
    (folder / "benchmark.toml").write_text('title = "Shapes"\nname = "bob/shapes"\n')
    with pytest.raises(OochubError, match=r"name must consist of letters, digits.*'bob/shapes'"):
        oochub.load(folder)
