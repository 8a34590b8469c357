"""One round trip with each program itself, in the environment that `make bridges` makes; skipped without it.

The program reads what oochub wrote, and writes what oochub reads. MongoDB, which FiftyOne stores samples in, is stood
in for by mongomock.
"""

import json
import os
import subprocess
import sys
from pathlib import Path

import datasets
import numpy as np
import pytest
import reports
from bridge_rows import IDS, LABELS, LOGITS, NAMES, bridge_data, bridge_predictions
from tried_configs import TRIED

import oochub
from oochub import Predictions
from oochub.evaluation.evaluation_inputs import join_columns
from oochub.exchange.answers_file import join_answers, read_answers
from oochub.exchange.export import export, export_report
from oochub.loading_scripts.build_repository import build_parquet

PYTHON = Path(os.environ.get("OOCHUB_BRIDGES", "nowhere/bin/python"))  # `make bridges` names it once all is installed
LMMS = Path(
    os.environ.get("OOCHUB_LMMS_EVAL", PYTHON.parents[1] / "lmms_eval")
)  # a folder, beside torch of this Python
pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(not PYTHON.is_file(), reason="the programs are not installed: make bridges"),
]


def run(script: str, *words: object, python: str | Path = PYTHON, **more: str) -> str:
    """What a script prints that the programs' own Python runs, with `more` in its environment."""
    kept = {"PATH", "HOME", "TMPDIR", "LANG"}
    environment = {name: value for name, value in os.environ.items() if name in kept}
    done = subprocess.run(
        [python, "-c", script, *map(str, words)],
        env=environment | {"HF_HUB_OFFLINE": "1", "FIFTYONE_DO_NOT_TRACK": "true"} | more,
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-3000:]
    return done.stdout


FIFTYONE = """
import os, sys
os.environ["FIFTYONE_DATABASE_URI"] = "mongodb://localhost"
os.environ["FIFTYONE_DATABASE_VALIDATION"] = "false"
import mongomock, pymongo
from mongomock.store import ServerStore

STORE = ServerStore()  # of every client

class Client(mongomock.MongoClient):
    _closed = False

    def __init__(self, *given, **named):
        super().__init__(*given, _store=STORE, **named)

    def server_info(self, *given, **named):
        return {"version": "7.0.0", "versionArray": [7, 0, 0, 0]}

pymongo.MongoClient = Client
import fiftyone as fo

read, written = sys.argv[1:]
dataset = fo.Dataset.from_dir(read, dataset_type=fo.types.FiftyOneDataset)
assert all(os.path.isfile(path) for path in dataset.values("filepath"))
for sample in dataset:  # a second model, as a user of FiftyOne adds one
    label = "cat" if sample.place == "indoors" else "dog"
    sample["by_place"] = fo.Classification(label=label, confidence=0.75)
    sample.save()
print(sorted(dataset.count_values("prediction.label").items()), dataset.default_classes)
dataset.export(written, dataset_type=fo.types.FiftyOneDataset)
"""


def test_fiftyone(tmp_path):
    """FiftyOne opens the folder with its images, adds a model, and both come back: logits exact, labels by place."""
    given, data = bridge_predictions(), bridge_data()
    out = export(given, "fiftyone", tmp_path / "fo", data=data)
    said = run(FIFTYONE, out, tmp_path / "back")
    counts = np.bincount(given.prediction, minlength=2).tolist()
    assert f"{list(zip(NAMES, counts, strict=True))} {NAMES}" in said
    back = join_answers(read_answers(tmp_path / "back"), data)
    order = [IDS.index(each) for each in given.column("example_id")]
    np.testing.assert_array_equal(back.logits[order], given.logits)
    second = join_answers(read_answers(tmp_path / "back", model_name="by_place"), data)
    assert [NAMES[each] for each in second.prediction] == [
        "cat" if place == "indoors" else "dog" for place in second.column("place")
    ]


EVERY_EVAL_EVER = """
import json, sys
import jsonschema

record, schema = (json.load(open(path)) for path in sys.argv[1:])
jsonschema.Draft7Validator(schema).validate(record)
print(len(record["evaluation_results"]))
"""


@pytest.mark.parametrize("made", [reports.nooch_report, reports.spawrious_report])
def test_every_eval_ever(tmp_path, made):
    """Its schema accepts the record; the package itself is not imported, as it needs another Python."""
    schema = PYTHON.parents[1] / "every_eval_ever/every_eval_ever/schemas/eval.schema.json"
    report = reports.read(made())
    out = export_report(report, "every_eval_ever", tmp_path / "record.json")
    assert int(run(EVERY_EVAL_EVER, out, schema)) == int(report.to_pandas()["value"].notna().sum())


