"""How much a prediction depends on the object and on the background (`oochub audit --probe background`).

The model is opened as its predictions were made, to answer for other images.
"""

import base64
import io
from collections import Counter
from collections.abc import Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, NamedTuple, cast

import datasets
import numpy as np
import pyarrow as pa
from numpy.typing import NDArray
from PIL import Image

from oochub import catalog
from oochub.data.challenge import ChallengeSet
from oochub.data.declaration import find_declaration
from oochub.data.load import open_data
from oochub.errors import OochubError, choose_wording
from oochub.evaluation.evaluation_rows import EvaluationColumns, find_attribution
from oochub.models.acceleration import DTYPES, Autocast, choose_device, fold_batch_norm
from oochub.models.mode import PredictedData, choose_mode
from oochub.models.model_source import ModelSource
from oochub.prediction.prediction_data import choose_splits
from oochub.prediction.predictions import Predictions
from oochub.probing.altered_answers import ON_LENT, VARIANTS, AlteredAnswers, Answer, read_logits
from oochub.probing.altered_pictures import Pixels
from oochub.probing.background_numbers import BackgroundNumbers, Values, compare_answers
from oochub.probing.inpainting import Inpainting
from oochub.probing.object_area import MaskFiles, ObjectArea, can_be_column, choose_area
from oochub.probing.probed_rows import PROBED, STATES, ProbedRows
from oochub.probing.swapped_set import take_labels_as_answers, write_swapped_set
from oochub.records.build_record import presence_class
from oochub.records.finding_records import BackgroundProbe, ProbedPicture, ShownRow, Variant
from oochub.records.output_columns import ALSO_RIGHT
from oochub.records.sides import GroupsOfRows
from oochub.repository.write_repository import CHALLENGE_TITLE, check_links, check_replaceable
from oochub.settings.data_settings import DataSettings
from oochub.settings.model_settings import ModelSettings
from oochub.settings.prediction_settings import PredictionSettings
from oochub.settings.probe_settings import ProbeSettings
from oochub.stats import RESAMPLES
from oochub.stats.logits import softmax
from oochub.storage.files import lock_target

_THUMBNAIL, _QUALITY = 176, 80  # pixels of the longer side; noise of that size is 20 kB
_ROWS = 1000
_PLACE = ("boxes", "width", "height")  # columns that say where the object of a row is
BACKGROUNDS = 8
"""So many of each kind a row, unless another number is asked for: of one, chance decides several points."""


