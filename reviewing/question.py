"""What a page of review asks, and the answers that it takes."""

from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True)
class Choice:
    """One button of a card.

    Attributes:
        decision: The word that is stored.
        label: What the button says.
        past: What is counted, in words ("kept").
        key: The key that presses it.
        scope: "image", or "class" where it decides on every image of the card's class.
        is_good: Whether the picture stays; else its card is drawn as struck out.
    """

    decision: str
    label: str
    past: str
    key: str
    scope: str = "image"
    is_good: bool = True

    @property
    def name(self) -> str:
        """What tells the choices of a page apart.

        >>> Choice(decision="drop", label="Drop class", past="dropped", key="c", scope="class").name
        'class'
        """
        return self.decision if self.scope == "image" else self.scope


@dataclass(frozen=True, kw_only=True)
class Question:
    """What is asked of each card.

    Attributes:
        heading: The question itself.
        lead: What counts, a few sentences.
        then: What to do with the saved file, such as the command that takes it.
        choices: The answers; each can be taken back, which is stored as "open".
        file: The name of the file that the page saves.
    """

    heading: str
    lead: str
    then: str
    choices: tuple[Choice, ...]
    file: str = "decisions.csv"

    @property
    def allowed(self) -> dict[str, tuple[str, ...]]:
        """The words that a file of decisions may hold, by scope.

        >>> keep = Choice(decision="keep", label="Keep", past="kept", key="k")
        >>> Question(heading="Right?", lead="", then="", choices=(keep,)).allowed
        {'image': ('keep', 'open')}
        """
        scopes = dict.fromkeys(choice.scope for choice in self.choices)
        return {
            scope: (*(choice.decision for choice in self.choices if choice.scope == scope), "open") for scope in scopes
        }


RIGHT_OR_WRONG = (
    Choice(decision="right", label="Right", past="right", key="r"),
    Choice(decision="wrong", label="Wrong", past="wrong", key="w", is_good=False),
)
"""The answers where a picture is held against what is said of it; `rater_scores` counts them."""
