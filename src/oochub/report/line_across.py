"""Models on a shifted test set against the same models on a standard one: their effective robustness."""

from collections.abc import Sequence

from oochub.errors import OochubError, unknown_name
from oochub.report import format_numbers
from oochub.report.model_line import ModelLine, Scale, add_points, name_models
from oochub.report.report import Report
from oochub.stats.estimate import Estimate


def line_across(
    reports: Sequence[Report],
    *,
    config: str,
    against: str,
    metric: str | None = None,
    baseline: Sequence[str] | None = None,
    scale: Scale = "logit",
) -> ModelLine:
    """Models on a shifted set against the same models on a standard set, with the line of the baseline models.

    A model's point is the metric over all rows of either set. Its effective robustness is how much better it does on
    the shifted set than the line says of its number on the standard set. Models are matched by the name that
    `name_models` gives them.

    Args:
        reports: Reports on both sets, one per model and set; those on other sets are not read.
        config: The shifted set: "imagenet_a", or with its benchmark, "imagenet_ood/imagenet_a".
        against: The standard set, in the same way.
        metric: Name of the metric; None takes the primary metric of the shifted set.
        baseline: Names of the models that the line is fitted to; None takes all.
        scale: What shares are fitted as; logits are those of the source.

    Raises:
        OochubError: A set that no report is on, or the same set twice; a model of the baseline that is not there or
            lacks a number; two reports of a model on one set; no model on both.

    Source:
        Taori et al. 2020, "Measuring Robustness to Natural Distribution Shifts in Image Classification";
        `plotting/paper_appendix_eff_robust.py` of imagenet-testbed 0170eec (transform="logit").
    """
    shifted, standard = (_reports_on(reports, each) for each in (config, against))
    some, other = (next(iter(each.values())) for each in (shifted, standard))
    benchmark, place, base = some.benchmark, _name_place(some), _name_place(other)
    if place == base:
        raise OochubError(f"config and against are the same set, {place}. Name another standard set with against.")
    key = metric or benchmark.primary_metric
    pairs: list[tuple[str, Estimate, Estimate]] = []
    left_out = []
    for name in {**shifted, **standard}:
        first, second = (_read_over_all(of.get(name), key) for of in (standard, shifted))
        if first is not None and second is not None:
            pairs.append((name, first, second))
        else:
            lacking = [where for where, value in ((base, first), (place, second)) if value is None]
            left_out.append(f"{name}: no {key} on {' and '.join(lacking)}")
    names = [name for name, *_ in pairs]
    for name in baseline or ():
        if name not in names:
            raise unknown_name("model with numbers on both sets", name, names)
    if not pairs:
        raise OochubError(f"No model has {key} both on {base} and on {place}. Give reports of the same models.")
    bare = ModelLine(
        benchmark=benchmark.name,
        config=benchmark.config,
        metric=key,
        described=some.description(key),
        titles=(f"on {base}", f"on {place}"),
        points=(),
        fit=None,
        left_out=tuple(left_out),
        scale=scale,
        baseline=None if baseline is None else tuple(baseline),
    )
    return add_points(bare, pairs)


def _reports_on(reports: Sequence[Report], config: str) -> dict[str, Report]:
    """The reports on one set by the names of their models."""
    places = {_name_place(report): report.benchmark.config for report in reports}
    fitting = [place for place, short in places.items() if config in (place, short)]
    if len(fitting) != 1:
        known = [*places] if "/" in config else [*places.values()]
        if fitting:
            raise OochubError(f"{config} is a config of {' and '.join(fitting)}. Name one of them.")
        raise unknown_name("config in these reports", config, known)
    found: dict[str, Report] = {}
    for name, report in zip(name_models(reports), reports, strict=True):
        if _name_place(report) == fitting[0]:
            if name in found:
                raise OochubError(f"Two reports are of {name} on {fitting[0]}. Give one per model and set.")
            found[name] = report
    return found


def _name_place(report: Report) -> str:
    return f"{report.benchmark.name}/{report.benchmark.config}"


def _read_over_all(report: Report | None, metric: str) -> Estimate | None:
    """A metric over all rows of the evaluation split; None if it is not known."""
    part = None if report is None else report.slice_of("all")
    estimate = None if part is None else part.metrics.get(metric)
    return None if estimate is None or format_numbers.is_undefined(estimate) else estimate
