"""A toy of OGB-MolPCBA: rings with groups of atoms on them, in the folder of OGB."""

import gzip
import io
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np

from oochub.builders.toy_worlds._folder import Files, World, write_table

_WORLD = World("toy_wilds_ogb_molpcba", {"small": 24, "medium": 150}, 8, counts="molecules")
_TASKS = 128
_SHARES = {"train": 6, "valid": 1, "test": 2}  # molecules, in units of the size
_SCAFFOLDS = {"train": (0, 12), "valid": (12, 8), "test": (20, 48)}  # the first, and how many: those of the test rare
_FLIPPED, _UNKNOWN = 0.05, 0.4  # shares of labels
_PRESENT, _USUAL = 0.4, 0.8  # of molecules that have a group; of training where its scaffold goes with it
_VALENCES = {"C": 4, "N": 3, "O": 2, "S": 2, "F": 1, "Cl": 1, "Br": 1}
_NUMBERS = {"C": 6, "N": 7, "O": 8, "S": 16, "F": 9, "Cl": 17, "Br": 35}
_GROUPS: tuple[tuple[str, ...], ...] = (("F",), ("Cl",), ("Br",), ("O",), ("N",), ("S",), ("C", "N"), ("C", "O"))
_ORDERS: dict[tuple[str, ...], int] = {("C", "N"): 3, ("C", "O"): 2}
_SYMBOLS = {2: "=", 3: "#"}


class _Molecule(NamedTuple):
    symbols: list[str]
    bonds: list[tuple[int, int, int]]  # two atoms and the order
    ring: int  # atoms
    smiles: str


def toy_wilds_ogb_molpcba(folder: str | Path, *, size: str | int = "small", seed: int = 0) -> Path:
    """Makes a small OGB-MolPCBA: `raw/`, `mapping/` and `split/scaffold/`, tables without names, gzipped.

    Files and numbers are those of OGB's folder, version 1: an atom is 9 numbers, a bond 3, and each molecule has 128
    labels of which some are unknown. A molecule is a ring, its scaffold, with some of eight groups of atoms on it; an
    assay goes with one of the groups. In training an even scaffold mostly has the groups of the first assays and an
    odd one those of the others; in validation and test, on other scaffolds, they are independent.

    Args:
        folder: A new or empty folder, or one that already holds this very world, which is then left as it is.
        size: "small" (24 molecules of validation, 216 in all), "medium" (150), or a number of at least 8.
        seed: Another seed is another world; the same arguments give the same bytes.

    Returns:
        The folder; it is what `data_dir` of the WILDS builder takes.

    Raises:
        OochubError: An unknown size, or a folder with other content.

    >>> import tempfile
    >>> root = toy_wilds_ogb_molpcba(tempfile.mkdtemp() + "/molpcba", size=8)
    >>> len(gzip.decompress((root / "raw" / "num-node-list.csv.gz").read_bytes()).splitlines())
    72
    """
    return _WORLD.draw(folder, _draw, size, seed=seed)


def _draw(count: int, *, seed: int) -> Files:
    rng = np.random.default_rng(seed)
    splits = rng.permutation(np.repeat(list(_SHARES), [share * count for share in _SHARES.values()]))
    molecules, labels, scaffolds = [], [], []
    for row, split in enumerate(splits.tolist()):
        own = np.random.default_rng([seed, row])
        first, several = _SCAFFOLDS[split]
        scaffold = first + int(own.integers(several))
        usual = np.where((np.arange(len(_GROUPS)) + scaffold) % 2 == 0, _USUAL, 1 - _USUAL)
        has = own.random(len(_GROUPS)) < (usual if split == "train" else _PRESENT)
        label = (has[np.arange(_TASKS) % len(_GROUPS)] ^ (own.random(_TASKS) < _FLIPPED)).astype(float)
        label[own.random(_TASKS) < _UNKNOWN] = np.nan
        molecules.append(_make_molecule(own, scaffold, np.flatnonzero(has).tolist()))
        labels.append(["" if np.isnan(value) else f"{value:.1f}" for value in label])
        scaffolds.append(scaffold)
    assays = [f"PCBA-{1000 + task}" for task in range(_TASKS)]
    named = [[*labels[row], f"CID{row}", molecule.smiles] for row, molecule in enumerate(molecules)]
    tables: dict[str, Sequence[Sequence[object]]] = {
        "raw/edge": [bond[:2] for molecule in molecules for bond in molecule.bonds],
        "raw/edge-feat": [(bond[2] - 1, 0, 0) for molecule in molecules for bond in molecule.bonds],
        "raw/node-feat": [atom for molecule in molecules for atom in _encode_atoms(molecule)],
        "raw/num-node-list": [(len(molecule.symbols),) for molecule in molecules],
        "raw/num-edge-list": [(len(molecule.bonds),) for molecule in molecules],
        "raw/graph-label": labels,
        "mapping/mol": [[*assays, "mol_id", "smiles"], *named],
        "mapping/labelidx2taskname": [("label idx", "task name"), *enumerate(assays)],
        **{f"split/scaffold/{name}": np.flatnonzero(splits == name)[:, None].tolist() for name in _SHARES},
    }
    for name, rows in tables.items():
        yield f"{name}.csv.gz", gzip.compress(write_table(*rows).encode(), mtime=0)
    groups = io.BytesIO()
    np.save(groups, np.array(scaffolds))
    yield "raw/scaffold_group.npy", groups.getvalue()
    yield "RELEASE_v1.txt", ""


def _make_molecule(rng: np.random.Generator, scaffold: int, groups: list[int]) -> _Molecule:
    """A ring of six to nine atoms, two of them perhaps no carbon, each with two places for groups."""
    own = np.random.default_rng(scaffold)
    ring = 6 + scaffold % 4
    symbols = ["C"] * ring
    for place in own.choice(ring, 2, replace=False).tolist():
        symbols[place] = str(own.choice(["C", "N", "O", "S"]))
    bonds = [(place, (place + 1) % ring, 1) for place in range(ring)]
    free = [place for place, symbol in enumerate(symbols) for _ in range(2) if symbol == "C"]
    texts = symbols.copy()
    texts[0], texts[-1] = f"{texts[0]}1", f"{texts[-1]}1"
    for group, place in zip(groups, rng.choice(free, len(groups), replace=False).tolist(), strict=True):
        start, atoms = len(symbols), _GROUPS[group]
        order = _ORDERS.get(atoms, 0)
        symbols += atoms
        bonds += [(place, start, 1), *([(start, start + 1, order)] if order else [])]
        texts[place] += f"({_SYMBOLS.get(order, '').join(atoms)})"
    return _Molecule(symbols, bonds, ring, "".join(texts))


def _encode_atoms(molecule: _Molecule) -> list[tuple[int, ...]]:
    """The nine numbers of each atom, as OGB has them: hydrogens are no atoms, and counted."""
    atoms: list[tuple[int, ...]] = []
    for number, symbol in enumerate(molecule.symbols):
        own = [order for first, second, order in molecule.bonds if number in (first, second)]
        hydrogens = _VALENCES[symbol] - sum(own)
        hybrid = {1: 2, 2: 1, 3: 0}[max(own)]
        atoms.append(
            (_NUMBERS[symbol] - 1, 0, len(own) + hydrogens, 5, hydrogens, 0, hybrid, 0, int(number < molecule.ring))
        )
    return atoms
