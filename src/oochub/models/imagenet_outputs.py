"""The outputs of a model that are classes of ImageNet, and which of them are kinds of a thing, by WordNet."""

import re
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from oochub.class_names.imagenet_names import IMAGENET_1K_NAMES
from oochub.class_names.imagenet_wnids import IMAGENET_1K_WNIDS
from oochub.class_names.wordnet_facts import wordnet_facts
from oochub.models.class_words import class_words

_WNID = re.compile(r"n\d{8}(?!\d)")


@dataclass(frozen=True)
class ImagenetOutputs:
    """What ImageNet and WordNet say of the classes of a model or data set.

    Args:
        names: Of the classes, in order. ImageNet's are known by wnids ("n02123045", "n02123045_tabby"), or as the
            1,000 of ImageNet-1K in the standard order, most of them by a word of theirs ("tabby, tabby cat", "tabby",
            "tabby_cat"); a class "background" may stand before these.

    >>> outputs = ImagenetOutputs(["n02123045_tabby", "n02124075", "n02085620"])
    >>> outputs.senses("cat"), outputs.senses("Domestic_Dog"), outputs.senses("car")
    ({'n02121620': (0, 1)}, {'n02084071': (2,)}, {})
    """

    names: Sequence[str]

    @cached_property
    def wnids(self) -> tuple[str | None, ...]:
        """The wnid of each class; None for one that is not known."""
        tree = wordnet_facts()
        found = [_WNID.match(name) for name in self.names]
        if any(found):
            return tuple(match[0] if match and match[0] in tree else None for match in found)
        for before in (0, 1):
            classes = self.names[before:]
            if len(classes) == len(IMAGENET_1K_WNIDS):
                known = zip(classes, IMAGENET_1K_WNIDS, IMAGENET_1K_NAMES, strict=True)
                fitting = [class_words(name) & _words(wnid, listed) for name, wnid, listed in known]
                if sum(map(bool, fitting)) > len(classes) / 2:  # another thousand classes agree at no place
                    return (None,) * before + IMAGENET_1K_WNIDS
        return (None,) * len(self.names)

    def senses(self, name: str) -> Mapping[str, tuple[int, ...]]:
        """What a name may mean, and the numbers of the classes that are it or a kind of it.

        Args:
            name: Words, or a wnid.

        Returns:
            A wnid to the numbers, () never; several where the word is ambiguous. Of concepts that have one parent and
            all bear the word, the one that is called so is meant: the cat, not the "big cat, cat".
        """
        if _WNID.fullmatch(name):
            return {name: self._below[name]} if name in self._below else {}
        shared: dict[str, int] = defaultdict(int)
        for word in class_words(name):
            for wnid in self._concepts.get(word, ()):
                shared[wnid] += 1
        most = max(shared.values(), default=0)
        senses = {wnid: self._below[wnid] for wnid, count in sorted(shared.items()) if count == most}
        if len(set(senses.values())) == 1:
            return dict([next(iter(senses.items()))])
        tree = wordnet_facts()
        called = [wnid for wnid in senses if class_words(tree.name(wnid)) & class_words(name)]
        parents = [set(tree.hypernyms[wnid]) for wnid in senses]
        if len(called) == 1 and set.intersection(*parents):
            return {called[0]: senses[called[0]]}
        return senses

    @staticmethod
    def sense(wnid: str) -> str:
        """A concept in words.

        >>> ImagenetOutputs.sense("n02012849")
        'n02012849 (crane, a kind of wading bird)'
        """
        tree = wordnet_facts()
        above = next(iter(tree.hypernyms[wnid]), None)
        kind = "" if above is None else f", a kind of {tree.name(above)}"
        return f"{wnid} ({tree.name(wnid)}{kind})"

    @cached_property
    def _below(self) -> dict[str, tuple[int, ...]]:
        """A concept to the classes at or below it."""
        below: dict[str, list[int]] = defaultdict(list)
        for number, wnid in enumerate(self.wnids):
            for concept in () if wnid is None else {wnid, *wordnet_facts().ancestors(wnid)}:
                below[concept].append(number)
        return {concept: tuple(numbers) for concept, numbers in below.items()}

    @cached_property
    def _concepts(self) -> dict[str, list[str]]:
        """A word to the concepts that bear it."""
        concepts: dict[str, list[str]] = defaultdict(list)
        for wnid in self._below:
            for word in _words(wnid):
                concepts[word].append(wnid)
        return concepts


def _words(wnid: str, *more: str) -> frozenset[str]:
    return frozenset().union(*map(class_words, (*wordnet_facts().lemmas[wnid], *more)))
