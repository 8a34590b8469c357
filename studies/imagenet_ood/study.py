"""A study of detectors: models in, the paper's tables out, every forward pass made once."""

import json
from collections.abc import Callable, Iterable, Mapping
from contextlib import nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from oochub.detection.detector_scores import make_detector
from oochub.errors import OochubError, choose_wording
from oochub.prediction.present_classes import Classes
from oochub.process.ranks import Ranks, run_in_first
from oochub.storage.artifacts import format_csv
from oochub.storage.files import check_writable, lock_target, write_whole
from oochub.studies.file_kinds import STUDY
from oochub.studies.imagenet_ood.detection_table import DetectionTable
from oochub.studies.imagenet_ood.detection_tables import detection_tables
from oochub.studies.imagenet_ood.extractor import TRAINING, Extractor, SetFile, StudyStopped
from oochub.studies.imagenet_ood.model_list import OpenedModel, StudiedModel, check_classes, model_state, read_models
from oochub.studies.imagenet_ood.model_rows import model_rows
from oochub.studies.imagenet_ood.plan import Pair, Plan, make_plan, perturbation

if TYPE_CHECKING:
    import pandas as pd

_CLASSES = 1000  # of ImageNet-1K, which the set in distribution and every model have


@dataclass(frozen=True, kw_only=True)
class Study:
    """What `study` returns.

    Attributes:
        folder: The folder of all files: predictions/, reports/, rows/, tables/ and numbers.csv.
        frame: Every number, one to a row: model, seed (of random weights, else missing), detector, in, out,
            classes, metric, value, low, high, n, p_value (of differences), method, reason.
        tables: The tables; each has `frame`, `to_markdown()` and `to_latex()`.
        extracted: (model, set, why) of the predictions that were made by this call.
        kept: Number of files of predictions that were there already.
        failed: Models that are in no table, with their errors.
    """

    folder: Path
    frame: "pd.DataFrame"
    tables: tuple[DetectionTable, ...]
    extracted: tuple[tuple[str, str, str], ...]
    kept: int
    failed: Mapping[str, str]


def study(
    models: str | Path | StudiedModel | Iterable[str | Path],
    out: str | Path,
    *,
    data_dir: str | None = None,
    id_set: str = "imagenet_1k",
    sets: Iterable[str] | None = None,
    pairs: Iterable[Pair] | None = None,
    detectors: Iterable[str] | None = None,
    tables: Iterable[str] | None = None,
    random: int = 0,
    classes: Classes = "all",
    reference: str | Path | None = None,
    reference_rows: int | None = None,
    reported: bool = False,
    batch_size: int | None = None,
    tell: Callable[[str], None] | None = None,
) -> Study:
    """The experiments of the ImageNet-OOD paper over some models.

    Every model predicts every set once, with features and head, into `out`/predictions; all else is computed from these
    files. Run again, it goes on where it was stopped and predicts nothing that is there, unless the model's files, the
    raw data or the options changed. What is wrong in the arguments, the list or the raw folders is said before anything
    starts; a model that fails later is named in `failed` and the others go on. Under torchrun all processes
    predict and fit the detectors together, the first one scores and writes, and each returns the study.

    Args:
        models: A text file with a model a line, one model folder or Hub id, or several; or a `StudiedModel`.
        out: The folder of the study.
        data_dir: The raw folder of `imagenet_ood`; None takes `$OOCHUB_DATA/imagenet_ood`.
        id_set: See `oochub.studies.imagenet_ood.plan.make_plan`, as for sets, pairs, detectors, tables and random.
        sets: Configs beside it.
        pairs: Pairs (in distribution, out of it) instead of sets.
        detectors: Names, or "knn:k=50"; None takes the paper's.
        tables: Names of tables; None takes those of 1, 2, 4, differences and gain that can be filled.
        random: Random copies of each architecture, for the table random.
        classes: What an answer may be to be right: "all" classes, or those "present" in its set, as the 200 of
            ImageNet-R.
        reference: What detectors are fitted on: BENCHMARK/CONFIG, of which the split train is taken, or predictions
            of it with features, for a single model. None takes the split train of `id_set`.
        reference_rows: Number of its rows, drawn without replacement with seed 0; None takes all.
        reported: Shows the paper's numbers beside those of the same sets and detectors.
        batch_size: Batch size, see `oochub.predict`.
        tell: Is told what is done, in words.

    Raises:
        OochubError: Whatever is wrong before the first model starts; or every model failed.

    Source:
        ImageNet-OOD (Yang, Zhang and Russakovsky 2024), Tables 1 to 4, Figures 4 and 11, Appendix E.

    >>> study([], "nowhere")
    Traceback (most recent call last):
    oochub.errors.OochubError: There are no models. Pass model folders or Hub ids.
    """
    plan = make_plan(
        id_set=id_set, sets=sets, pairs=pairs, detectors=detectors, tables=tables, random=random, classes=classes
    )
    listed = read_models(models)
    if random and any(isinstance(model.source, OpenedModel) for model in listed):
        raise OochubError("Random copies are of models of transformers, not of your own code. Remove random.")
    work = _list_work(plan, listed)
    folder = check_writable(out, kind=STUDY)
    own_reference = _find_given_reference(reference, listed, plan, reference_rows)
    keys = plan.detectors(random=False) + plan.detectors(random=True)
    largest = {key: getattr(make_detector(key), "k", 0) for key in keys}

    def check_k(rows: int) -> None:
        for key, k in largest.items():
            if k > rows:
                raise StudyStopped(
                    f"{key} needs more training rows than the {rows} there are. Pass --detector knn:k=50."
                )

    is_first = Ranks.here().is_first
    tell = tell if is_first else None
    extractor = Extractor(folder / "predictions", data_dir=data_dir, batch_size=batch_size, tell=tell, on_rows=check_k)
    wanted = {
        kind: _list_wanted(plan, kind, reference if own_reference is None else None, reference_rows) for kind in work
    }
    for kind in work:
        extractor.check(item for item in wanted[kind] if own_reference is None or item.name != TRAINING)
    check_classes(listed, _CLASSES)
    from safetensors import SafetensorError

    frames, failed = [], {}
    with lock_target(folder, kind=STUDY) if is_first else nullcontext():
        for kind, several in work.items():
            for model in several:
                try:
                    frames.append(model_rows(model, plan, wanted[kind], extractor, own_reference, folder))
                except StudyStopped:
                    raise
                except (OochubError, OSError, RuntimeError, ValueError, SafetensorError) as error:
                    failed[model.name] = str(error) or type(error).__name__
                    if tell is not None:
                        tell(f"{model.name} failed: {failed[model.name]}")
        return run_in_first(lambda: _write_study(folder, frames, failed, plan, reported, extractor))


