"""Finds which outputs of a model answer for each class of a data set: by name, by WordNet, or by the user's file.

Names are compared by their words, so that writings of one name are equal. Outputs that are classes of ImageNet, and
which of them are kinds of a thing, are known by WordNet.
"""

import csv
import re
import unicodedata
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from oochub import catalog
from oochub.class_names.imagenet_classes import IMAGENET_1K_NAMES, IMAGENET_1K_WNIDS
from oochub.class_names.wordnet import load_wordnet_facts
from oochub.errors import OochubError, choose_wording, unknown_name
from oochub.records.build_record import ABSENCE
from oochub.storage.reading import parse_json, read_text

_SHOWN = 6


Given = Mapping[str, Sequence[str | int]]
_LISTED = 20  # classes that are not known
_NUMBERED, _NUMBER = re.compile(r"LABEL_\d{1,9}"), re.compile(r"\d{1,9}", re.ASCII)


class Answering(NamedTuple):
    """The outputs of a model that answer for a class of a data set, and why.

    Attributes:
        name: Name of the class.
        outputs: Numbers of these outputs, one or more.
        rule: "order", "name", "synonym" (ImageNet's), "WordNet", "benchmark" (declared by it), "file", "number" (an
            output without a name, for the class of its number), or "unnamed" (one for the class at its place).
    """

    name: str
    outputs: tuple[int, ...]
    rule: str


@dataclass(frozen=True)
class LabelMap:
    """The outputs of a model for the classes of a data set; made by `match_classes`.

    Attributes:
        model_names: Names of the model's classes.
        answering: The outputs for each class that is answered for, in the data set's order.
        left_out: Classes of the data set that the model does not know.
        unused: Classes that the user's file names and the data lack.
    """

    model_names: tuple[str, ...]
    answering: tuple[Answering, ...]
    left_out: tuple[str, ...] = ()
    unused: tuple[str, ...] = ()

    @classmethod
    def in_order(cls, names: Sequence[str], model_names: Sequence[str] | None = None) -> "LabelMap":
        """Class k is output k; None for the names of the model takes the same.

        >>> LabelMap.in_order(["cat", "dog"]).outputs
        ((0,), (1,))
        """
        answering = tuple(Answering(name, (k,), "order") for k, name in enumerate(names))
        return cls(tuple(model_names or names), answering)

    @property
    def class_names(self) -> tuple[str, ...]:
        """The names of the classes that are answered for."""
        return tuple(answering.name for answering in self.answering)

    @property
    def outputs(self) -> tuple[tuple[int, ...], ...]:
        """Those of each class."""
        return tuple(answering.outputs for answering in self.answering)

    @property
    def is_identity(self) -> bool:
        """Whether the outputs are the classes, in their order."""
        return self.outputs == tuple((k,) for k in range(len(self.model_names)))

    @property
    def has_sums(self) -> bool:
        """Whether several outputs answer for one class: its logit is the logsumexp of theirs."""
        return any(len(answering.outputs) > 1 for answering in self.answering)

    @property
    def details(self) -> dict[str, dict[str, object]]:
        """What a reader needs to check it: JSON types, of the classes that have another name in the model."""
        return {
            answering.name: {
                "rule": answering.rule,
                "outputs": {str(k): self.model_names[k] for k in answering.outputs},
            }
            for answering in self._renamed
        }

    @property
    def notes(self) -> tuple[str, ...]:
        """Caveats that a report repeats."""
        unnamed = [answering for answering in self.answering if answering.rule == "unnamed"]
        if unnamed:
            return (
                "the outputs of the model have no names, and answer for the classes in their order: "
                f"{', '.join(f'{answering.outputs[0]} for {answering.name}' for answering in unnamed[:_SHOWN])}"
                f"{', ...' * (len(unnamed) > _SHOWN)}",
            )
        if self.is_identity:
            return ()
        notes = []
        used, every = sum(map(len, self.outputs)), len(self.model_names)
        if used < every:
            notes.append(
                f"answers are among the {len(self.answering):,} classes of the dataset, not the model's {every:,}"
            )
        if self._renamed:
            shown = [
                f"{answering.name} by {list_outputs(answering.outputs, self.model_names)}"
                for answering in self._renamed
            ]
            notes.append(
                f"classes are matched with the model's: {'; '.join(shown)}"
                if len(shown) <= _SHOWN
                else f"{len(shown):,} classes are matched with the model's, such as {shown[0]}"
            )
        if self.unused:
            notes.append(f"the label map also names classes that the data lack: {list_names(self.unused)}")
        return tuple(notes)

    @property
    def _renamed(self) -> list[Answering]:
        named = [answering for answering in self.answering if answering.rule not in ("order", "number", "unnamed")]
        return [
            answering
            for answering in named
            if tuple(self.model_names[k] for k in answering.outputs) != (answering.name,)
        ]


