"""What a model says of each row's altered images, part by part, each part kept."""

import inspect
import io
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import datasets
import numpy as np
import pyarrow as pa
from numpy.typing import NDArray
from PIL import Image

from oochub.probing.altered_pictures import Donors, Mask, Pixels, cut_object, draw_donors, paste_object, remove_object
from oochub.probing.probed_rows import PROBED, ProbedRows, SeenObject
from oochub.process.follow import follow
from oochub.storage.cache import digest_files, keep, make_key, read_kept
from oochub.storage.parquet_file import read_parquet, write_parquet

VARIANTS = ("mixed_same", "mixed_rand", "object_alone", "background_alone", "pasted_back")
"""The altered images of a row."""
ON_LENT = ("mixed_same", "mixed_rand")
"""Those of which a row has several, one for each background that is lent."""
_ROWS = 64  # of a part that is kept
_WHAT = "Answers to altered images"
_AT_ONCE = 8  # images that are held to look at their objects
_MOST_GROUNDS = 2**28  # bytes of backgrounds that are held
_MOST_ASKED = 2**28  # bytes of pixels of which the model is asked at once

Answer = Callable[[datasets.Dataset, Sequence[int]], NDArray[np.float32]]
"""The logits (n, c) of images, given these and the place of each image's row in the predictions."""


class SwappedObject(NamedTuple):
    """An object on lent backgrounds of both kinds.

    Attributes:
        place: Place of its row in the predictions.
        mask: (h, w), True on the object.
        lenders: Places of the rows that lend the backgrounds, k of each of `ON_LENT`.
        images: The images, PNG, in the same order.
    """

    place: int
    mask: Mask
    lenders: Mapping[str, list[int]]
    images: Mapping[str, list[bytes]]