def _write_study(
    folder: Path,
    frames: "list[pd.DataFrame | None]",
    failed: Mapping[str, str],
    plan: Plan,
    reported: bool,
    extractor: Extractor,
) -> Study:
    """The study of all models' rows, written."""
    import pandas as pd

    if not frames:
        raise OochubError(f"Every model failed. {'; '.join(f'{name}: {error}' for name, error in failed.items())}")
    frame = pd.concat(frames, ignore_index=True)
    table_set = detection_tables(frame, plan, reported=reported, failed=failed)
    with write_whole(folder / "numbers.csv") as draft:
        draft.write_text(format_csv(frame), "utf-8")
    for table in table_set:
        texts = {"md": table.to_markdown(), "tex": table.to_latex(), "csv": format_csv(table.frame)}
        for ending, text in texts.items():
            with write_whole(folder / "tables" / f"{table.file}.{ending}") as draft:
                draft.write_text(text, "utf-8")
    return Study(
        folder=folder,
        frame=frame,
        tables=table_set,
        extracted=tuple(extractor.made),
        kept=extractor.kept,
        failed=failed,
    )


def _list_work(plan: Plan, listed: list[StudiedModel]) -> dict[str, list[StudiedModel]]:
    """Which models are measured how: themselves, or as copies with random weights, once an architecture."""
    architectures: dict[str, StudiedModel] = {}
    for model in listed if plan.random else ():
        architectures.setdefault(json.dumps(model_state(model._replace(seed=0))), model)
    work = {
        "trained": listed if plan.pairs(random=False) else [],
        "random": [copy for model in architectures.values() for copy in model.copies(plan.random)],
    }
    return {kind: models for kind, models in work.items() if models}


def _find_given_reference(
    reference: str | Path | None, listed: list[StudiedModel], plan: Plan, rows: int | None
) -> Path | None:
    """A file of predictions to fit on; None where it is to be predicted."""
    if rows is not None and rows < 1:
        raise OochubError(f"{choose_wording('reference_rows', '--reference-rows')} must be 1 or more, got {rows}.")
    if reference is None or Path(reference).suffix != ".parquet":
        return None
    if len(listed) > 1 or plan.random or rows is not None:
        raise OochubError(
            "A file of predictions belongs to one model. For several models or random copies, or to draw rows, give "
            "--reference BENCHMARK/CONFIG, or remove it: the training images of ImageNet."
        )
    if not Path(reference).exists():
        raise OochubError(
            f"No predictions at {reference}. Run `oochub predict ... --split train --features` to create them."
        )
    return Path(reference)


def _list_wanted(plan: Plan, kind: str, reference: str | Path | None, rows: int | None) -> list[SetFile]:
    random = kind == "random"
    keys = plan.detectors(random=random)
    files = [
        SetFile(name, f"imagenet_ood/{name}", "test", tuple(perturbation(keys).items()))
        for name in plan.sets(random=random)
    ]
    if any({"features", "logits", "label"} & set(make_detector(key).fit_needs) for key in keys):
        data = str(reference or f"imagenet_ood/{plan.id_set}")
        files.insert(0, SetFile(TRAINING, data, "train", rows=rows))
    return files
