"""Altered images against loops over pixels, and who lends a background to whom."""

import numpy as np
import pytest

from oochub.probing.altered_pictures import cut_object, draw_donors, paste_object, remove_object


def _random(seed, height=23, width=31):
    generator = np.random.default_rng(seed)
    return generator.integers(0, 256, (height, width, 3), dtype=np.uint8)


def _largest_free_by_loops(covered):
    """Every rectangle of a small image, the uppermost, then leftmost of the largest ones."""
    height, width = covered.shape
    best, area = None, 0
    for top in range(height):
        for left in range(width):
            for bottom in range(top + 1, height + 1):
                for right in range(left + 1, width + 1):
                    if (bottom - top) * (right - left) > area and not covered[top:bottom, left:right].any():
                        best, area = (top, bottom, left, right), (bottom - top) * (right - left)
    return best, area


def _filled_by_loops(pixels, boxes):
    covered = np.zeros(pixels.shape[:2], bool)
    for top, bottom, left, right in boxes:
        covered[top:bottom, left:right] = True
    (t, b, left, r), area = _largest_free_by_loops(covered)
    filled = pixels.copy()
    for y in range(pixels.shape[0]):
        for x in range(pixels.shape[1]):
            if covered[y, x]:
                filled[y, x] = pixels[t + (y - t) % (b - t), left + (x - left) % (r - left)]
    return filled, area


@pytest.mark.parametrize("seed", range(6))
def test_the_object_is_filled_by_tiles_of_the_largest_rectangle(seed):
    """By a loop over all rectangles and pixels. Faults planted: tiles from the box's corner, only the area filled."""
    generator = np.random.default_rng(100 + seed)
    pixels, mask = _random(seed, 11, 13), np.zeros((11, 13), bool)
    boxes = []
    for part in range(1 + seed % 3):  # parts stand apart, so each is a box
        top, left = 1 + 3 * part, int(generator.integers(1, 9))
        mask[top : top + 2, left] = mask[top + 1, left : left + 3] = True  # an L
        boxes.append((top, top + 2, left, left + 3))
    expected, _ = _filled_by_loops(pixels, boxes)
    found = remove_object(pixels, mask)
    assert np.array_equal(found, expected)
    outside = np.ones(mask.shape, bool)
    for top, bottom, left, right in boxes:
        outside[top:bottom, left:right] = False
    assert np.array_equal(found[outside], pixels[outside])


def test_of_many_parts_one_box_is_filled():
    pixels, mask = _random(3, 44, 40), np.zeros((44, 40), bool)
    mask[2:20:2, 2:20:4] = True  # 45 dots
    expected = pixels.copy()
    rows, columns = 19 + (np.arange(2, 19) - 19) % 25, np.arange(2, 19)  # the strip below all dots, 25 high
    expected[2:19, 2:19] = pixels[rows[:, None], columns]
    assert np.array_equal(remove_object(pixels, mask), expected)


def test_without_room_for_a_background_there_is_none():
    """An image that is all object, a box that leaves less than 5%, and the least that is enough."""
    pixels = _random(0, 100, 100)
    for rows, is_filled in ((100, False), (96, False), (95, True)):
        mask = np.zeros((100, 100), bool)
        mask[:rows] = True
        assert (remove_object(pixels, mask) is not None) == is_filled
    assert remove_object(pixels, np.zeros((100, 100), bool)) is pixels


def test_composites_are_those_of_a_loop():
    """Fault planted: the mask turned round."""
    pixels, ground = _random(1), _random(2)
    mask = np.random.default_rng(3).random((23, 31)) < 0.4
    alone, mixed = cut_object(pixels, mask), paste_object(pixels, mask, ground)
    for y in range(23):
        for x in range(31):
            assert alone[y, x].tolist() == (pixels[y, x].tolist() if mask[y, x] else [128, 128, 128])
            assert mixed[y, x].tolist() == (pixels if mask[y, x] else ground)[y, x].tolist()


def test_a_background_of_another_size_covers_the_picture_from_its_middle():
    """By hand: twice as wide as high before a square, half of it at each side is cut off; no color is mixed."""
    ground = np.zeros((10, 20, 3), np.uint8)
    ground[:, 5:15] = 200
    square = paste_object(np.zeros((10, 10, 3), np.uint8), np.zeros((10, 10), bool), ground)
    assert square.shape == (10, 10, 3) and (square == 200).all()
    tall = paste_object(np.zeros((40, 10, 3), np.uint8), np.zeros((40, 10), bool), ground)
    assert tall.shape == (40, 10, 3) and (tall == 200).all()  # enlarged four times: the middle 10 of 80 columns


def test_nobody_lends_to_itself_to_its_cluster_or_across_the_class():
    """300 rows of 4 classes. Faults planted: a donor of the row's class for mixed_rand; the row itself; its cluster."""
    generator = np.random.default_rng(0)
    label, can_lend = generator.integers(0, 4, 300), generator.random(300) < 0.7
    cluster, rows = generator.integers(0, 90, 300), np.arange(300)[:, None]
    for of in (None, cluster):
        same, other = draw_donors(label, can_lend, cluster=of, backgrounds=8, seed=7)
        assert same.shape == other.shape == (300, 8) and (same >= 0).all() and (other >= 0).all()
        assert (label[same] == label[:, None]).all() and (label[other] != label[:, None]).all()
        assert can_lend[same].all() and can_lend[other].all() and (same != rows).all()
        assert all(len(set(each)) == 8 for each in same.tolist())  # none twice where there are as many
    assert (cluster[same] != cluster[:, None]).all() and (cluster[other] != cluster[:, None]).all()
    again = draw_donors(label, can_lend, cluster=cluster, backgrounds=8, seed=7)
    assert np.array_equal(again.same, same) and np.array_equal(again.other, other)
    assert not np.array_equal(draw_donors(label, can_lend, cluster=cluster, backgrounds=8, seed=8).other, other)


def test_classes_are_drawn_alike_however_many_rows_they_have():
    """Of 1 and 999 rows of two other classes each lends half: 0.4 to 0.6 of 1,000 draws, six standard errors."""
    label = np.array([0] * 1000 + [1] + [2] * 999)
    _, other = draw_donors(label, np.ones(2000, bool), backgrounds=1, seed=0)
    assert 0.4 < (label[other[:1000]] == 1).mean() < 0.6
    _, other = draw_donors(label, np.ones(2000, bool), backgrounds=2, seed=0)
    assert (np.sort(label[other[:1000]], axis=1) == [1, 2]).all()  # in turn


def test_who_has_nobody_to_lend_gets_none():
    same, other = draw_donors(np.array([0, 0, 1]), np.array([True, False, False]), backgrounds=2, seed=0)
    assert same.tolist() == [[-1, -1], [0, 0], [-1, -1]] and other.tolist() == [[-1, -1], [-1, -1], [0, 0]]
    one, none = draw_donors(np.zeros(3, np.int64), np.ones(3, bool), backgrounds=1, seed=0)
    assert (one >= 0).all() and (none == -1).all()
