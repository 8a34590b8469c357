"""`--probe background`: models that look at one thing alone, masks of every state, what is kept, what is refused."""

import html
import io
import math
import re
import shlex
import shutil

import datasets
import numpy as np
import pyarrow as pa
import pytest
import torch
from PIL import Image
from planted_pictures import PROCESSOR, SIZE, Onlooker, planted_folder
from transformers import ResNetConfig, ResNetForImageClassification

import oochub
from oochub.cli import main
from oochub.context_finder import OpenedPicture
from oochub.errors import OochubError
from oochub.probing.altered_answers import ON_LENT, VARIANTS
from oochub.probing.altered_pictures import draw_donors
from oochub.probing.background_numbers import compare_answers, log_odds
from oochub.probing.object_area import BoxAreas, RowOfObject
from oochub.probing.probes import background as probing
from oochub.records.schema import to_json
from oochub.report.report import Report
from oochub.report.verdict import verdict

COLUMNS = {"label": "tone", "context": "ground"}
SHAPE = (slice(4, 12), slice(4, 12))


def _mask(file, shape=SHAPE, size=SIZE):
    pixels = np.zeros((size, size), np.uint8)
    pixels[shape] = 255
    file.parent.mkdir(parents=True, exist_ok=True)
    Image.fromarray(pixels).save(file)


@pytest.fixture(scope="module")
def world(tmp_path_factory):
    """Squares on a background, a mask an image."""
    folder = tmp_path_factory.mktemp("planted")
    planted_folder(folder / "squares", train=4, test=20)
    for tone in ("light", "dark"):
        for number in range(20):
            _mask(folder / "masks" / f"{tone}{number}.png")
    return folder / "squares", folder / "masks"


def audit(model, source, masks, **more):
    settings = {"masks": masks, **more.pop("probe_settings", {})}
    given = {"image_processor": PROCESSOR, **COLUMNS, "probe": "background", "probe_settings": settings, **more}
    return oochub.audit(model, source, **given)


@pytest.mark.slow
def test_a_model_that_sees_the_background_alone(world):
    """By hand: with the object filled nothing changes; on a usual background of its class it is right, else wrong."""
    found = audit(Onlooker("background"), *world).background
    assert (found.n, found.split, found.lenders, dict(found.left_out)) == (40, "test", "in_context", {})
    assert found.n_lenders <= 20  # of each tone one half is on its usual background
    accuracy = {each.name: float(each.accuracy) for each in found.variants}
    assert accuracy["original"] == accuracy["background_alone"] == 0.5
    assert (accuracy["mixed_same"], accuracy["mixed_rand"]) == (1.0, 0.0)
    alone = found.variant("background_alone")
    assert alone.accuracy_change == alone.log_odds == alone.logit == 0.0
    red, blue = (4 * (200 - 60) / 255 * sign for sign in (1, -1))  # Onlooker's logit of light, less that of dark by two
    same, other = found.variant("mixed_same"), found.variant("mixed_rand")
    # half of the rows stand on the usual background: these do not change on a background of their class
    assert same.log_odds == pytest.approx((0 + 2 * (red - blue)) / 2, rel=1e-4)
    assert other.log_odds == pytest.approx((2 * (blue - red) + 0) / 2, rel=1e-4)
    assert same.logit == pytest.approx(red, rel=1e-4) and other.logit == pytest.approx(blue, rel=1e-4)
    assert found.gap == 1.0 and 0.3 < found.gap.low < 0.8  # twenty images lend them
    assert found.gap_log_odds == pytest.approx(2 * (red - blue), rel=1e-4)


