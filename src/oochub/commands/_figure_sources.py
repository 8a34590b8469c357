"""What figures are made of: reports, predictions of one model, or a data set; each read when it is first asked for."""

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from oochub import catalog
from oochub.errors import OochubError

if TYPE_CHECKING:
    import pandas as pd

    from oochub.evaluation.detector_scores import ScoredSet
    from oochub.evaluation.scenes import Scenes
    from oochub.evaluation.set_parts import Nearest
    from oochub.prediction.predictions import Predictions
    from oochub.report.report import Report

ALL = "nooch/all"


@dataclass(frozen=True, kw_only=True)
class Sources:
    """What the figures are made of, read when it is first asked for.

    Attributes:
        names: Paths of reports, of files of predictions, of a table of numbers (.csv), or "nooch/all".
        data_dir: The raw folder of a data set.
        options: Options of its builder.
        detectors: Words of the detectors that score predictions, as `make_detector` reads them.
        reference: Predictions of the training split, to fit detectors on.
        embeddings: Predictions whose features say which images are near; none takes those of the predictions.

    >>> Sources(names=["erm.json", "dro.json"]).kind, Sources(names=["all.parquet"]).kind
    ('reports', 'predictions')
    """

    names: Sequence[str]
    data_dir: str | None = None
    options: Mapping[str, Any] | None = None
    detectors: Sequence[str] = ()
    reference: str | None = None
    embeddings: Sequence[str] = ()

    @cached_property
    def kind(self) -> str:
        """The kind of the sources by the look of their names: "reports", "predictions", "numbers" or "data".

        Raises:
            OochubError: Sources of several kinds; several data sets or tables of numbers.
        """
        kinds = [_find_kind(name) for name in self.names]
        if len(set(kinds)) > 1 or (len(kinds) > 1 and kinds[0] in ("data", "numbers")):
            raise self.several()
        return kinds[0]

    def several(self) -> OochubError:
        """The error for more sources than a figure takes."""
        return OochubError(
            "A figure needs one or more reports, or one other source; only figures of detectors and a gallery take "
            f"several files of predictions. Got {', '.join(self.names)}."
        )

    @cached_property
    def reports(self) -> "list[Report]":
        """The reports, in the order given."""
        from oochub.report.report import Report

        return [Report.load(name) for name in self.names]

    @property
    def report(self) -> "Report":
        """The one report, or the first."""
        return self.reports[0]

    @cached_property
    def predictions(self) -> "Predictions":
        """The predictions, or the first of several."""
        return self._every[0]

    @cached_property
    def models(self) -> "list[Predictions]":
        """The predictions of each file, by whatever model."""
        from oochub.prediction.predictions import Predictions

        return [Predictions.load(name) for name in self.names]

    @property
    def coco(self) -> Path:
        """The raw folder of NOOCH.

        Raises:
            OochubError: There is none, or predictions are for another benchmark.
        """
        from oochub.benchmark import find_data_folder

        for name, part in zip(self.names, self.models, strict=True):
            if part.metadata.benchmark != "nooch":
                raise OochubError(f"This figure shows a task of nooch, but {name} is for {part.metadata.benchmark}.")
        return find_data_folder(catalog.get("benchmark", "nooch"), self.data_dir)

    @cached_property
    def scenes(self) -> "Scenes":
        """The scenes of the test split, of predictions or of the data set."""
        from oochub.data.load import load
        from oochub.evaluation.scenes import Scenes

        if self.kind == "predictions":
            return Scenes.of(self.predictions)
        if self.names[0] != ALL:
            raise OochubError(f"Only {ALL} holds what these figures show, got {self.names[0]}.")
        return Scenes.of(load(ALL, data_dir=self.data_dir, options=self.options))

    @property
    def predicted_scenes(self) -> "Scenes":
        """The scenes of predictions, with their logits."""
        return self.scenes

    @cached_property
    def losses(self) -> "pd.DataFrame":
        """The losses of every task."""
        from oochub.evaluation.scenes import measure_task_losses

        return measure_task_losses(self.scenes)

    @cached_property
    def detection_numbers(self) -> "pd.DataFrame":
        """The table of numbers."""
        import pandas as pd

        path = Path(self.names[0]).expanduser()
        try:
            return pd.read_csv(path)
        except (OSError, ValueError) as error:
            raise OochubError(
                f"There is no table of numbers at {path} ({error}). `oochub imagenet_ood detect` writes numbers.csv."
            ) from error

    @cached_property
    def scored_sets(self) -> "list[ScoredSet]":
        """What the detectors say of each file of predictions."""
        from oochub.evaluation.detector_scores import score_sets
        from oochub.prediction.predictions import Predictions

        fitted_on = Predictions.load(self.reference) if self.reference else None
        return score_sets(self._every, self.detectors, reference=fitted_on)

    @property
    def nearest(self) -> "Mapping[str, Nearest]":
        """For each row of each file of predictions the nearest in distribution, searched when it is asked for."""
        return _Lazily([scored.name for scored in self.scored_sets], lambda config: self._nearest[config])

    @cached_property
    def _nearest(self) -> "dict[str, Nearest]":
        from oochub.evaluation.set_parts import find_nearest_inside

        return find_nearest_inside(self.scored_sets, embedding=self.embedding or None)

    @cached_property
    def embedding(self) -> "list[Predictions]":
        """The predictions whose features say which images are near; empty where none were named."""
        from oochub.prediction.predictions import Predictions

        return [Predictions.load(name) for name in self.embeddings]

    @cached_property
    def datasets(self) -> Mapping[str, Any]:
        """The data set of each file of predictions by its config, built when it is first asked for."""
        names = {str(part.metadata.config): str(part.metadata.benchmark) for part in self.models}

        def built(config: str) -> Any:
            from oochub.data.load import load

            return load(f"{names[config]}/{config}", data_dir=self.data_dir, options=self.options)

        return _Lazily(list(names), built)

    def check(self, beside: Collection[str]) -> None:
        """Checks what can be before anything is scored: raw data for "datasets" and "coco", features for "nearest".

        Raises:
            OochubError: There is no such folder, or some predictions have no features.
        """
        from oochub.benchmark import find_data_folder

        if "coco" in beside:
            _ = self.coco
        if "datasets" in beside:
            for name in dict.fromkeys(str(part.metadata.benchmark) for part in self.models):
                find_data_folder(catalog.get("benchmark", name), self.data_dir)
        if "nearest" in beside and not self.embedding:
            for name, part in zip(self.names, self._every, strict=True):
                if "features" not in part.column_names:
                    raise OochubError(
                        f"{name} has no features, which tell which images are near. Predict with --features, or give "
                        "--embedding FILE, predictions for the same images with the features of another model."
                    )

    @cached_property
    def _every(self) -> "list[Predictions]":
        every = self.models
        for part in every[1:]:
            for key in ("model", "class_names"):
                if getattr(part.metadata, key) != getattr(every[0].metadata, key):
                    ids = " and ".join(str(part.metadata.model.id) for part in (every[0], part))
                    raise OochubError(f"These predictions differ in {key} ({ids}). Detectors are shown for one model.")
        return every


class _Lazily(Mapping[str, Any]):
    """What belongs to each config, taken when it is first asked for."""

    def __init__(self, names: Sequence[str], take: Callable[[str], Any]) -> None:
        self._names, self._take = names, take
        self._taken: dict[str, Any] = {}

    def __getitem__(self, config: str) -> Any:
        if config not in self._names:
            raise KeyError(config)
        if config not in self._taken:
            self._taken[config] = self._take(config)
        return self._taken[config]

    def __iter__(self) -> Iterator[str]:
        return iter(self._names)

    def __len__(self) -> int:
        return len(self._names)


def _find_kind(name: str) -> str:
    if name.endswith(".parquet"):
        return "predictions"
    if name.endswith(".csv"):
        return "numbers"
    benchmark = name.partition("/")[0]
    return "data" if benchmark in catalog.names("benchmark") and not Path(name).is_file() else "reports"
