"""The hierarchy files of BREEDS with one thing wrong: it is named, or the superclasses and halves are the same."""

import json
from pathlib import Path

from fuzz_case import Format, Used

from oochub.builders.breeds import _TASKS, _choose, _read_tree
from oochub.class_names.imagenet_classes import IMAGENET_1K_WNIDS

_FILES = ("class_hierarchy.txt", "node_names.txt", "dataset_class_info.json")
_PATHS = ("n00001740 n00004258", "n00004258 a", "a b", "b c", "c dog")
_DOGS = IMAGENET_1K_WNIDS[151:156]


def _make(folder: Path) -> None:
    edges = [*_PATHS, *(f"dog {wnid}" for wnid in _DOGS)]
    names = {node: f"the {node}" for edge in edges for node in edge.split()}
    classes = [[151 + k, wnid, "a dog"] for k, wnid in enumerate(_DOGS)]
    texts = ("\n".join(edges), "\n".join(f"{node}\t{name}" for node, name in names.items()), json.dumps(classes))
    for name, text in zip(_FILES, texts, strict=True):
        (folder / name).write_text(f"{text}\n")


def _use(folder: Path, out: Path) -> Used:
    tree = _read_tree(*(folder / name for name in _FILES))
    chosen = _choose(tree, _TASKS["living17"], "bad")
    notes = () if len(chosen) == 1 and len(tree.paths) == len(_DOGS) else ("partial",)
    return Used(numbers=[[list(half) for half in each.halves] for each in chosen], notes=notes)


HIERARCHY = Format(name="the hierarchy of BREEDS", make=_make, use=_use)