@pytest.mark.slow
def test_a_model_that_sees_the_object_alone(world):
    """By hand: no background changes a logit; without the object it sees the two backgrounds' gray, one answer."""
    report = audit(Onlooker("object"), *world)
    found = report.background
    for name in ("object_alone", "mixed_same", "mixed_rand"):
        part = found.variant(name)
        assert part.accuracy == 1.0 and part.accuracy_change == part.log_odds == part.logit == 0.0
    assert found.variant("background_alone").accuracy == 0.5
    assert found.gap == found.gap_log_odds == 0.0 and found.gap.low < 0 < found.gap.high
    assert "The class of the background is not shown to matter to" in report.to_markdown()
    plain = oochub.audit(Onlooker("object"), world[0], image_processor=PROCESSOR, **COLUMNS)
    assert verdict(report) == verdict(plain) and plain.background is None


@pytest.mark.slow
def test_what_is_said_of_the_background(world, tmp_path):
    report = audit(Onlooker("background"), *world, out=tmp_path / "audit")
    words = "recognizes an object less often when the background comes from another class"
    page = (tmp_path / "audit" / "report.html").read_text("utf-8")
    assert words in page and words in report.to_markdown() and "paired" in page
    section = page.partition('<section id="background"')[2].partition("</section>")[0]
    assert (
        section.count("data:image/jpeg;base64,") == 6
        and f"Backgrounds come from only {report.background.n_lenders} rows" in section
    )
    assert "data:image" not in report.to_html(images=False).partition('id="background"')[2].partition("</section>")[0]
    assert report["background_gap"] == report.background.gap == 1.0
    assert report["background/mixed_rand/accuracy"] == 0.0
    frame = report.to_pandas()
    assert {"background/object_alone", "background_gap"} <= set(frame["slice"])
    assert to_json(Report.load(tmp_path / "audit" / "report.json")) == to_json(report)


@pytest.mark.slow
def test_every_state_of_a_mask_is_counted(world, tmp_path):
    """One row each: no file, another size, empty, all of the image. Fault planted: a mask of another size resized."""
    masks = tmp_path / "masks"
    shutil.copytree(world[1], masks)
    (masks / "light0.png").unlink()
    _mask(masks / "light1.png", size=SIZE + 1)
    _mask(masks / "light2.png", shape=(slice(0, 0), slice(0, 0)))
    _mask(masks / "dark0.png", shape=(slice(None), slice(None)))
    report = audit(Onlooker("object"), world[0], masks)
    found = report.background
    assert found.n == 36 and sorted(found.left_out.values()) == [1, 1, 1, 1]
    assert set(found.left_out) == {
        "the location of the object is not known",
        "the mask and the image differ in size",
        "the area of the object is empty",
        "the object leaves too little background to fill it with",
    }
    assert all(each.accuracy.n == 36 for each in found.variants) and "Left out: " in report.to_markdown()
    for file in masks.iterdir():
        _mask(file, shape=(slice(None), slice(None)))
    with pytest.raises(OochubError, match=r"in any of 40 rows .* too little background to fill it with \(39\)"):
        audit(Onlooker("object"), world[0], masks)
    shutil.rmtree(masks)
    (masks / "sub").mkdir(parents=True)
    with pytest.raises(OochubError, match="None of 40 images has a mask"):
        audit(Onlooker("object"), world[0], masks)


@pytest.mark.slow
def test_rows_are_drawn_by_a_seed(world):
    def ids(**settings):
        found = audit(Onlooker("object"), *world, probe_settings={"rows": 7, **settings}).background
        return found.n, found.shown.example_id, found.variant("mixed_same").accuracy.n

    assert ids() == ids() and ids()[0] == 7


