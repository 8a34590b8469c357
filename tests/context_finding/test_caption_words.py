"""Words that go with a class, by hand and by the lift of each."""

import numpy as np
import pytest

from oochub.context_finding.finders.captions import _find_caption_words
from oochub.stats.lift import lift


def words(captions, label, chosen=None, **settings):
    every = np.ones(len(captions), bool) if chosen is None else np.asarray(chosen, bool)
    return _find_caption_words(captions, label=np.asarray(label), chosen=every, **{"fewest": 2} | settings)


def test_words_that_name_something():
    said = [
        ["A photo of 3 dogs in the snow, near a x-mas tree", "Two dogs: snow!"],
        ["Très belle PLAGE", "la plage"],
    ] * 4
    found = words(said, [-1] * 8, most=99)
    assert set(found.words) == {"dogs", "snow", "mas", "tree", "très", "belle", "plage", "la"}
    twice = words(said, [-1] * 8, least=2)
    assert set(twice.words) == {"dogs", "snow", "plage"}
    assert dict(zip(twice.words, twice.has.T.tolist(), strict=True))["plage"] == [False, True] * 4
    assert set(words(said, [-1] * 8, least=2, besides=["Big dog", "plage"]).words) == {"snow"}


def test_a_plural_is_its_singular_where_both_are_said():
    said = [["beaches"], ["a beach"], ["glasses"], ["grass"], ["buses"], ["grass, glasses"]] * 2
    found = words(said, [-1] * 12)
    assert set(found.words) == {"beach", "glasses", "grass", "buses"}
    assert found.has[:, found.words.index("beach")].tolist() == [True, True, False, False, False, False] * 2
    alone = words(said, [-1] * 12, [True, False, True, True, True, True] * 2)
    assert "beaches" in alone.words and "beach" not in alone.words  # which those rows do not say
    one = words(said, [-1] * 12, [False, True, True, True, True, True] * 2)
    assert one.has[:, one.words.index("beach")].tolist() == [True, True, False, False, False, False] * 2
    assert alone.has[:, alone.words.index("beaches")].tolist() == [True, False, False, False, False, False] * 2


def test_the_words_kept_are_those_whose_lift_is_no_one():
    """Of words planted at 0.5 and other shares in two of three classes; the strongest first."""
    rng = np.random.default_rng(0)
    label = rng.integers(0, 3, 600)
    shares = {"grass": (0.9, 0.5, 0.5), "snow": (0.5, 0.1, 0.5), "road": (0.5, 0.5, 0.7), "wood": (0.5, 0.5, 0.5)}
    has = {word: rng.random(600) < np.array(of)[label] for word, of in shares.items()}
    said = [[" ".join(word for word in shares if has[word][row]) or "thing"] for row in range(600)]
    chosen = np.arange(600) % 2 == 0
    found = words(said, label, chosen)
    expected = []
    for word, own in has.items():
        of_classes = [lift(own[chosen], label[chosen] == y) for y in range(3)]
        if any(each.low > 1 or each.high < 1 for each in of_classes):
            expected.append(word)
    assert set(found.words) == set(expected) and {"grass", "snow"} <= set(expected) and "wood" not in expected
    assert (found.has == np.stack([has[word] for word in found.words], 1)).all()
    gaps = [max(abs(has[w][chosen][label[chosen] == y].mean() - has[w][chosen][label[chosen] != y].mean())
                for y in range(3)) for w in found.words]  # fmt: skip
    assert gaps == sorted(gaps, reverse=True)
    assert words(said, label, chosen, most=1).words == found.words[:1]
    turned = np.where(chosen, label, 2 - label)
    assert words(said, turned, chosen).words == found.words


@pytest.mark.parametrize(("fewest", "expected"), [(3, ("snow",)), (4, ())])
def test_a_word_is_said_and_not_said_often_enough(fewest, expected):
    said = [["snow"]] * 3 + [["grass"]] * 5
    assert words(said, [-1] * 8, fewest=fewest, besides=["grass"]).words == expected
    assert words(said[::-1], [-1] * 8, fewest=fewest, besides=["snow"]).words == (("grass",) if fewest == 3 else ())
    assert words([], [], fewest=fewest).words == ()
