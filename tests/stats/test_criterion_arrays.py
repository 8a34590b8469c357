"""What the criteria share: labels that are signed, columns of one length."""

import numpy as np
import pytest

from oochub.errors import OochubError
from oochub.stats.array_checks import name_challenges


def test_names_by_hand():
    hard, positive = np.array([False, True, True]), np.array([True, True, False])
    assert name_challenges(hard).tolist() == ["easy", "hard", "hard"]
    assert name_challenges(hard, positive).tolist() == ["easy", "hard_positive", "hard_negative"]


def test_labels_of_another_length_are_refused():
    """Planted fault: the length asked for only where there is no label."""
    with pytest.raises(OochubError, match="label has 2 examples, the other columns have 3"):
        name_challenges(np.array([True, False, True]), np.array([True, False]))