class AlteredAnswers:
    """The answers to the altered images of rows.

    Args:
        rows: Rows whose images are altered.
        cluster: What rows share, of which none lends to another; None where they share nothing.
        backgrounds: Number of backgrounds of each kind for a row.
        seed: Random seed for drawing the backgrounds.
        key: Key of what the model's answers depend on; None keeps nothing.
    """

    def __init__(
        self, rows: ProbedRows, *, cluster: NDArray[Any] | None, backgrounds: int, seed: int, key: str | None
    ) -> None:
        self._rows, self._cluster, self._backgrounds, self._seed = rows, cluster, backgrounds, seed
        self._asked: list[int] = np.flatnonzero(rows.is_asked).tolist()
        drawn = [None if cluster is None else cluster.tolist(), backgrounds, seed]
        self._key = None if key is None else _compute_key(rows, drawn, key)
        self._grounds = dict[int, Pixels | None]()

    def table(self, opened: Callable[[], Answer]) -> pa.Table:
        """A row for each that is asked about; parts of 64 rows are kept, so that a run which was ended goes on.

        Args:
            opened: Opens the model; called where a part is missing. What it gives says the logits of images.

        Returns:
            `place` in the predictions, `state` ("probed", or why it is left out), `same` and `other`, the places of the
            rows whose backgrounds were lent (null where there is none), and the logits of each of `VARIANTS`, a list
            of them for `ON_LENT`, null where there is no such image.
        """
        starts = range(0, len(self._asked), _ROWS)
        kept = {start: self._read_kept(start) for start in starts}
        tables = {start: table for start, table in kept.items() if table is not None}
        missing = [start for start in starts if start not in tables]
        if missing:
            states, donors = self._choose_states()
            answer = opened()
            with follow(total=len(missing) * _ROWS, desc="Altering backgrounds", unit=" rows", disable=None) as bar:
                for start in missing:
                    tables[start] = self._compute_answers(self._asked[start : start + _ROWS], states, donors, answer)
                    if self._key is not None:
                        keep("predictions", self._name(start), partial(write_parquet, tables[start]), what=_WHAT)
                    bar.update(_ROWS)
        return pa.concat_tables([tables[start] for start in starts])

    def pictures(self, place: int, same: int | None, other: int | None) -> dict[str, Pixels]:
        """The images of one row, "original" and each of `VARIANTS` that it has.

        Args:
            place: Place of the row in the predictions.
            same: Place of a row of its class that lends a background.
            other: Place of a row of another class that lends one.
        """
        numbers = {int(place): k for k, place in enumerate(self._rows.places)}
        (seen,) = self._rows.seen([numbers[place]])
        altered = _alter(seen)
        for name, of in zip(ON_LENT, (same, other), strict=True):
            pixels = None if of is None else self._paste(seen, numbers[of])
            if pixels is not None:
                altered[name] = pixels
        return {"original": seen.pixels, **{name: altered[name] for name in VARIANTS if name in altered}}

    def swapped(self) -> Iterator[SwappedObject]:
        """The objects that have backgrounds of both kinds, in the order of their rows, on each that is drawn."""
        states, donors = self._choose_states()
        has_both = (donors.same[:, 0] >= 0) & (donors.other[:, 0] >= 0)
        for k in [number for number in self._asked if states[number] == PROBED and has_both[number]]:
            (seen,) = self._see([k])
            lenders, images = dict[str, list[int]](), dict[str, list[bytes]]()
            for name, of in zip(ON_LENT, donors, strict=True):
                drawn = of[k].tolist()
                pasted = {donor: self._paste(seen, donor) for donor in dict.fromkeys(drawn)}
                files = {
                    donor: _encode(pixels, "PNG", compress_level=1)
                    for donor, pixels in pasted.items()
                    if pixels is not None
                }
                lenders[name] = [int(self._rows.places[donor]) for donor in drawn]
                images[name] = [files[donor] for donor in drawn]
            yield SwappedObject(int(self._rows.places[k]), seen.mask, lenders, images)

    def _paste(self, seen: SeenObject, lender: int) -> Pixels | None:
        ground = self._get_ground(lender)
        return None if ground is None else paste_object(seen.pixels, seen.mask, ground)

    def _choose_states(self) -> tuple[list[str], Donors]:
        """The state of each row, and who lends it backgrounds."""
        states: list[str] = []
        count = len(self._rows.places)
        with follow(total=count, desc="Looking for objects", unit=" rows", delay=2, disable=None) as bar:
            for start in range(0, count, _AT_ONCE):
                numbers = range(start, min(start + _AT_ONCE, count))
                states += [picture.state for picture in self._see(numbers)]
                bar.update(len(numbers))
        can_lend = np.array([state == PROBED for state in states], bool) & self._rows.is_lender
        drawn = draw_donors(
            self._rows.label, can_lend, cluster=self._cluster, backgrounds=self._backgrounds, seed=self._seed
        )
        return states, drawn

    def _see(self, numbers: Sequence[int]) -> list[SeenObject]:
        """Rows with their objects; their backgrounds are held as long as there is room."""
        seen = self._rows.seen(numbers)
        self._grounds |= {k: picture.ground for k, picture in zip(numbers, seen, strict=True)}
        size = sum(0 if ground is None else ground.nbytes for ground in self._grounds.values())
        for k in [number for number in self._grounds if number not in numbers]:
            if size > _MOST_GROUNDS:
                of = self._grounds.pop(k)
                size -= 0 if of is None else of.nbytes
        return seen

    def _compute_answers(
        self, numbers: Sequence[int], states: Sequence[str], donors: Donors, answer: Answer
    ) -> pa.Table:
        probed = [k for k in numbers if states[k] == PROBED]
        logits_of = dict[tuple[str, int, int], NDArray[np.float32]]()
        for pairs, files in self._store_pictures(probed, donors):
            own = [int(self._rows.places[k]) for _, k, _ in pairs]
            logits_of |= zip(pairs, answer(_make_dataset(files), own), strict=True)
        logits: dict[str, list[Any]] = {name: [logits_of.get((name, k, -1)) for k in numbers] for name in VARIANTS}
        places, lent = self._rows.places, dict[str, list[list[int] | None]]()
        for name, (kind, of) in zip(ON_LENT, donors._asdict().items(), strict=True):
            drawn = [of[k].tolist() if k in probed and of[k, 0] >= 0 else None for k in numbers]
            lent[kind] = [
                lenders if lenders is None else [int(places[lender]) for lender in lenders] for lenders in drawn
            ]
            logits[name] = [
                lenders if lenders is None else [logits_of[name, k, lender] for lender in lenders]
                for k, lenders in zip(numbers, drawn, strict=True)
            ]
        kinds = {name: pa.list_(pa.float32()) for name in VARIANTS}
        return pa.table(
            {
                "place": pa.array([int(places[k]) for k in numbers], pa.int64()),
                "state": [states[k] for k in numbers],
                **{kind: pa.array(values, pa.list_(pa.int64())) for kind, values in lent.items()},
                **{
                    name: pa.array(of, pa.list_(kinds[name]) if name in ON_LENT else kinds[name])
                    for name, of in logits.items()
                },
            }
        )

    def _store_pictures(
        self, probed: Sequence[int], donors: Donors
    ) -> Iterator[tuple[list[tuple[str, int, int]], list[bytes]]]:
        """Altered images, as many as are asked at once: the kind, row and lender of each (-1 for none).

        They are bitmaps, which take a fiftieth of the time that PNG takes and are held no longer than they are asked.
        """
        pairs, files, size = list[tuple[str, int, int]](), list[bytes](), 0
        for name, k, lender, pixels in self._alter_pictures(probed, donors):
            pairs.append((name, k, lender))
            files.append(_encode(pixels, "BMP"))
            size += pixels.nbytes
            if size > _MOST_ASKED:
                yield pairs, files
                pairs, files, size = [], [], 0
        if pairs:
            yield pairs, files

    def _alter_pictures(self, probed: Sequence[int], donors: Donors) -> Iterator[tuple[str, int, int, Pixels]]:
        """Each altered image with its kind, its row and its lender; one for a lender that is drawn again."""
        for start in range(0, len(probed), _AT_ONCE):
            own = probed[start : start + _AT_ONCE]
            for k, seen in zip(own, self._see(own), strict=True):
                for name, pixels in _alter(seen).items():
                    yield name, k, -1, pixels
                for name, of in zip(ON_LENT, donors, strict=True):
                    for lender in dict.fromkeys(of[k][of[k] >= 0].tolist()):
                        pasted = self._paste(seen, lender)
                        if pasted is not None:
                            yield name, k, lender, pasted

    def _get_ground(self, number: int) -> Pixels | None:
        if number not in self._grounds:
            self._see([number])
        return self._grounds[number]

    def _name(self, start: int) -> str:
        return f"{self._key}-{start // _ROWS}.parquet"

    def _read_kept(self, start: int) -> pa.Table | None:
        stored = None if self._key is None else read_kept("predictions", self._name(start), read_parquet)
        return None if stored is None else stored.table


