"""The form of an out-of-distribution detector: fit on the training set, score rows, save without pickle.

What a detector receives is checked: arrays of features, logits and labels, the head of the model, and a saved state,
whose names, types and shapes must be those declared, and its numbers finite.
"""

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from inspect import signature
from pathlib import Path
from typing import Any, ClassVar, NamedTuple, Protocol, Self

import numpy as np

from oochub.errors import OochubError
from oochub.records.schema import from_json, to_json
from oochub.records.typed_values import check_parameters
from oochub.stats.array_checks import Array, check_label, check_same_length
from oochub.stats.row_blocks import row_blocks
from oochub.storage import tensor_file
from oochub.storage.artifacts import DETECTOR
from oochub.storage.files import write_whole_folder
from oochub.storage.reading import read_json
from oochub.storage.tensor_file import load_tensors, release_pages, save_tensors

_TOGETHER = 1 << 22  # numbers looked at together
_HINTS = {
    "features": "predict(..., features=True) (--features) stores them.",
    "logits": "Every Predictions has them.",
    "label": "Pass the class of each training row, int (n,).",
    "weight": "It is the last layer's, (classes, d); predict(..., features=True) stores the head.",
    "bias": "It is the last layer's, (classes,); a layer without one has zeros.",
    "odin_logits": "predict(..., odin=0.0014) stores the logits of the perturbed images.",
}


_FLOATS = ("float16", "float32", "float64")
_COLUMNS = {"d": "features", "c": "logits"}


_HEAD = ("weight", "bias")
_VALUES = 1 << 21  # numbers scored together: 16 MiB in float64
_CARD, _STATE = "detector.json", "state.safetensors"


def _check_arrays(needed: Sequence[str], arrays: Mapping[str, Any], *, by: str) -> dict[str, Array]:
    """Each of the arrays needed, as `_check_array` gives it; `by` says in errors who needs them.

    Raises:
        OochubError: An array is missing or unfit.

    >>> list(_check_arrays(["features"], {"features": [[1.0]], "logits": None}, by="Knn(k=1)"))
    ['features']
    """
    missing = [name for name in needed if arrays[name] is None]
    if missing:
        raise OochubError(f"{by} needs {', '.join(missing)} and got none. {_HINTS[missing[0]]}")
    return {name: _check_array(arrays[name], name=name) for name in needed}


def _check_array(values: Any, *, name: str) -> Array:
    """What a fit or a score was given under `name`, without a copy; integers become float64.

    Args:
        values: features, logits or odin_logits (n, d); label int (n,); weight (c, d); bias (c,).
        name: Which of these it is.

    Raises:
        OochubError: Another shape or type, no rows, or a number that is not finite.

    >>> _check_array([[1, 2]], name="features").dtype
    dtype('float64')
    """
    if name == "label":
        return check_label(values)
    try:
        array = np.asarray(values)
    except (TypeError, ValueError, RuntimeError) as error:  # ragged lists; bfloat16, CUDA or grad tensors
        raise OochubError(f"{name} cannot become a numpy array: {error}. Pass a numpy array.") from error
    least = 2 if "logits" in name else 1
    fits = array.ndim == (1 if name == "bias" else 2) and array.size and array.shape[-1] >= least
    if not fits or array.dtype.kind not in "fiu":
        shape = {"bias": "(classes,)", "weight": "(classes, d)", "features": "(n, d)"}.get(name, "(n, classes)")
        raise OochubError(
            f"{name} must be real numbers of shape {shape}, with one row and {least} columns or more, got "
            f"{array.dtype} of shape {array.shape}."
        )
    if array.dtype not in (np.float16, np.float32, np.float64):
        array = array.astype(np.float64)
    bad = _find_unfit(array)
    if bad.any():
        raise OochubError(
            f"{name} must be finite, got NaN or infinity in {int(bad.sum())} of {len(array)} rows, the first at row "
            f"{int(np.argmax(bad))}. Find out why the model gave them, or remove these rows."
        )
    return array


