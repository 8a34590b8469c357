"""Contexts from image captions: NOOCH's gist criterion for any images, and words associated with a class.

A captioner says several things of each image. The gist criterion then goes as in NOOCH: the mean embedding of a
image's captions is compared with that of the rows to choose on that show a class; a row of the class that is less
like them than tau is a hard positive, a row without it that is more like them a hard negative. Whether the class is
there is what the label says. What is like them is the context "gist of" the class; the words that captions say with a
class more or less often than without it are contexts too.

Limitations: Captions name the thing itself. Words of the names of classes are no contexts, but "puppy" may be one of
dogs: leave it out (`leave_out`). The gist holds the thing as well as its place.

Source: Madras and Zemel, NOOCH, Section 3.1.2 and Appendix B.3.
"""

import hashlib
import re
from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import datasets
import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from oochub import catalog
from oochub.builders.sources.gist_similarity import gist_similarity
from oochub.builders.sources.sentence_embeddings import image_embeddings
from oochub.context_finder import ContextWay, NamedContexts, OpenedPicture
from oochub.context_finding.image_model import join_chunks, make_image_rows
from oochub.errors import OochubError
from oochub.records.build_record import BuildFacts, presence_class
from oochub.records.sides import CHALLENGES
from oochub.stats.lift import context_signs

if TYPE_CHECKING:
    from oochub.models.captioner import Captioner

_BLOCK = 64  # classes whose similarities are in memory at a time
_DIGITS = 6  # of tau: sums of other lengths differ far behind
_WORD = re.compile(r"[^\W\d_]+")
_CLOSED = frozenset(
    "a about above across after against all along also alongside am among an and another any are around as at away "
    "back be because been before behind being below beneath beside besides between beyond both but by can close "
    "containing could day displayed doing down each eight either every few five for four from front full get gets "
    "getting going had has have having he her here hers him his how in inside into is it its itself just large like "
    "lot lots many may more most near nearby next nine no nor not of off on one onto or other others our out outside "
    "over own part past per piece really several seven she showing shown shows side sides six small so some "
    "something ten than that the their them then there these they thing things this those three through to together "
    "too top towards toward two under underneath up upon using various very was we were what when where which while "
    "who whose with within without you your "
    "background foreground image images middle photo photograph photos pic picture pictured pictures scene seen view"
    .split()
)  # fmt: skip
_PLURALS = ("s", "es")


