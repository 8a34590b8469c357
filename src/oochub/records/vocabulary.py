"""The words of one config: what report, page and terminal call its rows, its two sides and what differs there."""

from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True)
class Vocabulary:
    """Nouns and phrases that are put into fixed sentences; the defaults are neutral, for anybody's data.

    Attributes:
        example: What one row is: "image", "text", "molecule".
        inside: Where the first side is, as it follows a number in a sentence: "on usual backgrounds".
        outside: Where the second side is, likewise: "on unusual ones".
        inside_title: The first side in tables, legends and charts, a phrase that also ends a sentence.
        outside_title: The second side: "This model does worse out of context."
        cause: What a model relies on that does worse on the second side ("context", "the hospital"); "" where the
            declaration cannot know it: the verdict then says that the model does worse there, and not why.
        pair: What a ranking metric compares: "one image with the object and one without".
        hard_positive: What the positives of the second side are: "object, no context".
        hard_negative: What its negatives are.
        place: What stands between a thing and its context: "on" for "labrador on desert"; "" writes a comma.

    >>> words = Vocabulary(inside="on usual backgrounds", outside="on unusual ones")
    >>> f"It is right 97 times in 100 {words.inside} and 71 times {words.outside}."
    'It is right 97 times in 100 on usual backgrounds and 71 times on unusual ones.'
    """

    example: str = "example"
    inside: str = "in context"
    outside: str = "out of context"
    inside_title: str = "in context"
    outside_title: str = "out of context"
    cause: str = ""
    pair: str = "one positive example and one negative"
    hard_positive: str = "hard positives"
    hard_negative: str = "hard negatives"
    place: str = ""
