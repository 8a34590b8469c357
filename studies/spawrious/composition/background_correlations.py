"""The correlation of each background with each class, in each split and each of its environments."""

import math

import pandas as pd

from oochub.errors import OochubError

_COLUMNS = ("split", "environment", "label", "background", "n")


def background_correlations(counts: pd.DataFrame) -> pd.DataFrame:
    """Pearson's correlation of the indicators 1(background = s) and 1(class = c), which is phi of the 2 x 2 table.

    Args:
        counts: One row per cell: split, environment, label, background, and n, how many images it has. A cell that is
            left out has none.

    Returns:
        One row per split, environment, label and background: split, environment ("all" for the whole split, and each
        of its environments where it has several), label, background, correlation in [-1, 1], images (of the cell), n
        (of the whole split or environment), and reason: why the correlation is nan, or "". It is where no image, or
        every image, has the background or the class.

    Raises:
        OochubError: Counts without one of these columns, without an image, or with a negative number.

    Source: Lynch et al., Spawrious, Eqs. 1 and 2, whose corr is of indicators.

    >>> columns = ["split", "environment", "label", "background", "n"]
    >>> cells = [("corgi", "snow", 9), ("corgi", "beach", 1), ("bulldog", "beach", 10)]
    >>> counts = pd.DataFrame([("train", "env_1", *cell) for cell in cells], columns=columns)
    >>> background_correlations(counts)[["label", "background", "correlation"]].round(3).values.tolist()[:2]
    [['corgi', 'snow', 0.905], ['corgi', 'beach', -0.905]]
    """
    missing = [name for name in _COLUMNS if name not in counts]
    if missing:
        raise OochubError(f"Counts need the columns {', '.join(_COLUMNS)}; {', '.join(missing)} is missing.")
    if not len(counts) or counts["n"].min() < 0 or not counts["n"].sum():
        raise OochubError("Counts must be 0 or more, and at least one above 0: without an image nothing is correlated.")
    labels, backgrounds = (list(dict.fromkeys(counts[name])) for name in ("label", "background"))
    tables = []
    for split, rows in counts.groupby("split", sort=False):
        environments = dict(iter(rows.groupby("environment", sort=False)))
        for name, part in {"all": rows, **(environments if len(environments) > 1 else {})}.items():
            cells = part.pivot_table(index="label", columns="background", values="n", aggfunc="sum", fill_value=0)
            images = cells.reindex(index=labels, columns=backgrounds, fill_value=0)
            tables.append(_build_table(images).assign(split=split, environment=name))
    columns = ["split", "environment", "label", "background", "correlation", "images", "n", "reason"]
    return pd.concat(tables, ignore_index=True)[columns]


def _build_table(images: pd.DataFrame) -> pd.DataFrame:
    """The correlations for counts (classes, backgrounds), one row per cell."""
    of_background, n = images.sum().to_dict(), int(images.to_numpy().sum())
    rows = []
    for label, of_its in images.to_dict("index").items():
        for background, cell in of_its.items():
            margins = {f"of {label}": sum(of_its.values()), f"on {background}": of_background[background]}
            constant = [f"{'every' if of else 'no'} image is {what}" for what, of in margins.items() if of in (0, n)]
            a, b = margins.values()
            spread = math.sqrt(a * (n - a)) * math.sqrt(b * (n - b))
            rows.append(
                {
                    "label": label,
                    "background": background,
                    "correlation": math.nan if constant else (n * cell - a * b) / spread,
                    "images": cell,
                    "n": n,
                    "reason": " and ".join(constant),
                }
            )
    return pd.DataFrame(rows)