class Captions(ContextWay):
    """What a captioner says, the gist of it, and its words.

    Measures: `captions`, the texts, drawn with numbers of the image's own.

    Columns: `captions`; for data with classes also `gist_similarity`, the cosine to the gist of the row's class, of a
    task such as "no_car" and "car" to that of the thing, and `challenge_gist`; both null where there is no gist.

    Args:
        model: Folder or Hub id of a captioner, see `oochub.models.captioner`; the default is that of Spawrious.
        encoder: Encoder of the captions, see `oochub.builders.sources.sentence_embeddings`; the default is NOOCH's.
        captions: Number of captions per image; COCO's images have five.
        top_p: Words are drawn from the most probable ones that have this probability together; 0.9 as Li et al. 2022
            (BLIP, arXiv 2201.12086) draw captions.
        tau: A cosine below which a row of a class is hard; None takes `hard`.
        hard: The share of the rows of a class that are hard, of those to choose on; it sets tau class by class.
        fewest: Rows to choose on that have a class, a word, or lack it, from which on it is looked at.
        most: Gists and words that are kept, each: those of the most rows, those that go most with a class.
        leave_out: Words that are no context.
        seed: Random seed for the captions.
        device: "auto", "cpu", "cuda", ... Drawn captions may differ from one kind of device to another.

    Raises:
        OochubError: A model that is no captioner, a number out of range, an encoder that cannot be loaded.
    """

    def __init__(
        self,
        *,
        model: str | Path = "nlpconnect/vit-gpt2-image-captioning",
        encoder: str = "stsb-distilroberta-base-v2",
        captions: int = 5,
        top_p: float = 0.9,
        tau: float | None = None,
        hard: float = 0.1,
        fewest: int = 20,
        most: int = 20,
        leave_out: Sequence[str] | str = (),
        seed: int = 0,
        device: str = "auto",
    ) -> None:
        from oochub.models.captioner import Captioner
        from oochub.models.model_source import ModelSource

        if not isinstance(model, str | Path):
            raise OochubError(f"captions needs a folder or Hub id of a captioner, got a {type(model).__name__}.")
        for name, number in (("captions", captions), ("fewest", fewest), ("most", most)):
            if not isinstance(number, int) or number < 1:
                raise OochubError(f"{name} must be a whole number, 1 or more, got {number!r}.")
        if not (0 < top_p <= 1 and 0 < hard < 1 and (tau is None or -1 <= tau <= 1)):
            raise OochubError(
                f"top_p must be in (0, 1], hard in (0, 1) and tau a cosine in [-1, 1], got {top_p}, {hard} and {tau}."
            )
        self._source, self._encoder, self._device_name = ModelSource(model), str(encoder), device
        self._count, self._top_p, self._seed = captions, float(top_p), seed
        self._tau, self._hard, self._fewest, self._most = tau, hard, fewest, most
        self._leave_out = {leave_out} if isinstance(leave_out, str) else {*leave_out}
        assert self._source.path is not None  # noqa: S101 no object
        self._path = self._source.path
        Captioner.check_kind(self._path)
        self._opened: Captioner | None = None

    @property
    def model(self) -> str | None:
        """See `ContextWay.model`."""
        return self._source.about("captions").id

    @property
    def device(self) -> str:
        """See `ContextWay.device`."""
        return self._device_name

    def settings(self) -> dict[str, Any]:
        """See `ContextWay.settings`."""
        processor = self._source.inputs(make_image_rows([]), preprocessing="processor").settings()
        drawn = {"captions": self._count, "top_p": self._top_p, "caption_seed": self._seed}
        return {"model": self._source.revision or self.model, **drawn, **processor}

    def measures(self, prepared: Sequence[OpenedPicture]) -> pa.Table:
        """See `ContextWay.measures`."""
        captioner = self._ready
        captions = []
        for picture in prepared:
            digest = hashlib.sha256(f"{self._seed} ".encode() + picture.content).digest()
            own = int.from_bytes(digest[:8], "big") >> 1
            captions.append(captioner.sample(picture.image, count=self._count, top_p=self._top_p, seed=own))
        return pa.table({"captions": pa.array(captions, pa.list_(pa.string()))})

    def name(
        self, measures: pa.Table, *, label: NDArray[np.int64], classes: Sequence[str], chosen_on: NDArray[np.bool_]
    ) -> NamedContexts:
        """See `ContextWay.name`."""
        column = join_chunks(measures.column("captions"))
        captions = [[caption for caption in row if caption] for row in column.to_pylist()]
        has_caption = np.array([bool(row) for row in captions], bool)  # of others nothing is known
        chosen = chosen_on & has_caption
        if not chosen.any():
            raise OochubError(
                f"None of the {int(chosen_on.sum())} images to choose on has a caption, so usual words cannot be "
                "counted. Use more images, or another captioner."
            )
        gists = self._compute_gists(captions, has_caption, label, classes, chosen)
        words = _find_caption_words(
            captions,
            label=label,
            chosen=chosen,
            besides=(*classes, *self._leave_out),
            least=min(2, self._count),
            fewest=self._fewest,
            most=self._most,
        )
        where = "the caption" if self._count == 1 else "two captions or more"
        columns = {"captions": (datasets.List(datasets.Value("string")), column)}
        columns |= gists.columns if classes else {}
        return NamedContexts(
            names=(*(f"gist of {name}" for name in gists.tau), *words.words),
            words=(
                *(f"captions similar to those of {name}, cosine {tau:.3g} or more" for name, tau in gists.tau.items()),
                *(f'"{word}" in {where}' for word in words.words),
            ),
            has=np.concatenate([gists.has, words.has], 1),
            settings={"tau": gists.tau, **({} if self._tau is not None else {"hard": self._hard}), **gists.encoder},
            columns=columns,
            notes=gists.notes,
        )

    def _compute_gists(
        self,
        captions: Sequence[Sequence[str]],
        said: NDArray[np.bool_],
        label: NDArray[np.int64],
        classes: Sequence[str],
        chosen: NDArray[np.bool_],
    ) -> "_Gists":
        """The gist of each class that has rows enough."""
        thing = presence_class(classes, BuildFacts()) if classes else None
        judged = list(range(len(classes))) if thing is None else [thing.present]
        rows = {y: int((chosen & (label == y)).sum()) for y in judged}
        frequent = sorted((y for y in judged if rows[y] >= self._fewest), key=lambda y: -rows[y])
        few = [classes[y] for y in judged if rows[y] < self._fewest]
        notes = [f"fewer than {self._fewest} rows to choose on, so no gist: {', '.join(few)}"] if few else []
        own, challenge = np.full(len(label), np.nan, np.float32), np.full(len(label), None, object)
        taus: dict[str, float] = {}
        has: list[NDArray[np.bool_]] = []
        encoder = {}
        places = np.flatnonzero(said)
        if frequent:
            embedded = image_embeddings({row: captions[row] for row in places.tolist()}, encoder=self._encoder)
            encoder = {"encoder": embedded.encoder, "encoder_sha256": embedded.digest}
        for start in range(0, len(frequent), _BLOCK):
            block = frequent[start : start + _BLOCK]
            present = label[places, None] == np.array(block)
            similarity = gist_similarity(embedded.vectors, present, chosen[places])
            for number, y in enumerate(block):
                cosine = similarity[:, number]
                tau = self._tau
                if tau is None:
                    quantile = np.quantile(cosine[chosen[places] & present[:, number]], self._hard)
                    tau = float(np.floor(float(quantile) * 10**_DIGITS) / 10**_DIGITS)  # rows at it are above
                of = present[:, number] if thing is None else label[places] >= 0
                own[places[of]] = cosine[of]
                challenge[places[of]] = catalog.get("criterion", "gist")(present[of, number], cosine[of], tau=tau)
                if len(taus) < self._most:
                    taus[classes[y]] = float(tau)
                    has.append(np.zeros(len(label), bool))
                    has[-1][places] = cosine >= tau
        numbers = [None if side is None else CHALLENGES.index(side) for side in challenge]
        columns = {
            "gist_similarity": (datasets.Value("float32"), pa.array(own, mask=np.isnan(own))),
            "challenge_gist": (datasets.ClassLabel(names=list(CHALLENGES)), pa.array(numbers, pa.int64())),
        }
        return _Gists(taus, np.array(has, bool).reshape(-1, len(label)).T, columns, encoder, tuple(notes))

    @property
    def _ready(self) -> "Captioner":
        """The captioner on its device, opened with the first images."""
        if self._opened is None:
            from oochub.models.acceleration import choose_device
            from oochub.models.captioner import Captioner

            image_embeddings({0: ["a photo"]}, encoder=self._encoder)  # what is wrong with it is said before all work
            self._opened = Captioner(self._path, device=choose_device(self._device_name))
        return self._opened


