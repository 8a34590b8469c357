"""Finds the classes of a model that answer for each class of a data set: by name, by WordNet, by a file."""

from collections.abc import Mapping, Sequence
from difflib import get_close_matches
from functools import cached_property

from oochub import catalog
from oochub.errors import OochubError, either, unknown_name
from oochub.models.class_lists import listed_outputs, read_names
from oochub.models.class_words import class_words
from oochub.models.imagenet_outputs import ImagenetOutputs
from oochub.models.label_map import Answering, LabelMap
from oochub.records.build_record import ABSENCE

Given = Mapping[str, Sequence[str | int]]


def matched_classes(
    model_names: Sequence[str],
    class_names: Sequence[str],
    *,
    given: Given | None = None,
    restrict: bool = False,
    can_restrict: bool = True,
) -> LabelMap:
    """Finds the outputs of a model that answer for each class of a data set.

    What a file gives wins. Lists that are equal, or where each class of the data set is one of the model's, are matched
    as they are; outputs without names (LABEL_0, ...), as many as there are classes, by their order. Else each class by
    itself: by its name or a synonym, without case, spaces, "_" and "-"; and for a model of ImageNet's classes through
    all that are the thing or a kind of it by WordNet: "bird" through 59 of the 1,000.

    Args:
        model_names: Of the outputs, in their order.
        class_names: Of the data set.
        given: A class of the data set to classes of the model: names, wnids, or numbers of outputs.
        restrict: Leave out classes that the model does not know, instead of an error; two must be left.
        can_restrict: Whether the error says so.

    Raises:
        OochubError: A class that the model does not know, a word that may mean several things, an output for two
            classes, or a class in `given` that is not there. All that is wrong is in one message.

    >>> found = matched_classes(["tabby, tabby cat", "Egyptian cat", "beagle"], ["egyptian_cat", "tabby"])
    >>> found.outputs, found.notes[0]
    (((1,), (0,)), "answers are among the 2 classes of the data set, not the model's 3")
    """
    own, wanted = tuple(model_names), tuple(class_names)
    names = _Names(own, wanted)
    if given is None and (own == wanted or (len(own) == len(wanted) and all(n.startswith("LABEL_") for n in own))):
        return LabelMap.in_order(wanted, own)
    for name in given or {}:
        if name not in wanted:
            raise unknown_name("class of the data set", name, wanted)
    found: dict[str, Answering] = {}
    ambiguous: dict[str, str] = {}
    for name in wanted:
        if given is not None and name in given:
            found[name] = Answering(name, names.listed(name, given[name]), "file")
            continue
        candidates = names.candidates(name)
        if len(candidates) == 1:
            found[name] = Answering(name, *next(iter(candidates.values())))
        elif candidates:
            ambiguous[name] = " or ".join(candidates)
    unknown = [name for name in wanted if name not in found and name not in ambiguous]
    too_few = len(found) < min(2, len(wanted))
    if ambiguous or (unknown and (not restrict or too_few)):
        raise _unmatched(unknown, ambiguous, own, wanted, can_restrict)
    _check_disjoint(found, own)
    return LabelMap(own, tuple(found.values()), tuple(unknown))


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
            for word in class_words(name):
                words.setdefault(word, []).append(number)
        return words

    def candidates(self, name: str) -> dict[str, tuple[tuple[int, ...], str]]:
        """What a class of the data set may be, in words, to (outputs, rule)."""
        if self._are_own:
            return {name: ((self._own.index(name),), "name")}
        return self._meanings(self._wnids[self._wanted.index(name)] or name)

    def listed(self, name: str, several: Sequence[str | int]) -> tuple[int, ...]:
        """The outputs that a file gives for a class."""
        outputs: set[int] = set()
        for one in several:
            numbers = self._meant(one)
            if not numbers:
                firsts = [name.split(",")[0] for name in self._own]
                hint = f"The label map gives it for {name}."
                raise unknown_name("class of the model", str(one), firsts, hint)
            outputs.update(numbers)
        return tuple(sorted(outputs))

    def _meant(self, one: str | int) -> Sequence[int]:
        if isinstance(one, str):
            if self._own.count(one) == 1:
                return [self._own.index(one)]
            meanings = self._meanings(one)
            if len(meanings) > 1:
                wnid = "a wnid, or " if any(self._imagenet.wnids) else ""
                raise OochubError(
                    f"The label map gives {one!r}, which may be {' or '.join(meanings)}. Give {wnid}the number of an "
                    "output."
                )
            if meanings or not one.isdecimal():
                return next((outputs for outputs, _ in meanings.values()), ())
        return [int(one)] if 0 <= int(one) < len(self._own) else []

    def _meanings(self, name: str) -> dict[str, tuple[tuple[int, ...], str]]:
        """What a name may mean, in words, to (outputs, rule)."""
        senses = self._imagenet.senses(name)
        if senses:
            return {
                self._imagenet.sense(wnid): (outputs, self._rule(wnid, outputs)) for wnid, outputs in senses.items()
            }
        return {listed_outputs([k], self._own): ((k,), "name") for k in self._called(name)}

    def _rule(self, wnid: str, outputs: tuple[int, ...]) -> str:
        return "synonym" if len(outputs) == 1 and self._imagenet.wnids[outputs[0]] == wnid else "WordNet"

    def _called(self, name: str) -> list[int]:
        """The outputs of that very name, else those that share a word with it."""
        equal = [k for k, own in enumerate(self._own) if own == name]
        return equal or sorted({k for word in class_words(name) for k in self._words.get(word, ())})


