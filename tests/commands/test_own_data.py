"""Own data by every command that takes a source: built, predicted, scored and trained on from the shell."""

import pytest
from own_data import picture_folder

import oochub
from oochub.prediction.predictions import Predictions

COLUMNS = ("--label-column", "species", "--context-column", "place")


@pytest.fixture
def run(run, monkeypatch, tmp_path):
    """In an empty folder; returns (exit code, standard error)."""
    monkeypatch.chdir(tmp_path)
    return lambda *words: run(*words)[::2]


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    """A tiny untrained classifier of cats and dogs."""
    from oochub.trainers.backbone import open_backbone

    folder = tmp_path_factory.mktemp("model")
    network, processor = open_backbone("resnet-tiny", class_names=["cat", "dog"], image_size=16)
    network.save_pretrained(folder)
    processor.save_pretrained(folder)
    return folder


def test_predictions_are_of_easy_and_hard_rows(run, model, tmp_path):
    """Reference: the loaded rows. Planted fault seen: the columns not passed on, and neither group nor challenge."""
    usual = {"dog": ["beach", "grass"], "cat": ["sofa"]}
    columns = {"label": "species", "context": "place", "usual": usual}
    source = oochub.load(picture_folder(tmp_path / "mine"), **columns, text_columns=True)
    typed = ("--usual", "dog=beach,grass", "--usual", "cat=sofa")
    assert run("predict", model, "./mine", *COLUMNS, *typed, "--out", "p.parquet") == (0, "")
    found = Predictions.load(tmp_path / "p.parquet")
    for column in ("example_id", "context", "group", "challenge"):
        assert found.table.column(column).to_pylist() == source["train"][column][:]
    assert found.label.tolist() == source["train"]["label"][:]
    assert (found.metadata.benchmark, found.metadata.config) == ("custom", "mine")
    assert found.metadata.facts.usual_contexts == {"cat": ("sofa",), "dog": ("beach", "grass")}
    report = oochub.evaluate(found, resamples=100)
    assert report.benchmark.in_context.name == "easy" and "of dog, cat are given" in report.notes[0]


def test_a_built_repository_needs_no_columns(run, model, tmp_path):
    picture_folder(tmp_path / "mine")
    assert run("build", "mine", *COLUMNS, "--usual", "dog=street", "--out", "repo") == (0, "")
    assert run("predict", model, "repo", "--out", "p.parquet") == (0, "")
    found = Predictions.load(tmp_path / "p.parquet")
    assert found.metadata.config == "mine" and found.metadata.facts.usual_contexts["dog"] == ("street",)


def test_training_takes_environments_from_the_groups(run, tmp_path):
    """group_dro compares environments, which only the groups of label and context give here."""
    for split in ("train", "validation"):
        picture_folder(tmp_path / "mine" / split)
    words = ("--objective", "group_dro", "--num-train-epochs", 1, "--image-size", 16, "--out", "run")
    code, error = run("train", "mine", *COLUMNS, *words)
    assert code == 0, error
    assert (tmp_path / "run" / "model.safetensors").is_file()


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("train", "mine", *COLUMNS, "--out", "run"), "mine has no split 'validation', only train"),
        (("train", "nope", "--out", "run"), "No dataset at nope"),
        (("predict", "MODEL", "mine", "--label-column", "speces", "--out", "p.parquet"), "Did you mean 'species'? "),
        (("predict", "MODEL", "mine", *COLUMNS, "--usual", "dog", "--out", "p.parquet"), "CLASS=CONTEXT,CONTEXT"),
        (("predict", "MODEL", "mine", *COLUMNS, "--usual", "dgo=a", "--out", "p.parquet"), "Did you mean 'dog'"),
        (("predict", "MODEL", "nooch/ce_car", "--label-column", "x", "--out", "p.parquet"), "Remove --label-column"),
        (("build", "spawrious/o2o_easy", "--context-column", "x", "--out", "repo"), "remove the column options"),
        (("challenge", "mine", "--criterion", "mismatch", *COLUMNS, "--out", "set"), "name that column with --context"),
    ],
)
def test_wrong_words_are_said(run, model, words, message, tmp_path):
    picture_folder(tmp_path / "mine")
    code, error = run(*[model if word == "MODEL" else word for word in words])
    assert code == 2 and message in error and "Traceback" not in error, error
    assert [path.name for path in tmp_path.iterdir()] == ["mine"]
