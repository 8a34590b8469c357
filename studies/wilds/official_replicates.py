"""How many replicates, seeds or folds, WILDS' mean and standard deviation of a data set are taken over."""

import json

from oochub import catalog


def official_replicates(data_set: str) -> int:
    """The number by the name of the data set, from `studies/reported/wilds.json`.

    Source: Koh et al. 2021, Appendix D; `examples/evaluate.py` of WILDS 2.0.0.

    >>> official_replicates("camelyon17"), official_replicates("poverty"), official_replicates("ogb-molpcba")
    (10, 5, 3)
    """
    counts: dict[str, int] = json.loads(catalog.reported_files()["wilds"].read_text("utf-8"))["replicates"]
    return counts.get(data_set, counts["others"])
