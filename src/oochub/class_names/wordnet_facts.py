"""What WordNet 3.0 says of ImageNet's classes, as shipped facts: words, hypernyms, and which classes they are."""

from collections.abc import Mapping, Sequence
from functools import cache
from importlib import resources
from pathlib import Path

from oochub.class_names.wordnet import WordNet
from oochub.errors import unknown_name
from oochub.storage.files import written_whole

_FILE = "wordnet_facts.tsv"
_LISTS = {"winter21": "w", "fall11": "f"}
_HEAD = """\
# Facts of WordNet 3.0: the classes of ImageNet-1K and of ImageNet-21K-P, and every concept above them.
# Columns: wnid without its n; lists of ImageNet-21K-P that have the class (f fall11, w winter21); hypernyms; name; of
# the classes of ImageNet-1K and the concepts above them the other words, with a semicolon between.
#
# This software and database is being provided to you, the LICENSEE, by Princeton University under the following
# license. By obtaining, using and/or copying this software and database, you agree that you have read, understood,
# and will comply with these terms and conditions.:
#
# Permission to use, copy, modify and distribute this software and database and its documentation for any purpose and
# without fee or royalty is hereby granted, provided that you agree to comply with the following copyright notice and
# statements, including the disclaimer, and that the same appear on ALL copies of the software, database and
# documentation, including modifications that you make for internal use or for distribution.
#
# WordNet 3.0 Copyright 2006 by Princeton University.  All rights reserved.
#
# THIS SOFTWARE AND DATABASE IS PROVIDED "AS IS" AND PRINCETON UNIVERSITY MAKES NO REPRESENTATIONS OR WARRANTIES,
# EXPRESS OR IMPLIED.  BY WAY OF EXAMPLE, BUT NOT LIMITATION, PRINCETON UNIVERSITY MAKES NO REPRESENTATIONS OR
# WARRANTIES OF MERCHANT- ABILITY OR FITNESS FOR ANY PARTICULAR PURPOSE OR THAT THE USE OF THE LICENSED SOFTWARE,
# DATABASE OR DOCUMENTATION WILL NOT INFRINGE ANY THIRD PARTY PATENTS, COPYRIGHTS, TRADEMARKS OR OTHER RIGHTS.
#
# The name of Princeton University or Princeton may not be used in advertising or publicity pertaining to distribution
# of the software and/or database.  Title to copyright in this software, database and any associated documentation
# shall at all times remain with Princeton University and LICENSEE agrees to preserve same.
"""


@cache
def _rows() -> list[list[str]]:
    text = resources.files(__package__).joinpath(_FILE).read_text("utf-8")
    return [line.split("\t") for line in text.splitlines() if not line.startswith("#")]


@cache
def wordnet_facts() -> WordNet:
    """WordNet 3.0 as far as ImageNet's classes need it: 13,043 concepts, their names and their hypernyms.

    It holds the classes of ImageNet-1K and of both lists of ImageNet-21K-P, and all above them. Classes of ImageNet-1K
    and concepts above them have all their words, the others their name alone. `read_wordnet` reads all of WordNet.

    >>> tree = wordnet_facts()
    >>> " < ".join(tree.name(wnid) for wnid in tree.path("n04186051", {"n09229709"}))
    'shaving cream < soapsuds < foam < bubble'
    """
    rows = _rows()
    return WordNet(
        {f"n{offset}": (name, *filter(None, words.split(";"))) for offset, _, _, name, words in rows},
        {f"n{offset}": tuple(f"n{number}" for number in above.split()) for offset, _, above, _, _ in rows},
    )


@cache
def imagenet_21k_p(version: str = "winter21") -> tuple[str, ...]:
    """The classes of ImageNet-21K-P, the processed version of ImageNet-21K.

    Args:
        version: "winter21", 10,450 classes, or "fall11", 11,221: all of those, and 771 people and other organisms.

    Returns:
        Their wnids, sorted; 991 of them are in ImageNet-1K.

    Raises:
        OochubError: Another version.

    Source: Ridnik et al. 2021 (arXiv 2104.10972); the two lists as timm 1.0 has them.

    >>> len(imagenet_21k_p()), len(imagenet_21k_p("fall11"))
    (10450, 11221)
    """
    if version not in _LISTS:
        raise unknown_name("version of ImageNet-21K-P", version, _LISTS)
    return tuple(f"n{offset}" for offset, lists, *_ in _rows() if _LISTS[version] in lists)


def write_wordnet_facts(
    path: str | Path, tree: WordNet, lists: Mapping[str, Sequence[str]], others: Sequence[str]
) -> None:
    """Writes the shipped facts anew; for maintainers, and for the test that compares them with WordNet.

    Args:
        path: The file to write.
        tree: All of WordNet.
        lists: "winter21" and "fall11" to their wnids.
        others: Wnids to have besides, with all their words and those of the concepts above them: ImageNet-1K's.
    """
    classes = {*others, *(wnid for several in lists.values() for wnid in several)}
    everything = classes.union(*(tree.ancestors(wnid) for wnid in classes))
    worded = {*others}.union(*(tree.ancestors(wnid) for wnid in others))
    members = {_LISTS[version]: set(several) for version, several in lists.items()}
    with written_whole(path) as draft, draft.open("w", encoding="utf-8", newline="\n") as file:
        file.write(_HEAD)
        for wnid in sorted(everything):
            of = "".join(letter for letter in sorted(members) if wnid in members[letter])
            above = " ".join(parent[1:] for parent in tree.hypernyms[wnid])
            words = ";".join(tree.lemmas[wnid][1:]) if wnid in worded else ""
            file.write(f"{wnid[1:]}\t{of}\t{above}\t{tree.name(wnid)}\t{words}\n")