@dataclass(frozen=True, kw_only=True)
class Background:
    """Asks about the object alone, the background alone, and the object on other backgrounds.

    Attributes:
        masks: A folder of PNG masks named by the rows' ids or their images' files, the raw folder of COCO, or a column
            of masks.
        boxes: A column of boxes, x1, y1, x2, y2 in pixels.
        segmenter: Folder or Hub id of a semantic segmenter, see `oochub contexts --contexts segments`, or `Segments`
            itself.
        label_map: Says which classes of the segmenter are a class of the data, see there.
        fill: Folder or Hub id of an inpainting pipeline of diffusers, which fills the place of an object; None fills
            it with tiles of background.
        backgrounds: Number of backgrounds of each kind on which every object is put, of its own class and of others;
            none is of the row's cluster.
        rows: Maximum number of rows to alter, drawn at random.
        seed: Random seed for drawing the rows and backgrounds.

    Raises:
        OochubError: The object is located in two ways, a folder or a model that is not there, no rows.

    >>> Background(masks="here", boxes="there")
    Traceback (most recent call last):
    oochub.errors.OochubError: masks= and boxes= both locate the object. Pass one of them.
    """

    masks: str | Path | None = None
    boxes: str | None = None
    segmenter: Any = None
    label_map: str | Path | None = None
    fill: Any = None
    backgrounds: int = BACKGROUNDS
    rows: int = _ROWS
    seed: int = 0

    def __post_init__(self) -> None:
        given = [name for name in ("masks", "boxes", "segmenter") if getattr(self, name) is not None]
        if len(given) > 1:
            names = choose_wording(
                " and ".join(f"{name}=" for name in given), " and ".join(f"--{name}" for name in given)
            )
            raise OochubError(f"{names} both locate the object. Pass one of them.")
        if self.label_map is not None and self.segmenter is None:
            raise OochubError(
                "label_map says which classes of a segmentation model are yours. Pass segmenter as well, or remove "
                "label_map."
            )
        if self.rows < 1 or self.seed < 0:
            raise OochubError(f"rows must be at least 1 and seed at least 0, got {self.rows} and {self.seed}.")
        if self.backgrounds < 1:
            raise OochubError(f"backgrounds must be at least 1, got {self.backgrounds}.")
        if self.masks is not None and not can_be_column(self.masks):
            MaskFiles(self.masks)
        if isinstance(self.segmenter, str | Path):
            way = catalog.get("context", "segments")(model=self.segmenter, label_map=self.label_map)
            object.__setattr__(self, "segmenter", way)
        if isinstance(self.fill, str | Path):
            object.__setattr__(self, "fill", Inpainting(self.fill, seed=self.seed))

    @property
    def options(self) -> tuple[str, ...]:
        """What `oochub audit` is asked by, the seed apart; of an absolute path its last part, for a report holds none.

        >>> Background(boxes="place", rows=20).options
        ('--probe', 'background', '--boxes', 'place', '--probe-option', 'rows=20')
        """
        fill = None if self.fill is None else _name_file(self.fill.model)
        others = {
            "label_map": _name_file(self.label_map),
            "fill": fill,
            "rows": self.rows if self.rows != _ROWS else None,
        }
        return ProbeSettings(
            probe="background",
            masks=_name_file(self.masks),
            boxes=self.boxes,
            segmenter=None if self.segmenter is None else self.segmenter.model,
            fill=None if self.fill is None else _name_file(self.fill.model),
            backgrounds=self.backgrounds if self.backgrounds != BACKGROUNDS else None,
            probe_settings={name: value for name, value in others.items() if value is not None},
        ).words()

    def check(self, data: Any, *, data_dir: str | None = None) -> None:
        """Refuses data in which nothing tells where the object of each image is, before the model is opened.

        Args:
            data: A split, or a dict of them.
            data_dir: The raw folder of a benchmark.

        Raises:
            OochubError: See `choose_area`.
        """
        self._area(next(iter(data.values())) if isinstance(data, Mapping) else data, data_dir=data_dir)

    def _area(self, part: Any, *, data_dir: str | None, thing: str | None = None) -> ObjectArea:
        return choose_area(
            part, masks=self.masks, boxes=self.boxes, segmenter=self.segmenter, data_dir=data_dir, thing=thing
        )

    def run(
        self,
        source: ModelSource,
        data: Any,
        predictions: Predictions,
        how: ModelSettings,
        asked: PredictionSettings,
        *,
        split: str,
        data_dir: str | None = None,
        resamples: int = RESAMPLES,
    ) -> BackgroundProbe:
        """Alters the images of rows, has the model answer, and compares with its answers to the rows as they are.

        Args:
            source: The model that made the predictions.
            data: The data that were predicted.
            predictions: Predictions of one class per row.
            how: How the model answered.
            asked: How the predictions were made. The answers are kept in the cache as these are.
            split: Split whose rows are altered.
            data_dir: The raw folder of a benchmark.
            resamples: Number of bootstrap resamples.

        Raises:
            OochubError: Rows that are no images or a stream, answers of another kind, no row whose object is known;
                images or masks that cannot be read.
        """
        splits = data if isinstance(data, Mapping) else {split: data}
        part = splits[split]
        _check_answers(predictions)
        key = predictions.metadata.provenance.get("key")
        drawn = self._draw(
            splits, predictions, split=split, data_dir=data_dir, key=str(key) if key and asked.cache else None
        )
        answers, area, cluster = drawn.answers, drawn.area, drawn.cluster

        table = answers.table(lambda: _open_model(source, part, splits, predictions, how, asked))
        states = table.column("state").to_pylist()
        probed = table.filter(pa.array([state == PROBED for state in states]))
        left_out = Counter(STATES[state] for state in states if state != PROBED)
        if not len(probed):
            raise OochubError(
                f"The object cannot be located in any of {len(states):,} rows by {area.words}: "
                f"{', '.join(f'{reason} ({count:,})' for reason, count in left_out.items())}."
            )
        altered, numbers = self._compare(predictions, probed, cluster, resamples)
        shown = None
        if asked.images:
            shown = _choose_shown(answers, probed, predictions, altered, numbers.change)
        return BackgroundProbe(
            area=area.words,
            split=split,
            lenders="all" if drawn.usual is None else "in_context",
            n_lenders=len(np.unique([*_read_lenders(probed, "same"), *_read_lenders(probed, "other")])),
            thing=drawn.thing,
            n=len(probed),
            left_out=dict(left_out),
            variants=numbers.variants,
            gap=numbers.gap,
            gap_log_odds=numbers.gap_log_odds,
            backgrounds=self.backgrounds,
            draw_deviation=numbers.draw_deviation,
            is_whole=area.is_whole,
            shown=shown,
            seed=self.seed,
            most=self.rows,
            options=self.options,
        )

    def _draw(
        self,
        splits: Mapping[str, datasets.Dataset],
        predictions: Predictions,
        *,
        split: str,
        data_dir: str | None,
        key: str | None = None,
    ) -> "_Drawn":
        """The rows that are altered, and what lends to them."""
        names, facts = predictions.class_names, predictions.metadata.facts
        thing = presence_class(names, facts)
        asked_for = None if thing is None else facts.object or thing.name
        area = self._area(splits[split], data_dir=data_dir, thing=asked_for)
        usual = _mark_usual(predictions)
        rows = ProbedRows.drawn(
            splits,
            predictions,
            area,
            split=split,
            usual=usual,
            present=None if thing is None else thing.present,
            most=self.rows,
            seed=self.seed,
            fill=self.fill,
        )
        if not rows.is_asked.any():
            words = "is of a known class" if asked_for is None else f"has a {asked_for}"
            raise OochubError(f"No row of {split} {words}, so there is nothing to alter. Choose another split.")
        area.begin(rows.with_object())
        column = find_declaration(predictions).cluster
        cluster = None if column is None else np.unique(np.asarray(predictions.column(column)), return_inverse=True)[1]
        answers = AlteredAnswers(
            rows,
            cluster=None if cluster is None else cluster[rows.places],
            backgrounds=self.backgrounds,
            seed=self.seed,
            key=key,
        )
        return _Drawn(answers, area, cluster, usual, asked_for)

    def write_pairs(self, source: str, out: str | Path, settings: DataSettings | None = None) -> ChallengeSet:
        """Writes the pairs of images that the probe compares as a challenge set: `oochub challenge --criterion swap`.

        A pair is an object on a background of its class and on one of another class, the images that `run` shows a
        model; every object has as many pairs as `backgrounds`. The mean over pairs of what a model says is the probe's.

        Args:
            source: A folder of images with labels, a benchmark, an id on the Hub: see `oochub.load`.
            out: The folder of the repository: new, empty, or an earlier challenge set, which is replaced.
            settings: Which columns of own data are what.

        Returns:
            The challenge set, with the columns `pair`, `object_of`, `background_of`, `challenge` and `boxes`.

        Raises:
            OochubError: See `run`; data that are such pairs already; no object with backgrounds of both kinds; a folder
                that holds something else.
        """
        settings = settings or DataSettings()
        target = check_replaceable(out, title=CHALLENGE_TITLE, what="a challenge set")
        with lock_target(target):
            loaded = open_data(source, settings, guess=("label",))
            self.check(loaded.rows, data_dir=settings.data_dir)
            check_links(loaded.splits, source, settings.options)
            splits = choose_splits(loaded.splits, None)
            predictions = take_labels_as_answers(splits)
            split = find_declaration(predictions).out_of_context.split
            drawn = self._draw(splits, predictions, split=split, data_dir=settings.data_dir)
            fill = None if self.fill is None else self.fill.model
            return write_swapped_set(
                target, source, splits[split], predictions, split, drawn.answers, area=drawn.area.words, fill=fill
            )

    def _compare(
        self, predictions: Predictions, probed: pa.Table, cluster: NDArray[np.int64] | None, resamples: int
    ) -> tuple[dict[str, Values], BackgroundNumbers]:
        """The logits of each variant, and the numbers against the rows as they are."""
        has_scores, places = predictions.metadata.kind == "classes", probed.column("place").to_numpy()
        classes = len(predictions.class_names) + (not has_scores)
        shapes = {name: (self.backgrounds, classes) if name in ON_LENT else (classes,) for name in VARIANTS}
        altered = {name: read_logits(probed, name, shape) for name, shape in shapes.items()}
        own = predictions.take(places)
        numbers = compare_answers(
            own.label,
            _read_answers(own),
            altered,
            units=_list_units(probed, self.backgrounds, cluster),
            cluster=None if cluster is None else cluster[places],
            resamples=resamples,
            seed=self.seed,
            has_scores=has_scores,
        )
        return altered, numbers


