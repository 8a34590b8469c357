"""Which examples a gallery shows, against a plain loop; what stands on its axes; the command and its wrong turns."""

import itertools
import json
import math
from dataclasses import replace
from pathlib import Path

import matplotlib as mpl
import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from datasets import Image, load_dataset
from matplotlib import pyplot
from matplotlib.transforms import Bbox
from tiny_encoder import tiny_encoder

from oochub import OochubError
from oochub.builders.sources.coco_outlines import outlines
from oochub.figures._chosen_examples import KINDS, choose_examples
from oochub.figures._picture_grid import LINES
from oochub.figures.gallery import gallery
from oochub.prediction.predictions import Predictions, count_rows
from oochub.records.build_record import BuildRecord

mpl.use("Agg")


def predictions_of(columns, model="runs/erm", **metadata):
    content = {"benchmark": "nooch", "config": "ce_car", "version": "1.0.0", "class_names": ["no_car", "car"]}
    content |= {"facts": {"object": "car", "contexts": ["road"]}, "model": {"id": model}}
    return Predictions(pa.table(columns), content | {"rows": count_rows(columns["split"])} | metadata)


def planted(seed, n=160, model="runs/erm", logits_seed=None):
    """A task of n rows in two splits, both criteria at random, few distinct losses so that some are equal."""
    rng = np.random.default_rng(seed)
    label = rng.integers(0, 2, n)
    hard = np.where(label == 1, "hard_positive", "hard_negative")
    challenge = {key: np.where(rng.random(n) < 0.5, hard, "easy").tolist() for key in ("ce", "gist")}
    score = np.random.default_rng(logits_seed if logits_seed is not None else seed).integers(-8, 9, n) / 2
    columns = {
        "example_id": [f"{row:012d}" for row in rng.permutation(n)],
        "split": ["test" if row % 4 else "validation" for row in range(n)],
        "label": label,
        "logits": [[0.0, float(item)] for item in score],
        "challenge": challenge["ce"],
        "challenge_ce": challenge["ce"],
        "challenge_gist": challenge["gist"],
        "area": np.where(label == 1, rng.random(n), 0.0),
        "context_area": [[float(item)] for item in rng.random(n)],
        "license": ["CC BY 2.0"] * n,
        "source_url": [f"https://example.org/{row}" for row in range(n)],
    }
    return predictions_of(columns, model)


def by_hand(predictions, *, kinds, most, than=None, only=None, split="test"):
    """(kind, example_id, NLL of each model) by Appendix D.1 and Section 6.2, in a loop over plain lists."""

    def rows_of(item):
        return {row["example_id"]: row for row in item.table.to_pylist() if row["split"] == split}

    def nll(row):
        sign = 1 if row["label"] == 1 else -1
        return math.log1p(math.exp(-sign * (row["logits"][1] - row["logits"][0])))

    rows, other = rows_of(predictions), rows_of(than) if than is not None else None
    areas = [row["area"] for row in rows.values() if row["label"] == 1]
    mean = sum(areas) / len(areas)
    result = []
    for kind in kinds:
        fitting = []
        for place, (name, row) in enumerate(rows.items()):
            mine = row[f"challenge_{only}"] if only else row["challenge"]
            if only and row["challenge_gist" if only == "ce" else "challenge_ce"] != "easy":
                continue
            if kind.startswith("easy"):
                fits = mine == "easy" and row["label"] == (1 if kind == "easy_positive" else 0)
            else:
                fits = mine == kind
            loss = nll(row)
            if than is not None:
                difference = nll(other[name]) - loss
                key = -difference
                fits = fits and difference > 0
            else:
                key = loss if kind.startswith("easy") else -loss
                fits = fits and (kind != "hard_positive" or row["area"] > mean)
            if fits:
                fitting.append((round(key, 9), place, name))
        for _, _, name in sorted(fitting)[:most]:
            result.append((kind, name, *(nll(item[name]) for item in ([rows, other] if other else [rows]))))
    return result