def _alter(seen: SeenObject) -> dict[str, Pixels]:
    """The altered images that need no other row."""
    altered = {"object_alone": cut_object(seen.pixels, seen.mask)}
    if seen.ground is not None:
        altered["background_alone"] = seen.ground
        altered["pasted_back"] = paste_object(seen.pixels, seen.mask, seen.ground)
    return altered


def _encode(pixels: Pixels, form: str, **options: int) -> bytes:
    file = io.BytesIO()
    Image.fromarray(pixels).save(file, form, **options)
    return file.getvalue()


def _make_dataset(files: Sequence[bytes]) -> datasets.Dataset:
    rows = {"image": [{"bytes": file, "path": None} for file in files]}
    return datasets.Dataset.from_dict(rows, datasets.Features({"image": datasets.Image()}))


def _compute_key(rows: ProbedRows, drawn: Sequence[Any], key: str) -> str:
    """What the answers depend on: the model's, the rows, the areas, how lenders are drawn, and the code that alters."""
    code = digest_files(sorted(Path(inspect.getfile(remove_object)).parent.glob("*.py")))
    places = [rows.places.tolist(), rows.is_asked.tolist(), rows.is_lender.tolist()]
    return make_key(
        key,
        places,
        rows.area.words,
        rows.area.settings(rows.with_object()),
        *drawn,
        code,
        None if rows.fill is None else rows.fill.settings,
    )


def read_logits(table: pa.Table, variant: str, shape: tuple[int, ...]) -> NDArray[np.float64]:
    """The logits (n, *shape) of a variant, nan in rows that have no such image."""
    values = table.column(variant).combine_chunks()
    means = np.full((len(values), *shape), np.nan)
    flat = values.flatten()
    while pa.types.is_list(flat.type):
        flat = flat.flatten()
    means[np.asarray(values.is_valid())] = flat.to_numpy().reshape(-1, *shape)
    return means
