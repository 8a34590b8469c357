"""What a model says of each row's altered images, part by part, each part kept."""

import inspect
import io
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from functools import partial
from pathlib import Path

import datasets
import numpy as np
import pyarrow as pa
from numpy.typing import NDArray
from PIL import Image

from oochub.probing.altered_pictures import Donors, Pixels, cut_object, draw_donors, paste_object, remove_object
from oochub.probing.probed_rows import PROBED, ProbedRows, SeenObject
from oochub.process.follow import follow
from oochub.storage.cache import digest_files, keep, make_key, read_kept
from oochub.storage.parquet_file import read_parquet, write_parquet

VARIANTS = ("object_alone", "background_alone", "mixed_same", "mixed_rand")
"""The altered images of a row."""
_ROWS = 64  # of a part that is kept
_WHAT = "Answers to altered images"
_AT_ONCE = 8  # images that are held to look at their objects

Answer = Callable[[datasets.Dataset], NDArray[np.float32]]


class AlteredAnswers:
    """The answers to the altered images of rows.

    Args:
        rows: Rows whose images are altered.
        seed: Random seed for drawing the backgrounds.
        key: Key of what the model's answers depend on; None keeps nothing.
    """

    def __init__(self, rows: ProbedRows, *, seed: int, key: str | None) -> None:
        self._rows, self._seed = rows, seed
        self._asked: list[int] = np.flatnonzero(rows.is_asked).tolist()
        self._key = None if key is None else _compute_key(rows, seed, key)

    def table(self, opened: Callable[[], Answer]) -> pa.Table:
        """A row for each that is asked about; parts of 64 rows are kept, so that a run which was ended goes on.

        Args:
            opened: Opens the model; called where a part is missing. What it gives says the logits of images.

        Returns:
            `place` in the predictions, `state` ("probed", or why it is left out), `same` and `other`, the places of the
            rows whose backgrounds were lent (null where there is none), and the logits of each of `VARIANTS`, null
            where there is no such image.
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
            same: Place of the row of its class that lends a background.
            other: Place of the row of another class that lends one.
        """
        numbers = {int(each): k for k, each in enumerate(self._rows.places)}
        of = [numbers[each] for each in (place, same, other) if each is not None]
        seen = self._rows.seen(of)
        lent = iter(seen[1:])
        grounds = [None if each is None else next(lent).ground for each in (same, other)]
        return {"original": seen[0].pixels, **_alter(seen[0], *grounds)}

    def _choose_states(self) -> tuple[list[str], Donors]:
        """The state of each row, and who lends it a background."""
        states: list[str] = []
        count = len(self._rows.places)
        with follow(total=count, desc="Looking for objects", unit=" rows", delay=2, disable=None) as bar:
            for start in range(0, count, _AT_ONCE):
                numbers = range(start, min(start + _AT_ONCE, count))
                states += [each.state for each in self._rows.seen(numbers)]
                bar.update(len(numbers))
        can_lend = np.array([state == PROBED for state in states], bool) & self._rows.is_lender
        return states, draw_donors(self._rows.label, can_lend, seed=self._seed)

    def _compute_answers(
        self, numbers: Sequence[int], states: Sequence[str], donors: Donors, answer: Answer
    ) -> pa.Table:
        probed = [k for k in numbers if states[k] == PROBED]
        logits = dict[str, dict[int, NDArray[np.float32]]]({name: {} for name in VARIANTS})
        pairs, files = list[tuple[str, int]](), list[Future[bytes]]()
        with ThreadPoolExecutor() as threads:
            for name, k, pixels in self._alter_pictures(probed, donors):
                pairs.append((name, k))
                files.append(threads.submit(_encode_png, pixels))
        if pairs:
            for (name, k), row in zip(pairs, answer(_make_dataset([each.result() for each in files])), strict=True):
                logits[name][k] = row
        places = self._rows.places
        lent = {
            name: [int(places[of[k]]) if k in probed and of[k] >= 0 else None for k in numbers]
            for name, of in donors._asdict().items()
        }
        return pa.table(
            {
                "place": pa.array([int(places[k]) for k in numbers], pa.int64()),
                "state": [states[k] for k in numbers],
                **{name: pa.array(values, pa.int64()) for name, values in lent.items()},
                **{name: pa.array([of.get(k) for k in numbers], pa.list_(pa.float32())) for name, of in logits.items()},
            }
        )

    def _alter_pictures(self, probed: Sequence[int], donors: Donors) -> Iterator[tuple[str, int, Pixels]]:
        for start in range(0, len(probed), _AT_ONCE):
            own = probed[start : start + _AT_ONCE]
            lent = [k for of in donors for k in of[own].tolist() if k >= 0]
            needed = list(dict.fromkeys([*own, *lent]))
            seen = dict(zip(needed, self._rows.seen(needed), strict=True))
            for k in own:
                grounds = [seen[of[k]].ground if of[k] >= 0 else None for of in donors]
                for name, pixels in _alter(seen[k], *grounds).items():
                    yield name, k, pixels

    def _name(self, start: int) -> str:
        return f"{self._key}-{start // _ROWS}.parquet"

    def _read_kept(self, start: int) -> pa.Table | None:
        stored = None if self._key is None else read_kept("predictions", self._name(start), read_parquet)
        return None if stored is None else stored.table


def _alter(seen: SeenObject, same: Pixels | None, other: Pixels | None) -> dict[str, Pixels]:
    grounds = {"mixed_same": same, "mixed_rand": other}
    made = {"object_alone": cut_object(seen.pixels, seen.mask)}
    if seen.ground is not None:
        made["background_alone"] = seen.ground
    made |= {name: paste_object(seen.pixels, seen.mask, of) for name, of in grounds.items() if of is not None}
    return made


def _encode_png(pixels: Pixels) -> bytes:
    file = io.BytesIO()
    Image.fromarray(pixels).save(file, "PNG", compress_level=1)
    return file.getvalue()


def _make_dataset(files: Sequence[bytes]) -> datasets.Dataset:
    rows = {"image": [{"bytes": file, "path": None} for file in files]}
    return datasets.Dataset.from_dict(rows, datasets.Features({"image": datasets.Image()}))


def _compute_key(rows: ProbedRows, seed: int, key: str) -> str:
    """What the answers depend on: the model's, the rows, the areas, the seed, and the code that alters."""
    code = digest_files(sorted(Path(inspect.getfile(remove_object)).parent.glob("*.py")))
    places = [rows.places.tolist(), rows.is_asked.tolist(), rows.is_lender.tolist()]
    return make_key(key, places, rows.area.words, rows.area.settings(rows.with_object()), seed, code)


def read_logits(table: pa.Table, variant: str, classes: int) -> NDArray[np.float64]:
    """The logits (n, c) of a variant, nan in rows that have no such image."""
    values = table.column(variant)
    found = np.full((len(values), classes), np.nan)
    for row, each in enumerate(values.to_pylist()):
        if each is not None:
            found[row] = each
    return found
