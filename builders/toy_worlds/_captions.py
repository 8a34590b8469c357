"""Five sentences about a scene, as five people would write them."""

import numpy as np

from oochub.builders.toy_worlds._scenes import Scene

_PLACES = {
    ("road",): "on a road",
    ("dining table",): "at a dining table",
    ("sea",): "at sea",
    ("pavement",): "on a pavement",
    ("sky-other",): "under a blue sky",
    ("grass",): "on green grass",
    ("person",): "next to a person",
    ("dining table", "person"): "with a person at a dining table",
    ("sea", "sky-other"): "at sea under a blue sky",
    ("person", "playingfield"): "with a person on a playing field",
    ("grass", "sky-other"): "on green grass under a blue sky",
    ("playingfield",): "on a playing field",
}
_WITH_OBJECT = (
    "{A} {place}.",
    "A picture of {a} {place}.",
    "There is {a} {place}.",
    "{A} can be seen {place}.",
    "We see {a} {place}.",
    "A small drawing shows {a} {place}.",
)
_WITHOUT_OBJECT = (
    "A view {place}.",
    "Nothing else is to be seen {place}.",
    "An empty scene {place}.",
    "A quiet moment {place}.",
    "A picture taken {place}.",
    "A small drawing of a place {place}.",
)


def captions(rng: np.random.Generator, scene: Scene, objects: list[str]) -> list[str]:
    """Five different captions that name the objects and the contexts of `scene`.

    >>> scene = Scene(("road",), 0.5, False, (), ())
    >>> len(set(captions(np.random.default_rng(0), scene, ["airplane", "car"])))
    5
    """
    listed = " and ".join(f"{'an' if name[0] in 'aeiou' else 'a'} {name}" for name in objects)
    templates = _WITH_OBJECT if objects else _WITHOUT_OBJECT
    chosen = rng.permutation(len(templates))[:5]
    place = _PLACES[scene.contexts]
    return [templates[i].format(a=listed, A=listed.capitalize(), place=place) for i in chosen]
