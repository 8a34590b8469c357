"""Every kind of page that the hub writes, one of each: what is looked at in a real browser."""

import base64
import functools
import io
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from types import MappingProxyType
from typing import get_args

import numpy as np
import reports
from collection_by_hand import cell_by_hand, collection_by_hand, untold_by_hand
from detection_reports import detection_report
from found_rows import found_report
from leaderboard_entries import sent_entry
from PIL import Image, ImageDraw
from probed_report import probe
from repair_rows_by_hand import OWN, predictions_by_hand
from spectrum_sets import near_and_far_report

import oochub
from oochub.comparison.compare import _compare_predictions as paired_comparison
from oochub.comparison.comparison import comparison
from oochub.comparison.rank_models import rank_models
from oochub.hub.push_metric import _make_space
from oochub.leaderboard.site import Site
from oochub.prediction.predictions import Predictions
from oochub.prediction.predictions_file import StoredHead
from oochub.records.build_record import BuildFacts
from oochub.records.finding_records import ProbedPicture, ShownRow, Variant
from oochub.records.schema import to_json
from oochub.repairing import repair_predictions
from oochub.repairs.collection import Collection
from oochub.repairs.repair import repair_page
from oochub.reviewing.review_page import RIGHT_OR_WRONG, Card, Question, Shown, make_review_page
from oochub.settings.repair_settings import RepairSettings

N = 240
_HARD = np.arange(N) % 3 == 0
_ROWS: Mapping[str, object] = MappingProxyType({"challenge": np.where(_HARD, "hard", "easy")})
_PLACES = {"dog": ("grass", "beach"), "cat": ("sofa", "kitchen")}


def own_page() -> str:
    """Own data of two classes with usual contexts and images, as `oochub audit` makes it."""
    label = np.arange(N) % 2
    usual = np.stack([np.array(_PLACES["cat"])[_turn(2)], np.array(_PLACES["dog"])[_turn(2)]])
    context = np.where(_HARD, usual[1 - label, np.arange(N)], usual[label, np.arange(N)])
    made = Predictions.from_arrays(
        logits=_logits(label, 2),
        label=label,
        class_names=["cat", "dog"],
        challenge=np.where(_HARD, np.where(label == 1, "hard_positive", "hard_negative"), "easy"),
        context=context,
        group=[f"{'cat dog'.split()[k]}/{place}" for k, place in zip(label, context, strict=True)],
        thumbnail=[_picture(seed) for seed in range(N)],
        model="my-classifier",
    )
    made = Predictions(made.table, replace(made.metadata, facts=BuildFacts(usual_contexts=_PLACES)))
    return oochub.evaluate(made, match="label", resamples=100).to_html()


def text_page() -> str:
    """Two classes of texts, whose mistakes are shown as what stands in them."""
    label = np.arange(N) % 2
    text = [
        f"Comment {k}: a sentence that somebody wrote, long enough to take several lines of a card." for k in range(N)
    ]
    return _page(logits=_logits(label, 2), label=label, class_names=["fine", "toxic"], text=text)


def number_page() -> str:
    """A number for each row."""
    label = _noise(1)[:, 0]
    return _page(value=label + np.where(_HARD, 1.5, 0.5) * _noise(1, seed=1)[:, 0], label=label)


def labels_page() -> str:
    """Several labels a row, some of them unknown."""
    labels = np.where(_noise(5) > 0.3, 1.0, 0.0)
    logits = (2 * labels - 1) * np.where(_HARD, 0.4, 1.5)[:, None] + _noise(5, seed=1)
    labels[::7, 2] = np.nan
    return _page(logits=logits, labels=labels, class_names=["wheel", "road", "sky", "tree", "person"])


def boxes_page() -> str:
    """Boxes, drawn over the images of the mistakes; every fourth image has no true one."""
    return oochub.evaluate(boxes_predictions(), resamples=100).to_html()


