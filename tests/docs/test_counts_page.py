"""The numbers of docs/counts.md that oochub can count itself: the filters of ImageNet-OOD, and pairs of sisters."""

from pathlib import Path

import pytest

from oochub.builders.sources.imagenet_ood_classes import OOD_CLASSES
from oochub.class_names.imagenet_classes import IMAGENET_1K_WNIDS
from oochub.class_names.wordnet import load_wordnet_facts
from oochub.studies.imagenet_ood.class_audit import class_audit

_PAGE = Path(__file__).parents[2] / "docs" / "counts.md"
_FIRST = "id_classes,hypernyms,hyponyms,organism"


@pytest.mark.slow
def test_what_the_filters_leave_stands_on_the_page():
    """Pairs are counted here by a loop over WordNet's parents, apart from the filters."""
    page = _PAGE.read_text("utf-8")
    kept = class_audit(order=_FIRST).query("kept")
    assert f"leave {len(kept):,} classes" in page
    sisters = class_audit(order=f"{_FIRST},sister_classes").query("kept")
    tree = load_wordnet_facts()
    below = {wnid: set(tree.hypernyms[wnid]) for wnid in (*IMAGENET_1K_WNIDS, *kept["wnid"])}
    pairs = sum(not below[known].isdisjoint(below[wnid]) for known in IMAGENET_1K_WNIDS for wnid in kept["wnid"])
    assert f"in {pairs:,} pairs" in page
    near = class_audit(order=f"{_FIRST},sister_classes_in_pool").query("kept")
    whole = class_audit(order="3.2").query("kept and published")
    assert f"are {len(sisters):,} of the {len(kept):,}" in page
    assert f"they are {len(near):,} in" in page
    assert f"{len(whole)} of the {len(OOD_CLASSES)} published classes pass" in page
