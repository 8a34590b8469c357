"""From a model and data to the report in one call: predict, evaluate, report, each step kept and reused."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from importlib.metadata import version
from pathlib import Path
from typing import Any, get_args

from oochub import catalog
from oochub.context_finder import ContextWay
from oochub.context_finding.context_columns import contexts as with_contexts
from oochub.context_finding.context_columns import way_of
from oochub.context_finding.rows_to_choose_on import CHOICES
from oochub.data.columns import Columns
from oochub.data.load import declaration_for, load_columns
from oochub.data.user_data import check_context
from oochub.errors import OochubError, either, unknown_name
from oochub.evaluation.evaluate import evaluate
from oochub.prediction.checked_data_set import checked_data_set
from oochub.prediction.predict import predict
from oochub.prediction.predictions import Predictions
from oochub.records.parameters import check_parameters
from oochub.records.schema import to_json
from oochub.remote.check_source import check_source
from oochub.report.report import Report
from oochub.stats.estimate import Sampling
from oochub.stats.p_values import Correction
from oochub.storage.artifacts import AUDIT
from oochub.storage.files import check_writable, sole_writer


def audit(
    model: Any,
    source: Any,
    *,
    label: str | None = None,
    context: str | None = None,
    group: str | None = None,
    image: str | None = None,
    usual: Mapping[str, Sequence[str]] | None = None,
    config: str | None = None,
    data_dir: str | None = None,
    options: Mapping[str, Any] | None = None,
    splits: Iterable[str] | None = None,
    out: str | Path | None = None,
    contexts: str | ContextWay | None = None,
    context_settings: Mapping[str, Any] | None = None,
    choose_on: str = "auto",
    correction: Correction = "holm",
    probe: str | None = None,
    probe_settings: Mapping[str, Any] | None = None,
    resamples: int = 1000,
    seed: int = 0,
    **prediction: Any,
) -> Report:
    """Says whether a model relies on context: predicts, evaluates and reports.

    Args:
        model: Folder or Hub id of a model, or the model itself with `image_processor=`.
        source: A benchmark ("spawrious/o2o_hard"), a folder of pictures, files, an id on the Hub, or a data set that
            is loaded already, see `oochub.load`.
        label: Your column of labels, see `oochub.load`; so are `context`, `group`, `image`, `usual`, `config`,
            `data_dir` and `options`.
        context: Your column of contexts.
        group: Your column of groups.
        image: Your column of pictures.
        usual: Class to its usual contexts.
        config: The configuration.
        data_dir: The raw folder of a benchmark.
        options: Of the benchmark's builder.
        splits: Splits to predict; None takes all but "train".
        out: A folder for `predictions.parquet`, `report.json` and `report.html`; what stands there and is of the same
            model, data and settings is not made again. None writes nothing.
        contexts: A way to find contexts in the pictures, a name of `oochub list context` or the way itself, for data
            that do not say them; see `oochub.contexts`. What it measures is kept in the cache.
        context_settings: Of that way by its name, such as {"model": "my-encoder"}.
        choose_on: On which rows contexts, and what is usual, are chosen: "train", "half" or "auto", see
            `oochub.contexts`.
        correction: Over all contexts tested, see `oochub.evaluate`.
        probe: "background" asks the model about altered pictures too: the object alone, the background alone, the
            object on other backgrounds; see `oochub show probe background`. The verdict does not go by it.
        probe_settings: Of the probe by name, such as {"masks": "segmentations"}.
        resamples: Bootstrap replicates.
        seed: Of the bootstrap, and of the rows that are altered.
        **prediction: What else `oochub.predict` takes: mode, batch_size, device, dtype, limit, ...

    Returns:
        The Report; its first line in every form is the verdict.

    Raises:
        OochubError: A model or data that cannot be read or do not fit each other; own data that say nothing of context;
            an unknown way, or data that have found contexts already; a probe of data whose objects nothing tells.

    >>> import tempfile
    >>> from oochub.studies.demo.example import example
    >>> pictures, model = example(tempfile.mkdtemp() + "/example", size=16)
    >>> report = audit(model, pictures, label="breed", context="background")
    >>> report.benchmark.name, report.slice("in_context").n, report.slice("out_of_context").n
    ('custom', 16, 16)
    """
    Sampling(resamples=resamples, seed=seed)  # checked before the data are read
    for name, given in (("context_settings", context_settings), ("probe_settings", probe_settings)):
        if given is not None and not isinstance(given, Mapping):
            raise OochubError(f"{name}= takes values by name, got a {type(given).__name__}.")
    way = None if contexts is None else way_of(contexts, context_settings or {}, option="--context-")
    if correction not in get_args(Correction):
        raise unknown_name("correction", correction, get_args(Correction))
    if choose_on not in CHOICES:
        raise unknown_name("choice of rows", choose_on, CHOICES)
    unread = "context_settings=" if context_settings else "choose_on=" if choose_on != "auto" else None
    if way is None and unread:
        raise OochubError(f"{unread} is read where a way finds contexts: name it with contexts=.")
    asked = _asked(probe, {"seed": seed, **(probe_settings or {})}) if probe or probe_settings else None
    folder = None if out is None else check_writable(out, kind=AUDIT)
    if isinstance(model, str | Path):
        check_source(model, kind="model", hint="`oochub train` makes one.")
    columns: dict[str, Any] = {"label": label, "context": context, "group": group, "image": image, "usual": usual}
    if isinstance(source, str | Path):
        named = Columns(**columns)
        data = load_columns(str(source), named, config=config, data_dir=data_dir, options=options, in_place=True)
    else:
        given = {**columns, "config": config, "data_dir": data_dir, "options": options}
        unread = next((name for name, value in given.items() if value is not None), None)
        if unread is not None:
            raise OochubError(f"{unread}= is read where source is a path or a name; this data set is loaded already.")
        data = checked_data_set(source)
    _check_task(data)
    if asked is not None:
        asked.check(data, data_dir=data_dir)
    if way is None:
        check_context(data)
    else:
        data = with_contexts(
            data, by=way, skip_broken=bool(prediction.get("skip_broken")), choose_on=choose_on, seed=seed
        )
    chosen: dict[str, Any] = {"correction": correction, "resamples": resamples, "seed": seed}

    def probed(report: Report, predictions: Predictions) -> Report:
        """The report with what the probe gives; without one where none was asked for."""
        if asked is None:
            return replace(report, background=None)
        found = asked.run(
            model,
            data,
            predictions,
            split=next((part.split for part in report.slices), report.benchmark.out_of_context.split),
            data_dir=data_dir,
            resamples=resamples,
            prediction=prediction,
        )
        return replace(report, background=found)

    if folder is None:
        predictions = predict(model, data, splits=splits, **prediction)
        return probed(_evaluated(predictions, predictions, **chosen), predictions)
    with sole_writer(folder):
        predictions = predict(model, data, splits=splits, out=folder / "predictions.parquet", **prediction)
        kept = _kept(folder / "report.json", predictions, **chosen)
        report = _evaluated(predictions, folder / "predictions.parquet", **chosen) if kept is None else kept
        report = probed(report, predictions)
        if kept is None or to_json(report) != to_json(kept):
            report.save(folder / "report.json")
        report.to_html(folder / "report.html")
    return report


def _asked(probe: str | None, settings: Mapping[str, Any]) -> Any:
    """The probe with its settings, checked."""
    if probe is None:
        raise OochubError("probe_settings= are those of a probe: name it with probe=.")
    kind = catalog.get("probe", probe)
    check_parameters(kind, settings, kind=f"setting of the probe {probe}")
    return kind(**settings)


def _check_task(data: Any) -> None:
    """Refuses a config of many tasks before anything is predicted."""
    parts = data if isinstance(data, Mapping) else {"": data}
    declared = declaration_for(parts)
    if declared and declared.task and "labels" in (next(iter(parts.values())).column_names or ()):
        task = either("oochub.audit(model, 'nooch/ce_car')", "oochub audit MODEL nooch/ce_car")
        raise OochubError(f"{declared.name} holds many tasks at once here. Audit one of them: {task}.")


def _evaluated(predictions: Predictions, source: Predictions | Path, **chosen: Any) -> Report:
    """The report; of own data with contexts also the gap at equal shares of the classes, by which it is judged."""
    own = predictions.metadata.facts.usual_contexts is not None and predictions.output.one_answer
    return evaluate(source, match="label" if own else None, **chosen)


def _kept(file: Path, predictions: Predictions, *, correction: Correction, resamples: int, seed: int) -> Report | None:
    """The report in the folder, where it is of these predictions and settings; else None."""
    if not file.is_file():
        return None
    try:
        report = Report.load(file)
    except OochubError:  # damaged, or of another version: it is made again
        return None
    origin = report.provenance
    key = predictions.metadata.provenance.get("key")  # of model, data and settings; a model object has none
    made_of = (origin.prediction.get("key"), origin.predictions.sha256, origin.resamples, origin.seed, origin.oochub)
    if report.contexts is not None and report.contexts.correction != correction:
        return None
    same = made_of == (key, predictions.digest, resamples, seed, version("oochub"))
    return report if same and key is not None else None
