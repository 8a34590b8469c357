"""Many models in context against out of it, with the line through them: what lies above it is robust beyond it."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from oochub.comparison.model_line import ModelLine, line_across, make_line_chart, model_lines
from oochub.errors import OochubError, choose_wording, unknown_name
from oochub.figures._charts import draw_plane
from oochub.figures._style import INK, label_points, make_axes
from oochub.report import format_numbers, wording
from oochub.report.report import Report

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes

_NAMED = 5


def accuracy_on_the_line(
    reports: Sequence[Report],
    *,
    metric: str | None = None,
    config: str | None = None,
    against: str | None = None,
    baseline: Sequence[str] | None = None,
    ax: "Axes | None" = None,
) -> "Axes":
    """Draws one point per model with 95% intervals both ways, the dotted line of no gap, and the line from 5 models on.

    The numbers are those of both sides of a config, and shares stand on probit axes. With `against` they are those over
    all of a standard test set, such as imagenet_1k, to the right, and over all of `config` upward, and shares stand on
    logit axes. The line is least squares through all models or the baseline, with its 95% band; the five models
    farthest above it are named as far as there is room. How far each lies above, its effective robustness, is the
    table that `--plot` prints; see `oochub.comparison.model_line`.

    Args:
        reports: One report per model, of one config of a benchmark or of several.
        metric: Its name; None takes the benchmark's primary metric.
        config: The config, "ce_car" or "nooch/ce_car"; required if the reports are of several.
        against: The config of the standard set, written in the same way.
        baseline: Names of the models that the line is fitted to; None takes all. Only with `against`.
        ax: Axes to draw on; None makes a new figure.

    Returns:
        The axes: the metric in context to the right, out of context upward; of shares in probits, labeled times 100.

    Raises:
        OochubError: matplotlib is missing, no reports, reports of several configs and none or another named, or a
            metric that no report has on both sides.

    Source: Taori et al. 2020, Fig. 1; Miller et al. 2021, Fig. 1.

    >>> import numpy as np, oochub
    >>> label, challenge = np.arange(40) % 2, ["easy"] * 20 + ["hard_positive", "hard_negative"] * 10
    >>> def made(name, wrong):
    ...     score = np.where(np.arange(40) < wrong, -1.0, 1.0) * (2 * label - 1)
    ...     return oochub.evaluate(oochub.Predictions.from_arrays(
    ...         logits=np.stack([0 * score, score], 1), label=label, challenge=challenge, model=name))
    >>> ax = accuracy_on_the_line([made("a", 2), made("b", 5)], metric="accuracy")
    >>> [tick.get_text() for tick in ax.get_xticklabels()]
    ['50', '60', '70', '80', '90', '95', '98']
    """
    line = _choose_line(reports, metric, config, against, baseline)
    chart = make_line_chart(line)
    ax = make_axes(ax, 5.4, 5.2)
    draw_plane(ax, chart)
    n = format_numbers.span(side.n for point in line.points for side in (point.inside, point.outside))
    title = wording.title_metric(line.metric, line.described)
    ax.set_ylabel(f"{title}, {line.titles[1]}")
    ax.set_xlabel(f"{title}, {line.titles[0]}\nlines and band: 95% intervals; n = {n} rows")
    ax.set_title(f"{wording.name(line.benchmark)}/{wording.name(line.config)}: {line.sentence}", loc="left", color=INK,
                 fontsize="medium", wrap=True)  # fmt: skip
    above = sorted(range(len(chart.dots)), key=lambda k: -line.points[k].robustness if line.fit else 0.0)
    points = np.array([(chart.dots[k].x, chart.dots[k].y) for k in above])
    label_points(ax, points, [line.points[k].model for k in above[:_NAMED]])
    return ax


def _table(
    reports: Sequence[Report],
    *,
    metric: str | None = None,
    config: str | None = None,
    against: str | None = None,
    baseline: Sequence[str] | None = None,
    **_: Any,
) -> "pd.DataFrame":
    """The points, and how far each lies above the line with its interval, as `--plot` prints them."""
    import pandas as pd

    return pd.DataFrame(
        {"model": point.model, "in": point.inside.value, "out": point.outside.value}
        | {"above the line": point.robustness.value, "low": point.robustness.low, "high": point.robustness.high}
        for point in _choose_line(reports, metric, config, against, baseline).points
    )


def _choose_line(
    reports: Sequence[Report],
    metric: str | None,
    config: str | None,
    against: str | None,
    baseline: Sequence[str] | None,
) -> ModelLine:
    if against is not None:
        if config is None:
            how = choose_wording('config="imagenet_a"', "--plot accuracy_on_the_line:config=imagenet_a:against=...")
            raise OochubError(f"against names the standard set; name the shifted one too: {how}.")
        return line_across(reports, config=config, against=against, metric=metric, baseline=baseline)
    if baseline is not None:
        how = choose_wording('against="imagenet_1k"', "--plot accuracy_on_the_line:against=imagenet_1k:...")
        raise OochubError(f"baseline names the models of a line across two sets; name the standard one: {how}.")
    lines = {f"{line.benchmark}/{line.config}": line for line in model_lines(list(reports), metric=metric)}
    if config is None and len(lines) > 1:
        first = next(iter(lines.values())).config
        how = choose_wording(f"config={first!r}", f"--plot accuracy_on_the_line:config={first}=FILE.png")
        raise OochubError(f"These reports cover {', '.join(lines)}. Choose one: {how}.")
    fitting = [name for name in lines if config in (None, name, name.partition("/")[2])]
    if not fitting:
        configs = lines if "/" in str(config) else [line.config for line in lines.values()]
        raise unknown_name("config in these reports", str(config), configs)
    if not lines[fitting[0]].points:
        raise OochubError(f"No report of {fitting[0]} has the metric both in and out of context.")
    return lines[fitting[0]]
