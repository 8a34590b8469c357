"""Contract of detectors: each file of eval_modules/detectors is found and tested by the same rules, unnamed here.

Each rule was seen to fail on a planted fault.
"""

import inspect
import json
import pickle
import tempfile
import tracemalloc
from collections import Counter
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from safetensors.numpy import load_file, save_file
from sklearn.metrics import roc_auc_score

import oochub
from oochub import catalog
from oochub.detector import Detector
from oochub.errors import OochubError
from oochub.storage.ownership import MANIFEST

NAMES = oochub.names("detector")
CLASSES, WIDTH, ROWS = 12, 32, 14_400  # more rows a class than the default k of knn
Arrays = dict[str, np.ndarray]
Rule = Callable[[type[Detector]], None]


def world(seed: int, n: int, *, ood: bool = False, dtype: Any = np.float32) -> Arrays:
    """Features after a ReLU, the logits of a head that knows the class means, labels; ood rows are of other means."""
    model = np.random.default_rng(0)
    means = 2.5 * model.random((CLASSES, WIDTH)) * (model.random((CLASSES, WIDTH)) < 0.4)
    others = 1.0 * model.random((CLASSES, WIDTH)) * (model.random((CLASSES, WIDTH)) < 0.4)
    rng = np.random.default_rng(seed + 1)
    label = rng.permutation(np.arange(n) % CLASSES)
    noise = rng.normal(size=(n, WIDTH)) * np.linspace(0.2, 0.6, WIDTH)
    features = np.maximum((others if ood else means)[label] + noise, 0).astype(dtype)
    weight, bias = means / 2, -(means**2).sum(axis=1) / 4
    weight, bias = weight - weight.mean(axis=0), bias - bias.mean()  # as trained heads are; open_max asks for it
    logits = (features.astype(np.float64) @ weight.T + bias).astype(dtype)
    return {"features": features, "logits": logits, "label": label, "weight": weight, "bias": bias}


TRAIN, TEST = world(1, ROWS), world(2, 150)


def fit_arguments(arrays: Arrays, rows: Any = slice(None)) -> Arrays:
    return {name: array if name in ("weight", "bias") else array[rows] for name, array in arrays.items()}


def score_arguments(arrays: Arrays, rows: Any = slice(None)) -> Arrays:
    return {name: arrays[name][rows] for name in ("features", "logits")}


@cache
def fitted(kind: type[Detector]) -> Detector:
    """Of the training rows; rules share it and change nothing of it."""
    return kind().fit(**TRAIN)


@cache
def typed_worlds(dtype: Any) -> tuple[Arrays, Arrays]:
    return world(1, ROWS, dtype=dtype), world(2, 150, dtype=dtype)


def scores(detector: Detector, arrays: Arrays = TEST) -> np.ndarray:
    return detector.score(**score_arguments(arrays))


def close(found: np.ndarray, expected: np.ndarray, tolerance: float = 1e-9) -> None:
    np.testing.assert_allclose(found, expected, rtol=tolerance, atol=tolerance * np.abs(expected).max())


def rule_form(kind: type[Detector]) -> None:
    """Documented, constructed by keywords that are kept and fit into JSON; what it needs is among what there is."""
    doc = kind.__doc__ or ""
    assert doc.startswith("s(x) = ") and "Source: " in doc and ">>> " in doc and "Raises:" in doc
    parameters = inspect.signature(kind).parameters.values()
    assert all(one.kind is one.KEYWORD_ONLY and one.default is not one.empty for one in parameters)
    assert kind().hyperparameters == {one.name: one.default for one in parameters}
    json.dumps(kind().hyperparameters)
    assert set(kind.fit_needs) <= {"features", "logits", "label", "weight", "bias"}
    assert kind().score_needs and set(kind().score_needs) <= {"features", "logits"}


def rule_direction(kind: type[Detector]) -> None:
    """Higher is more in-distribution, in float64, one finite number a row."""
    detector = fitted(kind)
    inside, outside = scores(detector, world(3, 400)), scores(detector, world(4, 400, ood=True))
    assert inside.dtype == np.float64 and inside.shape == (400,) and np.isfinite([inside, outside]).all()
    auroc = roc_auc_score(np.arange(800) < 400, np.concatenate([inside, outside]))
    assert auroc > 0.7, auroc