def test_boxes_of_a_column_are_areas_too(tmp_path):
    """The columns at the right edge, which the model sees, stay as they are. Fault planted: x and y exchanged."""
    generator, rows = np.random.default_rng(0), []
    for number in range(24):
        label = number % 2
        pixels = np.full((16, 24, 3), ((200, 60, 60), (60, 60, 200))[label if number % 3 else 1 - label], np.uint8)
        top, left = int(generator.integers(0, 8)), int(generator.integers(0, 8))
        pixels[top : top + 5, left : left + 12] = (5, 250)[label]
        rows.append((pixels, label, [left, top, left + 12, top + 5]))
    files = []
    for pixels, *_ in rows:
        file = io.BytesIO()
        Image.fromarray(pixels).save(file, "PNG")
        files.append({"bytes": file.getvalue(), "path": None})
    features = {
        "image": datasets.Image(),
        "label": datasets.ClassLabel(names=["dark", "light"]),
        "context": datasets.Value("string"),
        "place": datasets.List(datasets.Value("float64")),
    }
    columns = {
        "image": files,
        "label": [label for _, label, _ in rows],
        "context": ["red" if pixels[0, 23, 0] == 200 else "blue" for pixels, *_ in rows],
        "place": [None, *(box for *_, box in rows[1:])],
    }
    part = datasets.Dataset.from_dict(columns, datasets.Features(features))
    part.to_parquet(tmp_path / "boxes.parquet")
    data = oochub.load(tmp_path / "boxes.parquet", label="label", context="context")
    given = {"image_processor": PROCESSOR, "probe": "background"}
    found = oochub.audit(Onlooker("background"), data, probe_settings={"boxes": "place"}, **given).background
    assert (found.n, found.area) == (23, "the boxes in the column place")
    assert found.variant("background_alone").log_odds == 0.0
    row = RowOfObject("7", "light", "", {"place": [[2.0, 1.5, 5.2, 4.0], [20, 0, 30, 2]]})
    (mask,) = BoxAreas("place").masks([row], [OpenedPicture(b"", Image.new("RGB", (24, 16)))])
    assert [[y, x] for y, x in np.argwhere(mask)] == [
        [y, x] for y in range(16) for x in range(24) if (1 <= y < 4 and 2 <= x < 6) or (y < 2 and x >= 20)
    ]
    with pytest.raises(OochubError, match="x1 < x2 and y1 < y2; the row 7 has"):
        BoxAreas("place").begin([row._replace(columns={"place": [5, 5, 5, 9]})])
    with pytest.raises(OochubError, match="Did you mean 'place'"):
        oochub.audit(Onlooker("background"), data, probe_settings={"boxes": "plaice"}, **given)
    with pytest.raises(OochubError, match="Pass masks=, a folder"):
        oochub.audit(Onlooker("background"), data, **given)


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    torch.manual_seed(0)
    config = ResNetConfig(embedding_size=8, hidden_sizes=[8], depths=[1], layer_type="basic")
    config.id2label = {0: "light", 1: "dark"}
    folder = tmp_path_factory.mktemp("model") / "tones"
    ResNetForImageClassification(config).save_pretrained(folder)
    PROCESSOR.save_pretrained(folder)
    return folder