class _Gists(NamedTuple):
    """The tau of each class, the rows that are like the class (n, k), the columns, the encoder, and notes on them."""

    tau: dict[str, float]
    has: NDArray[np.bool_]
    columns: dict[str, tuple[Any, Any]]
    encoder: dict[str, Any]
    notes: tuple[str, ...]


class _FoundWords(NamedTuple):
    """The words (k,), and whether each row has each (n, k)."""

    words: tuple[str, ...]
    has: NDArray[np.bool_]


def _find_caption_words(
    captions: Sequence[Sequence[str]],
    *,
    label: NDArray[np.int64],
    chosen: NDArray[np.bool_],
    besides: Iterable[str] = (),
    least: int = 1,
    fewest: int = 20,
    most: int = 20,
) -> _FoundWords:
    """The words that captions say more or less often with a class than without it.

    A plural is its singular, where the rows to choose on have that. Left out are words of English that name nothing
    (articles, prepositions, pronouns, numbers, "several", "front"), words of captions themselves ("photo",
    "background") and single letters.

    Args:
        captions: Captions of each of n images.
        label: Class number of each (n,), -1 where there is none. With fewer than two classes frequent words are taken.
        chosen: Rows that may be looked at to choose (n,).
        besides: Words, or names of several words, that are left out, such as those of the classes.
        least: Minimum number of captions of an image that must hold a word for the image to have it.
        fewest: Minimum number of rows to choose on that have a word, and minimum number of them that lack it.
        most: Words that are kept: those whose share differs most between a class and the other rows, or the frequent.

    >>> captions = [["A cow on grass"], ["Cows and grass"], ["A cow, grass"], ["A dog in snow"], ["dog, snow"]] * 4
    >>> every = np.ones(20, bool)
    >>> label = np.tile([0, 0, 0, 1, 1], 4)
    >>> _find_caption_words(captions, label=label, chosen=every, besides=["cow", "dog"], fewest=5).words
    ('grass', 'snow')
    """
    rows = [_count_words(row, least) for row in captions]
    ours = np.flatnonzero(chosen).tolist()
    vocabulary = frozenset[str]().union(*(rows[row] for row in ours))
    singular = {f"{word}{end}": word for end in _PLURALS for word in vocabulary}
    named = {word for name in besides for word in _WORD.findall(name.casefold())}
    named |= {f"{word}{end}" for word in named for end in _PLURALS}
    counts = {number: Counter[str]() for number in np.unique(label[chosen]).tolist()}
    for row in ours:
        counts[int(label[row])].update(_fold_words(rows[row], singular))
    total = sum(counts.values(), Counter[str]())
    words = sorted(
        (word for word, n in total.items() if fewest <= n <= len(ours) - fewest and word not in named),
        key=lambda word: (-total[word], word),
    )
    classes = [number for number in counts if number >= 0]
    if len(classes) > 1:
        having = np.array([[counts[number][word] for word in words] for number in classes], np.int64)
        rows_of = np.array([int((label[chosen] == number).sum()) for number in classes])
        goes_with = (context_signs(having, rows_of) != 0).any(0)
        others = (having.sum(0) - having) / (rows_of.sum() - rows_of)[:, None]
        strength = abs(having / rows_of[:, None] - others).max(0)
        words = [words[at] for at in np.argsort(-strength, kind="stable") if goes_with[at]]  # the strongest first
    words = words[:most]
    has = np.zeros((len(rows), len(words)), bool)
    for row, own in enumerate(rows):
        folded = _fold_words(own, singular)
        has[row] = [word in folded for word in words]
    return _FoundWords(tuple(words), has)


def _count_words(captions: Sequence[str], least: int) -> frozenset[str]:
    counts = Counter(word for caption in captions for word in set(_WORD.findall(caption.casefold())))
    return frozenset(word for word, n in counts.items() if n >= least and len(word) > 1 and word not in _CLOSED)


def _fold_words(words: Iterable[str], singular: dict[str, str]) -> set[str]:
    return {singular.get(word, word) for word in words}