CLEANLAB = """
import sys
import numpy as np
from cleanlab import Datalab
from cleanlab.filter import find_label_issues

read, written = sys.argv[1:]
with np.load(read, allow_pickle=False) as file:
    given = dict(file)
found = find_label_issues(given["labels"], given["pred_probs"])
names = given["class_names"]
lab = Datalab({"label": [str(names[k]) for k in given["labels"]]}, label_name="label", verbosity=0)
lab.find_issues(pred_probs=given["pred_probs"], issue_types={"label": {}})
lab.get_issues("label").to_csv(written)
print("found", np.flatnonzero(found).tolist())
"""


def test_cleanlab(tmp_path):
    """A hundred rows of which six have the other label: cleanlab finds them, and they stand beside their rows."""
    rng = np.random.default_rng(0)
    truth = np.arange(100) % 2
    logits = 4 * np.eye(2)[truth] + rng.normal(scale=0.5, size=(100, 2))
    wrong = [3, 10, 41, 60, 77, 98]
    label = truth.copy()
    label[wrong] = 1 - label[wrong]
    given = Predictions.from_arrays(logits=logits, label=label, class_names=NAMES)
    out = export(given, "cleanlab", tmp_path / "in.npz")
    said = run(CLEANLAB, out, tmp_path / "issues.csv")
    assert f"found {wrong}" in said
    joined = join_columns(given, tmp_path / "issues.csv")
    assert np.flatnonzero(joined.column("is_label_issue")).tolist() == wrong
    assert joined.column("predicted_label")[3] == NAMES[truth[3]]
    assert joined.column("label_score")[wrong].max() < np.delete(joined.column("label_score"), wrong).min()


INSPECT = """
import json, sys
from inspect_ai import Task, eval
from inspect_ai.dataset import MemoryDataset, Sample
from inspect_ai.model import ModelOutput, ModelUsage, get_model
from inspect_ai.scorer import choice
from inspect_ai.solver import multiple_choice

rows, folder, form = json.loads(sys.argv[1]), sys.argv[2], sys.argv[3]
samples = [Sample(input="Which animal?", choices=["dog", "cat"], target=target, id=name) for name, target, _ in rows]
answers = [ModelOutput.from_content("mockllm/model", f"ANSWER: {said}") for _, _, said in rows]
for answer in answers:  # else it counts tokens by a vocabulary that it fetches
    answer.usage = ModelUsage(input_tokens=1, output_tokens=1, total_tokens=2)
model = get_model("mockllm/model", custom_outputs=answers)
task = Task(dataset=MemoryDataset(samples), solver=multiple_choice(), scorer=choice(), name="pets")
logs = eval(task, model=model, log_dir=folder, log_format=form, display="none", max_samples=1, max_connections=1)
assert logs[0].status == "success", logs[0].error
print("accuracy", logs[0].results.scores[0].metrics["accuracy"].value)
"""


@pytest.mark.parametrize("form", ["eval", "json"])
def test_inspect_ai(form, tmp_path):
    """A model that answers letters: the accuracy of the log is that of the report, row by row the same answers."""
    said = [int(logits[1] > logits[0]) for logits in LOGITS]
    rows = [(name, "BA"[label], "BA"[answer]) for name, label, answer in zip(IDS, LABELS, said, strict=True)]
    told = run(INSPECT, json.dumps(rows), tmp_path, form)
    (log,) = tmp_path.glob(f"*.{form}")
    predictions = join_answers(read_answers(log), bridge_data())
    assert predictions.prediction.tolist() == said and predictions.metadata.model.id == "mockllm/model"
    accuracy = oochub.evaluate(predictions)["accuracy"].value
    assert f"accuracy {accuracy}" in told and 0 < accuracy < 1


INSPECT_LOG = """
import json, sys
from inspect_ai.log import read_eval_log, recompute_metrics

log = read_eval_log(sys.argv[1])
written = log.results.scores[0].metrics["accuracy"].value
log.results = None
recompute_metrics(log)
again = log.results.scores[0].metrics["accuracy"].value
print(json.dumps([log.status, len(log.samples), written, again, [each.metadata["example_id"] for each in log.samples]]))
"""


@pytest.mark.parametrize("kind", ["classes", "choices"])
def test_inspect_log(kind, tmp_path):
    """Inspect opens the log, and computes the accuracy of its samples again: it is that of the report."""
    predictions = bridge_predictions(kind)
    out = export(predictions, "inspect_log", tmp_path / "log.eval")
    status, samples, written, again, ids = json.loads(run(INSPECT_LOG, out))
    accuracy = oochub.evaluate(predictions)["accuracy"].value
    assert (status, samples) == ("success", 10) and written == again == accuracy
    assert ids == predictions.column("example_id").tolist()


