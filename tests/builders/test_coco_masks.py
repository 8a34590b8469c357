"""The pixels of COCO's masks: outlines that pycocotools would fail on, or read as it likes, are refused by name."""

import pytest

import oochub
from oochub.builders.sources.coco_masks import mask_areas

_SQUARE = [0.0, 0.0, 6.0, 0.0, 6.0, 6.0, 0.0, 6.0]


@pytest.mark.parametrize(
    "segmentation",
    [
        [[[0, 0], [6, 0], [6, 2]]],  # pairs
        [_SQUARE, [[0, 0], [6, 0], [6, 2]]],
        [["0", "0", "6", "0", "6", "2"]],
        [[True, 0, 6, 0, 6, 2]],
    ],
)
def test_an_outline_that_is_no_list_of_numbers_is_named(segmentation):
    """Written against: those of pairs ended in pycocotools, and texts were taken for numbers."""
    annotation = {"id": 906, "image_id": 1, "category_id": 3, "segmentation": segmentation}
    with pytest.raises(oochub.OochubError, match="annotation 906 of image 1 has a segmentation that cannot be read"):
        mask_areas([annotation], {1: (10, 10)})


def test_outlines_of_whole_numbers_and_fractions():
    """A square of 6 x 6 and one of 2 x 2 that meet nowhere: 40 pixels."""
    annotation = {"id": 906, "image_id": 1, "category_id": 3, "segmentation": [_SQUARE, [7, 7, 9, 7, 9, 9, 7, 9]]}
    assert mask_areas([annotation], {1: (10, 10)}).tolist() == [40]