@pytest.mark.slow
def test_the_answers_are_kept_and_a_run_that_was_ended_goes_on(model, world, tmp_path, monkeypatch):
    """The model answers once for each part; faults planted: a key without the masks, one without the seed."""
    monkeypatch.setenv("OOCHUB_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr("oochub.probing.altered_answers._ROWS", 10)
    masks, out = tmp_path / "masks", tmp_path / "audit"
    shutil.copytree(world[1], masks)
    given = {**COLUMNS, "probe": "background", "out": out, "probe_settings": {"masks": masks}}
    asked, real = [], oochub.probing.probes.background._open_model

    def counted(*args, fails_at=None, **named):
        answer = real(*args, **named)

        def run(pictures, rows):
            asked.append(len(pictures))
            if len(asked) == fails_at:
                raise KeyboardInterrupt
            return answer(pictures, rows)

        return run

    place = "oochub.probing.probes.background._open_model"
    monkeypatch.setattr(place, lambda *args, **named: counted(*args, fails_at=3, **named))
    with pytest.raises(KeyboardInterrupt):
        oochub.audit(model, world[0], **given)
    monkeypatch.setattr(place, counted)
    first = oochub.audit(model, world[0], **given)
    assert asked == [190, 190, 190, 190, 190]  # 10 rows, 19 altered images each; the third part twice
    assert first.background.variant("original").accuracy.n == 40
    monkeypatch.setattr(place, lambda *args, **named: pytest.fail("the model was opened"))
    made = (out / "report.json").stat().st_mtime_ns
    assert to_json(oochub.audit(model, world[0], **given)) == to_json(first)
    assert (out / "report.json").stat().st_mtime_ns == made
    assert oochub.audit(model, world[0], **{**given, "probe": None, "probe_settings": None}).background is None
    assert Report.load(out / "report.json").background is None
    monkeypatch.setattr(place, counted)
    for change in ({"seed": 1}, {"rows": 30}, {"backgrounds": 2}):
        asked.clear()
        oochub.audit(model, world[0], **{**given, "probe_settings": {"masks": masks, **change}})
        assert asked
    asked.clear()
    _mask(masks / "light0.png", shape=(slice(2, 12), slice(4, 12)))
    oochub.audit(model, world[0], **given)
    assert len(asked) == 4


def test_altered_rows_as_they_are_get_the_stored_logits(model, world, tmp_path, monkeypatch):
    """What opens the model for altered images says of unaltered ones what the predictions hold."""
    from oochub.models.model_source import ModelSource
    from oochub.probing.probes.background import _open_model as opened_model
    from oochub.settings.model_settings import ModelSettings
    from oochub.settings.prediction_settings import PredictionSettings

    data = oochub.load(world[0], **COLUMNS)
    predictions = oochub.predict(model, data, cache=False)
    answer = opened_model(ModelSource(model), data["test"], data, predictions, ModelSettings(), PredictionSettings())
    assert (
        np.abs(answer(data["test"].select_columns(["image"]), range(len(predictions))) - predictions.logits).max()
        < 1e-5
    )


def test_numbers_are_those_of_loops():
    """Log-odds by math.log of probabilities, changes row by row; rows without an image are in no number of it.

    Both kinds of lent background are of the same rows: their shares differ by the gap. Planted: each of its own rows.
    """
    generator = np.random.default_rng(0)
    label, original = generator.integers(0, 3, 50), generator.normal(size=(50, 3))
    shapes = {name: (50, 4, 3) if name in ON_LENT else (50, 3) for name in VARIANTS}
    altered = {name: generator.normal(size=shape) for name, shape in shapes.items()}
    altered["mixed_same"][:10] = np.nan
    numbers = compare_answers(label, original, altered)

    def odds(row, of):
        p = np.exp(row) / np.exp(row).sum()
        return np.log(p[of] / (1 - p[of]))

    assert np.allclose(log_odds(original, label), [odds(row, of) for row, of in zip(original, label, strict=True)])
    for part in numbers.variants[1:]:
        images = altered[part.name].reshape(50, -1, 3)
        of_both = altered["mixed_same"] if part.name in ON_LENT else images
        rows = [k for k in range(50) if not np.isnan(of_both[k, 0, 0])]
        pairs = [(new, original[k], label[k]) for k in rows for new in images[k]]
        assert part.accuracy.n == part.log_odds.n == part.logit.n == part.accuracy_change.n == len(rows)
        assert part.accuracy == pytest.approx(np.mean([new.argmax() == of for new, _, of in pairs]))
        assert part.log_odds == pytest.approx(np.mean([odds(new, of) - odds(old, of) for new, old, of in pairs]))
        assert part.logit == pytest.approx(np.mean([new[of] - old[of] for new, old, of in pairs]))
        right = [int(new.argmax() == of) - int(old.argmax() == of) for new, old, of in pairs]
        assert part.accuracy_change == pytest.approx(np.mean(right))
        assert part.log_odds.low < part.log_odds < part.log_odds.high
    same, other = (altered[name][10:].argmax(2) == label[10:, None] for name in ON_LENT)
    assert numbers.gap == pytest.approx(same.mean() - other.mean()) and numbers.gap.n == 40
    draws = [same[:, k].mean() - other[:, k].mean() for k in range(4)]
    assert numbers.draw_deviation == pytest.approx(np.std(draws, ddof=1))


def test_a_row_counts_once_however_many_backgrounds_it_has():
    """By hand: the first row is right on both backgrounds of its class, the second on one; on others neither is.

    (1 + 1/2) / 2 - 0 = 0.75 of two rows. Four equal draws say no more than one: the same number, the same interval.
    """
    right, wrong = [1.0, 0.0], [0.0, 1.0]
    plain = dict.fromkeys(("object_alone", "background_alone", "pasted_back"), np.array([right, right]))
    altered = {**plain, "mixed_same": np.array([[right, right], [right, wrong]])}
    found = compare_answers(
        np.array([0, 0]), np.array([right, right]), {**altered, "mixed_rand": np.array([[wrong, wrong]] * 2)}
    )
    assert (found.gap, found.gap.n, found.variants[1].accuracy) == (0.75, 2, 0.75)
    assert found.draw_deviation == pytest.approx(abs(1.0 - 0.5) / math.sqrt(2))
    generator = np.random.default_rng(5)
    label, original = generator.integers(0, 2, 60), generator.normal(size=(60, 2))
    once = {name: generator.normal(size=(60, 1, 2) if name in ON_LENT else (60, 2)) for name in VARIANTS}
    lent = generator.integers(100, 150, (60, 1, 2))
    units = np.concatenate([np.arange(60)[:, None, None], lent], axis=2)
    four = {name: np.repeat(of, 4, 1) if name in ON_LENT else of for name, of in once.items()}
    one = compare_answers(label, original, once, units=units)
    same = compare_answers(label, original, four, units=np.repeat(units, 4, 1))
    for narrow, wide in ((one.gap_log_odds, same.gap_log_odds), (one.gap, same.gap)):
        assert (wide, wide.n) == (pytest.approx(narrow), 60)
        assert (wide.low, wide.high) == pytest.approx((narrow.low, narrow.high), abs=2e-3)
    assert one.draw_deviation is None and same.draw_deviation == 0


def test_lenders_by_hand():
    """Rows 0 to 2 of one photograph; of class 0 are rows 0, 1, 3, 4, of class 1 rows 2, 5, of class 2 row 6."""
    label, cluster = np.array([0, 0, 1, 0, 0, 1, 2]), np.array([9, 9, 9, 1, 2, 3, 4])
    can_lend = np.array([1, 1, 1, 1, 1, 0, 1], bool)
    same, other = draw_donors(label, can_lend, cluster=cluster, backgrounds=4, seed=0)
    for row in (0, 1):
        assert sorted(same[row].tolist()) == [3, 3, 4, 4]  # in turn: each twice, neither row 0 nor row 1
        assert other[row].tolist() == [6, 6, 6, 6]  # row 2 is of the same photograph, row 5 lends none
    assert (same[2] == -1).all()  # row 5 alone has its class, and lends none
    assert sorted(same[3].tolist()) in ([0, 0, 1, 4], [0, 1, 1, 4], [0, 1, 4, 4])
    assert sorted(other[3].tolist()) == [2, 2, 6, 6]  # both classes in turn
    assert (same[6] == -1).all() and set(other[6].tolist()) <= {0, 1, 2, 3, 4} and (other[6] == 2).sum() == 2
    more = draw_donors(label, can_lend, cluster=cluster, backgrounds=4, seed=1)
    again = draw_donors(label, can_lend, cluster=cluster, backgrounds=4, seed=0)
    assert (again.other == other).all() and not (more.same == same).all()
    none = draw_donors(np.zeros(3, int), np.ones(3, bool), cluster=np.zeros(3), backgrounds=2, seed=0)
    assert (none.same == -1).all() and (none.other == -1).all()


def test_rows_of_a_cluster_are_drawn_together():
    """Five clusters of ten equal rows: the interval is wider than that of fifty rows."""
    cluster = np.repeat(np.arange(25), 4)
    generator = np.random.default_rng(1)
    label = np.repeat(generator.integers(0, 2, 25), 4)
    original = np.repeat(generator.normal(size=(25, 2)), 4, 0)
    answers = np.repeat(generator.normal(size=(25, 2)), 4, 0)
    altered = {name: answers[:, None] if name in ON_LENT else answers for name in VARIANTS}
    rows, whole = (compare_answers(label, original, altered, cluster=of) for of in (None, cluster))
    for of in ("log_odds", "accuracy_change"):
        narrow, wide = (getattr(each.variants[3], of) for each in (rows, whole))
        assert wide == pytest.approx(narrow) and wide.high - wide.low > 1.4 * (narrow.high - narrow.low)


def test_rows_that_nothing_lends_to_have_no_gap():
    """Seen before it was mended: with clusters, an error of the estimator. Planted fault seen: clusters of no row."""
    label, original = np.array([0, 1, 1]), np.eye(2)[[0, 1, 0]]
    altered = {name: np.full((3, 2, 2), np.nan) if name in ON_LENT else original for name in VARIANTS}
    numbers = compare_answers(label, original, altered, cluster=np.array([0, 0, 1]))
    assert math.isnan(numbers.gap.value) and (numbers.gap.n, numbers.gap.reason) == (0, "no such image")
    of_variant = {row.name: row.accuracy for row in numbers.variants}
    assert of_variant["original"].value == pytest.approx(2 / 3) and math.isnan(of_variant["mixed_same"].value)


def test_few_backgrounds_say_little_of_others():
    """Three images lend to fifty rows, and what they lend decides: wider than of fifty, in all that depends on them."""
    rng = np.random.default_rng(4)
    label, place = np.tile([0, 1], 25), np.arange(50)
    same, other = (100 + rng.integers(3, size=50) for _ in range(2))
    original, lent = rng.normal(size=(50, 2)), rng.normal(size=(200, 2)) * 3
    altered = {name: original + rng.normal(size=(50, 2)) for name in VARIANTS}
    altered["mixed_same"], altered["mixed_rand"] = (original + lent[same])[:, None], (original - lent[other])[:, None]
    alone, shared = (
        compare_answers(label, original, altered, units=units)
        for units in (None, np.stack([place, same, other], axis=1)[:, None])
    )
    for before, after in zip(alone.variants, shared.variants, strict=True):
        parts = ("accuracy", "accuracy_change", "log_odds", "logit")
        for narrow, wide in ((getattr(before, of), getattr(after, of)) for of in parts):
            if before.name.startswith("mixed"):
                assert wide == pytest.approx(narrow) and wide.high - wide.low > 1.3 * (narrow.high - narrow.low)
                assert wide.reason == "only 3 images supply a background: the interval may be too narrow"
            else:
                assert (wide is None and narrow is None) or wide.to_dict() == narrow.to_dict()
    for wide, narrow in ((shared.gap, alone.gap), (shared.gap_log_odds, alone.gap_log_odds)):
        assert wide == pytest.approx(narrow) and wide.high - wide.low > 1.3 * (narrow.high - narrow.low)


def test_pictures_of_a_cluster_lend_as_one(world, monkeypatch):
    """The numbers get the places of each row and of its lenders, or their clusters. Fault planted: the rows alone."""
    seen = []
    plain = probing.compare_answers
    monkeypatch.setattr(probing, "compare_answers", lambda *a, **k: seen.append(k["units"]) or plain(*a, **k))
    report = audit(Onlooker("background"), *world, cache=False)
    units = seen[0]
    assert units.shape == (report.background.n, 8, 3) and (units[..., :1] != units[..., 1:]).all()
    assert len(np.unique(units[..., 1:])) == report.background.n_lenders
    assert "of what they share" in report.background.gap.method
    lists = {"same": [[1, 2], None, [0, 0]], "other": [[2, 1], [2, 0], [1, 1]]}
    table = pa.table({"place": [0, 1, 2], **{name: pa.array(of, pa.list_(pa.int64())) for name, of in lists.items()}})
    by_row = [[[0, 1, 2], [0, 2, 1]], [[1, 1, 2], [1, 1, 0]], [[2, 0, 1], [2, 0, 1]]]
    assert probing._list_units(table, 2, None).tolist() == by_row
    assert (
        probing._list_units(table, 2, np.array([7, 8, 7])).tolist() == (np.array([7, 8, 7])[np.array(by_row)]).tolist()
    )


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"probe": "backgrounds"}, "Did you mean 'background'"),
        ({"probe": None}, "name it with probe="),
        ({"probe_settings": {"masks": "no/such"}}, "Mask folder not found: no/such"),
        ({"probe_settings": {"boxes": "a", "masks": "b"}}, "both locate the object"),
        ({"probe_settings": {"rows": 0}}, "rows must be at least 1"),
        ({"probe_settings": {"backgrounds": 0}}, "backgrounds must be at least 1"),
        ({"probe_settings": {"label_map": "x.csv"}}, "label_map says which classes of a segmentation model"),
        ({"probe_settings": {"segmenter": "no/such/model"}}, "no/such/model"),
    ],
)
def test_what_is_wrong_is_said_before_the_data_are_read(model, world, monkeypatch, given, message):
    monkeypatch.setattr("oochub.auditing.open_data", lambda *a, **k: pytest.fail("the data were read"))
    with pytest.raises(OochubError, match=message):
        oochub.audit(model, world[0], **{**COLUMNS, "probe": "background", "probe_settings": {"rows": 5}, **given})


