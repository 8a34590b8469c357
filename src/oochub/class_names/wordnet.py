"""WordNet: which concept is a kind of which, by the wnids that ImageNet's classes have.

All of it is read from its file of nouns, `read_wordnet`. What WordNet 3.0 says of ImageNet's classes is shipped as
facts, `load_wordnet_facts`: words, hypernyms, and which classes they are.
"""

import re
from collections import deque
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from functools import cache, cached_property
from importlib import resources
from pathlib import Path

from oochub.errors import OochubError, unknown_name
from oochub.storage.reading import read_bytes

_FILE = "data.noun"
_VERSION = re.compile(r"WordNet (\d+\.\d+) Copyright")
_UP = ("@", "@i")  # hypernym, and the hypernym of an instance: Adonis is a mythical being


@dataclass(frozen=True)
class WordNet:
    """Concepts and their hypernyms; a concept may have several, or none.

    Attributes:
        lemmas: A wnid, "n" and the 8 digits of a synset's offset in WordNet 3.0, to its words, the first its name.
        hypernyms: A wnid to those one step up: hypernyms, then hypernyms of instances.

    >>> words = {"n1": ("organism",), "n2": ("dog", "domestic dog"), "n3": ("cat",)}
    >>> tree = WordNet(words, {"n1": (), "n2": ("n1",), "n3": ("n1",)})
    >>> tree.name("n2"), tree.hyponyms["n1"], sorted(tree.ancestors("n2"))
    ('dog', ('n2', 'n3'), ['n1'])
    """

    lemmas: Mapping[str, tuple[str, ...]]
    hypernyms: Mapping[str, tuple[str, ...]]

    def __contains__(self, wnid: object) -> bool:
        return wnid in self.hypernyms

    def name(self, wnid: str) -> str:
        """The first word of a concept."""
        return self.lemmas[wnid][0]

    @cached_property
    def hyponyms(self) -> Mapping[str, tuple[str, ...]]:
        """A wnid to those one step down, in the order of the wnids of `hypernyms`; () where there is none."""
        below: dict[str, list[str]] = {wnid: [] for wnid in self.hypernyms}
        for wnid, above in self.hypernyms.items():
            for parent in above:
                below[parent].append(wnid)
        return {wnid: tuple(kinds) for wnid, kinds in below.items()}

    def ancestors(self, wnid: str) -> frozenset[str]:
        """Every wnid that can be reached upward, on any path, without `wnid` itself."""
        reached: set[str] = set()
        waiting = list(self.hypernyms[wnid])
        while waiting:
            step = waiting.pop()
            if step not in reached:
                reached.add(step)
                waiting += self.hypernyms[step]
        return frozenset(reached)

    def path(self, wnid: str, targets: Collection[str]) -> tuple[str, ...]:
        """The shortest way upward from `wnid` to one of `targets`, both ends included; () where there is none.

        If several ways are equally short, it is the one of the first hypernyms.

        >>> tree = WordNet({}, {"n1": (), "n2": ("n1",), "n3": ("n2",)})
        >>> tree.path("n3", {"n1"}), tree.path("n3", {"n3"}), tree.path("n1", {"n3"})
        (('n3', 'n2', 'n1'), ('n3',), ())
        """
        came_from: dict[str, str | None] = {wnid: None}
        waiting = deque([wnid])
        while waiting:
            step: str | None = waiting.popleft()
            if step in targets:
                back = []
                while step is not None:
                    back.append(step)
                    step = came_from[step]
                return tuple(reversed(back))
            for above in self.hypernyms[str(step)]:
                if above not in came_from:
                    came_from[above] = step
                    waiting.append(above)
        return ()


