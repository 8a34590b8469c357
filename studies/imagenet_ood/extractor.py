"""Predictions of every model on every set, made once: a file is made again only where what it came from changed."""

import json
from collections.abc import Callable, Iterable
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import datasets
import numpy as np

from oochub.data.load import load, make_benchmark_builder, split_name
from oochub.errors import OochubError
from oochub.storage.files import make_scratch_folder, write_whole
from oochub.storage.ownership import remove
from oochub.studies.imagenet_ood.model_list import OpenedModel, StudiedModel, model_state

TRAINING = "train"
"""The name of the training split among a model's predictions."""
_WORDS = {
    "model": "the model changed",
    "raw": "the raw data or the benchmark's version changed",
    "odin": "ODIN was not asked for, or with another perturbation",
    "rows": "another number of training rows was asked for",
    "set": "it was made of another set",
}


class StudyStopped(OochubError):
    """What is wrong for every model alike, found before the first one predicts."""


class SetFile(NamedTuple):
    """One file of predictions that a model is to have.

    Attributes:
        name: Name of the file: the set, or "train".
        data: BENCHMARK/CONFIG.
        split: Its split.
        odin: Arguments of `oochub.predict` for ODIN, (name, value); empty for none.
        rows: Number of rows, drawn without replacement; None for all.
    """

    name: str
    data: str
    split: str
    odin: tuple[tuple[str, float], ...] = ()
    rows: int | None = None


class Extractor:
    """Predicts sets with models into `folder/<model>/<set>.parquet`, the head and what it came from beside it.

    Args:
        folder: Folder that the predictions are written to.
        data_dir: The raw folder of `imagenet_ood`; None takes `$OOCHUB_DATA/imagenet_ood`.
        batch_size: Batch size, see `oochub.predict`.
        tell: Is told of each file that is made, and why.
        on_rows: Is told, before the first prediction of a training split, how many rows it has.

    Attributes:
        made: (model, set, why) of the files that were made.
        kept: Number of files that were found as they should be.
    """

    def __init__(
        self,
        folder: Path,
        *,
        data_dir: str | None,
        batch_size: int | None = None,
        tell: Callable[[str], None] | None = None,
        on_rows: Callable[[int], None] | None = None,
    ) -> None:
        self._folder, self._data_dir, self._batch_size = folder, data_dir, batch_size
        self._tell, self._on_rows = tell or (lambda words: None), on_rows or (lambda rows: None)
        self._load = cache(lambda name: load(name, data_dir=self._place(name)))
        self._raw_state = cache(self._read_raw_state)
        self._model_state = cache(model_state)
        self.made: list[tuple[str, str, str]] = []
        self.kept = 0

    def check(self, wanted: Iterable[SetFile]) -> None:
        """Checks that the raw folders of all sets are there.

        Raises:
            OochubError: One is not; the expected tree is printed with what was found.
        """
        for item in wanted:
            self._raw_state(item.data)

    def extract(self, model: StudiedModel, wanted: Iterable[SetFile]) -> dict[str, Path]:
        """The files of one model by name; those that are missing or stale are made.

        Raises:
            StudyStopped: There is no such split, or `on_rows` stops.
        OochubError: The model cannot be loaded, or its classes are not those of the sets.
        """
        wanted = list(wanted)
        reasons = {item: self._explain_stale(model, item) for item in wanted}
        todo = {item: why for item, why in reasons.items() if why is not None}
        self.kept += len(wanted) - len(todo)
        if todo and model.seed is not None:
            from oochub.studies.imagenet_ood.random_copy import random_copy

            with make_scratch_folder() as place:
                source = str(random_copy(model, place))
                self._predict_all(model, source, todo)
        elif isinstance(model.source, OpenedModel):
            self._predict_all(model, model.source, todo)
        elif todo:
            folder = Path(model.source).expanduser()
            self._predict_all(model, str(folder.absolute()) if folder.is_dir() else model.source, todo)
        return {item.name: self._name_file(model, item) for item in wanted}

    def state(self, model: StudiedModel, item: SetFile) -> dict[str, Any]:
        """What a file of predictions depends on."""
        return {
            "set": f"{item.data} {item.split}",
            "model": self._model_state(model),
            "raw": self._raw_state(item.data),
            "odin": dict(item.odin),
            "rows": item.rows,
        }

    def _predict_all(self, model: StudiedModel, source: str | OpenedModel, todo: dict[SetFile, str]) -> None:
        for item, why in todo.items():
            self._tell(f"{model.name}: predicting {item.name}, because {why}")
            self._predict(model, source, item)
            self.made.append((model.name, item.name, why))

    def _predict(self, model: StudiedModel, source: str | OpenedModel, item: SetFile) -> None:
        from oochub.predicting import predict
        from oochub.prediction.predict import predict_splits

        part = self._load(item.data)
        if item.split not in part:
            raise StudyStopped(
                f"{item.data} has no split {item.split}, which detectors are fitted on; it has {', '.join(part)}."
            )
        if item.name == TRAINING:
            self._on_rows(min(item.rows or len(part[item.split]), len(part[item.split])))
        if item.rows is not None and item.rows < len(part[item.split]):
            rows = np.sort(np.random.default_rng(0).permutation(len(part[item.split]))[: item.rows])
            part = datasets.DatasetDict({item.split: part[item.split].select(rows)})
        file = self._name_file(model, item)
        remove(_note(file))
        wanted: dict[str, Any] = {"splits": [item.split], "features": True, "images": False, **dict(item.odin)}
        wanted |= {"cache": False}  # the study keeps them
        wanted |= {} if self._batch_size is None else {"batch_size": self._batch_size}
        if isinstance(source, OpenedModel):
            predict_splits(source.source, part, source.how, replace(source.asked, **wanted), out=file)
        else:
            predict(source, part, out=file, **wanted)
        self._model_state.cache_clear()  # a download tells the commit
        with write_whole(_note(file)) as draft:
            draft.write_text(json.dumps(self.state(model, item), indent=1, sort_keys=True) + "\n", "utf-8")

    def _explain_stale(self, model: StudiedModel, item: SetFile) -> str | None:
        """Why a file has to be made; None where it stands."""
        file = self._name_file(model, item)
        if not file.exists():
            return "it was not made yet"
        try:
            before = json.loads(_note(file).read_text("utf-8"))
        except (OSError, json.JSONDecodeError):
            return "a run was stopped while it was written"
        now = json.loads(json.dumps(self.state(model, item)))
        if (
            now["model"].get("hub") and now["model"].get("commit") is None
        ):  # the cache was emptied: a commit stays itself
            now["model"]["commit"] = before.get("model", {}).get("commit")
        if not now["odin"]:  # a column more does no harm
            now["odin"] = before.get("odin")
        return next((_WORDS[key] for key in now if now[key] != before.get(key)), None)

    def _name_file(self, model: StudiedModel, item: SetFile) -> Path:
        return self._folder / model.name / f"{item.name}.parquet"

    def _place(self, name: str) -> str | None:
        return self._data_dir if split_name(name)[0] == "imagenet_ood" else None

    def _read_raw_state(self, name: str) -> str:
        benchmark, config = split_name(name)
        builder = make_benchmark_builder(benchmark, config or None, data_dir=self._place(name))
        builder._folder()  # raises where the set is missing
        raw: str = builder._with_raw_data("", builder.config.data_dir)
        return f"{benchmark} {builder.declaration.version} {raw}"


def _note(file: Path) -> Path:
    return file.with_suffix(".inputs.json")