def _check_disjoint(found: Mapping[str, Answering], own: tuple[str, ...]) -> None:
    takers: dict[int, list[str]] = {}
    for name, answering in found.items():
        for k in answering.outputs:
            takers.setdefault(k, []).append(name)
    shared = {k: names for k, names in takers.items() if len(names) > 1}
    if shared:
        classes = sorted({" and ".join(names) for names in shared.values()})
        raise OochubError(
            f"An output of the model can answer for one class, and {'; '.join(classes)} share "
            f"{listed_outputs(list(shared), own)}. What you can do: {_file()}."
        )


def _unmatched(
    unknown: list[str],
    ambiguous: Mapping[str, str],
    own: tuple[str, ...],
    wanted: tuple[str, ...],
    can_restrict: bool,
) -> OochubError:
    absent = [name for name in unknown if ABSENCE.fullmatch(name)]
    problems = []
    if unknown:
        listed = [f"{name}{_near(name, own)}" for name in unknown]
        problems.append(f"The model does not know {len(unknown):,} of these: {'; '.join(listed)}.")
    if absent:
        problems.append(f"{absent[0]} is the absence of a thing, which no class of a classifier says.")
    problems += [f"{name} may be {senses}." for name, senses in ambiguous.items()]
    ways = [_file()]
    if can_restrict and unknown and not absent and len(unknown) <= len(wanted) - 2:  # two at least are to be told apart
        ways.append(
            f"leave out {'its' if len(unknown) == 1 else 'their'} rows: {either('restrict=True', '--restrict')}"
        )
    modes = [mode for mode in ("linear_probe", "zero_shot", "presence") if mode in catalog.names("mode")]
    if modes:
        ways.append(f"answer another way: {either('mode=', '--mode ')}{' or '.join(modes)}")
    ways.append("train a head: `oochub train --model MODEL`")
    return OochubError(
        f"The model tells {len(own):,} classes apart ({read_names(own)}), the data set has {len(wanted):,} "
        f"({read_names(wanted)}). {' '.join(problems)} What you can do: {'; '.join(ways)}."
    )


def _near(name: str, own: tuple[str, ...]) -> str:
    parts = {part.strip() for each in own for part in each.split(",")}
    near = [part for part in sorted(parts) if name.casefold() in part.casefold()][:2]
    near += get_close_matches(name, sorted(parts - {*near}), n=2, cutoff=0.75)
    return f" (near: {', '.join(near)})" if near else ""


def _file() -> str:
    return (
        f"name classes of the model for them (ImageNet's by wnid too) in {either('label_map=', '--label-map FILE')}, "
        'JSON {"data class": ["model class", ...]} or CSV'
    )