def _find_unfit(array: Array) -> Array:
    """Which rows are not finite: one fast pass, for a sum keeps NaN and infinity; it may overflow, so a second look."""
    parts = []
    for part in row_blocks(len(array), max(1, _TOGETHER // array[:1].size)):
        rows = array[part]
        bad = ~np.isfinite(rows @ np.ones(rows.shape[-1], rows.dtype) if rows.ndim > 1 else rows)
        if bad.any():
            bad[bad] = ~np.isfinite(rows[bad]).reshape(bad.sum(), -1).all(axis=1)
        release_pages(array)
        parts.append(bad)
    return np.concatenate(parts)


def check_state(
    declared: Iterable[str], state: Mapping[str, Array], columns: Mapping[str, int], *, file: str
) -> dict[str, Any]:
    """The state of a detector, arrays and numbers by name.

    Args:
        declared: See `Detector.fitted`; a name alone says nothing of type and shape.
        state: What was saved; a number as an array of one.
        columns: Number of columns of the features and logits that the detector was fitted on, by name.
        file: Where the state stands, for errors.

    Raises:
        OochubError: A name that is missing or not known, another type or shape, a number that is not finite.

    >>> check_state(["scale float64"], {"scale": np.array([2.0])}, {}, file="state.safetensors")
    {'scale': 2.0}
    >>> check_state(["mean float64 d"], {"mean": np.zeros(3)}, {"features": 4}, file="state.safetensors")
    Traceback (most recent call last):
    oochub.errors.OochubError: state.safetensors: mean must be float64 (4), got float64 (3). Fit the detector again.
    """
    forms = {name: form for name, _, form in (need.partition(" ") for need in declared)}
    missing, unknown = [name for name in forms if name not in state], [name for name in state if name not in forms]
    if missing or unknown:
        faults = [
            f"{', '.join(names)} {word}" for names, word in ((missing, "missing"), (unknown, "not known")) if names
        ]
        raise OochubError(f"{file}: {' and '.join(faults)}. Fit the detector again.")
    lengths = {letter: columns[name] for letter, name in _COLUMNS.items() if name in columns}
    arrays: dict[str, Any] = {}
    for name, form in forms.items():
        values = state[name]
        kind, *letters = form.split() or [values.dtype.name, *map(str, values.shape)]
        if not letters and values.shape == (1,):  # a safetensors file keeps a number as an array of one
            values = values.reshape(())
        fits = values.dtype.name in (_FLOATS if kind == "float" else (kind,)) and values.ndim == len(letters)
        wanted = [lengths.setdefault(letter, n) for letter, n in zip(letters, values.shape, strict=fits)]
        if not fits or wanted != list(values.shape):
            shape = ", ".join(str(lengths.get(letter, letter)) for letter in letters)
            got = f"{values.dtype.name} ({', '.join(map(str, values.shape))})"
            raise OochubError(f"{file}: {name} must be {kind} ({shape}), got {got}. Fit the detector again.")
        if not values.size:
            raise OochubError(f"{file}: {name} is empty. Fit the detector again.")
        if values.dtype.kind not in "fiu" or _find_unfit(np.atleast_1d(values)).any():
            raise OochubError(f"{file}: {name} must be finite numbers. Fit the detector again.")
        arrays[name] = values if values.ndim else values.item()
    return arrays


class SearchRecall(NamedTuple):
    """The share of the nearest rows of some queries that an index found.

    Attributes:
        share: Share of the nearest rows that were found, in [0, 1].
        queries: Number of queries that were searched in both ways.
    """

    share: float
    queries: int


class FitState(Protocol):
    """What a fit knows of the rows so far, in memory that does not grow with them where that can be.

    Batches come in any order, on several processes.
    """

    def update(self, rows: Mapping[str, Array], *, lasting: bool) -> None:
        """Takes in a batch; `lasting` says that its arrays stay as they are until `finalize`."""

    def merge(self, other: Any) -> None:
        """Takes in what another process gathered of other rows, in any order."""


class _NoRows:
    """The fit of a detector that needs the head alone."""

    def update(self, rows: Mapping[str, Array], *, lasting: bool) -> None:
        pass

    def merge(self, other: "_NoRows") -> None:
        pass


class Detector:
    """A score of rows, higher = more in-distribution, from features and logits that a model gave.

    The hyperparameters are the keyword arguments of the constructor, each kept as an attribute of the same name. Fit
    at once, or in batches and on several processes, where any order gives the same detector:

        detector.fit(features=F, logits=L, label=y, weight=W, bias=b)

        part.partial_fit(features=F1, logits=L1, label=y1, weight=W, bias=b)  # each process its own, for each batch
        detector.merge(part)
        detector.finalize()

    Arrays are numpy, float16 to float64; all arithmetic is float64 and no array is changed. What a detector does not
    need is accepted and not looked at. A row's score does not depend on the rows scored with it.

    A subclass says what it needs and implements `_score` and, where it needs something, `gathers` and `_finish`.

    Attributes:
        fit_needs: What `fit` must be given, of features, logits, label, weight and bias; empty for no fit.
        score_needs: What `score` must be given, of features, logits and odin_logits.
        fitted: The attributes that a fit sets, which `save` writes, each with its type and shape: "basis float64 d r"
            is an array, "scale float64" a number. "float" is float16, float32 or float64; d is the columns of the
            features and c those of the logits; any other letter is a length, the same wherever it stands. `is_fitted`
            says whether the detector can score.
        gathers: Makes the state that gathers batches, for `_empty`.
        later: Hyperparameters that detectors saved before they came lack, and what these did.
    """

    fit_needs: ClassVar[tuple[str, ...]] = ()
    score_needs: tuple[str, ...] = ()
    fitted: ClassVar[tuple[str, ...]] = ()
    gathers: ClassVar[Callable[[], FitState]] = _NoRows
    later: ClassVar[Mapping[str, Any]] = {}

    def __init__(self) -> None:
        self._start()

    def _start(self) -> None:
        self.is_fitted = not self.fit_needs
        self._gathered: FitState | None = None
        self._head: tuple[Array, ...] = ()
        self._columns: dict[str, int] = {}

    @property
    def hyperparameters(self) -> dict[str, Any]:
        """The arguments of the constructor, by name."""
        return {name: getattr(self, name) for name in signature(type(self)).parameters}

    def fit(
        self, *, features: Any = None, logits: Any = None, label: Any = None, weight: Any = None, bias: Any = None
    ) -> Self:
        """Fits on all training rows at once, forgetting an earlier fit.

        Args:
            features: Real numbers (n, d), what the model's last layer sees. A memory map is read in blocks.
            logits: Real numbers (n, c).
            label: The class of each row (n,), 0..c-1.
            weight: The last layer's, (c, d).
            bias: The last layer's, (c,).

        Returns:
            The detector itself.

        Raises:
            OochubError: Something needed is missing, has another shape, or is not finite; a hyperparameter is larger
                than the data allow.
        """
        self._start()
        self._gather(dict(features=features, logits=logits, label=label, weight=weight, bias=bias), lasting=True)
        return self.finalize()

    def partial_fit(
        self, *, features: Any = None, logits: Any = None, label: Any = None, weight: Any = None, bias: Any = None
    ) -> Self:
        """Takes in a batch of training rows; `weight` and `bias` are needed with the first batch only. See `fit`.

        Raises:
            OochubError: What `fit` raises; or the detector is fitted already.
        """
        self._gather(dict(features=features, logits=logits, label=label, weight=weight, bias=bias), lasting=False)
        return self

    def merge(self, other: Self) -> Self:
        """Takes in the batches that another detector of the same kind was given, before `finalize`.

        Raises:
            OochubError: Another detector, other hyperparameters, another head, or one of them is fitted.
        """
        if type(other) is not type(self) or other.hyperparameters != self.hyperparameters:
            raise OochubError(
                f"Only detectors of one kind and the same hyperparameters can be merged, got {_format_call(self)} and "
                f"{_format_call(other) if isinstance(other, Detector) else type(other).__name__}."
            )
        if not self.fit_needs:
            return self
        self._refuse_fitted()
        other._refuse_fitted()
        for name, width in other._columns.items():
            self._keep_width(name, width)
        if other._head:
            self._keep_head(*other._head)
        if other._gathered is not None:
            self._gather_into().merge(other._gathered)
        return self

    def finalize(self) -> Self:
        """Ends a fit in batches; the detector can then score.

        Raises:
            OochubError: No batch was given, or a hyperparameter is larger than the data allow.
        """
        if not self.is_fitted:
            if self._gathered is None:
                raise OochubError(f"{_format_call(self)} has no rows yet. Call partial_fit({self._arguments()}) first.")
            self._finish(self._gathered)
            self.is_fitted, self._gathered, self._head = True, None, ()
        return self

    def score(self, *, features: Any = None, logits: Any = None, odin_logits: Any = None) -> Array:
        """How much each row looks in-distribution, higher is more.

        Args:
            features: Real numbers (n, d), as for `fit`.
            logits: Real numbers (n, c).
            odin_logits: Logits of images perturbed as in ODIN, (n, c); read by `odin` with epsilon above 0 alone.

        Returns:
            float64 (n,), finite.

        Raises:
            OochubError: The detector is not fitted, something needed is missing, has another shape or number of
                columns than in the fit, or is not finite, or a score is not.
        """
        given = dict(features=features, logits=logits, odin_logits=odin_logits)
        rows = _check_arrays(self.score_needs, given, by=_format_call(self))
        self._refuse_unfitted()
        for name, array in rows.items():
            expected = self._columns.get(name)
            if expected not in (None, array.shape[1]):
                width = array.shape[1]
                raise OochubError(f"{name} have {width} columns, but {_format_call(self)} was fitted on {expected}.")
        n = check_same_length(**rows)
        scores = np.empty(n)
        together = max(1, _VALUES // sum(array.shape[1] for array in rows.values()))
        for part in row_blocks(n, together, what="score"):
            scores[part] = self._score({name: array[part].astype(np.float64) for name, array in rows.items()})
        wrong = ~np.isfinite(scores)
        if wrong.any():
            raise OochubError(
                f"{_format_call(self)} gives {int(wrong.sum())} of {n} rows a score that is not finite, first row "
                f"{int(np.argmax(wrong))}. Look at its features and logits, or fit again."
            )
        return scores

    def search_recall(self, **rows: Any) -> SearchRecall | None:
        """What an approximate search among the training rows finds for these rows; None where it is exact."""
        return None

    def save(self, path: str | Path) -> Path:
        """Writes a fitted detector as a folder: `detector.json` and `state.safetensors`; whole or not at all.

        Raises:
            OochubError: The detector is not fitted, or the folder cannot be written.

        >>> import tempfile, oochub
        >>> energy = oochub.get("detector", "energy")(temperature=2.0)
        >>> Detector.load(energy.save(tempfile.mkdtemp() + "/energy")).temperature
        2.0
        """
        from importlib.metadata import version

        self._refuse_unfitted()
        card = SavedDetector(
            detector=type(self).__module__.rpartition(".")[2],
            hyperparameters=self.hyperparameters,
            columns=self._columns,
            oochub=version("oochub"),
        )
        names = [declared.partition(" ")[0] for declared in self.fitted]
        with write_whole_folder(path, kind=DETECTOR) as draft:
            state = {name: np.asarray(getattr(self, name)) for name in names}
            save_tensors(state, draft / _STATE, about=to_json(card))
            (draft / _CARD).write_text(json.dumps(to_json(card), indent=2) + "\n", "utf-8")
        return Path(path)

    @classmethod
    def load(cls, path: str | Path) -> Self:
        """Reads what `save` wrote; called on `Detector`, whichever detector it is.

        Raises:
            OochubError: There is no detector, another one than the class that `load` is called on, or files that were
                changed; a part of its state that is missing, of another type or shape, or not finite.
        """
        folder = Path(path).expanduser()
        for name in (_CARD, _STATE):
            if not (folder / name).exists():
                raise OochubError(
                    f"There is no saved detector in {folder} (no {name}). Detector.save(folder) writes one."
                )
        card: SavedDetector = from_json(SavedDetector, read_json(folder / _CARD), what=str(folder / _CARD))
        try:
            detector: Self = card.made()
            needs = detector.score_needs if detector.fit_needs else ()
            unsaid = next((name for name in needs if card.columns.get(name, 0) < 1), None)
            if unsaid is not None:
                raise OochubError(
                    f"{folder / _CARD}: columns does not say how many {unsaid} has. Fit the detector again."
                )
            tensors = load_tensors(folder / _STATE, in_memory=tensor_file.LARGE)
            if tensors.checked and tensors.about != to_json(card):
                raise OochubError(f"{folder / _CARD} has changed since it was written. Save the detector again.")
            state = check_state(detector.fitted, tensors.arrays, card.columns, file=str(folder / _STATE))
            for name, values in state.items():
                setattr(detector, name, values)
        except OochubError as error:
            raise OochubError(f"The detector saved in {folder} cannot be used. {error}") from error
        if not isinstance(detector, cls):
            raise OochubError(f"{folder} contains {_format_call(detector)}, not {cls.__name__}. Use Detector.load.")
        detector._columns, detector.is_fitted = dict(card.columns), True
        return detector

    def _score(self, rows: dict[str, Array]) -> Array:
        """The scores (n,) of a block of rows: float64 copies of what `score_needs` names."""
        raise NotImplementedError

    def _empty(self) -> FitState:
        """The state that gathers batches; `_head` holds weight and bias, if they are needed."""
        return type(self).gathers()

    def _finish(self, gathered: Any) -> None:
        """Sets the attributes that `fitted` names."""

    def _gather(self, given: dict[str, Any], *, lasting: bool) -> None:
        if not self.fit_needs:
            return
        self._refuse_fitted()
        again = self._head and not any(given[name] is not None for name in _HEAD)
        rows = _check_arrays(
            [name for name in self.fit_needs if not (again and name in _HEAD)], given, by=_format_call(self)
        )
        weight, bias = rows.pop("weight", None), rows.pop("bias", None)
        if rows:
            check_same_length(**rows)
        if "label" in rows and "logits" in rows:
            check_label(rows["label"], classes=rows["logits"].shape[1])
        if weight is not None:
            self._keep_head(weight, np.zeros(len(weight)) if bias is None else bias)
        for name, array in rows.items():
            if name != "label":
                self._keep_width(name, array.shape[1])
        self._gather_into().update(rows, lasting=lasting)

    def _gather_into(self) -> FitState:
        if self._gathered is None:
            self._gathered = self._empty()
        return self._gathered

    def _keep_head(self, weight: Array, bias: Array) -> None:
        if len(bias) != len(weight):
            raise OochubError(f"weight is for {len(weight)} classes but bias for {len(bias)}. Pass those of one layer.")
        if self._head and not all(map(np.array_equal, self._head, (weight, bias))):
            raise OochubError("weight and bias differ from those of an earlier batch. A detector is of one model.")
        self._keep_width("features", weight.shape[1])
        if "bias" in self.fit_needs:
            self._keep_width("logits", weight.shape[0])
        self._head = self._head or (weight.astype(np.float64), bias.astype(np.float64))

    def _keep_width(self, name: str, width: int) -> None:
        if self._columns.setdefault(name, width) != width:
            earlier = self._columns[name]
            raise OochubError(f"{name} have {width} columns, but earlier rows or this model's head have {earlier}.")

    def _arguments(self) -> str:
        return ", ".join(f"{name}=..." for name in self.fit_needs)

    def _refuse_fitted(self) -> None:
        if self.is_fitted:
            raise OochubError(
                f"{_format_call(self)} is already fitted and takes no more rows. Make a new one, or call fit."
            )

    def _refuse_unfitted(self) -> None:
        if not self.is_fitted:
            raise OochubError(f"{_format_call(self)} is not fitted. Call fit({self._arguments()}) first.")


def _format_call(detector: Detector) -> str:
    """Mahalanobis(), Vim(dim=64): how it was constructed."""
    return f"{type(detector).__name__}({', '.join(f'{k}={v!r}' for k, v in detector.hyperparameters.items())})"


@dataclass(frozen=True, kw_only=True)
class SavedDetector:
    """What `detector.json` says.

    Attributes:
        detector: Name of the detector in the catalog.
        hyperparameters: The arguments of its constructor.
        columns: How many its features and logits have.
        oochub: The version that wrote it.
    """

    detector: str
    hyperparameters: Mapping[str, Any]
    columns: Mapping[str, int]
    oochub: str = ""

    def made(self) -> Any:
        """The detector, without what its fit found.

        Raises:
            OochubError: No such detector, or other hyperparameters than it has.
        """
        from oochub import catalog

        kind, what = catalog.get("detector", self.detector), f"hyperparameter of {self.detector}"
        given = {**kind.later, **self.hyperparameters}
        check_parameters(kind, given, kind=what)
        unsaid = [name for name in signature(kind).parameters if name not in given]
        if unsaid:
            raise OochubError(f"{_CARD} does not say the {what} {unsaid[0]}. Save the detector again.")
        return kind(**given)
