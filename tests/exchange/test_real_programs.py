"""One round trip with each program itself, in the environment that `make bridges` makes; skipped without it.

The program reads what oochub wrote, and writes what oochub reads. MongoDB, which FiftyOne stores samples in, is stood
in for by mongomock.
"""

import os
import subprocess
from pathlib import Path

import numpy as np
import pytest
from bridge_rows import IDS, NAMES, bridge_data, bridge_predictions

from oochub.evaluation.answers_file import join_answers, read_answers
from oochub.exchange.export import export

ROOT = Path(__file__).parents[2]
PYTHON = Path(os.environ.get("OOCHUB_BRIDGES", ROOT / ".venv" / "bridges" / "bin" / "python"))
pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(not PYTHON.is_file(), reason="the programs are not installed: make bridges"),
]


def run(script: str, *words: object) -> str:
    """What a script prints that the programs' own Python runs."""
    kept = {"PATH", "HOME", "TMPDIR", "LANG"}
    environment = {name: value for name, value in os.environ.items() if name in kept}
    done = subprocess.run(
        [PYTHON, "-c", script, *map(str, words)],
        env=environment | {"HF_HUB_OFFLINE": "1", "FIFTYONE_DO_NOT_TRACK": "true"},
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