def rule_alone(kind: type[Detector]) -> None:
    """A row's score does not depend on the rows beside it, nor on their order."""
    detector = fitted(kind)
    together = scores(detector)
    order = np.random.default_rng(0).permutation(len(together))
    close(detector.score(**score_arguments(TEST, order)), together[order], 1e-12)
    for i in range(10):
        close(detector.score(**score_arguments(TEST, slice(i, i + 1))), together[i : i + 1], 1e-12)


def rule_inputs_stay(kind: type[Detector]) -> None:
    train, test = ({name: array.astype(np.float64) for name, array in one.items()} for one in (TRAIN, TEST))
    train["label"] = TRAIN["label"].copy()
    before = [{name: array.copy() for name, array in one.items()} for one in (train, test)]
    detector = kind().fit(**train)
    first = scores(detector, test)
    np.testing.assert_array_equal(scores(detector, test), first)
    for arrays, copies in zip((train, test), before, strict=True):
        for name, array in arrays.items():
            np.testing.assert_array_equal(array, copies[name], err_msg=f"{kind.__name__} changed {name}")
    train["features"][:], train["logits"][:] = 0, 0
    np.testing.assert_array_equal(scores(detector, test), first)


def rule_streaming(kind: type[Detector]) -> None:
    """64 random batches on 4 workers, merged in any order and after a pickle, are the fit at once in another order."""
    expected = scores(fitted(kind))
    for seed in range(2):
        rng = np.random.default_rng(seed)
        cuts = np.sort(rng.choice(np.arange(1, ROWS), 63, replace=False))
        workers = [kind() for _ in range(4)]
        for number, rows in enumerate(np.split(rng.permutation(ROWS), cuts)):
            workers[number % 4].partial_fit(**fit_arguments(TRAIN, rows))
        if seed:
            workers = [pickle.loads(pickle.dumps(one)) for one in workers]  # noqa: S301
        total = workers[0] if seed else kind()
        for i in rng.permutation(np.arange(bool(seed), 4)):
            total.merge(workers[i])
        close(scores(total.finalize()), expected)


def batches(n: int, size: int = 500) -> Iterator[Arrays]:
    for start in range(0, n, size):
        yield world(10 + start, size)


def peak(run: Callable[[], object]) -> int:
    run()
    tracemalloc.start()
    try:
        run()
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


def rule_memory(kind: type[Detector]) -> None:
    """The peak of a fit grows by less than 5% at 4 times the rows, unless a bank of all rows is kept."""
    if any(each.startswith("bank ") for each in kind.fitted):
        return

    def in_batches(n: int) -> None:
        detector = kind()
        for batch in batches(n):
            detector.partial_fit(**batch)
        scores(detector.finalize())

    few, many = peak(lambda: in_batches(1500)), peak(lambda: in_batches(6000))
    assert many < 1.05 * few, (few, many)
    small, large = (fit_arguments(TRAIN, slice(n)) for n in (1500, 6000))
    few, many = peak(lambda: kind().fit(**small)), peak(lambda: kind().fit(**large))
    assert many < 1.05 * few + 2**14, (few, many)  # 16 KiB: what the interpreter itself may differ by


def rule_saving(kind: type[Detector]) -> None:
    """What is loaded gives the same bits; safetensors and JSON, no pickle."""
    detector = fitted(kind)
    with tempfile.TemporaryDirectory() as folder:
        path = detector.save(f"{folder}/saved")
        assert {file.name for file in Path(path).iterdir()} == {"detector.json", "state.safetensors", MANIFEST}
        for loaded in (Detector.load(path), kind.load(path)):
            assert type(loaded) is kind and loaded.hyperparameters == detector.hyperparameters
            np.testing.assert_array_equal(scores(loaded), scores(detector))
        if kind.fit_needs:
            with pytest.raises(OochubError, match="not fitted"):
                kind().save(f"{folder}/unfitted")