def list_names(names: Sequence[str]) -> str:
    """The first names of classes.

    >>> list_names(["tabby, tabby cat", "beagle"])
    'tabby, beagle'
    """
    shown = [name.split(",")[0] for name in names[:_SHOWN]]
    return ", ".join(shown + ["..."] * (len(names) > _SHOWN))


def list_outputs(numbers: Sequence[int], names: Sequence[str]) -> str:
    """Outputs of a model, with their numbers; if they are many, how many.

    >>> list_outputs([0, 2], ["crane", "hen", "crane"])
    '0 (crane), 2 (crane)'
    """
    if len(numbers) > _SHOWN:
        return f"{len(numbers)} of them"
    return ", ".join(f"{k} ({list_names([names[k]])})" for k in numbers)


_FORMS = 'CSV with lines "data class,model class", repeatable; or JSON {"data class": ["model class", ...]}'


def read_label_map(given: Any) -> dict[str, list[str | int]]:
    r"""A label map from a file or a mapping.

    Args:
        given: A path that ends in .csv or .json, or a mapping. A class of the model is its name, the number of its
            output, or of ImageNet's a word or a wnid: the thing and all kinds of it. A CSV has two columns or more and
            no header; cells after the first are classes of the model, a class with a comma is in quotes.

    Raises:
        OochubError: No such file, another ending, or content of another form; the line or class is named.

    >>> read_label_map({"cat": "tabby", "dog": ["beagle", 7]})
    {'cat': ['tabby'], 'dog': ['beagle', 7]}
    """
    if isinstance(given, Mapping):
        return _check_content(given, "label_map")
    if not isinstance(given, str | Path):
        raise OochubError(f"label_map must be a mapping, or a path of a file: {_FORMS}; got {type(given).__name__}.")
    path = Path(given).expanduser()
    if path.suffix.lower() == ".json":
        content = parse_json(read_text(path), name=str(path))
        if not isinstance(content, Mapping):
            raise OochubError(f"{path} is not a label map: {_FORMS}.")
        return _check_content(content, str(path))
    if path.suffix.lower() == ".csv":
        return _check_content(_read_lines(path), str(path))
    raise OochubError(f"A label map must be a .csv or .json file, got {path.name}: {_FORMS}.")


def _read_lines(path: Path) -> dict[str, list[str]]:
    names_of: dict[str, list[str]] = {}
    reader = csv.reader(read_text(path).splitlines(), skipinitialspace=True, strict=True)
    try:
        for cells in reader:
            name, *classes = [cell.strip() for cell in cells] or [""]
            if name or classes:
                if not name or not any(classes):
                    raise OochubError(
                        f"{path}, line {reader.line_num}: a data class and a model class are needed. {_FORMS}."
                    )
                names_of.setdefault(name, []).extend(filter(None, classes))
    except csv.Error as error:
        raise OochubError(f"{path}, line {reader.line_num}: {error}. A label map is {_FORMS}.") from None
    return names_of


def _check_content(content: Mapping[Any, Any], what: str) -> dict[str, list[str | int]]:
    if not content:
        raise OochubError(f"{what} is empty. A label map is {_FORMS}.")
    checked: dict[str, list[str | int]] = {}
    for name, classes in content.items():
        several = [classes] if isinstance(classes, str | int) else classes
        is_list = isinstance(several, Sequence) and len(several) > 0
        if not isinstance(name, str) or not is_list or not all(map(_is_class, several)):
            raise OochubError(
                f"{what}: {name!r} must map to one or more classes of the model, names or numbers, got {classes!r}."
            )
        checked[name] = list(several)
    return checked


def _is_class(one: Any) -> bool:
    return isinstance(one, str | int) and not isinstance(one, bool)


