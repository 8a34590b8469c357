"""BREEDS: superclasses of ImageNet that are trained on some of their classes and tested on others."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path, PurePosixPath
from typing import ClassVar, NamedTuple

import datasets
import numpy as np

from oochub.benchmark import Benchmark, RawFile
from oochub.builder import BenchmarkBuilder, BenchmarkConfig, make_features
from oochub.builders.sources.imagenet import WNID, imagenet_pictures, is_wnid
from oochub.builders.sources.imagenet_truth import DEVKIT, SOLUTION, validation_wnids
from oochub.builders.sources.raw_table import RawColumn, RawTable
from oochub.builders.sources.stored import Stored, containers
from oochub.class_names.imagenet_classes import IMAGENET_1K_NAMES, LABELS
from oochub.errors import OochubError, unknown_name
from oochub.records.build_record import BuildFacts
from oochub.records.sides import Rows, Vocabulary
from oochub.storage.reading import read_json, read_lines

_Row = dict[str, object]
"""The columns of a row by name."""
_ROOT = "n00001740"
_SEED = 2  # of the authors' random partition
_TESTED = 50  # validation images of a class of ImageNet
_PARTITIONS = ("rand", "good", "bad")
_FILES = ("class_hierarchy.txt", "node_names.txt", "dataset_class_info.json")
_MODIFIED = "imagenet_class_hierarchy/modified/"
_TRAIN, _VAL = "imagenet/train/", "imagenet/val/"
_HOME = "https://github.com/MadryLab/BREEDS-Benchmarks"
_ILSVRC = "https://image-net.org/challenges/LSVRC/2012/"
_ACCESS = "ImageNet terms of access: non-commercial research and education"


class _Task(NamedTuple):
    """The superclasses of a task: their depth, the node above them, how many there are, how many classes each has."""

    level: int
    ancestor: str
    superclasses: int
    subclasses: int
    what: str


_TASKS = {
    "entity13": _Task(3, _ROOT, 13, 20, "such as garment, bird and mammal"),
    "entity30": _Task(4, _ROOT, 30, 8, "such as insect, carnivore and footwear"),
    "living17": _Task(5, "n00004258", 17, 4, "of living things, such as salamander, parrot and bear"),
    "nonliving26": _Task(5, "n00021939", 26, 4, "of other things, such as bag, boat and chair"),
}
_breeds = Benchmark(
    name="breeds",
    title="BREEDS",
    summary="Superclasses of ImageNet, trained on images of some of their classes and tested on those of others.",
    version="1.0.0",
    homepage=_HOME,
    sources=("imagenet",),
    counts=(
        "Images in validation, and as many in test: entity13 6,500, entity30 6,000, living17 1,700, nonliving26 2,600."
    ),
    citation="""@inproceedings{santurkar2021breeds,
  title = {{BREEDS}: Benchmarks for Subpopulation Shift},
  author = {Santurkar, Shibani and Tsipras, Dimitris and Madry, Aleksander},
  booktitle = {International Conference on Learning Representations},
  year = {2021}
}""",
    raw_files=(
        *(
            RawFile(path=_MODIFIED + name, url=_HOME, size="0.1 MB", license="not stated", note=note, also=name)
            for name, note in zip(
                _FILES,
                ("<parent> <child>, one edge per line", "<node>, tab, its name", "[number, wnid, name] of each class"),
                strict=True,
            )
        ),
        RawFile(
            path=_VAL,
            url=_ILSVRC,
            size="6.3 GB",
            license=_ACCESS,
            note=f"<wnid>/*.JPEG, or 50,000 *.JPEG with {DEVKIT}/ or {SOLUTION} beside val/",
            also="val/",
        ),
        RawFile(
            path=_TRAIN,
            url=_ILSVRC,
            size="138 GB",
            license=_ACCESS,
            required=False,
            note="<wnid>/*.JPEG, or tar files: the split train",
            also="train/",
        ),
    ),
    in_context=Rows(name="source subclasses", split="validation"),
    out_of_context=Rows(name="target subclasses", split="test"),
    primary_metric="accuracy",
    metrics=("accuracy", "error_rate", "nll", "ece", "worst_group"),
    chance=float("nan"),
    words=Vocabulary(
        example="image",
        inside="on source subclasses",
        outside="on target ones",
        place="of",
    ),
    context_column="subclass",
    closed={"domain": ("source", "target")},
    images_license=_ACCESS,
    annotations_license="not stated",
    toy_world="toy_breeds",
    tried_configs=("living17", "entity13"),
)


def _declare_config(task: _Task) -> Benchmark:
    images = task.superclasses * task.subclasses // 2 * _TESTED
    return replace(_breeds, chance=1 / task.superclasses, expected_rows={"validation": images, "test": images})


breeds = replace(_breeds, configs={config: _declare_config(task) for config, task in _TASKS.items()})


@dataclass
class BreedsConfig(BenchmarkConfig):
    """Options of `load_dataset("breeds", "entity13" | "entity30" | "living17" | "nonliving26", ...)`.

    Attributes:
        partition: How the classes of a superclass are divided between source and target: "rand" at random, as in the
            paper's main results; "good" so that similar ones are in both; "bad" so that they are in one of them.
        follow_links: Read images that links lead to outside the raw folder, as in a snapshot of the Hub.
    """

    partition: str = "rand"


class Breeds(BenchmarkBuilder):
    """ImageNet by the class hierarchy of the authors: half of each superclass's classes is the source, half the target.

    A label is a superclass: a node of the hierarchy at the level of the task (see `builder_configs`) with enough
    classes of ImageNet below it. Its classes are its subclasses. `train` has ImageNet's training images of the source
    subclasses, `validation` its validation images of them, which the authors call the source's test set, and `test` the
    validation images of the target subclasses. Training images of the target are not read. `subclass` is the class of
    ImageNet, `domain` source or target, `group` superclass/subclass, and the environments are the groups.

    The choice is that of the authors' code, with its seed, and the hierarchy is what the three files say: another
    number of superclasses than the paper's, or of images, is noted as partial. Each node has one parent, as in the
    authors' files. A model of ImageNet answers by all the classes that are below a superclass.

    Source: Santurkar, Tsipras and Madry 2021, Section 3 and Table 1; BREEDS-Benchmarks f83be50,
    `imagenet_class_hierarchy/modified`; robustness a954124, `tools/breeds_helpers.py`.

    >>> list(Breeds.builder_configs)
    ['entity13', 'entity30', 'living17', 'nonliving26']
    """

    BENCHMARK: ClassVar[Benchmark] = breeds
    BUILDER_CONFIG_CLASS = BreedsConfig
    BUILDER_CONFIGS: ClassVar[list[BreedsConfig]] = BreedsConfig.list_of(
        breeds,
        {
            config: f"{task.superclasses} superclasses {task.what}, {task.subclasses} classes each."
            for config, task in _TASKS.items()
        },
    )

    def _watched(self, folder: Path) -> Iterable[Path]:
        for path in super()._watched(folder):
            yield from containers(path, lambda name: True, is_last=is_wnid) if path.is_dir() else [path]
        yield from (path for path in (folder / f"imagenet/{SOLUTION}", folder / f"imagenet/{DEVKIT}") if path.exists())

    def _split_generators(self, dl_manager: object) -> list[datasets.SplitGenerator]:
        folder, task = self._folder(), _TASKS[self.config.name]
        if self.config.partition not in _PARTITIONS:
            raise unknown_name("partition", self.config.partition, _PARTITIONS)
        places = [raw.find(folder) for raw in breeds.raw_files]
        tree = _read_tree(*(place for place in places[:3] if place))
        superclasses = _choose(tree, task, self.config.partition)
        if not superclasses:
            raise OochubError(
                f"{places[0]} has no node at level {task.level} below {task.ancestor} with {task.subclasses} classes "
                f"of ImageNet, so {self.config.name} has no superclass. Download the hierarchy of the authors again."
            )
        self.info.features = _make_features(superclasses)
        parts: dict[str, list[_Row]] = {}
        for split, place, domain in (("train", places[4], 0), ("validation", places[3], 0), ("test", places[3], 1)):
            wnids = {wnid: superclass for superclass in superclasses for wnid in superclass.halves[domain]}
            if place is not None:
                root = place.relative_to(folder).as_posix()
                parts[split] = [
                    _make_row(wnids, image, root, domain) for image in _list_images(place, wnids, self._within)
                ]
        notes = [f"partial: {len(superclasses)} of {task.superclasses} superclasses"]
        notes = notes if len(superclasses) != task.superclasses else []
        notes += self._partial(parts, self.declaration.expected_rows)
        present = {row["wnid"] for rows in parts.values() for row in rows}
        absent = [
            wnid
            for superclass in superclasses
            for wnid in (*superclass.halves[0], *superclass.halves[1])
            if wnid not in present
        ]
        notes += [f"partial: no image of {len(absent)} classes ({', '.join(absent[:3])})"] if absent else []
        facts = BuildFacts(
            imagenet_classes={
                superclass.name: tuple(LABELS[wnid] for wnid in superclass.below) for superclass in superclasses
            },
            other={"partition": self.config.partition},
        )
        if "train" in parts:
            facts = facts.with_groups([str(row["group"]) for row in parts["train"]])
        return self._splits(folder, parts, facts, notes)

    def _columns(self, root: Path, row: "_Row") -> "_Row":
        stored, place = row["stored"], root / str(row["place"])
        assert isinstance(stored, tuple)  # noqa: S101  _make_row made it
        stored = Stored(*stored)
        image = {
            "bytes": stored.read(place, within=self._within),
            "path": PurePosixPath(stored.name).name,
        }
        return {**row, "image": image}


class _Superclass(NamedTuple):
    """A superclass: its name, the classes of ImageNet below it, and those of the source and of the target."""

    name: str
    below: tuple[str, ...]
    halves: tuple[list[str], list[str]]


class _Tree(NamedTuple):
    """The hierarchy: the name of each node, and the nodes from the root to each class of ImageNet."""

    names: Mapping[str, str]
    paths: Mapping[str, Sequence[str]]


def _read_tree(hierarchy: Path, nodes: Path, classes: Path) -> _Tree:
    """Refuses a node with two parents, a circle, a class below another one, and classes that are not ImageNet's."""
    node = RawColumn(pattern=r"\S+", form="a node")
    rows = [(number, line.split()) for number, line in enumerate(read_lines(hierarchy), 1) if line.strip()]
    edges = RawTable.of_rows(
        hierarchy, ["parent", "child"], rows, {"parent": node, "child": replace(node, is_unique=True)}
    )
    parents = dict(zip(edges["child"], edges["parent"], strict=True))
    rows = [(number, line.split("\t")) for number, line in enumerate(read_lines(nodes), 1) if line.strip()]
    named = RawTable.of_rows(
        nodes, ["node", "name"], rows, {"node": replace(node, is_unique=True), "name": RawColumn()}
    )
    paths = {}
    for wnid in _read_classes(classes):
        if wnid not in parents:  # as by the authors, whose tree has 890 of the classes
            continue
        path = [wnid]
        while path[-1] in parents and len(path) <= len(parents):
            path.append(parents[path[-1]])
        if path[-1] != _ROOT:
            raise OochubError(
                f"{hierarchy}: the parents of {wnid} must lead to {_ROOT}, got {' '.join(path[:4])} ... "
                "Download it again."
            )
        paths[wnid] = path[::-1]
    if nested := next((path for path in paths.values() if not paths.keys().isdisjoint(path[:-1])), None):
        raise OochubError(f"{hierarchy}: {nested[-1]} is below another class of ImageNet. Download it again.")
    return _Tree(dict(zip(named["node"], named["name"], strict=True)), paths)