@pytest.mark.slow
@pytest.mark.parametrize("only", [None, "ce", "gist"])
@pytest.mark.parametrize("compared", [False, True])
def test_choice_against_a_loop(only, compared):
    """Planted faults seen: lowest loss of hard ones, the other criterion ignored, a join by position, ties reversed."""
    for seed in range(12):
        first = planted(seed)
        than = planted(seed, model="runs/gdro", logits_seed=seed + 99) if compared else None
        if than is not None:  # the other file's rows lie in another order
            order = np.random.default_rng(seed).permutation(len(than))
            than = Predictions(than.table.take(pa.array(order)), than.metadata)
        chosen = choose_examples(first, than=than, only=only, kinds=KINDS, most=5)
        expected = by_hand(first, than=than, only=only, kinds=KINDS, most=5)
        losses = ["nll erm", "nll gdro"] if compared else ["nll erm"]
        assert list(zip(chosen["kind"], chosen["example_id"], strict=True)) == [item[:2] for item in expected]
        assert np.allclose(chosen[losses], [item[2:] for item in expected], atol=1e-9)
        assert chosen["split"].unique().tolist() == ["test"]
        if compared:
            assert np.allclose(chosen["better_by"], chosen["nll gdro"] - chosen["nll erm"])


def test_default_kinds_and_columns():
    first, than = planted(1), planted(1, model="runs/gdro", logits_seed=5)
    assert list(choose_examples(first, most=1)["kind"]) == ["hard_positive", "hard_negative", "easy_positive"]
    chosen = choose_examples(first, than=than, most=1, names=["ERM", "GroupDRO"])
    assert list(chosen["kind"]) == ["hard_positive", "hard_negative"]
    content = ["challenge", "challenge_ce", "challenge_gist", "area", "context_area", "license", "source_url"]
    losses = ["nll ERM", "nll GroupDRO", "better_by"]
    assert list(chosen) == ["kind", "example_id", "split", "label", *losses, *content]
    assert list(chosen["label"]) == ["car", "no_car"]
    three = choose_examples([first, than, planted(1, model="runs/irm", logits_seed=6)], most=2)
    alone = choose_examples(first, most=2)
    assert list(three["example_id"]) == list(alone["example_id"]) and "nll irm" in three and "better_by" not in three
    reverse = choose_examples(than, than=first, most=3)
    assert (reverse["nll gdro"] < reverse["nll erm"]).all()


def test_any_object_is_shown_where_models_are_compared():
    """Fig. 8's hard positive is a tiny toy car on a shelf: the mean area is for the hard ones by loss alone."""
    columns = {"example_id": ["1", "2"], "split": ["test"] * 2, "label": [1, 1], "challenge": ["hard_positive"] * 2}
    columns["area"] = [0.01, 0.5]
    sure, unsure = [[-2.0, 2.0]] * 2, [[1.0, 0.0], [0.0, 0.0]]
    item, two = predictions_of(columns | {"logits": sure}, "a"), predictions_of(columns | {"logits": unsure}, "b")
    assert list(choose_examples(item, than=two)["example_id"]) == ["1", "2"]
    assert list(choose_examples(two)["example_id"]) == ["2"]


def test_an_object_of_just_the_mean_area_is_not_shown():
    """The others of the split's positives count in the mean, those of another split and negatives do not."""
    columns = {"example_id": list("abcde"), "split": ["test"] * 4 + ["validation"], "label": [1, 1, 1, 0, 1]}
    columns |= {"area": [0.25, 0.5, 0.75, 0.0, 0.9], "logits": [[0.0, 0.0]] * 5}
    columns["challenge"] = ["easy", "hard_positive", "hard_positive", "easy", "hard_positive"]
    assert list(choose_examples(predictions_of(columns), kinds=["hard_positive"])["example_id"]) == ["c"]


def changed(predictions, **columns):
    table = predictions.table
    for name, values in columns.items():
        table = table.set_column(table.column_names.index(name), name, pa.array(values))
    return Predictions(table, predictions.metadata)