def match_classes(
    model_names: Sequence[str],
    class_names: Sequence[str],
    *,
    given: Given | None = None,
    declared: Mapping[str, Sequence[int]] | None = None,
    restrict: bool = False,
    can_restrict: bool = True,
) -> LabelMap:
    """Finds the outputs of a model that answer for each class of a data set.

    What a file gives wins. Lists that are equal, or where each class of the data set is one of the model's, are matched
    as they are. Outputs without names (LABEL_0, ...), as many as there are classes, are matched by number if the
    classes are the numbers 0, 1, ... too, and else by order, which a note says. Else each class by
    itself: by its name or a synonym, without case, spaces, "_" and "-"; and for a model of ImageNet's classes through
    all that are the thing or a kind of it by WordNet: "bird" through 59 of the 1,000. What a benchmark declares of
    ImageNet's classes comes before WordNet.

    Args:
        model_names: Names of the model's outputs, in their order.
        class_names: Names of the data set's classes.
        given: A class of the data set to classes of the model: names, wnids, or numbers of outputs.
        declared: A class of the data set to the numbers of the classes of ImageNet-1K that answer for it, for a model
            that has classes of ImageNet; those that it lacks are passed over.
        restrict: Leave out classes that the model does not know, instead of an error; two must be left.
        can_restrict: Whether the error may suggest `restrict`.

    Raises:
        OochubError: A class that the model does not know, a word that may mean several things, an output for two
            classes, or `given` for other classes alone. All that is wrong is in one message.

    >>> found = match_classes(["tabby, tabby cat", "Egyptian cat", "beagle"], ["egyptian_cat", "tabby"])
    >>> found.outputs, found.notes[0]
    (((1,), (0,)), "answers are among the 2 classes of the dataset, not the model's 3")
    """
    own, wanted = tuple(model_names), tuple(class_names)
    names = _Names(own, wanted)
    if given is None and own == wanted:
        return LabelMap.in_order(wanted, own)
    if given is None and len(own) == len(wanted) and all(_NUMBERED.fullmatch(name) for name in own):
        return _match_numbers(own, wanted)
    unused = tuple(name for name in given or {} if name not in wanted)
    if given and len(unused) == len(given):  # else the map serves several datasets
        raise unknown_name("class of the dataset", unused[0], wanted)
    answering: dict[str, Answering] = {}
    ambiguous: dict[str, str] = {}
    for name in wanted:
        if given is not None and name in given:
            answering[name] = Answering(name, names.listed(name, given[name]), "file")
            continue
        outputs = names.find_numbered((declared or {}).get(name, ()))
        if outputs:
            answering[name] = Answering(name, outputs, "benchmark")
            continue
        candidates = names.candidates(name)
        if len(candidates) == 1:
            answering[name] = Answering(name, *next(iter(candidates.values())))
        elif candidates:
            ambiguous[name] = " or ".join(candidates)
    unknown = [name for name in wanted if name not in answering and name not in ambiguous]
    too_few = len(answering) < min(2, len(wanted))
    if ambiguous or (unknown and (not restrict or too_few)):
        missed = [] if restrict and not too_few else unknown  # rows of these are left out already
        raise _raise_unmatched(missed, ambiguous, own, wanted, can_restrict and not restrict)
    _check_disjoint(answering, own)
    return LabelMap(own, tuple(answering.values()), tuple(unknown), unused)


def _match_numbers(own: tuple[str, ...], wanted: tuple[str, ...]) -> LabelMap:
    """The outputs LABEL_0, ... for classes: by number where the classes are these numbers, else in their order.

    Other numbers, such as 1 to 12, are in the order of numbers, in which 10 comes after 2.
    """
    outputs = {int(name.removeprefix("LABEL_")): place for place, name in enumerate(own)}
    numbers = [int(name) for name in wanted if _NUMBER.fullmatch(name)]
    if len(numbers) == len(wanted) and set(numbers) == set(outputs):
        return LabelMap(own, tuple(Answering(wanted[n], (outputs[k],), "number") for n, k in enumerate(numbers)))
    ranks = np.argsort(np.argsort(numbers, kind="stable")).tolist() if len(numbers) == len(wanted) else range(len(own))
    return LabelMap(own, tuple(Answering(name, (k,), "unnamed") for name, k in zip(wanted, ranks, strict=True)))


