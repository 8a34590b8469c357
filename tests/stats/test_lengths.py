"""Clusters of another length than the rows are refused by every estimate that takes them, with both lengths."""

import numpy as np
import pytest

from oochub.errors import OochubError
from oochub.eval_modules.metrics.accuracy.accuracy import accuracy
from oochub.evaluation.group_statistics import _split_in_halves as halves
from oochub.stats.bootstrap import bootstrap
from oochub.stats.context_effects import effect_by_role
from oochub.stats.delong import delong
from oochub.stats.estimate import Sampling
from oochub.stats.estimation import estimate
from oochub.stats.group_intervals import worst_group_interval
from oochub.stats.lift import lift
from oochub.stats.mean_interval import mean_estimate
from oochub.stats.p_values import sign_flips
from oochub.stats.stratified_gap import stratified_gap, unpaired_shares

TRUE = np.arange(12) % 2 == 0
NUMBERS, CODES = np.linspace(0, 1, 12), np.arange(12) % 3
ESTIMATES = {
    "bootstrap": lambda cluster: bootstrap(np.mean, {"a": NUMBERS}, Sampling(cluster=cluster)),
    "delong": lambda cluster: delong(TRUE, NUMBERS, cluster=cluster),
    "effect_by_role": lambda cluster: effect_by_role(TRUE, ~TRUE, CODES, CODES - 1, cluster=cluster),
    "estimate": lambda cluster: estimate(accuracy, {"label": CODES, "prediction": CODES}, cluster=cluster),
    "halves": lambda cluster: halves(CODES, cluster=cluster),
    "lift": lambda cluster: lift(TRUE, CODES == 0, Sampling(cluster=cluster)),
    "mean_estimate": lambda cluster: mean_estimate(NUMBERS, Sampling(cluster=cluster), are_shares=False),
    "sign_flips": lambda cluster: sign_flips(NUMBERS, Sampling(cluster=cluster)),
    "stratified_gap": lambda cluster: stratified_gap(NUMBERS, TRUE, CODES, cluster=cluster),
    "unpaired_shares": lambda cluster: unpaired_shares(TRUE, CODES == 0, cluster=cluster),
    "worst_group_interval": lambda cluster: worst_group_interval(NUMBERS, CODES, worst="smallest", cluster=cluster),
}


@pytest.mark.parametrize("name", ESTIMATES)
@pytest.mark.parametrize("n", [11, 13, 24])
def test_clusters_of_another_length_are_refused(name, n):
    """Planted fault: clusters left out of the check, so that numpy's own words end it."""
    with pytest.raises(OochubError, match=f"same number of rows.*{n}"):
        ESTIMATES[name](np.arange(n) // 2)
    ESTIMATES[name](np.arange(12) // 2)
