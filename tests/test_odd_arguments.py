"""Arguments of the main functions that are of another type or unknown: an OochubError with words, never a traceback.

Each was tried on the code of before; those with "seen" were tracebacks, and ten thousand million resamples hung.
"""

from collections.abc import Callable
from typing import Any

import datasets
import numpy as np
import pandas as pd
import pytest
import torch

import oochub
from oochub import Predictions
from oochub.comparison.compare import _compare_predictions as paired_comparison
from oochub.errors import OochubError

LABEL = np.arange(40) % 2
ROWS = Predictions.from_arrays(
    logits=np.eye(2)[LABEL] + np.linspace(0, 1, 80).reshape(40, 2), label=LABEL, is_ood=[True, False] * 20
)
DATA = datasets.Dataset.from_dict({"array": [[1.0, 2.0]] * 4, "label": [0, 1, 0, 1]})


class Network(torch.nn.Module):
    """Of torch alone: without a config."""


EVALUATE: dict[str, list[Any]] = {
    "metrics": ["accuracy", "", ["acuracy"], [3], [None], 3, [["accuracy"]], {"accuracy": 1}, b"auc"],  # seen: 3
    "detectors": ["msp", ["mps"], [3], [None], 3, [object()], [int], ["odin:epsilon=x"], ["msp:a=1"]],  # seen: 3, [3]
    "resamples": [-1, 0, 99, 1.5, "x", None, True, 1e9, 10**10, float("nan"), [100]],  # seen: five of these
    "seed": [-1, 1.5, "a", None, True, [1], float("nan"), 2**70],  # seen
    "classes": ["presnt", 3, None, ["all"]],
    "match": ["areaa", ["x"], True],  # seen: ["x"]
    "correction": ["holmm", 3, None],
    "loading": [3, ["a"], {"label": "x"}],  # seen: 3
    "benchmark": ["nooch", {}, object()],
    "model_name": ["x"],
}
OF_DETECTORS: dict[str, list[Any]] = {
    "pairs": ["ab", [("default",)], [("default", "x")], [3], 3, [("default",) * 3], {}],
    "reference": ["nofile.parquet", 3, [1], object()],
    "probes": ["zoom", ["zom"], [3], 3],
}
PARTS = [[], None, 3, [3], "nofile.parquet", ["nofile.parquet"], {}, pd.DataFrame(), [ROWS, 3], object(), b"x", ""]
NO_DATA = [
    [],
    [1],
    ["a"],
    3,
    None,
    {},
    {"test": [1]},
    [DATA],
    DATA.to_list(),
    DATA.to_pandas(),
    object(),
    b"x",
    (DATA,),
]
NO_MODEL = [None, 3, [], b"x", {}, object(), Network()]
LOAD: dict[str, list[Any]] = {
    "label": ["lable", 3, ["label"], {}],
    "context": ["ctx", 3],
    "split": ["tst", 3],
    "config": [3],
    "options": [3],
    "num_proc": ["x"],
    "text_columns": ["x", 3, {}],
    "usual": [3, ["a"], {"x": ["y"]}],
}
CASES: dict[str, Callable[[], Any]] = {}
for _name, _values in EVALUATE.items():
    for _place, _value in enumerate(_values):
        CASES[f"evaluate {_name} {_place} {type(_value).__name__}"] = lambda n=_name, v=_value: oochub.evaluate(
            ROWS, **{"resamples": 100, n: v}
        )
for _name, _values in OF_DETECTORS.items():
    for _place, _value in enumerate(_values):
        CASES[f"evaluate {_name} {_place} {type(_value).__name__}"] = lambda n=_name, v=_value: oochub.evaluate(
            ROWS, resamples=100, detectors=["msp"], **{n: v}
        )
for _place, _value in enumerate(PARTS):
    CASES[f"evaluate {_place}"] = lambda v=_value: oochub.evaluate(v, resamples=100)
    CASES[f"pair {_place}"] = lambda v=_value: paired_comparison(ROWS, v)
for _place, _value in enumerate(NO_DATA):
    CASES[f"predict data {_place}"] = lambda v=_value: oochub.predict(Network(), v)
    CASES[f"audit data {_place}"] = lambda v=_value: oochub.audit(Network(), v)
for _place, _value in enumerate(NO_MODEL):
    CASES[f"predict model {_place}"] = lambda v=_value: oochub.predict(v, DATA)
    CASES[f"audit model {_place}"] = lambda v=_value: oochub.audit(v, DATA.add_column("group", ["a", "b"] * 2))
for _place, _value in enumerate([[], [1], 3, None, {}, DATA, DATA.to_pandas(), object(), b"x", "", "nooch/ce_kar"]):
    CASES[f"load {_place}"] = lambda v=_value: oochub.load(v)
for _value in ([3], "accuracy", 3, ["acuracy"]):
    CASES[f"pair metrics={_value!r}"] = lambda v=_value: paired_comparison(ROWS, ROWS, metrics=v)
for _value in ("x", -1):
    CASES[f"pair resamples={_value!r}"] = lambda v=_value: paired_comparison(ROWS, ROWS, resamples=v)
    CASES[f"audit resamples={_value!r}"] = lambda v=_value: oochub.audit(Network(), DATA, resamples=v)
CASES["audit contexts"] = lambda: oochub.audit(Network(), DATA, contexts="propertees")
CASES["audit context_settings"] = lambda: oochub.audit(Network(), DATA, contexts="properties", context_settings=3)
CASES["audit probe_settings"] = lambda: oochub.audit(Network(), DATA, probe="background", probe_settings=3)
CASES["predict splits"] = lambda: oochub.predict(Network(), datasets.DatasetDict(test=DATA), splits="test")


@pytest.mark.parametrize("name", CASES)
def test_an_odd_argument_is_an_error_with_words(name):
    with pytest.raises(OochubError) as refused:
        CASES[name]()
    assert 4 < len(str(refused.value).split()) and len(str(refused.value)) < 3000


@pytest.mark.parametrize("name", LOAD)
def test_an_odd_argument_of_load_is_an_error_with_words(name, tmp_path):
    (tmp_path / "rows.csv").write_text("text,label\na,x\nb,y\n")
    for value in LOAD[name]:
        with pytest.raises(OochubError):
            oochub.load(tmp_path / "rows.csv", **{name: value})


def test_near_names_and_what_to_write_are_said():
    with pytest.raises(OochubError, match=r"metrics=\['accuracy'\]"):
        oochub.evaluate(ROWS, metrics="accuracy")
    with pytest.raises(OochubError, match="Did you mean 'accuracy'"):
        oochub.evaluate(ROWS, metrics=["Acuracy"])
    with pytest.raises(OochubError, match=r"Dataset\.from_list"):
        oochub.predict(Network(), [{"array": [1.0]}], class_names=["cat", "dog"], transform=len)
    with pytest.raises(OochubError, match="resamples must be 100 or more, a whole number up to 1,000,000"):
        oochub.evaluate(ROWS, resamples=10**10)


def test_what_is_right_stays():
    """Numbers of NumPy are numbers, and any list is a list."""
    for metrics in (["accuracy"], ("accuracy",), {"accuracy"}, np.array(["accuracy"]), iter(["accuracy"])):
        report = oochub.evaluate(ROWS, metrics=metrics, resamples=np.int64(100), seed=np.uint8(1))
        assert report["accuracy"].n == 40
    assert len(oochub.evaluate(iter([ROWS]), resamples=100).notes) == 0
