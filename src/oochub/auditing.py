"""From a model and data to the report in one call: predict, evaluate, report, each step kept and reused."""

from contextlib import nullcontext
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any

from oochub import catalog
from oochub.context_finder import ContextWay
from oochub.context_finding.context_columns import find_contexts, make_way_for_model
from oochub.data.data_source import DataSource
from oochub.data.label_table import open_few_labels
from oochub.data.load import find_data_declaration, open_data
from oochub.errors import OochubError, choose_wording
from oochub.evaluation.evaluate import evaluate
from oochub.evaluation.evaluation_inputs import read_kept_report
from oochub.evaluation.unlabeled_rows import check_proxies, measure_few_labels, read_proxies
from oochub.models.callable_model import CallableModel, leave_as_it_was, wrap_callable
from oochub.models.extraction import find_head
from oochub.models.mode import list_mode_options
from oochub.models.model_source import ModelSource
from oochub.prediction.predict import predict_splits
from oochub.prediction.predictions import Predictions
from oochub.records.origin_records import Asked
from oochub.records.schema import to_json
from oochub.records.typed_values import check_parameters
from oochub.report.report import Report
from oochub.report.report_commands import list_typed_options
from oochub.settings import listing, with_options, without
from oochub.settings.context_settings import ContextSettings, MeasurementSettings
from oochub.settings.data_settings import DataSettings, LabelSettings
from oochub.settings.evaluation_settings import IntervalSettings
from oochub.settings.model_settings import ModelSettings
from oochub.settings.prediction_settings import PredictionSettings
from oochub.settings.probe_settings import ProbeSettings
from oochub.storage.artifacts import AUDIT
from oochub.storage.files import check_writable, lock_target


@with_options("audit", others=list_mode_options, contexts=str | ContextWay | None)
def audit(
    model: Any,
    source: Any,
    *,
    data: Annotated[DataSettings, without("revision")],
    asked: Annotated[PredictionSettings, listing("splits")],
    out: str | Path | None = None,
    few: LabelSettings,
    found: ContextSettings,
    probe: ProbeSettings,
    intervals: IntervalSettings,
    how: Annotated[ModelSettings, listing()],
    **prediction: Any,
) -> Report:
    """Says whether a model relies on context: predicts, evaluates and reports.

    Args:
        model: Folder or Hub id of a model, or the model itself with `image_processor=`; or any function or
            `torch.nn.Module` with `class_names=` and `transform=`, see `oochub.predict`.
        source: A benchmark ("spawrious/o2o_hard"), a folder of images, files, an id on the Hub, or a data set that
            is loaded already, see `oochub.load`.
        data: The options of `DataSettings`.
        asked: Its option `splits`; the others are among `**prediction`.
        out: A folder for `predictions.parquet`, `report.json` and `report.html`; what stands there and is of the same
            model, data and settings is not made again. None writes nothing.
        few: The options of `LabelSettings`.
        found: The options of `ContextSettings`.
        probe: The options of `ProbeSettings`.
        intervals: The options of `IntervalSettings`.
        how: Its options are among `**prediction`.
        **prediction: Other arguments of `oochub.predict`: mode, batch_size, device, dtype, limit, ...

    Returns:
        The Report; its first line in every form is the verdict.

    Raises:
        OochubError: A model or data that cannot be read or do not fit each other; own data that say nothing of context,
            without a probe; an unknown way, or data that have found contexts already; a probe of data whose objects
            nothing tells.

    >>> import tempfile
    >>> from oochub.studies.demo.example import example
    >>> images, model = example(tempfile.mkdtemp() + "/example", size=16)
    >>> report = audit(model, images, label="breed", context="background")
    >>> report.benchmark.name, report.slice("in_context").n, report.slice("out_of_context").n
    ('custom', 16, 16)
    """
    how = replace(how, mode_options=prediction or how.mode_options)
    with leave_as_it_was(model):
        return _audit(model, source, data, how, asked, few, found, probe, intervals, out)


