"""Which outputs of a model answer for each class of a data set."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

from oochub.models.class_lists import listed_outputs

_SHOWN = 6


class Answering(NamedTuple):
    """The outputs of a model that answer for a class of a data set, and why.

    Attributes:
        name: Of the class.
        outputs: Their numbers, one or more.
        rule: "order", "name", "synonym" (ImageNet's), "WordNet" or "file".
    """

    name: str
    outputs: tuple[int, ...]
    rule: str


@dataclass(frozen=True)
class LabelMap:
    """The outputs of a model for the classes of a data set; made by `matched_classes`.

    Attributes:
        model_names: Names of the model's classes.
        answering: Of each class of the data set that is answered for, in its order.
        left_out: Classes of the data set that the model does not know.
    """

    model_names: tuple[str, ...]
    answering: tuple[Answering, ...]
    left_out: tuple[str, ...] = ()

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
        """Of the classes that are answered for."""
        return tuple(each.name for each in self.answering)

    @property
    def outputs(self) -> tuple[tuple[int, ...], ...]:
        """Those of each class."""
        return tuple(each.outputs for each in self.answering)

    @property
    def is_identity(self) -> bool:
        """Whether the outputs are the classes, in their order."""
        return self.outputs == tuple((k,) for k in range(len(self.model_names)))

    @property
    def has_sums(self) -> bool:
        """Whether several outputs answer for one class: its logit is the logsumexp of theirs."""
        return any(len(each.outputs) > 1 for each in self.answering)

    @property
    def details(self) -> dict[str, dict[str, object]]:
        """What a reader needs to check it: JSON types, of the classes that have another name in the model."""
        return {
            each.name: {"rule": each.rule, "outputs": {str(k): self.model_names[k] for k in each.outputs}}
            for each in self._renamed
        }

    @property
    def notes(self) -> tuple[str, ...]:
        """Caveats that a report repeats."""
        if self.is_identity:
            return ()
        notes = []
        used, every = sum(map(len, self.outputs)), len(self.model_names)
        if used < every:
            notes.append(
                f"answers are among the {len(self.answering):,} classes of the data set, not the model's {every:,}"
            )
        if self._renamed:
            shown = [f"{each.name} by {listed_outputs(each.outputs, self.model_names)}" for each in self._renamed]
            more = ["..."] * (len(shown) > _SHOWN)
            notes.append(f"classes are matched with the model's: {'; '.join(shown[:_SHOWN] + more)}")
        return tuple(notes)

    @property
    def _renamed(self) -> list[Answering]:
        named = [each for each in self.answering if each.rule != "order"]
        return [each for each in named if tuple(self.model_names[k] for k in each.outputs) != (each.name,)]