def boxes_predictions() -> Predictions:
    """The predictions of that page."""
    corner = np.abs(_noise(2)) * 20
    true = np.concatenate([corner, corner + 40], 1)
    moved = true + np.where(_HARD, 30, 3)[:, None] * _noise(4, seed=1)
    moved[:, 2:] = np.maximum(moved[:, 2:], moved[:, :2] + 5)
    is_empty = np.arange(N) % 4 == 0
    return Predictions.from_arrays(
        **_ROWS,
        model="my-model",
        detected_boxes=moved[:, None],
        scores=np.where(is_empty & ~_HARD, 0.4, 0.9)[:, None],
        boxes=[[] if empty else [box] for empty, box in zip(is_empty, true.tolist(), strict=True)],
        class_names=["head"],
        thumbnail=[_picture(seed) for seed in range(N)],
        width=[160] * N,
        height=[120] * N,
    )


def tokens_page() -> str:
    """Tokens of which some are predicted wrongly."""
    tokens = np.abs(_noise(6) * 5).astype(int)
    said = np.where(_noise(6, seed=1) > np.where(_HARD, 0.5, 1.5)[:, None], tokens + 1, tokens)
    return _page(tokens=tokens, predicted_tokens=said, kinds=np.full((N, 6), 6))


def thousand_classes_page() -> str:
    """A thousand classes, some with the long names of ImageNet."""
    label = (np.arange(N) * 7) % 1000
    names = [f"class {k}, another name of it, and yet another one that is long" for k in range(1000)]
    return _page(logits=_logits(label, 1000, 4.0), label=label, class_names=names, thumbnail=_pictures())


def no_context_page() -> str:
    """Three classes, of which nothing says what is out of context."""
    label = np.arange(N) % 3
    return oochub.evaluate(Predictions.from_arrays(logits=_logits(label, 3), label=label), resamples=100).to_html()


def background_page() -> str:
    """Found contexts with the probe of backgrounds and its images."""
    pictures = [
        ProbedPicture(name=name, answer="cow", probability=0.5, image=base64.b64encode(_picture(k)).decode())
        for k, name in enumerate(get_args(Variant))
    ]
    source = "https://www.flickr.com/photos/someone/1 (CC BY 2.0)"
    shown = ShownRow(example_id="r1", label="cow", attributions=(source, source), pictures=tuple(pictures))
    return reports.read({**found_report(), "background": to_json(probe(shown=shown))}).to_html()


def comparison_page() -> str:
    """Six models on one benchmark, one of which has no gap."""
    made = []
    for k, (inside, out) in enumerate(((0.99, 0.85), (0.95, 0.70), (0.97, 0.96), (0.9, 0.55), (0.85, 0.5), (0.8, 0.4))):
        content = reports.nooch_report()
        content["model"] |= {"id": f"model {k}", "objective": None, "seeds": []}
        ends = [(value, value - 0.02, min(value + 0.01, 1.0)) for value in (inside, out)]
        gap = (out - inside, out - inside - 0.03, out - inside + 0.03)
        made.append(reports.read(reports.set_gap(content, ends[0], gap, ends[1])))
    return comparison(made).to_html()


def paired_page() -> str:
    """Two models on the same rows, with the images that flip."""
    label = np.arange(N) % 3
    group = [f"{k}/{place}" for k, place in zip(label, _turn(4), strict=True)]
    pair = [
        Predictions.from_arrays(
            logits=_logits(label, 3, skill), label=label, group=group, model=name, thumbnail=_pictures(), **_ROWS
        )
        for name, skill in (("resnet50", 1.0), ("vit", 1.6))
    ]
    return paired_comparison(*pair).to_html()


def ranking_page() -> str:
    """Five models on the same rows."""
    label = np.arange(N) % 3
    given = [
        Predictions.from_arrays(logits=_logits(label, 3, skill), label=label, model=f"model {k}", **_ROWS)
        for k, skill in enumerate((0.2, 1.0, 1.1, 3.0, 3.1))
    ]
    return rank_models(given).to_html()


def repair() -> str:
    """A model that is better after its repair, with images that change each way, and rows to collect."""
    cells = cell_by_hand("cat/land", 0.1, 0.01, 0.2), cell_by_hand("dog/land", 0.001, -0.02, 0.02, side="in", rows=60)
    return _repair(OWN, collection_by_hand(*cells, untold_by_hand("dog/sea"), ranked=40))


def nothing_repaired() -> str:
    """A model that does not rely on context."""
    return _repair(StoredHead(weight=OWN.weight * [1, 0], bias=OWN.bias))