class _Drawn(NamedTuple):
    """What `Background._draw` gives: `cluster` and `usual` are of all predictions, None where there are none."""

    answers: AlteredAnswers
    area: ObjectArea
    cluster: NDArray[np.int64] | None
    usual: NDArray[np.bool_] | None
    thing: str | None


def _check_answers(predictions: Predictions) -> None:
    """Refuses answers of another kind than one right class per row."""
    if predictions.also_right is not None and len(predictions.also_right.rows):
        raise OochubError(
            f"The probe needs one right class per row, but some rows have several (column {ALSO_RIGHT}). Remove "
            "--probe background."
        )
    if predictions.metadata.kind not in ("classes", "choices"):
        advice = " For a detector, pass --mode localization." if predictions.metadata.kind == "boxes" else ""
        raise OochubError(
            f"The probe compares answers of one class per row, but this model gives {predictions.metadata.kind}. "
            f"Remove probe= (--probe).{advice}"
        )


def _read_answers(predictions: Predictions) -> Values:
    """The logits (n, c); of choices (n, c + 1), 1 for the class that was chosen, the last for none of them."""
    if predictions.metadata.kind == "classes":
        return np.asarray(predictions.logits, np.float64)
    return _mark_choices(predictions.prediction, len(predictions.class_names))