class _Names:
    """Finds classes of a model by what they are called."""

    def __init__(self, own: tuple[str, ...], wanted: tuple[str, ...]) -> None:
        self._own, self._wanted = own, wanted
        self._imagenet = ImagenetOutputs(own)
        self._wnids = ImagenetOutputs(wanted).wnids
        self._are_own = set(wanted) <= set(own) and all(own.count(name) == 1 for name in wanted)

    @cached_property
    def _words(self) -> dict[str, list[int]]:
        words: dict[str, list[int]] = {}
        for number, name in enumerate(self._own):
            for word in list_class_words(name):
                words.setdefault(word, []).append(number)
        return words

    def candidates(self, name: str) -> dict[str, tuple[tuple[int, ...], str]]:
        """What a class of the data set may be, in words, to (outputs, rule)."""
        if self._are_own:
            return {name: ((self._own.index(name),), "name")}
        wnid = self._wnids[self._wanted.index(name)]
        is_known = wnid is not None and any(self._imagenet.wnids)  # else names alone tell
        return self._list_meanings(str(wnid) if is_known else name)

    def find_numbered(self, numbers: Sequence[int]) -> tuple[int, ...]:
        """The outputs of a model of ImageNet's classes for numbers of ImageNet-1K's; none if it is another model."""
        if self._are_own:
            return ()
        wanted = {IMAGENET_1K_WNIDS[number] for number in numbers}
        return tuple(k for k, wnid in enumerate(self._imagenet.wnids) if wnid in wanted)

    def listed(self, name: str, several: Sequence[str | int]) -> tuple[int, ...]:
        """The outputs that a file gives for a class."""
        outputs: set[int] = set()
        for one in several:
            numbers = self._resolve(one)
            if not numbers:
                firsts = [name.split(",")[0] for name in self._own]
                hint = f"The label map gives it for {name}."
                raise unknown_name("class of the model", str(one), firsts, hint)
            outputs.update(numbers)
        return tuple(sorted(outputs))

    def _resolve(self, one: str | int) -> Sequence[int]:
        if isinstance(one, str):
            if self._own.count(one) == 1:
                return [self._own.index(one)]
            meanings = self._list_meanings(one)
            if len(meanings) > 1:
                wnid = "a wnid, or " if any(self._imagenet.wnids) else ""
                raise OochubError(
                    f"The label map gives {one!r}, which may be {' or '.join(meanings)}. Pass {wnid}the number of an "
                    "output."
                )
            if meanings or not one.isdecimal():
                return next((outputs for outputs, _ in meanings.values()), ())
        return [int(one)] if 0 <= int(one) < len(self._own) else []

    def _list_meanings(self, name: str) -> dict[str, tuple[tuple[int, ...], str]]:
        """What a name may mean, in words, to (outputs, rule)."""
        senses = self._imagenet.senses(name)
        if senses:
            return {
                self._imagenet.sense(wnid): (outputs, self._name_rule(wnid, outputs))
                for wnid, outputs in senses.items()
            }
        return {list_outputs([k], self._own): ((k,), "name") for k in self._find_by_name(name)}

    def _name_rule(self, wnid: str, outputs: tuple[int, ...]) -> str:
        return "synonym" if len(outputs) == 1 and self._imagenet.wnids[outputs[0]] == wnid else "WordNet"

    def _find_by_name(self, name: str) -> list[int]:
        """The outputs of that very name, else those that share a word with it."""
        equal = [k for k, own in enumerate(self._own) if own == name]
        return equal or sorted({k for word in list_class_words(name) for k in self._words.get(word, ())})


def _check_disjoint(found: Mapping[str, Answering], own: tuple[str, ...]) -> None:
    takers: dict[int, list[str]] = {}
    for name, answering in found.items():
        for k in answering.outputs:
            takers.setdefault(k, []).append(name)
    shared = {k: names for k, names in takers.items() if len(names) > 1}
    if shared:
        classes = sorted({" and ".join(names) for names in shared.values()})
        raise OochubError(
            f"An output of the model can answer for one class only, but {'; '.join(classes)} share "
            f"{list_outputs(list(shared), own)}. Options: {_read_file()}."
        )


def _raise_unmatched(
    unknown: list[str],
    ambiguous: Mapping[str, str],
    own: tuple[str, ...],
    wanted: tuple[str, ...],
    can_restrict: bool,
) -> OochubError:
    absent = [name for name in unknown if ABSENCE.fullmatch(name)]
    problems = [f"{name} may be {senses}." for name, senses in ambiguous.items()]
    if unknown:
        listed = [f"{name}{_find_near(name, own)}" for name in unknown[:_LISTED]]
        more = f" and {len(unknown) - _LISTED:,} more" if len(unknown) > _LISTED else ""
        problems.append(f"The model does not know {len(unknown):,} of these: {'; '.join(listed)}{more}.")
    if absent:
        problems.append(f"{absent[0]} means that the object is absent; classifiers have no class for that.")
    ways = [_read_file()]
    if can_restrict and unknown and not absent and len(unknown) <= len(wanted) - 2:  # two at least are to be told apart
        ways.append(f"skip {'its' if len(unknown) == 1 else 'their'} rows: {choose_wording('restrict=True')}")
    modes = [mode for mode in ("linear_probe", "zero_shot", "presence") if mode in catalog.names("mode")]
    if modes:
        ways.append(f"use another mode: {choose_wording('mode=', '--mode ')}{' or '.join(modes)}")
    ways.append("train a head: `oochub train --model MODEL`")
    return OochubError(
        f"The model has {len(own):,} classes ({list_names(own)}), the dataset has {len(wanted):,} "
        f"({list_names(wanted)}). {' '.join(problems)} Options: {'; '.join(ways)}."
    )


