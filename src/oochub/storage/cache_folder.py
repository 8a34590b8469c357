"""Where the caches of the hub lie: what can be made again and is kept to be had at once, all under one folder."""

import os
from pathlib import Path


def cache_folder(kind: str) -> Path:
    """Where a cache of the hub lies: in $OOCHUB_CACHE, else in `oochub` in the cache folder of `datasets`.

    Args:
        kind: "predictions", "features", "pixels", "embeddings", "contexts", "checks", "pushes", "shards" or
            "compiled".

    >>> cache_folder("pixels").name
    'pixels'
    """
    given = os.environ.get("OOCHUB_CACHE")
    return (Path(given).expanduser() if given else datasets_folder() / "oochub") / kind


def datasets_folder() -> Path:
    """The folder in which `datasets` keeps its own builds."""
    from datasets import config

    return Path(config.HF_DATASETS_CACHE)