INSPECT_TASKS = """
import json, sys
from inspect_ai import eval
from inspect_ai.model import ModelOutput, ModelUsage, get_model

answers = [ModelOutput.from_content("mockllm/model", "ANSWER: A") for _ in range(5)]
for answer in answers:  # else it counts tokens by a vocabulary that it fetches
    answer.usage = ModelUsage(input_tokens=1, output_tokens=1, total_tokens=2)
model = get_model("mockllm/model", custom_outputs=answers)
(log,) = eval("hf/user/asked", model=model, limit=5, log_dir=sys.argv[1], display="none", max_samples=1)
assert log.status == "success", log.error
told = []
for each in log.samples:
    text, image = each.input[0].content
    image = each.attachments.get(image.image.removeprefix("attachment://"), image.image)
    told.append([each.target, each.choices, text.text, image[:11]])
print("told", json.dumps([log.results.scores[0].metrics["accuracy"].value, told]))
"""


def test_inspect_reads_eval_yaml(hub, raw, tmp_path):
    """Its own loader of the Hub asks five questions on images, and scores them by the labels."""
    oochub.push("spuriverse", "user/asked", data_dir=str(raw("spuriverse/default")), evaluation_framework="inspect-ai")
    cache = {"HF_HOME": str(tmp_path / "inspect"), "HF_HUB_OFFLINE": "0"}
    accuracy, told = json.loads(run(INSPECT_TASKS, tmp_path, **hub.env | cache).partition("told ")[2])
    rows = oochub.load("user/asked", config="default")["test"].select(range(5))
    expected = zip(rows["label"], rows["options"], rows["question"], strict=True)
    assert [each[:3] for each in told] == [["ABCDEFGH"[label], options, asked] for label, options, asked in expected]
    assert {image for *_, image in told} == {"data:image/"} and accuracy == np.mean(
        [label == 0 for label in rows["label"]]
    )


CROISSANT = """
import json, sys
import mlcroissant as mlc

told = {}
for path in sys.argv[1:]:
    data = mlc.Dataset(path)
    issues = data.metadata.issues
    assert not issues.errors, (path, issues.errors)
    told[path] = {
        "warnings": sorted(issues.warnings),
        "limits": data.metadata.data_limitations,
        "rows": {each.uuid: sum(1 for _ in data.records(each.uuid)) for each in data.metadata.record_sets},
    }
print("told", json.dumps(told))
"""
ONE_CONFIG = {name: config for name, config in reversed(TRIED)}


def test_mlcroissant(raw, tmp_path):
    """Every benchmark, built of its toy world: no error, and as many records as rows, each read with its images."""
    counts, paths = {}, []
    for name, config in ONE_CONFIG.items():
        folder = build_parquet(f"{name}/{config}", tmp_path / name, data_dir=str(raw(f"{name}/{config}")))
        paths.append(folder / "croissant.json")
        data = datasets.load_dataset(str(folder), config)
        counts[str(paths[-1])] = {f"{config}/{split}": len(part) for split, part in data.items()}
    out = run(CROISSANT, *paths)
    told = json.loads(out.partition("told ")[2])
    assert {path: each["rows"] for path, each in told.items()} == counts
    assert all("toy world" in " ".join(each["limits"]) for each in told.values())
    assert not {warning for each in told.values() for warning in each["warnings"]}


LMMS_EVAL = """
import json, sys
from lmms_eval.loggers.evaluation_tracker import EvaluationTracker

samples = json.loads(sys.argv[1])
tracker = EvaluationTracker(output_path=sys.argv[2])
tracker.general_config_tracker.model_name_sanitized = "org__model"
tracker.date_id = "20261126"
tracker.save_results_samples("pets", samples)
"""


@pytest.mark.skipif(not LMMS.is_dir(), reason="lmms-eval is not installed: make bridges")
@pytest.mark.parametrize("form", ["text", "losses"])
def test_lmms_eval(form, tmp_path):
    """What its tracker writes of the samples that its evaluator makes: one text per row, or a pair for each choice."""
    said, losses = LOGITS.argmax(axis=1).tolist(), (LOGITS.max() - LOGITS).tolist()  # none below 0, as of a model
    samples = [
        {
            "doc_id": number,
            "doc": {"id": number},
            "target": NAMES[label] if form == "text" else label,
            "arguments": [["Which animal?"]] * (1 if form == "text" else 2),
            "resps": [[f" A {NAMES[answer]}.\n"]] if form == "text" else [[[each, False]] for each in lost],
            "filtered_resps": [f"A {NAMES[answer]}."] if form == "text" else [[each, False] for each in lost],
            "token_counts": [None],
            "doc_hash": "0" * 64,
        }
        for number, (label, answer, lost) in enumerate(zip(LABELS, said, losses, strict=True))
    ]
    run(LMMS_EVAL, json.dumps(samples), tmp_path, python=sys.executable, PYTHONPATH=str(LMMS))
    predictions = join_answers(read_answers(tmp_path / "org__model" / "20261126_samples_pets.jsonl"), bridge_data())
    assert predictions.prediction.tolist() == said and predictions.metadata.model.id == "org__model"
