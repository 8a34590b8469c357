"""Audits of images whose background is planted: what relies on it is told from what does not, and steps are kept."""

import pytest
import torch
from planted_pictures import PROCESSOR, Onlooker, planted_folder
from transformers import ResNetConfig, ResNetForImageClassification

import oochub
from oochub.errors import OochubError, OochubWarning
from oochub.records.schema import to_json
from oochub.report.report import Report
from oochub.report.verdict import verdict
from oochub.storage.ownership import MANIFEST

COLUMNS = {"label": "tone", "context": "ground"}


@pytest.fixture(scope="module")
def pictures(tmp_path_factory):
    return planted_folder(tmp_path_factory.mktemp("planted") / "squares")


def audit(model, source, **more):
    return oochub.audit(model, source, image_processor=PROCESSOR, **{**COLUMNS, **more})


def test_a_model_that_looks_at_the_background_relies_on_it(pictures):
    """By hand: right on every usual background, wrong on every other."""
    report = audit(Onlooker("background"), pictures)
    assert verdict(report).headline == "Below chance in unusual contexts, this model relies on context."
    assert report["in_context/accuracy"] == 1.0 and report["out_of_context/accuracy"] == 0.0
    assert report.benchmark.summary == "Usual contexts: dark: blue; light: red."
    assert {row.group for row in report.group_rows} == {"light/red", "light/blue", "dark/red", "dark/blue"}


@pytest.mark.slow
def test_contexts_are_found_where_the_data_say_none(pictures, tmp_path):
    """The same by hand, with the background found by its hue: right as usual, wrong against, and nothing to test."""
    found = {"context": None, "contexts": "properties", "out": tmp_path / "audit"}
    report = audit(Onlooker("background"), pictures, **found)
    red = next(each for each in report.contexts.contexts if each.name == "red")
    assert (red.status, red.gap, red.n_usual, red.n_against) == ("shown", -1.0, 200, 200)
    assert [(row.predicted == row.label, row.image is None) for row in red.rows_usual] == [(True, False)] * 5
    assert [(row.predicted == row.label, row.image is None) for row in red.rows_against] == [(False, False)] * 5
    said = verdict(report)
    assert said.case == "relies" and "red (usual for light)" in said.sentence
    assert said.lead.startswith("It is right 100 times in 100") and "not reviewed by people" in said.on_what.detail
    assert said.headline in (tmp_path / "audit/report.html").read_text("utf-8")
    by_share = audit(Onlooker("background"), pictures, **found, correction="benjamini_hochberg")
    assert by_share.contexts.correction == "benjamini_hochberg"
    right = verdict(audit(Onlooker("object"), pictures, **{**found, "out": None}))
    assert (right.case, right.headline) == ("too_few", "No context could be tested.")
    assert right.lead == "AUC is 100.0 of 100."


def test_what_is_asked_of_contexts_is_checked_first(pictures):
    for wrong, words in (
        ({"contexts": "propertys"}, "Did you mean 'properties'"),
        ({"contexts": "properties", "context_settings": {"k": 3}}, "k"),
        ({"context_settings": {"k": 3}}, "Pass contexts="),
        ({"contexts": "properties", "correction": "bonferroni"}, "holm"),
        ({"contexts": "properties", "choose_on": "test"}, "train"),
        ({"choose_on": "half"}, "choose_on= requires a method that finds contexts"),
    ):
        with pytest.raises(OochubError, match=words):
            audit(Onlooker("object"), pictures, **wrong)


def test_a_model_that_looks_at_the_object_does_not(pictures):
    report = audit(Onlooker("object"), pictures)
    assert verdict(report).headline == "Any effect of context is smaller than 2 points."
    assert report["gap"] == 0.0 and report["out_of_context/accuracy"] == 1.0


def test_no_picture_in_an_unusual_context_is_said(tmp_path):
    """Nothing to compare with: the report says so and stands, page and all."""
    folder = planted_folder(tmp_path / "usual", train=10, test=0, share=1.0)
    report = audit(Onlooker("object"), folder, out=tmp_path / "audit")
    assert verdict(report).headline == "There are too few examples in unusual contexts to tell."
    assert report["gap"] != report["gap"] and report["gap"].reason == "there are no rows in unusual contexts"
    assert "usual contexts are counted on all 20 rows" in "; ".join(report.notes)
    assert "There are too few examples" in (tmp_path / "audit" / "report.html").read_text("utf-8")


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    """A folder as a user has it: weights, config, image processor."""
    torch.manual_seed(0)
    config = ResNetConfig(embedding_size=8, hidden_sizes=[8], depths=[1], layer_type="basic")
    config.id2label = {0: "light", 1: "dark"}
    folder = tmp_path_factory.mktemp("model") / "tones"
    ResNetForImageClassification(config).save_pretrained(folder)
    PROCESSOR.save_pretrained(folder)
    return folder


@pytest.fixture(scope="module")
def few(tmp_path_factory):
    return planted_folder(tmp_path_factory.mktemp("few") / "squares", train=6, test=8)