def _repair(head: StoredHead, collection: Collection | None = None) -> str:
    sizes = {"train": (60, 15), "validation": (40, 20), "test": (60, 60)}
    pictures = [_picture(k) for k in range(2 * sum(map(sum, sizes.values())))]
    made = predictions_by_hand(sizes, head=head, thumbnail=pictures)
    object.__setattr__(made, "stored_head", head)
    return repair_page(replace(repair_predictions(made, RepairSettings())[0], collection=collection))


def review() -> str:
    """Cards of two images that a person judges."""
    question = Question(
        heading="Is it right?", lead="Say of each.", then="run: oochub", choices=RIGHT_OR_WRONG, file="contexts.csv"
    )
    shown = [
        Shown(side, f"data:image/jpeg;base64,{base64.b64encode(_picture(k)).decode()}", f"picture {k}", str(k))
        for k, side in enumerate(("", "nearest", "", "nearest"))
    ]
    cards = [Card(id=str(k), pictures=tuple(shown[k : k + 2]), note="grass") for k in (0, 2)]
    return make_review_page(cards, question, title="Contexts", about="2 images", store="x")


def metric() -> str:
    """The card of a metric."""
    return _make_space("ece", "user/ece")["index.html"]


def leaderboard(folder: Path) -> dict[str, Path]:
    """The files of a site: its index, a board with a ranked and an unverified entry, and one entry."""
    for skill, said in ((1.0, {"model": "low"}), (1.8, {"model": "oracle", "selection": "oracle"}), (2.2, {})):
        sent_entry(folder / "results", skill, **said)
    edited = sent_entry(folder / "results", 2.6, model="edited") / "report.json"
    edited.write_text(edited.read_text().replace('"value": 0.', '"value": 0.1', 1))
    site = Site.write(folder / "results", folder / "site").folder
    return {
        "leaderboard": site / "index.html",
        "board": site / "boards" / "board_toy-one.html",
        "entry": min((site / "entries").glob("*.html")),
    }


PAGES: Mapping[str, Callable[[], str]] = MappingProxyType(
    {
        "nooch": lambda: reports.read(reports.nooch_report()).to_html(),
        "spawrious": lambda: reports.read(reports.spawrious_report()).to_html(),
        "detection": lambda: reports.read(detection_report()).to_html(),
        "near and far": lambda: reports.read(near_and_far_report()).to_html(),
        "found_contexts": lambda: reports.read(found_report()).to_html(),
        "own_two_classes": own_page,
        "text": text_page,
        "number": number_page,
        "labels": labels_page,
        "boxes": boxes_page,
        "tokens": tokens_page,
        "thousand_classes": thousand_classes_page,
        "no_context": no_context_page,
        "background": background_page,
        "comparison": comparison_page,
        "paired": paired_page,
        "ranking": ranking_page,
        "repair": repair,
        "nothing_repaired": nothing_repaired,
        "review": review,
        "metric": metric,
    }
)
"""What makes each page, by its name; those of a leaderboard are files, see `leaderboard`."""


def _page(**columns: object) -> str:
    made = Predictions.from_arrays(**_ROWS, model="my-model", **columns)
    return oochub.evaluate(made, resamples=100).to_html()


def _turn(of: int) -> np.ndarray:
    return np.arange(N) // 6 % of


def _noise(width: int, *, seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).normal(size=(N, width))


def _logits(label: np.ndarray, classes: int, skill: float = 2.0) -> np.ndarray:
    logits = _noise(classes)
    logits[np.arange(N), label] += np.where(_HARD, skill / 4, skill)
    return logits


@functools.cache
def _pictures() -> tuple[bytes, ...]:
    return tuple(map(_picture, range(N)))


@functools.cache
def _picture(seed: int) -> bytes:
    ground, thing = (tuple(int(c) for c in row) for row in np.random.default_rng(seed).integers(40, 230, (2, 3)))
    image = Image.new("RGB", (160, 120), ground)
    ImageDraw.Draw(image).ellipse((50, 30, 110, 95), fill=thing)
    stream = io.BytesIO()
    image.save(stream, "JPEG", quality=70)
    return stream.getvalue()
