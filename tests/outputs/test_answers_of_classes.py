"""What a wrong answer is called: missed and seen where a task asks for a thing, confused between two of them."""

import numpy as np
import pytest

from oochub.output import get_output


@pytest.mark.parametrize(
    ("names", "kinds"),
    [
        (["no_car", "car"], ["false_alarm", "missed"]),
        (["car", "no car"], ["missed", "false_alarm"]),
        (["0", "1"], ["false_alarm", "missed"]),
        (["woman", "man"], ["confused", "confused"]),
        (["bulldog", "dachshund"], ["confused", "confused"]),
        (["a", "b", "c"], ["confused", "confused"]),
    ],
)
def test_a_mistake_is_of_a_thing_only_where_one_class_is_its_absence(names, kinds):
    """Fault planted: a name inside the other, which takes "man" for what "woman" lacks."""
    kind, label = get_output("classes"), np.array([0, 1])
    arrays = {"label": label, "prediction": 1 - label}
    assert [kind.answer(arrays, row, names).mistake for row in range(2)] == kinds
