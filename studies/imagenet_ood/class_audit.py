"""The audit of ImageNet-OOD's construction: whether every candidate class is kept, or what removed it and why.

The published 637 classes were chosen by hand after the filters; the audit says what the filters do, and never claims to
give that list.
"""

import re
from collections.abc import Iterable, Sequence
from pathlib import Path

import pandas as pd

from oochub.builders.sources.imagenet_ood_classes import OOD_CLASSES
from oochub.class_names.imagenet_classes import LABELS
from oochub.class_names.wordnet import list_imagenet_21k_p, load_wordnet_facts, read_wordnet
from oochub.errors import OochubError, unknown_name
from oochub.storage.reading import read_text
from oochub.studies.imagenet_ood.class_filters import FILTERS, ORDERS, ClassPool

_POOLS = ("winter21", "fall11")
_WNID = re.compile(r"n\d{8}")


def class_audit(
    *,
    order: str | Sequence[str] = "3.2",
    candidates: str | Path | Sequence[str] = "winter21",
    wordnet: str | Path | None = None,
) -> pd.DataFrame:
    """What each filter of the paper does to each candidate class.

    Args:
        order: "3.2" as Section 3.2 names the filters, "H" as Appendix H does, which looks at sister classes only; or
            names of `FILTERS` in any order, as a sequence or with commas between them.
        candidates: "winter21" or "fall11", the lists of ImageNet-21K-P; a file with one wnid per line; or wnids.
        wordnet: WordNet 3.0's folder, to read it all; None takes the facts that come with oochub, which hold the two
            lists.

    Returns:
        A row a candidate, in the order given: wnid, name, kept, removed_by (a categorical of the filters in their
        order; the first that removes it, missing where it is kept), why ("" where it is kept), and published: whether
        it is one of the 637 of Appendix I.

    Raises:
        OochubError: An unknown filter, a filter twice, candidates that are no wnids or that WordNet lacks, or files
            that cannot be read.

    Source: Yang, Zhang and Russakovsky 2024, ImageNet-OOD, Section 3.2 and Appendix H. The paper counts 5,074 classes
    before the covariate shifts, its own words give 4,922; 585 of its 637 classes pass them all.

    >>> classes = class_audit(candidates=["n02855089", "n02880842", "n04186051"])
    >>> classes[["name", "kept", "removed_by", "published"]].values.tolist()
    [['blower', False, 'hypernyms', True], ['Bowie knife', True, nan, True], ['shaving cream', False, 'hyponyms', True]]
    >>> classes["why"][0]
    'n03483316 hand blower < n02855089 blower'
    """
    names = _order(order)
    wnids = _read_candidates(candidates)
    tree = load_wordnet_facts() if wordnet is None else read_wordnet(wordnet)
    unknown = [wnid for wnid in wnids if wnid not in tree]
    if unknown:
        hint = "Pass wordnet=, the folder of WordNet 3.0 (--wordnet)." if wordnet is None else "Remove them."
        where = "the facts that come with oochub" if wordnet is None else f"WordNet in {wordnet}"
        raise OochubError(f"{len(unknown):,} candidates are not in {where}, first {unknown[0]}. {hint}")
    classes = ClassPool(tree, LABELS, frozenset(wnids))
    rows = []
    for wnid in wnids:
        removed_by, why = next(((name, why) for name in names if (why := FILTERS[name](wnid, classes))), (None, ""))
        rows.append((wnid, tree.name(wnid), removed_by is None, removed_by, why, wnid in OOD_CLASSES))
    table = pd.DataFrame(rows, columns=["wnid", "name", "kept", "removed_by", "why", "published"])
    return table.astype({"kept": bool, "published": bool, "removed_by": pd.CategoricalDtype(list(names), ordered=True)})


def _order(order: str | Sequence[str]) -> tuple[str, ...]:
    if isinstance(order, str):
        names = ORDERS.get(order) or tuple(name.strip() for name in order.split(","))
    else:
        names = tuple(order)
    for name in names:
        if name not in FILTERS:
            raise unknown_name("filter or order of filters", name, [*ORDERS, *FILTERS])
    if len(set(names)) != len(names):
        raise OochubError(f"A filter occurs twice in {', '.join(names)}. Name each once.")
    return names


def _read_candidates(candidates: str | Path | Iterable[str]) -> list[str]:
    if candidates in _POOLS:
        return list(list_imagenet_21k_p(str(candidates)))
    if isinstance(candidates, str | Path):
        file = Path(candidates).expanduser()
        if not file.exists():
            raise OochubError(
                f"Candidates must be {' or '.join(_POOLS)}, or a file with one wnid per line; got {candidates}."
            )
        candidates = read_text(file).split()
    wnids = list(candidates)
    wrong = [wnid for wnid in wnids if not _WNID.fullmatch(wnid)]
    if wrong or not wnids:
        got = repr(wrong[0]) if wrong else "none"
        raise OochubError(f"A candidate must be a wnid, n and 8 digits, as n02925009; got {got}.")
    if len(set(wnids)) != len(wnids):
        twice = next(wnid for wnid in wnids if wnids.count(wnid) > 1)
        raise OochubError(f"{twice} is a candidate twice. Name each class once.")
    return wnids
