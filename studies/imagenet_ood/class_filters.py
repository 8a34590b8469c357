"""The filters that ImageNet-OOD's classes passed, one function each: why a class is removed, or nothing.

Each takes the wnid of a candidate and the `ClassPool` around it, and returns in words why it removes the candidate,
with the way through WordNet ("<" reads "is a kind of"), or "" where it keeps it. None depends on what others removed.

Source: Yang, Zhang and Russakovsky 2024, ImageNet-OOD, Section 3.2 and Appendix H.

>>> above = {"animal": (), "dog": ("animal",), "cat": ("animal",)}
>>> tree = WordNet({name: (name,) for name in above}, above)
>>> covariate_shift("cat", ClassPool(tree, {"dog": 0}, frozenset({"cat"})))
'cat cat < animal animal, which covers only dog dog of ImageNet-1K'
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property

from oochub.class_names.wordnet import WordNet

ORGANISM = "n00004475"


@dataclass(frozen=True)
class ClassPool:
    """What the filters look at.

    Attributes:
        tree: WordNet; it holds every class below.
        known: The classes that are in distribution, ImageNet-1K's 1,000: wnid to label.
        candidates: The classes to choose from, those of ImageNet-21K-P.
    """

    tree: WordNet
    known: Mapping[str, int]
    candidates: frozenset[str]

    @cached_property
    def covered(self) -> Mapping[str, tuple[str, ...]]:
        """A wnid to the known classes that it is or is above; only those that cover one."""
        classes: dict[str, list[str]] = {}
        for known_wnid in self.known:
            for wnid in (known_wnid, *self.tree.ancestors(known_wnid)):
                classes.setdefault(wnid, []).append(known_wnid)
        return {wnid: tuple(several) for wnid, several in classes.items()}

    @cached_property
    def widened(self) -> frozenset[str]:
        """The most general concepts that cover exactly one known class: nothing directly above covers one alone."""
        alone = {wnid for wnid, several in self.covered.items() if len(several) == 1}
        return frozenset(wnid for wnid in alone if not alone.intersection(self.tree.hypernyms[wnid]))

    @cached_property
    def parents(self) -> frozenset[str]:
        """The direct hypernyms of the known classes."""
        return frozenset(above for wnid in self.known for above in self.tree.hypernyms[wnid])

    @cached_property
    def parents_in_pool(self) -> frozenset[str]:
        """The nearest of the candidates and known classes above each known class."""
        return frozenset(above for wnid in self.known for above in self.above_in_pool(wnid))

    def above_in_pool(self, wnid: str) -> list[str]:
        """The nearest of the candidates and known classes above a class, on each path."""
        nearest, seen = [], set()
        waiting = list(self.tree.hypernyms[wnid])
        while waiting:
            concept = waiting.pop(0)
            if concept in seen:
                continue
            seen.add(concept)
            if concept in self.candidates or concept in self.known:
                nearest.append(concept)
            else:
                waiting += self.tree.hypernyms[concept]
        return nearest

    def words(self, wnids: Iterable[str], sign: str = " < ") -> str:
        """Concepts as wnid and name."""
        return sign.join(f"{wnid} {self.tree.name(wnid)}" for wnid in wnids)


Filter = Callable[[str, ClassPool], str]


def id_classes(wnid: str, classes: ClassPool) -> str:
    """Removes the classes of ImageNet-1K (Section 3.2)."""
    return f"class {classes.known[wnid]} of ImageNet-1K" if wnid in classes.known else ""


def hypernyms(wnid: str, classes: ClassPool) -> str:
    """Removes what is above a class of ImageNet-1K: its images may show that class (Section 3.2)."""
    below = [wnid_below for wnid_below in classes.covered.get(wnid, ()) if wnid_below != wnid]
    if not below:
        return ""
    nearest = min((classes.tree.path(wnid_below, {wnid}) for wnid_below in below), key=len)
    more = f", and {len(below) - 1} more of ImageNet-1K below it" if len(below) > 1 else ""
    return classes.words(nearest) + more


def hyponyms(wnid: str, classes: ClassPool) -> str:
    """Removes what is below a class of ImageNet-1K: its images show that class (Section 3.2)."""
    above = classes.tree.ancestors(wnid).intersection(classes.known)
    return classes.words(classes.tree.path(wnid, above)) if above else ""


def organism(wnid: str, classes: ClassPool) -> str:
    """Removes all below `organism`, where WordNet mixes biological ranks with words such as herbivore (Section 3.2).

    It removes people, and plants that are food.
    """
    above = classes.tree.ancestors(wnid)
    return classes.words(classes.tree.path(wnid, {ORGANISM})) if ORGANISM in above else ""


def covariate_shift(wnid: str, classes: ClassPool) -> str:
    """Removes what a classifier of ImageNet-1K may rightly take for one of its classes (Section 3.2).

    A classifier of dogs and vehicles may be one of animals and vehicles. So each class of ImageNet-1K is widened to
    the most general concepts that cover no other class of ImageNet-1K, and all below these is removed. That is one
    reading of "one level below any one of the common ancestors"; taken by the letter, one level below `entity` is
    below a common ancestor too, and a single candidate would be left.
    """
    concepts = classes.widened.intersection((wnid, *classes.tree.ancestors(wnid)))
    if not concepts:
        return ""
    path = classes.tree.path(wnid, concepts)
    return f"{classes.words(path)}, which covers only {classes.words(classes.covered[path[-1]])} of ImageNet-1K"


def sister_classes(wnid: str, classes: ClassPool) -> str:
    """Removes what shares no direct hypernym with a class of ImageNet-1K (Appendix H)."""
    return _is_alone(wnid, classes.tree.hypernyms[wnid], classes.parents, classes)


def sister_classes_in_pool(wnid: str, classes: ClassPool) -> str:
    """The same in the tree of the candidates and ImageNet-1K alone: a parent is the nearest of these above.

    This reading comes nearest to the paper's 13,831 pairs of sisters (13,992), and to its 2,874 classes (2,421).
    """
    return _is_alone(wnid, classes.above_in_pool(wnid), classes.parents_in_pool, classes)


def _is_alone(wnid: str, above: Iterable[str], parents: frozenset[str], classes: ClassPool) -> str:
    if not parents.isdisjoint(above):
        return ""
    return f"{classes.words([wnid])} < {classes.words(above, ' and ') or 'nothing'}: no sister in ImageNet-1K"


FILTERS: Mapping[str, Filter] = {
    rule.__name__: rule
    for rule in (
        *(id_classes, hypernyms, hyponyms, organism, covariate_shift),
        *(sister_classes, sister_classes_in_pool),
    )
}
ORDERS: Mapping[str, tuple[str, ...]] = {
    "3.2": ("id_classes", "hypernyms", "hyponyms", "organism", "covariate_shift"),
    "H": ("id_classes", "hypernyms", "hyponyms", "organism", "sister_classes", "covariate_shift"),
}
"""The filters as Section 3.2 names them, and as Appendix H does: there the authors chose among the sister classes by
hand before they removed covariate shifts."""