def _mark_choices(chosen: NDArray[np.int64], classes: int) -> Values:
    return np.eye(classes + 1)[np.where(chosen < 0, classes, chosen)]


def _name_file(path: str | Path | None) -> str | None:
    return None if path is None else Path(path).name if Path(path).expanduser().is_absolute() else str(path)


def _read_lenders(probed: pa.Table, kind: str) -> NDArray[np.int64]:
    lenders: NDArray[np.int64] = probed.column(kind).combine_chunks().flatten().to_numpy()
    return lenders


def _list_units(probed: pa.Table, draws: int, cluster: NDArray[np.int64] | None) -> NDArray[np.int64]:
    """The image of each row and the two that lend it a background (n, k, 3), itself where none does; or their clusters.

    Args:
        probed: See `AlteredAnswers.table`.
        draws: Number of backgrounds of each kind for a row.
        cluster: The cluster of every row of the predictions, a number.
    """
    places = np.repeat(probed.column("place").to_numpy(), 3 * draws).reshape(-1, draws, 3)
    for role, kind in enumerate(("same", "other"), start=1):
        places[np.asarray(probed.column(kind).combine_chunks().is_valid()), :, role] = _read_lenders(
            probed, kind
        ).reshape(-1, draws)
    return places if cluster is None else cluster[places]


def _mark_usual(predictions: Predictions) -> NDArray[np.bool_] | None:
    """The rows in context (n,), where the data tell them from others: their background is usual for their class."""
    declared = find_declaration(predictions)
    inside, outside = declared.in_context, declared.out_of_context
    columns = EvaluationColumns(predictions, {})
    if isinstance(outside, GroupsOfRows) or not {*inside.where, *outside.where} <= set(columns):
        return None
    mask = inside.mask(columns)
    return mask if mask.any() and outside.mask(columns).any() else None


