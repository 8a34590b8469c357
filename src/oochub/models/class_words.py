"""The words that name a class, so that writings of one name are equal."""

import re
import unicodedata


def class_words(name: str) -> frozenset[str]:
    """The name of a class and its synonyms, which have commas between, without case, spaces, "_" and "-".

    >>> sorted(class_words("Polar_bear")), sorted(class_words("hotdog, hot dog"))
    (['polarbear'], ['hotdog', 'hotdog,hotdog'])
    """
    return frozenset(filter(None, (_plain(name), *map(_plain, name.split(",")))))


def _plain(name: str) -> str:
    return re.sub(r"[\s_-]+", "", unicodedata.normalize("NFKC", name).casefold())
