"""The CE rule against hand-worked cases, a loop, and the official ids of the NOOCH release."""

import json
from pathlib import Path

import numpy as np
import pytest

from oochub.builders.criteria.co_occurrence import co_occurrence
from oochub.builders.sources.coco_categories import CATEGORY_IDS
from oochub.errors import OochubError

# reference: the contexts behind the released ids, as far as they are known (NOOCH B.3 and the released task list)
_CONTEXTS = {
    "car": ["road"],
    "bowl": ["dining_table"],
    "boat": ["sea"],
    "fire_hydrant": ["pavement"],
    "airplane": ["sky-other"],
    "cow": ["grass"],
    "backpack": ["person"],
    "cup": ["dining_table", "person"],
    "surfboard": ["sea", "sky-other"],
    "tie": ["person"],
    "sports_ball": ["playingfield", "person"],
    "kite": ["sky-other", "grass", "clouds"],
}


def test_areas_at_the_threshold_by_hand():
    """Both inequalities are strict: exactly .1 is present for a positive and absent for a negative."""
    areas = [[0.0999], [0.1], [0.1001]]
    assert co_occurrence([True] * 3, areas).tolist() == ["hard_positive", "easy", "easy"]
    assert co_occurrence([False] * 3, areas).tolist() == ["easy", "easy", "hard_negative"]


def test_several_contexts_by_hand():
    """A positive is hard when every context is absent, a negative when any is present."""
    areas = [[0.0, 0.0], [0.0, 0.2], [0.2, 0.2]]
    assert co_occurrence([True] * 3, areas).tolist() == ["hard_positive", "easy", "easy"]
    assert co_occurrence([False] * 3, areas).tolist() == ["easy", "hard_negative", "hard_negative"]


def test_no_context_is_all_easy():
    assert co_occurrence([True, False], np.zeros((2, 0))).tolist() == ["easy", "easy"]


def test_against_a_loop():
    """A literal loop over the definition; planted fault seen: `all` for `any` in the hard negatives."""
    rng = np.random.default_rng(0)
    for k in (1, 2, 3):
        present, areas = rng.random(500) < 0.4, rng.random((500, k)) * 0.25
        for beta in (0.05, 0.1, 0.2):
            expected = []
            for shown, row in zip(present, areas, strict=True):
                absent = [area < beta for area in row]
                above = [area > beta for area in row]
                hard_positive, hard_negative = shown and all(absent), not shown and any(above)
                expected.append("hard_positive" if hard_positive else "hard_negative" if hard_negative else "easy")
            assert co_occurrence(present, areas, beta).tolist() == expected


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (([True], [0.1]), "(n, k)"),
        (([True], [[-0.1]]), "at least 0"),
        (([True], [[np.nan]]), "finite"),
        (([True], [[0.1]], -1), "beta"),
    ],
)
def test_bad_input_is_said(arguments, words):
    with pytest.raises(OochubError, match=words.replace("(", r"\(").replace(")", r"\)")):
        co_occurrence(*arguments)


def _official(real_data: Path, task: str) -> dict[str, set[int]]:
    return {
        kind: {
            int(i)
            for split in ("valid", "test")
            for i in np.load(real_data / "nooch_official" / "ids" / f"nooch_ids_CE_{task}_{kind}_{split}.npy")
        }
        for kind in ("hard_positive", "hard_negative")
    }


def _evaluated(real_data: Path) -> set[int]:
    with np.load(real_data / "nooch_official" / "cocostuff_split_image_ids.npz") as ids:
        return {int(i) for key in ("valid_ids", "test_ids") for i in ids[key]}


def _assert_equal_to_official(real_data: Path, task: str, ids, challenge) -> int:
    official = _official(real_data, task)
    for kind in ("hard_positive", "hard_negative"):
        hard = {i for i, c in zip(ids, challenge, strict=True) if c == kind}
        assert hard == official[kind] & set(ids), (task, kind)
    return len(ids)


@pytest.mark.slow
@pytest.mark.parametrize("task", ["tie", "backpack", "bowl", "cup"])
def test_official_ids_on_172_real_images(real_data, task):
    """Things-only tasks on real annotations: every official id, none besides. Planted fault seen: beta = .05."""
    content = json.loads((real_data / "coco" / "annotations" / "instances_slice569.json").read_bytes())
    evaluated = _evaluated(real_data)
    images = {i["id"]: i["height"] * i["width"] for i in content["images"] if i["id"] in evaluated}
    row = {image_id: k for k, image_id in enumerate(images)}
    names = [task, *_CONTEXTS[task]]
    area, seen = np.zeros((len(images), len(names))), np.zeros(len(images), bool)
    for annotation in content["annotations"]:  # a loop of its own, not the reader under test
        for column, name in enumerate(names):
            if annotation["category_id"] == CATEGORY_IDS[name] and annotation["image_id"] in images:
                k = row[annotation["image_id"]]
                area[k, column] += annotation["area"] / images[annotation["image_id"]]
                seen[k] |= column == 0
    challenge = co_occurrence(seen, area[:, 1:])
    assert _assert_equal_to_official(real_data, task, list(images), challenge) == 172
    assert not (co_occurrence(seen, area[:, 1:], beta=0.05) == challenge).all()


def test_official_ids_on_48_pairs_with_stuff(real_data):
    """All 12 tasks on the images whose stuff areas are known: 4 images, 48 pairs."""
    content = json.loads((real_data / "coco" / "stuff_area_fractions.json").read_bytes())
    evaluated = _evaluated(real_data)
    rows = {int(i): entry["area_fraction"] for i, entry in content.items() if int(i) in evaluated}
    pairs = 0
    for task, contexts in _CONTEXTS.items():
        present = [task in areas for areas in rows.values()]
        areas = [[areas.get(name, 0.0) for name in contexts] for areas in rows.values()]
        pairs += _assert_equal_to_official(real_data, task, list(rows), co_occurrence(present, areas))
    assert pairs == 48