def _audit(
    model: Any,
    source: Any,
    data: DataSettings,
    how: ModelSettings,
    asked: PredictionSettings,
    few: LabelSettings,
    found: ContextSettings,
    probe: ProbeSettings,
    intervals: IntervalSettings,
    out: str | Path | None,
) -> Report:
    opened = ModelSource(wrap_callable(model, how, asked))
    way = None if found.contexts is None else make_way_for_model(found, opened, how)
    altered = _make_probe(probe, seed=intervals.seed)
    folder = None if out is None else check_writable(out, kind=AUDIT)
    opened.check_place()
    needs_context = way is None and altered is None
    proxies = read_proxies(few.proxy)
    if few.labels is None:
        loaded = open_data(source, data, in_place=True, guess=("label", "context") if needs_context else ("label",))
    else:
        loaded = open_few_labels(source, few, data)
        names = getattr(loaded.first.features["label"], "names", None)
        check_proxies(proxies, loaded.first["example_id"][:], names)
    _check_task(loaded)
    proxy = few.proxy if isinstance(few.proxy, list | tuple) else [few.proxy]
    shown = ("labels", "unlabeled", *(["proxy"] if all(isinstance(each, str | Path) for each in proxy) else []))
    typed = (*list_typed_options(data, how, asked), *few.words(*shown))
    knows_objects = None
    if altered is not None:
        altered.check(loaded.rows, data_dir=data.data_dir)
    else:
        knows_objects = _knows_objects(loaded, data)
    if way is None:
        named = ("--model-file", how.model_file) if how.model_file else (str(model),)
        masks = () if knows_objects else ("--masks", "MASKS")
        loaded.check_context(needed=needs_context, typed=(*named, str(source), *typed), masks=masks)
    else:
        measurement = MeasurementSettings(skip_broken=asked.skip_broken, seed=intervals.seed)
        loaded = replace(loaded, rows=find_contexts(loaded.splits, way, choose_on=found.choose_on, asked=measurement))

    def probed(report: Report, predictions: Predictions) -> Report:
        """The report with what the probe gives; without one where none was asked for."""
        if altered is None:
            return replace(report, background=None)
        split = next((part.split for part in report.slices), report.benchmark.out_of_context.split)
        place = {"split": split, "data_dir": data.data_dir, "resamples": intervals.resamples}
        return replace(report, background=altered.run(opened, loaded.rows, predictions, how, asked, **place))

    file = None if folder is None else folder / "predictions.parquet"
    with nullcontext() if folder is None else lock_target(folder, kind=AUDIT):
        predictions = predict_splits(opened, loaded.rows, how, asked, out=file)
        kept = None if folder is None else read_kept_report(folder / "report.json", predictions, intervals)
        report = _evaluate(predictions, file or predictions, intervals) if kept is None else kept
        known = Asked.of(
            model=opened.pin(model),
            model_file=how.model_file,
            source=source if "revision" in (data.options or {}) else loaded.pin(source),
            data=typed,
            contexts=found.words(),
            predictions=file,
            report=None if folder is None else folder / "report.json",
            has_features=_has_features(opened, how, loaded) if predictions.metadata.model.mode == "head" else None,
            knows_objects=knows_objects,
        )
        report = probed(report, predictions)
        if few.labels is not None:
            numbers = measure_few_labels(predictions, proxies)
            report = replace(report, findings={**(report.findings or {}), "few_labels": numbers})
        report = replace(report, provenance=replace(report.provenance, asked=known))
        if folder is not None:
            if kept is None or to_json(report) != to_json(kept):
                report.save(folder / "report.json")
            report.to_html(folder / "report.html")
    return report


def _make_probe(asked: ProbeSettings, *, seed: int) -> Any:
    """The probe with its settings, checked; None where none was named."""
    if asked.probe is None:
        if any(asked.given().values()):
            raise OochubError(
                choose_wording(
                    "probe_settings= belong to a probe: name it with probe=.",
                    "--masks, --boxes, --segmenter, --backgrounds, --fill and --probe-option need --probe background: "
                    "name it.",
                )
            )
        return None
    kind = catalog.get("probe", str(asked.probe))
    settings = {"seed": seed, **asked.of_probe}
    check_parameters(kind, settings, kind=f"option of the probe {asked.probe}")
    return kind(**settings)


def _knows_objects(loaded: DataSource, data: DataSettings) -> bool:
    """Whether the data say where the object of each image is, so that the probe of backgrounds needs no masks."""
    try:
        catalog.get("probe", "background")().check(loaded.rows, data_dir=data.data_dir)
    except OochubError:
        return False
    return True


def _has_features(opened: ModelSource, how: ModelSettings, loaded: DataSource) -> bool | None:
    """Whether the features of a module or an ONNX file can be found; None for a model of transformers."""
    if not isinstance(opened.given, CallableModel):
        return None
    processor = how.image_processor if how.processor is None else how.processor
    try:
        find_head(opened.given, opened.inputs(loaded.first, processor=processor).probe())
    except Exception:  # of the user's own module: the command that needs features is then not suggested
        return False
    return True


def _check_task(data: DataSource) -> None:
    """Refuses a config of many tasks before anything is predicted."""
    declared = find_data_declaration(data.splits)
    if declared and declared.task and "labels" in (data.first.column_names or ()):
        task = choose_wording("oochub.audit(model, 'nooch/ce_car')", "oochub audit MODEL nooch/ce_car")
        raise OochubError(f"{declared.name} contains several tasks. Audit one task at a time: {task}.")


def _evaluate(predictions: Predictions, source: Predictions | Path, intervals: IntervalSettings) -> Report:
    """The report; for own data with contexts, also the gap at equal shares of the classes, by which it is judged."""
    own = predictions.metadata.facts.usual_contexts is not None and predictions.output.one_answer
    return evaluate(source, match="label" if own else None, **intervals.record())