def _find_near(name: str, own: tuple[str, ...]) -> str:
    parts = {part.strip() for name in own for part in name.split(",")}
    near = [part for part in sorted(parts) if name.casefold() in part.casefold()][:2]
    near += get_close_matches(name, sorted(parts - {*near}), n=2, cutoff=0.75)
    return f" (near: {', '.join(near)})" if near else ""


def _read_file() -> str:
    return (
        "map them to classes of the model (for ImageNet also by wnid) with "
        f'{choose_wording("label_map=", "--label-map FILE")}, JSON {{"data class": ["model class", ...]}} or CSV'
    )


_WNID = re.compile(r"n\d{8}(?!\d)")


@dataclass(frozen=True)
class ImagenetOutputs:
    """What ImageNet and WordNet say of the classes of a model or data set.

    Args:
        names: Names of the classes, in order. ImageNet's are known by wnids ("n02123045", "n02123045_tabby"), or as the
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
        tree = load_wordnet_facts()
        matches = [_WNID.match(name) for name in self.names]
        if any(matches):
            return tuple(match[0] if match and match[0] in tree else None for match in matches)
        for before in (0, 1):
            classes = self.names[before:]
            if len(classes) == len(IMAGENET_1K_WNIDS):
                classes_listed = zip(classes, IMAGENET_1K_WNIDS, IMAGENET_1K_NAMES, strict=True)
                fitting = [list_class_words(name) & _list_words(wnid, listed) for name, wnid, listed in classes_listed]
                if sum(map(bool, fitting)) > len(classes) / 2:  # another thousand classes agree at no place
                    return (None,) * before + IMAGENET_1K_WNIDS
        return (None,) * len(self.names)

    def senses(self, name: str) -> Mapping[str, tuple[int, ...]]:
        """What a name may mean, and the numbers of the classes that are it or a kind of it.

        Args:
            name: Words, or a wnid.

        Returns:
            A wnid to the numbers, () never; several if the word is ambiguous. If the concepts have one parent and all
            bear the word, the one that is called so is meant: the cat, not the "big cat, cat".
        """
        if _WNID.fullmatch(name):
            return {name: self._below[name]} if name in self._below else {}
        shared: dict[str, int] = defaultdict(int)
        for word in list_class_words(name):
            for wnid in self._concepts.get(word, ()):
                shared[wnid] += 1
        most = max(shared.values(), default=0)
        senses = {wnid: self._below[wnid] for wnid, count in sorted(shared.items()) if count == most}
        if len(set(senses.values())) == 1:
            return dict([next(iter(senses.items()))])
        tree = load_wordnet_facts()
        called = [wnid for wnid in senses if list_class_words(tree.name(wnid)) & list_class_words(name)]
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
        tree = load_wordnet_facts()
        above = next(iter(tree.hypernyms[wnid]), None)
        kind = "" if above is None else f", a kind of {tree.name(above)}"
        return f"{wnid} ({tree.name(wnid)}{kind})"

    @cached_property
    def _below(self) -> dict[str, tuple[int, ...]]:
        """A concept to the classes at or below it."""
        below: dict[str, list[int]] = defaultdict(list)
        for number, wnid in enumerate(self.wnids):
            for concept in () if wnid is None else {wnid, *load_wordnet_facts().ancestors(wnid)}:
                below[concept].append(number)
        return {concept: tuple(numbers) for concept, numbers in below.items()}

    @cached_property
    def _concepts(self) -> dict[str, list[str]]:
        """A word to the concepts that bear it."""
        concepts: dict[str, list[str]] = defaultdict(list)
        for wnid in self._below:
            for word in _list_words(wnid):
                concepts[word].append(wnid)
        return concepts


def _list_words(wnid: str, *more: str) -> frozenset[str]:
    return frozenset().union(*map(list_class_words, (*load_wordnet_facts().lemmas[wnid], *more)))


def list_class_words(name: str) -> frozenset[str]:
    """The name of a class and its synonyms, which have commas between, without case, spaces, "_" and "-".

    >>> sorted(list_class_words("Polar_bear")), sorted(list_class_words("hotdog, hot dog"))
    (['polarbear'], ['hotdog', 'hotdog,hotdog'])
    """
    return frozenset(filter(None, (_normalize_name(name), *map(_normalize_name, name.split(",")))))


def _normalize_name(name: str) -> str:
    return re.sub(r"[\s_-]+", "", unicodedata.normalize("NFKC", name).casefold())