def test_wrong_turns_of_the_choice():
    first, than = planted(1), planted(1, model="runs/gdro", logits_seed=5)
    ids = first.table.column("example_id").to_pylist()
    with pytest.raises(OochubError, match=r"2 only in erm and 2 only in gdro, first"):
        choose_examples(first, than=changed(than, example_id=[*ids[:-2], "x", "y"]))
    label = first.label.copy()
    label[1] = 1 - label[1]
    with pytest.raises(OochubError, match=f"different labels for 1 examples, first {ids[1]}"):
        choose_examples(first, than=changed(than, label=label))
    with pytest.raises(OochubError, match=r"no split 'train', only validation, test"):
        choose_examples(first, split="train")
    for column, options in (("challenge", {}), ("area", {}), ("challenge_ce", {"only": "ce"})):
        without = Predictions(first.table.drop_columns([column]), first.metadata)
        with pytest.raises(OochubError, match=f"no column '{column}'"):
            choose_examples(without, **options)
    ce = Predictions(first.table.drop_columns(["challenge_ce", "challenge_gist"]), first.metadata)
    with pytest.raises(OochubError, match=r"no column 'challenge_gist'.*gist_<class>"):
        choose_examples(ce, only="gist")
    with pytest.raises(OochubError, match="Two models have the same name: erm, erm"):
        choose_examples([first, planted(1)])
    with pytest.raises(OochubError, match="There are 2 models but 1 names"):
        choose_examples(first, than=than, names=["ERM"])
    with pytest.raises(OochubError, match="Did you mean 'hard_positive'"):
        choose_examples(first, kinds=["hard_positives"])
    with pytest.raises(OochubError, match="Allowed: ce, gist"):
        choose_examples(first, only="cooccurrence")
    with pytest.raises(OochubError, match="at least 1, got 0"):
        choose_examples(first, most=0)
    with pytest.raises(OochubError, match="There are no predictions"):
        choose_examples([])
    with pytest.raises(OochubError, match=r"has no hard negative that erm gets better than gdro\. Choose"):
        same = changed(than, logits=first.table.column("logits").to_pylist())
        choose_examples(first, than=same, kinds=["hard_negative"])
    columns = {"example_id": ["1"], "split": ["test"], "label": [2], "logits": [[0.0, 1.0, 2.0]]}
    with pytest.raises(OochubError, match=r"have 3 classes \(a, b, c, \.\.\.\).*oochub\.task"):
        choose_examples(predictions_of(columns, class_names=["a", "b", "c"]))


@pytest.fixture(scope="module")
def cars(coco):
    return load_dataset("nooch", "ce_car", data_dir=str(coco), contexts=["road"])


def predicted(data, *, model="runs/erm", seed=0, splits=("validation", "test")):
    """Predictions as `oochub predict` makes them, with random logits."""
    tables, record = [], BuildRecord.of(data["test"].info)
    for split in splits:
        part = data[split].remove_columns(["image"])
        columns = part.to_dict()
        for name in {"environment", "group", "challenge", "challenge_ce", "challenge_gist"} & {*columns}:
            columns[name] = part.features[name].int2str(columns[name])
        score = np.random.default_rng(seed).normal(size=len(part)) * 2
        tables.append(pa.table(columns | {"split": [split] * len(part), "logits": [[0.0, item] for item in score]}))
    metadata = {"benchmark": "nooch", "config": "ce_car", "version": record.version, "facts": record.facts}
    metadata |= {"class_names": part.features["label"].names, "model": {"id": model}}
    return Predictions(pa.concat_tables(tables), metadata | {"rows": {item: len(data[item]) for item in splits}})


def texts(ax):
    return [text.get_text().replace("\n", " ") for text in ax.texts]