def rule_changed_files(kind: type[Detector]) -> None:
    """A saved detector of which any part was changed is not opened, with a digest or, as of before, without one."""
    with tempfile.TemporaryDirectory() as folder:
        path = fitted(kind).save(f"{folder}/saved")
        whole = (path / "state.safetensors").read_bytes()
        for place in np.random.default_rng(0).integers(8, len(whole), 5):
            damaged = bytearray(whole)
            damaged[place] ^= 16
            (path / "state.safetensors").write_bytes(damaged)
            with pytest.raises(OochubError, match=r"changed since|not a complete"):
                Detector.load(path)
        (path / "state.safetensors").write_bytes(whole)
        state = load_file(path / "state.safetensors")
        assert sorted(state) == sorted(each.split()[0] for each in kind.fitted)
        for changed in _changed_states(state, kind):
            save_file(changed, path / "state.safetensors")  # of before: without a digest
            with pytest.raises(OochubError, match=r"state\.safetensors|largest k allowed"):
                Detector.load(path)
        _other_card(path, whole)
        save_file(state, path / "state.safetensors")
        np.testing.assert_array_equal(scores(Detector.load(path)), scores(fitted(kind)))
        card = json.loads((path / "detector.json").read_text())
        if kind().hyperparameters:
            (path / "detector.json").write_text(json.dumps({**card, "hyperparameters": {}}))
            with pytest.raises(
                OochubError, match="does not say the hyperparameter"
            ):  # the default scores in another way
                Detector.load(path)
        for change in (
            {"columns": {"features": "32"}},
            {"columns": 3},
            {"hyperparameters": {"gamma": 1}},
            {"detector": 1},
        ):
            (path / "detector.json").write_text(json.dumps({**card, **change}))
            with pytest.raises(OochubError, match=r"detector\.json|hyperparameter|cannot be used"):
                Detector.load(path)
        if kind.fit_needs:
            (path / "detector.json").write_text(json.dumps({**card, "columns": {}}))
            with pytest.raises(OochubError, match=r"detector\.json: columns"):
                Detector.load(path)


def _other_card(path: Path, whole: bytes) -> None:
    """The card is sealed with the state that it was written with."""
    (path / "state.safetensors").write_bytes(whole)
    own = (path / "detector.json").read_text()
    card = json.loads(own)
    (path / "detector.json").write_text(json.dumps({**card, "oochub": "another"}))
    with pytest.raises(OochubError, match=r"detector\.json has changed since it was written"):
        Detector.load(path)
    for name in card["hyperparameters"]:
        (path / "detector.json").write_text(json.dumps({**card, "hyperparameters": {name: 10**400}}))
        with pytest.raises(OochubError, match="cannot be used"):
            Detector.load(path)
    (path / "detector.json").write_text(own)