def _read_classes(file: Path) -> list[str]:
    content = read_json(file)
    for place, entry in enumerate(content if isinstance(content, list) else [content]):
        if not (isinstance(entry, list) and len(entry) == 3 and LABELS.get(str(entry[1]), -1) == entry[0]):
            raise OochubError(
                f"{file}: entry {place} must be [number, wnid, name] of a class of ImageNet-1K in the standard order, "
                f"got {entry!r:.80}. Download it again."
            )
    return [entry[1] for entry in content]


def _choose(tree: _Tree, task: _Task, partition: str) -> list[_Superclass]:
    """The superclasses of a task in the order of their ids, divided one after the other by one stream of numbers."""
    members: dict[str, list[str]] = {}
    for wnid, path in tree.paths.items():
        if len(path) > task.level and task.ancestor in path[: task.level + 1]:
            members.setdefault(path[task.level], []).append(wnid)
    chosen = {node: sorted(own) for node, own in sorted(members.items()) if len(own) >= task.subclasses}
    names = [tree.names.get(node, node) for node in chosen]
    short = [name.partition(", ")[0] for name in names]
    rng = np.random.RandomState(_SEED)
    halves = [_divide(tree, own, task.level, task.subclasses // 2, partition, rng) for own in chosen.values()]
    kept = short if len(set(short)) == len(short) else names
    return [_Superclass(*row) for row in zip(kept, map(tuple, chosen.values()), halves, strict=True)]


def _divide(
    tree: _Tree, classes: Sequence[str], level: int, size: int, partition: str, rng: np.random.RandomState
) -> tuple[list[str], list[str]]:
    """Source and target classes of a superclass, `size` each, as `split_superclass` of the authors divides them.

    Its branches are the first nodes below it of which there are several, those with the most classes first.
    """
    if partition == "rand":
        drawn = [str(wnid) for wnid in rng.choice(classes, 2 * size, replace=False)]
        return drawn[:size], drawn[size:]
    depth = next(k for k in range(level + 1, 99) if len({tree.paths[wnid][k] for wnid in classes}) > 1)
    branches: dict[str, list[str]] = {}
    for wnid in classes:
        branches.setdefault(tree.paths[wnid][depth], []).append(wnid)
    source: list[str] = []
    target: list[str] = []
    spare: list[str] = []
    for branch in sorted((branches[node] for node in sorted(branches)), key=len, reverse=True):
        room, other_room = size - len(source), size - len(target)
        if partition == "good":  # half of each branch goes to either side
            cut = min(len(branch) // 2, room) if len(branch) > 1 else int(room > 0)
            source += branch[:cut]
            target += branch[cut : cut + other_room]
        elif len(source) <= len(target) and room:  # "bad": a branch goes to one side, as far as there is room
            source += branch[:room]
            spare += branch[room:]
        elif other_room:
            target += branch[:other_room]
            spare += branch[other_room:]
    source += spare[: size - len(source)]
    target += spare[: size - len(target)]
    if len(source) + len(target) < 2 * size:  # as the authors' code, which stops there
        raise OochubError(
            f"The partition {partition!r} gives {len(source)} and {len(target)} classes in place of {size} each: "
            f'{", ".join(map(_shorten, classes))}. Choose partition="rand".'
        )
    return source, target


def _make_features(superclasses: Sequence[_Superclass]) -> datasets.Features:
    subclasses = [wnid for superclass in superclasses for half in superclass.halves for wnid in half]
    groups = [
        f"{superclass.name}/{_shorten(wnid)}"
        for superclass in superclasses
        for half in superclass.halves
        for wnid in half
    ]
    names = {"label": [superclass.name for superclass in superclasses], "environment": groups, "group": groups}
    context = {"subclass": list(map(_shorten, subclasses)), "domain": breeds.closed["domain"]}
    return make_features(image=datasets.Image(), **names, **context, wnid="string")


def _shorten(wnid: str) -> str:
    return IMAGENET_1K_NAMES[LABELS[wnid]].partition(", ")[0]


def _list_images(place: Path, wnids: Mapping[str, _Superclass], within: Path | None) -> list[Stored]:
    """The images of these classes by name; one that lies there twice, packed and unpacked, counts once."""
    images = list(imagenet_pictures(place, enter=lambda name: not WNID.fullmatch(name) or name in wnids, within=within))
    if not all(stored.label for stored in images):
        truth = validation_wnids(place)
        images = [
            image._replace(label=image.label or truth.get(PurePosixPath(image.name).stem, "")) for image in images
        ]
    named: dict[str, Stored] = {}
    for stored in images:
        if stored.label in wnids:
            named.setdefault(f"{stored.label}/{PurePosixPath(stored.name).stem}", stored)
    return [named[name] for name in sorted(named)]


def _make_row(wnids: Mapping[str, _Superclass], stored: Stored, place: str, domain: int) -> "_Row":
    label, subclass = wnids[stored.label].name, _shorten(stored.label)
    names = {"label": label, "environment": f"{label}/{subclass}", "group": f"{label}/{subclass}", "subclass": subclass}
    about = {"domain": breeds.closed["domain"][domain], "wnid": stored.label, "stored": tuple(stored), "place": place}
    return {"example_id": PurePosixPath(stored.name).stem, **names, **about}