def test_what_stands_on_the_axes(cars, coco):
    """Losses and areas are those of the rows, images and outlines those of the ids, in the order of the choice."""
    erm, gdro = predicted(cars), predicted(cars, model="runs/gdro", seed=1)
    kinds = ["hard_negative", "easy_positive"]
    ax = gallery([erm, gdro], cars, kinds=kinds, columns=3, coco=coco, names=["ERM", "GroupDRO"])
    chosen = choose_examples([erm, gdro], kinds=kinds, most=3, names=["ERM", "GroupDRO"])
    assert [item.get_label() for item in ax.child_axes] == chosen["example_id"].tolist() and len(chosen) == 6
    part = {row["example_id"]: row for row in cars["test"]}
    result = outlines(coco, [int(item) for item in chosen["example_id"]], ["car", "road"])
    for inset, row in zip(ax.child_axes, chosen.to_dict("records"), strict=True):
        losses = f"ERM {row['nll ERM']:.2f}, GroupDRO {row['nll GroupDRO']:.2f}"
        source = part[row["example_id"]]
        thing = f"car {100 * source['area']:.0f}%" if row["kind"] == "easy_positive" else "no car"
        assert inset.get_title(loc="left") == f"{losses}\n{thing}, road {100 * source['context_area'][0]:.0f}%"
        assert np.array_equal(inset.images[0].get_array(), np.asarray(source["image"]))
        drawn = {item.get_label(): item for item in inset.collections}
        contours = result[int(row["example_id"])]
        assert set(drawn) == ({"object", "context"} if row["kind"] == "easy_positive" else {"context"})
        for role, name in (("object", "car"), ("context", "road")):
            for path, contour in zip(drawn[role].get_paths() if role in drawn else [], contours[name], strict=True):
                assert np.array_equal(path.vertices, contour)
    assert texts(ax)[:2] == ["Hard negatives: road without car", "Easy positives: car with road"]
    assert "highest NLL of ERM first" in texts(ax)[-1] and "in nats" in texts(ax)[-1]
    legend = ax.get_legend()
    assert [text.get_text() for text in legend.get_texts()] == ["car", "context: road"]
    for line, role in zip(legend.get_lines(), ("object", "context"), strict=True):
        assert line.get_color() == LINES[role]["color"]
    assert LINES["object"]["linestyle"] != LINES["context"]["linestyle"]


@pytest.mark.slow
def test_comparison_and_criteria_in_words(cars):
    erm, gdro = predicted(cars), predicted(cars, model="runs/gdro", seed=1)
    ax = gallery(gdro, cars["test"], than=erm, columns=2)
    assert {"Hard positives: car without road", "Hard negatives: road without car"} <= set(texts(ax))
    assert texts(ax)[-1].startswith("NLL of gdro lower than that of erm, largest difference first.")
    assert ax.get_legend() is None and not any(item.collections for item in ax.child_axes)
    for inset in ax.child_axes:
        own, other = (float(item.split()[1]) for item in inset.get_title(loc="left").split("\n")[0].split(", "))
        assert own <= other
    table = erm.table.append_column("challenge_ce", erm.table.column("challenge"))
    easy = pa.array(["easy"] * len(erm))
    table = table.append_column("challenge_gist", easy).append_column(
        "gist_similarity", pa.array(np.full(len(erm), -0.25))
    )
    both = Predictions(table, erm.metadata)
    ax = gallery(both, cars, only="ce", kinds=["hard_negative", "hard_positive"], columns=1)
    assert texts(ax)[0] == "Hard negatives: road without car; easy by gist"
    assert "gist −0.25" in ax.child_axes[0].get_title(loc="left").replace("\n", " ")
    swapped = Predictions(
        table.rename_columns({"challenge_ce": "challenge_gist", "challenge_gist": "challenge_ce"}),
        replace(erm.metadata, config="gist_car"),
    )
    ax = gallery(swapped, cars, only="gist", kinds=["hard_negative"], columns=1)
    assert texts(ax)[0] == "Hard negatives: no car in a scene usual for it; easy by co-occurrence"
    ax = gallery(swapped, cars, columns=1)
    assert texts(ax)[2] == "Easy positives: car in a scene usual for it"


@pytest.mark.slow
def test_the_other_criterion_is_read_from_the_data_set(run, cars, coco, tmp_path):
    """The same choice as from predictions for the gist task. Planted fault seen: all is easy by gist."""
    encoder = tiny_encoder(tmp_path / "encoder")
    gist = load_dataset("nooch", "gist_car", data_dir=str(coco), encoder=encoder)
    ce, both = predicted(cars), predicted(gist)
    ce.save(tmp_path / "ce.parquet")
    Predictions(both.table, replace(both.metadata, config="gist_car")).save(tmp_path / "both.parquet")
    tables = {}
    for name in ("ce", "both"):
        words = (tmp_path / f"{name}.parquet", "--data-dir", coco, "--option", f"encoder={encoder}")
        for only in ("ce", "gist"):
            file = tmp_path / f"{name}_{only}.csv"
            code, _, err = run(*words, "--plot", f"gallery:only={only}:kinds=hard_negative,easy_positive={file}")
            assert code == 0, err
            tables[name, only] = pd.read_csv(file)
    for only in ("ce", "gist"):
        assert len(tables["ce", only]) > 2
        pd.testing.assert_frame_equal(tables["ce", only], tables["both", only], check_like=True)
    with pytest.raises(OochubError, match="dataset lacks"):
        gallery(ce, {"ce_car": cars, "gist_car": gist.filter(lambda row: row["example_id"] > "3")}, only="ce")