def read_wordnet(place: str | Path) -> WordNet:
    r"""Every noun of WordNet 3.0.

    Args:
        place: The file `data.noun`, or the folder that holds it: /usr/share/wordnet where Debian's package
            `wordnet-base` is installed, `dict` of Princeton's archive, `corpora/wordnet` of NLTK's data.

    Raises:
        OochubError: No such file, another version of WordNet, or a line that cannot be read.

    Source: WordNet 3.0, wndb(5WN).

    >>> import tempfile
    >>> file = Path(tempfile.mkdtemp()) / "data.noun"
    >>> _ = file.write_text(
    ...     "  14 WordNet 3.0 Copyright 2006 by Princeton University.\n"
    ...     "00001740 03 n 01 entity 0 001 ~ 00001930 n 0000 | that which is\n"
    ...     "00001930 03 n 01 physical_entity 0 001 @ 00001740 n 0000 | an entity that has physical existence\n"
    ... )
    >>> tree = read_wordnet(file.parent)
    >>> tree.name("n00001930"), tree.hypernyms["n00001930"]
    ('physical entity', ('n00001740',))
    """
    path = Path(place).expanduser()
    file = path / _FILE if path.is_dir() else path
    if not file.exists():
        raise OochubError(
            f"There is no {_FILE} at {place}. On Debian and Ubuntu `apt-get install wordnet-base` puts it in "
            "/usr/share/wordnet. Without --wordnet the facts that come with oochub are used."
        )
    lemmas: dict[str, tuple[str, ...]] = {}
    hypernyms: dict[str, tuple[str, ...]] = {}
    version = ""
    lines = read_bytes(file).decode("latin-1").removesuffix("\n").split("\n")
    for number, line in enumerate(lines, 1):
        if line.startswith("  "):
            match = _VERSION.search(line)
            version = match[1] if match else version
            continue
        try:
            wnid, words, above = _parse_synset(line)
        except (ValueError, IndexError) as error:
            raise OochubError(f"{file}, line {number}: not a synset of WordNet. Install the file again.") from error
        lemmas[wnid], hypernyms[wnid] = words, above
    if version != "3.0":
        raise OochubError(
            f"{file} is {f'WordNet {version}' if version else 'not the nouns of WordNet'}. ImageNet's wnids are "
            "positions in WordNet 3.0, and other versions have other positions."
        )
    lost = next((wnid for above in hypernyms.values() for wnid in above if wnid not in hypernyms), None)
    if lost is not None:
        raise OochubError(f"{file} is truncated: {lost} is named but missing. Install it again.")
    return WordNet(lemmas, hypernyms)


def _parse_synset(line: str) -> tuple[str, tuple[str, ...], tuple[str, ...]]:
    """Wnid, words and hypernyms of a line: offset file type w_cnt (word id)... p_cnt (symbol offset pos where)..."""
    fields = line.split(" | ")[0].split()
    pointers = 4 + 2 * int(fields[3], 16)
    words = tuple(word.replace("_", " ") for word in fields[4:pointers:2])
    ends = pointers + 1 + 4 * int(fields[pointers])
    if ends != len(fields) or len(fields[0]) != 8 or not words:
        raise ValueError(line)
    pairs = list(zip(fields[pointers + 1 : ends : 4], fields[pointers + 2 : ends : 4], strict=True))
    above = tuple(f"n{offset}" for kind in _UP for symbol, offset in pairs if symbol == kind)
    return f"n{fields[0]}", words, above


_FACTS_FILE = "wordnet_facts.tsv"
_LISTS = {"winter21": "w", "fall11": "f"}


@cache
def _read_rows() -> list[list[str]]:
    text = resources.files(__package__).joinpath(_FACTS_FILE).read_text("utf-8")
    return [line.split("\t") for line in text.splitlines() if not line.startswith("#")]


@cache
def load_wordnet_facts() -> WordNet:
    """WordNet 3.0 as far as ImageNet's classes need it: 13,043 concepts, their names and their hypernyms.

    It holds the classes of ImageNet-1K and of both lists of ImageNet-21K-P, and all above them. Classes of ImageNet-1K
    and concepts above them have all their words, the others their name alone. `read_wordnet` reads all of WordNet.

    >>> tree = load_wordnet_facts()
    >>> " < ".join(tree.name(wnid) for wnid in tree.path("n04186051", {"n09229709"}))
    'shaving cream < soapsuds < foam < bubble'
    """
    rows = _read_rows()
    return WordNet(
        {f"n{offset}": (name, *filter(None, words.split(";"))) for offset, _, _, name, words in rows},
        {f"n{offset}": tuple(f"n{number}" for number in above.split()) for offset, _, above, _, _ in rows},
    )


@cache
def list_imagenet_21k_p(version: str = "winter21") -> tuple[str, ...]:
    """The classes of ImageNet-21K-P, the processed version of ImageNet-21K.

    Args:
        version: "winter21", 10,450 classes, or "fall11", 11,221: all of those, and 771 people and other organisms.

    Returns:
        Their wnids, sorted; 991 of them are in ImageNet-1K.

    Raises:
        OochubError: Another version.

    Source: Ridnik et al. 2021 (arXiv 2104.10972); the two lists as timm 1.0 has them.

    >>> len(list_imagenet_21k_p()), len(list_imagenet_21k_p("fall11"))
    (10450, 11221)
    """
    if version not in _LISTS:
        raise unknown_name("version of ImageNet-21K-P", version, _LISTS)
    return tuple(f"n{offset}" for offset, lists, *_ in _read_rows() if _LISTS[version] in lists)