def _changed_states(state: Arrays, kind: type[Detector]) -> Iterator[Arrays]:
    lengths = {name: shape for name, _, *shape in map(str.split, kind.fitted)}
    letters = Counter(letter for shape in lengths.values() for letter in set(shape))
    yield {**state, "more": np.zeros(1)}
    for name, values in state.items():
        yield {other: array for other, array in state.items() if other != name}
        yield {**state, name: values.astype(np.int8)}
        yield {**state, name: values[..., None]}
        yield {**state, name: values[:0]}
        length = lengths[name][:1]
        if length in (["d"], ["n"]) or any(letters[letter] > 1 for letter in length):  # known otherwise, n >= k
            yield {**state, name: np.ascontiguousarray(values[: len(values) // 20])}
        if values.dtype.kind == "f":
            yield {**state, name: np.where(np.arange(values.size).reshape(values.shape) == 0, np.nan, values)}


def rule_finite_scores(kind: type[Detector]) -> None:
    """A score that is not finite is an error that names the row, never a result."""

    class Damaged(kind):  # type: ignore[valid-type,misc]
        def _score(self, rows: Arrays) -> np.ndarray:
            found = np.array(super()._score(rows))
            found[-2:] = np.nan, np.inf
            return found

    with pytest.raises(OochubError, match=r"2 of 150 rows a score that is not finite, first row 148"):
        scores(Damaged().fit(**TRAIN))


def rule_precision(kind: type[Detector]) -> None:
    """float16 and float32 arrays give the scores of the same numbers in float64."""
    for dtype in (np.float16, np.float32):
        train, test = typed_worlds(dtype)
        wide = [
            {name: array if array.dtype.kind == "i" else array.astype(np.float64) for name, array in one.items()}
            for one in (train, test)
        ]
        close(scores(kind().fit(**train), test), scores(kind().fit(**wide[0]), wide[1]))


def rule_needs(kind: type[Detector]) -> None:
    """What it needs suffices, the rest is not looked at; without any of it there is an error that names it."""
    expected = scores(fitted(kind))
    needed = {name: TRAIN[name] for name in kind.fit_needs}
    nonsense = {name: "not looked at" for name in TRAIN if name not in needed}
    detector = kind().fit(**needed, **nonsense)
    rows = {name: TEST[name] for name in detector.score_needs}
    np.testing.assert_array_equal(detector.score(**rows), expected)
    for name in needed:
        with pytest.raises(OochubError, match=name):
            kind().fit(**{**TRAIN, name: None})
    for name in rows:
        with pytest.raises(OochubError, match=name):
            detector.score(**{**rows, name: None})
    if not needed:
        np.testing.assert_array_equal(kind().score(**rows), expected)


def rule_refusals(kind: type[Detector]) -> None:
    """NaN, no rows, rows out of step, other columns, calls in the wrong order: errors that the user can fix."""
    detector, few = fitted(kind), fit_arguments(TRAIN, slice(600))
    wrong: list[Callable[[Arrays, str], Any]] = [
        lambda arrays, name: np.where(np.arange(arrays[name].size).reshape(arrays[name].shape) == 7, np.nan, 1),
        lambda arrays, name: arrays[name][:0],
        lambda arrays, name: arrays[name].astype(str),
        lambda arrays, name: arrays[name][..., None],
    ]  # fmt: skip
    for make in wrong:
        for name in kind.fit_needs:
            with pytest.raises(OochubError, match=name):
                kind().fit(**{**few, name: make(few, name)})
        for name in detector.score_needs:
            with pytest.raises(OochubError, match=name):
                detector.score(**{**score_arguments(TEST), name: make(TEST, name)})
    if len(detector.score_needs) > 1:
        with pytest.raises(OochubError, match="same number of rows"):
            detector.score(features=TEST["features"][1:], logits=TEST["logits"])
    for name in detector.score_needs:
        if name in detector._columns:
            with pytest.raises(OochubError, match="columns"):
                detector.score(**{**score_arguments(TEST), name: TEST[name][:, 1:]})
    other = next(oochub.get("detector", name) for name in NAMES if oochub.get("detector", name) is not kind)
    with pytest.raises(OochubError, match="one kind"):
        kind().merge(other())
    if kind.fit_needs:
        for call in (
            lambda: kind().score(**score_arguments(TEST)),
            lambda: kind().finalize(),
            lambda: detector.partial_fit(**TRAIN),
            lambda: kind().merge(detector),
            lambda: detector.merge(kind()),
        ):
            with pytest.raises(OochubError, match="fit"):
                call()


def rule_fit_anew(kind: type[Detector]) -> None:
    """A second fit forgets the first."""
    detector = kind().fit(**world(5, ROWS))
    np.testing.assert_array_equal(scores(detector.fit(**TRAIN)), scores(fitted(kind)))


RULES = [
    rule_form,
    rule_direction,
    rule_alone,
    rule_inputs_stay,
    rule_streaming,
    rule_memory,
    rule_saving,
    rule_changed_files,
    rule_finite_scores,
    rule_precision,
    rule_needs,
    rule_refusals,
    rule_fit_anew,
]


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.__name__)
@pytest.mark.parametrize("name", NAMES)
def test_rule(name: str, rule: Rule) -> None:
    rule(oochub.get("detector", name))


def test_all_detectors_are_covered(capsys: pytest.CaptureFixture[str]) -> None:
    """Every file has a class of its name and a test of its own. Planted fault: a file without a test."""
    assert len(NAMES) >= 12
    tests = [file.read_text("utf-8") for file in Path(__file__).parent.glob("test_detector_*.py")]
    for name in NAMES:
        kind = oochub.get("detector", name)
        assert issubclass(kind, Detector) and kind.__name__.lower() == name.replace("_", ""), (kind, name)
        assert any(f"detectors.{name} import {kind.__name__}" in text for text in tests), name
        assert "skip" not in catalog.summary("detector", name)
    with capsys.disabled():
        print(f"\ncontract of detectors: {len(RULES)} rules x {len(NAMES)} detectors")  # noqa: T201