def test_a_stream_has_no_probe(model, world, monkeypatch):
    monkeypatch.setattr("oochub.auditing.predict_splits", lambda *a, **k: pytest.fail("the model ran"))
    data = oochub.load(world[0], **COLUMNS)
    streams = datasets.IterableDatasetDict({name: part.to_iterable_dataset() for name, part in data.items()})
    with pytest.raises(OochubError, match="a stream can be read only once"):
        oochub.audit(model, streams, probe="background", probe_settings={"masks": world[1]})


@pytest.mark.slow
@pytest.mark.parametrize(
    "seeds",
    [
        pytest.param({}, marks=pytest.mark.slow, id="none"),
        pytest.param({"seed": 3}, marks=pytest.mark.slow, id="of-all"),
        pytest.param({"probe": 2}, id="of-the-probe"),
    ],
)
def test_the_command_on_the_page_makes_the_probe_again(model, world, tmp_path, monkeypatch, seeds):
    """Typed as it stands, but for the place of the model: the same numbers and the same options."""
    monkeypatch.chdir(world[0].parent)
    asked = {"masks": "masks", "rows": 7} | ({"seed": seeds["probe"]} if "probe" in seeds else {})
    first = oochub.audit(
        model, world[0], **COLUMNS, probe="background", probe_settings=asked, seed=seeds.get("seed", 0), resamples=1000
    )
    shown = html.unescape(re.search(r"reproduce this page\"><code>(.*?)</code>", first.to_html(), re.S)[1])
    command = shlex.split(shown.splitlines()[-1])
    assert command[:8] == [
        "oochub",
        "audit",
        "tones",
        "squares",
        "--label-column",
        "tone",
        "--context-column",
        "ground",
    ]
    command[2] = str(model)
    monkeypatch.setattr("sys.argv", [*command, "--out", str(tmp_path / "again")])
    with pytest.raises(SystemExit) as end:
        main()
    assert not end.value.code
    again = Report.load(tmp_path / "again" / "report.json").background
    assert to_json(again) == to_json(first.background) and again.n == 7


def test_the_page_without_a_probe_names_none(model, world):
    """Fault planted: the command of a probe on every page."""
    assert "--probe" not in oochub.audit(model, world[0], **COLUMNS, resamples=100).to_html()