def test_shares_below_one_percent(cars):
    erm = predicted(cars)
    table = erm.table.set_column(
        erm.table.column_names.index("context_area"), "context_area", pa.array([[0.001]] * len(erm))
    )
    ax = gallery(Predictions(table, erm.metadata), cars, columns=1)
    assert all(item.get_title(loc="left").endswith("road <1%") for item in ax.child_axes)


def boxes(ax):
    """(what, its box in pixels) of every text and image of a gallery."""
    ax.figure.canvas.figure.draw_without_rendering()
    result = [(text.get_text(), text.get_window_extent()) for text in ax.texts]
    for inset in ax.child_axes:
        result.append((inset.get_label(), inset.get_window_extent()))
        result.append((inset.get_title(loc="left"), inset._left_title.get_window_extent()))
    if ax.get_legend():
        result.append(("legend", ax.get_legend().get_window_extent()))
    return result


@pytest.mark.slow
@pytest.mark.parametrize(("columns", "models"), [(1, 3), (2, 1), (4, 3)])
def test_nothing_covers_anything(cars, coco, columns, models):
    """Planted fault seen: headings without room of their own."""
    every = [predicted(cars, model=f"runs/method_{seed}", seed=seed) for seed in range(models)]
    figure, axes = pyplot.subplots(1, 2, figsize=(14, 9), layout="constrained", width_ratios=[1, 4])
    for ax in (gallery(every, cars, columns=columns, coco=coco), gallery(every, cars, columns=columns, ax=axes[1])):
        result = boxes(ax)
        frame = ax.get_window_extent().padded(2)
        assert len(result) > 2 * 3
        for what, box in result:
            corners = [frame.contains(*item) for item in box.corners()]
            assert all(corners), (what, box, frame)
        for (item, a), (two, b) in itertools.combinations(result, 2):
            shared = Bbox.intersection(a, b)
            assert shared is None or min(shared.width, shared.height) < 1, (item, two, shared)
    assert ax is axes[1] and ax.figure is figure


def test_kinds_stand_side_by_side_or_below_each_other(cars):
    erm = predicted(cars)
    side = [item.get_window_extent() for item in gallery(erm, cars, columns=1).child_axes]
    assert len({round(box.y0) for box in side}) == 1 and side[0].x1 < side[1].x0 < side[2].x0
    below = [item.get_window_extent() for item in gallery(erm, cars, columns=2, kinds=KINDS[1:3]).child_axes]
    assert below[0].x0 == below[2].x0 and below[2].y1 < below[0].y0 and below[0].x1 < below[1].x0


def test_a_kind_without_examples_says_so(cars):
    erm = predicted(cars)
    table = erm.table.set_column(erm.table.column_names.index("area"), "area", pa.array(np.full(len(erm), 0.125)))
    ax = gallery(Predictions(table, erm.metadata), cars, columns=2)
    assert texts(ax)[:2] == ["Hard positives: car without road", "none"] and len(ax.child_axes) == 4


def test_only_shown_pictures_are_decoded(cars):
    """The bytes of all other images are broken; those of one shown then give an error that names it."""
    erm = predicted(cars)
    ids = set(choose_examples(erm, most=1)["example_id"])

    def broken(row, output):
        return {"image": row["image"] if row["example_id"] in output else {"bytes": b"no picture", "path": None}}

    raw = cars["test"].cast_column("image", Image(decode=False))
    fine = raw.map(lambda row: broken(row, ids), features=raw.features).cast_column("image", Image())
    assert len(gallery(erm, fine, columns=1).child_axes) == 3
    first = sorted(ids)[0]
    bad = raw.map(lambda row: broken(row, ids - {first}), features=raw.features).cast_column("image", Image())
    with pytest.raises(OochubError, match=f"split test, example {first}: 10 bytes that are no image"):
        gallery(erm, bad, columns=1)


