"""Contract of the ways to find contexts: every file of the folder, with a tiny model where it needs one."""

import json

import numpy as np
import pyarrow as pa
import pytest
from opened_pictures import opened
from PIL import Image
from way_examples import WAY_EXAMPLES

from oochub import catalog
from oochub.context_finding.context_columns import make_way
from oochub.errors import OochubError
from oochub.models.model_source import ModelSource

CLASSES = ["a", "b", "c"]
N = 36
CHOSEN = np.arange(N) % 2 == 0


def pictures():
    """Each of another color, with its own noise."""
    rng = np.random.default_rng(0)
    colors = rng.integers(30, 220, (N, 1, 1, 3))
    return [opened(Image.fromarray((each + rng.integers(-30, 30, (32, 32, 3))).astype(np.uint8))) for each in colors]


@pytest.fixture(scope="module", params=catalog.names("context"))
def way(request, tmp_path_factory):
    """Each way, and what it measures of the images."""
    assert request.param in WAY_EXAMPLES, (
        f"WAY_EXAMPLES in the test of {request.param}: its settings, see tests/helpers/way_examples.py"
    )
    made = make_way(request.param, WAY_EXAMPLES[request.param](tmp_path_factory.mktemp(request.param) / "model"))
    return made, made.measures([*map(made.prepare, pictures())])


def labels():
    return np.random.default_rng(1).integers(0, 2, N)  # no row of class c


def named(way, measures, label, chosen_on=CHOSEN, classes=CLASSES):
    return way.name(measures, label=label, classes=classes, chosen_on=chosen_on)


def test_contexts_have_names_words_and_rows(way):
    made, measures = way
    for label, classes in ((labels(), CLASSES), (np.full(N, -1), []), (np.zeros(N, np.int64), ["a"])):
        found = named(made, measures, label, classes=classes)
        assert len(set(found.names)) == len(found.names) == len(found.words) == found.has.shape[1]
        assert all(name and words for name, words in zip(found.names, found.words, strict=True))
        assert found.has.shape[0] == N and found.has.dtype == bool
        json.dumps([dict(found.settings), made.settings()])  # raises unless they are JSON types
        assert all(len(values) == N for _, values in found.columns.values())


def test_nothing_is_chosen_on_the_other_rows(way):
    """Their labels or their measures among each other, or all of them away: what was chosen stays."""
    made, measures = way
    label = labels()
    before = named(made, measures, label)
    others = np.flatnonzero(~CHOSEN)
    swapped = label.copy()
    swapped[others] = 1 - label[others]
    after = named(made, measures, swapped)
    assert (after.names, after.settings) == (before.names, before.settings)
    assert (after.has[CHOSEN] == before.has[CHOSEN]).all()
    alone = named(made, measures.filter(pa.array(CHOSEN)), label[CHOSEN], np.ones(CHOSEN.sum(), bool))
    assert (alone.names, alone.settings) == (before.names, before.settings)
    assert (alone.has == before.has[CHOSEN]).all()
    order = np.arange(N)
    order[others] = others[::-1]
    turned = named(made, measures.take(pa.array(order)), label[order])
    assert (turned.has == before.has[order]).all()


def test_measures_do_not_depend_on_the_batch(way):
    made, measures = way
    rows = pictures()[:5]
    alone = pa.concat_tables([made.measures([made.prepare(each)]) for each in rows])
    assert alone.schema == measures.schema
    for name in measures.column_names:
        one, many = (column.combine_chunks() for column in (alone.column(name), measures.column(name).slice(0, 5)))
        if pa.types.is_fixed_size_list(one.type):
            one, many = one.flatten(), many.flatten()
        if pa.types.is_floating(one.type):
            assert one.to_numpy(zero_copy_only=False) == pytest.approx(
                many.to_numpy(zero_copy_only=False), abs=1e-5, nan_ok=True
            )
        else:
            assert one.equals(many)


def test_every_form_of_picture_is_measured(way):
    made, measures = way
    forms = [Image.new("L", (9, 7), 80), Image.new("RGBA", (7, 9), (9, 8, 7, 0)), Image.new("RGB", (1, 1), "red")]
    forms += [Image.new("RGB", (200, 3), "blue"), Image.new("P", (4, 4))]
    found = made.measures([made.prepare(opened(each)) for each in forms])
    assert len(found) == len(forms) and found.schema == measures.schema


def test_one_picture_is_a_clear_state(way):
    """Nothing can be chosen on one, or nothing is found."""
    made, measures = way
    try:
        found = named(made, measures.slice(0, 1), np.zeros(1, np.int64), np.ones(1, bool))
    except OochubError as error:
        assert "image" in str(error)
    else:
        assert found.has.shape == (1, len(found.names))


def test_measures_are_kept_by_the_model_where_its_commit_is_not_known(way, tmp_path, monkeypatch):
    """Of some ids of the Hub no digest is known: their measures must not be taken for those of another."""
    made, _ = way
    if made.model is None:
        return
    monkeypatch.setattr(ModelSource, "revision", None)
    names = ["model", "other"]
    ways = [make_way(made.words(), WAY_EXAMPLES[made.words()](tmp_path / name)) for name in names]
    assert [each.settings()["model"] for each in ways] == names
