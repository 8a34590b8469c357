"""Which of the data sets that a model card names are where tested rows come from."""

import re
from collections.abc import Sequence


def seen_sources(trained_on: Sequence[str], sources: Sequence[str]) -> tuple[str, ...]:
    """The names of a card in which the name of a source stands as a word, digits after it apart.

    Args:
        trained_on: As the card has them: "imagenet-1k", "detection-datasets/coco".
        sources: Of the rows, see `Benchmark.sources`; case and punctuation do not count.

    Returns:
        Those of `trained_on`, in their order.

    >>> seen_sources(["imagenet-1k", "phiyodr/coco2017", "coconut"], ["coco"])
    ('phiyodr/coco2017',)
    """
    words = [re.escape(_plain(source)) for source in sources if _plain(source)]
    if not words:
        return ()
    wanted = re.compile(rf"(?<![a-z0-9])(?:{'|'.join(words)})(?![a-z])")
    return tuple(name for name in trained_on if wanted.search(_plain(name)))


def _plain(name: str) -> str:
    return re.sub(r"[^a-z0-9]+", " ", name.lower()).strip()