@pytest.mark.slow
def test_the_steps_are_kept_and_made_again_where_something_changed(model, few, tmp_path, monkeypatch):
    """Fault planted: a report kept whatever the usual contexts, which change no answer of the model."""
    out = tmp_path / "audit"
    first = oochub.audit(model, few, out=out, **COLUMNS)
    made = {file.name: file.stat().st_mtime_ns for file in out.iterdir()}
    assert sorted(made) == [MANIFEST, "predictions.parquet", "report.html", "report.json"]
    with monkeypatch.context() as patched:
        patched.setattr("oochub.models.model_source.open_pretrained", lambda *a, **k: pytest.fail("it was opened"))
        patched.setattr("oochub.auditing.evaluate", lambda *a, **k: pytest.fail("it was evaluated"))
        again = oochub.audit(model, few, out=out, **COLUMNS)
    assert to_json(again) == to_json(first)
    assert all((out / name).stat().st_mtime_ns == made[name] for name in ("predictions.parquet", "report.json"))
    turned = oochub.audit(model, few, out=out, usual={"light": ["blue"], "dark": ["red"]}, **COLUMNS)
    assert turned.benchmark.summary == "Usual contexts: dark: red; light: blue."
    assert turned["gap"] == pytest.approx(-first["gap"])
    assert Report.load(out / "report.json").benchmark.summary == turned.benchmark.summary


@pytest.mark.slow
@pytest.mark.parametrize("choose_on", ["auto", "half"])
def test_contexts_that_are_found_again_are_the_same_step(model, few, tmp_path, monkeypatch, choose_on):
    """Fault planted: the way draws its halves anew, by a seed of the clock."""
    asked = {"label": "tone", "contexts": "properties", "choose_on": choose_on, "out": tmp_path / "audit"}
    first = oochub.audit(model, few, **asked)
    assert first.contexts.n_chosen + first.contexts.n_tested == (28 if choose_on == "auto" else 16)
    with monkeypatch.context() as patched:
        patched.setattr("oochub.models.model_source.open_pretrained", lambda *a, **k: pytest.fail("it was opened"))
        patched.setattr("oochub.auditing.evaluate", lambda *a, **k: pytest.fail("it was evaluated"))
        again = oochub.audit(model, few, **asked)
    assert to_json(again) == to_json(first)
    other = {"auto": "half", "half": "auto"}[choose_on]
    turned = oochub.audit(model, few, **asked | {"choose_on": other})
    assert turned.contexts.n_tested != first.contexts.n_tested


@pytest.mark.slow
def test_a_loaded_data_set_is_audited_too(model, few):
    data = oochub.load(few, **COLUMNS)
    assert oochub.audit(model, data)["gap"] == oochub.audit(model, few, **COLUMNS)["gap"]
    with pytest.raises(OochubError, match="label= applies only if source is a path or a name"):
        oochub.audit(model, data, label="tone")


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"label": "tune"}, "Did you mean 'tone'"),
        ({"mode": "heads"}, "No mode named 'heads'. Did you mean 'head'"),
        ({"splits": ["tests"]}, "No split named 'tests'. Did you mean 'test'"),
        ({"resamples": 3}, "resamples must be 100 or more"),
        ({"usual": {"lite": ["red"]}}, "Did you mean 'light'"),
        ({"batchsize": 3}, "No keyword of audit named 'batchsize'. Did you mean 'batch_size'"),
        ({"labl": "tone"}, "No keyword of audit named 'labl'. Did you mean 'label'"),
        ({"mode": "head", "prompt": "?"}, "No option of the mode head named 'prompt'"),
    ],
)
def test_what_is_wrong_is_said_before_the_model_runs(model, few, monkeypatch, tmp_path, given, message):
    monkeypatch.setattr("oochub.models.model_source.open_pretrained", lambda *a, **k: pytest.fail("it was opened"))
    with pytest.raises(OochubError, match=message):
        oochub.audit(model, few, out=tmp_path / "audit", **{**COLUMNS, **given})
    assert not (tmp_path / "audit" / "predictions.parquet").exists()


@pytest.mark.slow
def test_a_context_that_is_guessed_is_the_one_that_is_named(pictures):
    """The only other column of the folder; the numbers are those of the named column, and the report says it."""
    with pytest.warns(OochubWarning, match="Using column 'ground' as the context"):
        guessed = audit(Onlooker("background"), pictures, context=None)
    named = audit(Onlooker("background"), pictures)
    assert guessed["gap"] == named["gap"] and guessed["gap"] < 0
    note = "the context is the column 'ground', guessed as the only one that can hold it"
    assert set(guessed.notes) - set(named.notes) == {note}


def test_data_without_a_context_are_refused(tmp_path):
    """Of a folder whose only other column was taken out. Planted fault: the check after the prediction."""
    folder = planted_folder(tmp_path / "squares", train=6, test=8)
    for file in folder.rglob("metadata.csv"):
        rows = [line.split(",") for line in file.read_text().splitlines()]
        left = [k for k, name in enumerate(rows[0]) if name != "ground"]
        file.write_text("\n".join(",".join(row[k] for k in left) for row in rows))
    with pytest.raises(OochubError, match="No context column found"):
        audit(Onlooker("background"), folder, context=None, out=tmp_path / "audit")
    assert not (tmp_path / "audit" / "predictions.parquet").exists()


def test_a_model_or_a_place_that_cannot_be_is_said_first(model, few, tmp_path, monkeypatch):
    monkeypatch.setattr("oochub.auditing.open_data", lambda *a, **k: pytest.fail("the data were read"))
    with pytest.raises(OochubError, match="No model at nowhere/at/all"):
        oochub.audit("nowhere/at/all", few, **COLUMNS)
    with pytest.raises(OochubError, match="is not an audit"):
        oochub.audit(model, few, out=few, **COLUMNS)