def _choose_shown(
    answers: AlteredAnswers,
    probed: pa.Table,
    predictions: Predictions,
    altered: Mapping[str, Values],
    change: Values,
) -> ShownRow:
    """The row and background that stand for the mean: the first whose change is the nearest to it."""
    away = np.abs(change - np.nanmean(change)) if (~np.isnan(change)).any() else np.zeros_like(change)
    row, draw = (int(number) for number in np.unravel_index(np.nanargmin(away), away.shape))
    place, lent = probed.column("place")[row].as_py(), [probed.column(kind)[row].as_py() for kind in ("same", "other")]
    same, other = (None if of is None else of[draw] for of in lent)
    record, names = predictions.rows.row(place), predictions.class_names
    has_scores = predictions.metadata.kind == "classes"
    label, answered = int(predictions.label[place]), _read_answers(predictions.take(np.array([place])))[0]
    pictures = []
    for name, pixels in answers.pictures(place, same, other).items():
        own = (row, draw) if name in ON_LENT else row
        logits = answered if name == "original" else altered[name][own]
        pictures.append(
            ProbedPicture(
                name=cast(Variant, name),
                answer=predictions.output.answer_names(names)[int(logits.argmax())],
                probability=float(softmax(logits[None])[0, label]) if has_scores else None,
                image=_encode_jpeg(pixels),
            )
        )
    attributions = [
        find_attribution(predictions.rows.row(place_shown))
        for place_shown in (place, same, other)
        if place_shown is not None
    ]
    return ShownRow(
        example_id=str(record["example_id"]),
        label=names[label],
        attributions=tuple(dict.fromkeys(attribution for attribution in attributions if attribution)),
        pictures=tuple(pictures),
    )


def _encode_jpeg(pixels: Pixels) -> str:
    picture, file = Image.fromarray(pixels), io.BytesIO()
    picture.thumbnail((_THUMBNAIL, _THUMBNAIL))
    picture.save(file, "JPEG", quality=_QUALITY)
    return base64.b64encode(file.getvalue()).decode()


def _open_model(
    source: ModelSource,
    part: datasets.Dataset,
    splits: Mapping[str, Any],
    predictions: Predictions,
    how: ModelSettings,
    asked: PredictionSettings,
) -> Answer:
    """The answers to a data set's images, as a function, see `_read_answers`; preprocessing is that of predictions.

    Args:
        source: The model; options are those of `oochub.predict`.
        part: The split that was predicted.
        splits: All splits.
        predictions: Predictions of the model.
        how: How the model answers.
        asked: How the predictions were made.
    """
    import torch

    settings = how.of_mode
    asked = replace(asked, device=choose_device(asked.device))
    way = str(predictions.metadata.provenance.get("preprocessing", "auto"))
    processor = how.image_processor if how.processor is None else how.processor
    chosen = choose_mode(source, how.mode, settings, part)
    inputs = source.inputs(part, processor=processor, preprocessing=way, kind=chosen.reads)
    inputs.num_workers = asked.num_workers
    place, size = asked.device, asked.rows_a_pass
    data = PredictedData(part, splits, place, size, asked.cache, asked.skip_broken)
    opened = chosen(source, inputs, data, **settings)
    network = opened.network if DTYPES[asked.dtype] == torch.float32 else Autocast(opened.network, DTYPES[asked.dtype])
    probe = {name: values.to(place) for name, values in inputs.probe().items()} if opened.is_one_pass else None

    def answer(pictures: datasets.Dataset, rows: Sequence[int]) -> NDArray[np.float32]:
        with torch.inference_mode(), nullcontext() if probe is None else fold_batch_norm(opened.network, probe):
            batches = inputs.batches(pictures, batch_size=size, device=place)
            logits = [network(**batch.inputs).logits.float().cpu().numpy() for batch in batches]
        records = {row: predictions.rows.row(row) for row in dict.fromkeys(rows)}
        named = [name for name in _PLACE if name in predictions.column_names]
        columns = opened.finish(np.concatenate(logits), {name: [records[row][name] for row in rows] for name in named})
        if opened.kind.name == "classes":
            return columns
        return _mark_choices(columns[:, 0].astype(np.int64), len(opened.class_names)).astype(np.float32)

    return answer