def test_wrong_turns_of_the_figure(cars, tmp_path):
    erm = predicted(cars)
    first = choose_examples(erm, most=1)["example_id"][0]
    with pytest.raises(OochubError, match=f"examples to show are not in the dataset, first {first}"):
        gallery(erm, cars["validation"], columns=1)
    with pytest.raises(OochubError, match="No split of the dataset named 'test'"):
        gallery(erm, {"validation": cars["validation"]})
    with pytest.raises(OochubError, match="no column 'image'"):
        gallery(erm, cars["test"].remove_columns("image"))
    with pytest.raises(OochubError, match=r"There is no .*instances_val2017\.json"):
        gallery(erm, cars, coco=tmp_path)


@pytest.mark.slow
def test_an_export_is_whole_or_not_there(run, cars, coco, tmp_path, monkeypatch):
    """With --overwrite and a full disk the table is as it was; without, what a user marked is refused at once."""
    predicted(cars).save(tmp_path / "erm.parquet")
    (tmp_path / "x.csv").write_text("what I marked")

    written = Path.write_text

    def full_disk(path, text, *encoding):
        written(path, "half" if path.suffix == ".csv" else text, *encoding)
        if path.suffix == ".csv":
            raise OSError(28, "No space left on device")

    monkeypatch.setattr(Path, "write_text", full_disk)
    words = (
        "--data-dir",
        coco,
        "--plot",
        f"gallery:outlines=no={tmp_path}/g.png",
        "--plot",
        f"gallery={tmp_path}/x.csv",
    )
    code, _, err = run(tmp_path / "erm.parquet", *words)
    assert code == 2 and "is not a table that oochub wrote" in err
    assert sorted(path.name for path in tmp_path.iterdir()) == ["erm.parquet", "x.csv"]
    code, _, err = run(tmp_path / "erm.parquet", *words, "--overwrite")
    assert code == 2 and "No space left" in err and (tmp_path / "x.csv").read_text() == "what I marked"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["erm.parquet", "g.png", "x.csv"]


@pytest.fixture
def run(run):
    return lambda *words: run("report", *words)


@pytest.mark.slow
def test_the_command(run, cars, coco, tmp_path):
    """It ends with the paths that it wrote; the table is the choice with an empty column for the reader."""
    erm, gdro = predicted(cars), predicted(cars, model="runs/gdro", seed=1)
    erm.save(tmp_path / "erm.parquet")
    gdro.save(tmp_path / "gdro.parquet")
    out, export = tmp_path / "new" / "g.png", tmp_path / "doubtful.csv"
    words = (tmp_path / "erm.parquet", "--data-dir", coco, "--option", "beta=0.1")
    plots = (f"gallery:columns=2={out}", "--plot", f"gallery:columns=2={export}")
    code, output, err = run(*words, "--plot", *plots)
    assert code == 0 and output.split() == [str(out), str(export)], err
    assert out.read_bytes()[:4] == b"\x89PNG" and out.stat().st_size > 10_000
    rows = pd.read_csv(export, dtype={"example_id": str})
    chosen = choose_examples(erm, most=2)
    assert list(rows) == [*chosen, "doubtful"] and rows["doubtful"].isna().all()
    assert list(rows["example_id"]) == list(chosen["example_id"])
    assert np.allclose(rows["nll erm"], chosen["nll erm"]) and rows["license"].notna().all()
    than = f"gallery:than={tmp_path / 'gdro.parquet'}:kinds=hard_negative:names=ERM,GroupDRO:outlines=no"
    code, output, err = run(*words, "--plot", f"{than}:split=validation={out}", "--json")
    assert code == 0 and json.loads(output) == {"plots": [str(out)]}, err
    code, output, err = run(*words, "--plot", f"{than}:split=validation={export}")
    assert code == 0 and output == f"{export}\n", err
    by_hand = choose_examples(erm, than=gdro, kinds=["hard_negative"], names=["ERM", "GroupDRO"], split="validation")
    assert list(pd.read_csv(export, dtype=str)["example_id"]) == list(by_hand["example_id"])
    code, output, err = run(tmp_path / "gdro.parquet", *words, "--plot", f"gallery:columns=1={export}")
    assert code == 0 and output == f"{export}\n", err
    assert list(pd.read_csv(export).filter(like="nll")) == ["nll gdro", "nll erm"]
    marked = export.read_text().removesuffix("\n") + "yes\n"  # what a reader marked is the reader's
    export.write_text(marked)
    code, output, err = run(*words, "--plot", f"gallery:columns=1={export}")
    assert code == 2 and "add --overwrite" in err and export.read_text() == marked


@pytest.mark.slow
def test_the_command_takes_a_task_of_all(run, coco, tmp_path):
    """One file of a model with an output a class; the task's images come from nooch/all."""
    data = load_dataset("nooch", "all", data_dir=str(coco), split="test")
    part = data.remove_columns(["image"])
    logits = np.random.default_rng(0).normal(size=(len(part), 171)).astype(np.float32)
    table = pa.table(part.to_dict() | {"split": ["test"] * len(part), "label": [-1] * len(part)})
    table = table.append_column("logits", pa.array(list(logits)))
    record = BuildRecord.of(data.info)
    metadata = {"benchmark": "nooch", "config": "all", "version": "1.0.0", "facts": record.facts}
    metadata |= {"class_names": part.features["labels"].feature.names, "model": {"id": "heads"}}
    Predictions(table, metadata | {"rows": {"test": len(part)}}).save(tmp_path / "all.parquet")
    words = (tmp_path / "all.parquet", "--data-dir", coco, "--plot")
    code, _, err = run(*words, f"gallery:task=ce_car:columns=1={tmp_path}/g.svg")
    assert code == 0 and "<svg" in (tmp_path / "g.svg").read_text(), err
    code, _, err = run(*words, f"gallery={tmp_path}/g.svg")
    assert code == 2 and "gallery:task=ce_car=FILE" in err


def test_the_command_stops_before_slow_steps(run, cars, coco, tmp_path, monkeypatch):
    """What is wrong with the predictions, the options and the outputs is said before the data set is loaded."""
    monkeypatch.setattr("oochub.data.load.load", lambda *_, **__: pytest.fail("the dataset was loaded"))
    erm = predicted(cars)
    erm.save(tmp_path / "erm.parquet")
    (tmp_path / "file.parquet").write_text("")
    erm_file, data = tmp_path / "erm.parquet", ("--data-dir", coco)

    def plot(options="", file="g.png"):
        return "--plot", f"gallery{options}={tmp_path}/{file}"

    cases = [
        ((tmp_path / "none.parquet", *data, *plot()), "Prediction file not found"),
        ((tmp_path / "file.parquet", *data, *plot()), "is not a Parquet file"),
        ((erm_file, *data, *plot(file="file.parquet/g.png")), "is a file, not a folder"),
        ((erm_file, *data, *plot(), *plot(file="file.parquet/x.csv")), "is a file, not a folder"),
        ((erm_file, *data, *plot(file="g.gif")), "its name must end in .png or .pdf or .svg"),
        ((erm_file, *data, *plot(":kinds=hard")), "No kind of example named 'hard'"),
        ((erm_file, *data, *plot(":outlines=maybe")), "outlines of gallery must be yes or no, got 'maybe'"),
        ((erm_file, *data, *plot(f":than={tmp_path}/none.parquet")), "Prediction file not found"),
        ((erm_file, erm_file, *data, *plot()), "Two models have the same name"),
        ((erm_file, *plot()), "NOOCH requires its raw files"),
        ((erm_file, "--data-dir", tmp_path / "none", *plot()), "data_dir is not a folder"),
        ((erm_file, *data, "--plot", f"contexts_over_alpha={tmp_path}/x.csv"), ": contexts_over_alpha has no table"),
    ]
    Predictions(erm.table, replace(erm.metadata, benchmark="spawrious")).save(tmp_path / "other.parquet")
    cases.append(((tmp_path / "other.parquet", *data, *plot()), "This figure shows a task of nooch, but"))
    for words, message in cases:
        code, output, err = run(*words)
        assert code == 2 and message in err and not output, (words, err)
    assert not (tmp_path / "g.png").exists()
