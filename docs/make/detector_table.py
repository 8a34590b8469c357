"""The table of all detectors over near and far sets in docs/detection.md: `python docs/make/detector_table.py`.

A real network, EfficientNet-Lite0 with its ImageNet weights, on the drawn toy world of `imagenet_ood`: 30 classes that
it knows by name, of which it saw no drawing. The table shows that every detector runs from the raw folder to a number,
not which of them is best on photographs. Takes two packages of the development environment, see
`tests/helpers/real_classifier.py`, and some minutes.
"""

import sys
import tempfile
from pathlib import Path

import numpy as np

import oochub
from oochub.prediction.predictions import Predictions

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "detection.md"
BEGIN, END = "<!-- all detectors: begin -->", "<!-- all detectors: end -->"
NEAR, FAR = ("ssb_hard", "ninco"), ("inaturalist", "textures", "openimage_o")
SHIFTED = ("imagenet_r", "imagenet_v2")  # imagenet_c is 75 times the known drawings
GROUPS = [(group, reading) for group in ("near", "far") for reading in ("standard", "full_spectrum")]
"""Means over the sets of a group, without and with shifted drawings of known classes."""
SIZE = 6
OWN = {"knn": "knn:k=50", "open_max": "open_max:tail=20"}
"""Detectors whose default needs more rows a class than the toy world has."""


def main() -> None:
    """Measures and writes the table between its marks."""
    sys.path.append(str(ROOT / "tests" / "helpers"))
    from real_classifier import EfficientNetLiteForImageClassification, real_classifier

    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        place = real_classifier(folder / "lite0")
        model = EfficientNetLiteForImageClassification.from_pretrained(place).eval()
        raw = oochub.get("benchmark", "imagenet_ood").render_toy_world(folder / "raw", size=SIZE)
        known = _predict(model, place, "imagenet_1k", raw, splits=("train", "test"))
        reference, inside = (known.select(np.asarray(known.split == split)) for split in ("train", "test"))
        sets = {name: _predict(model, place, name, raw, splits=("test",)) for name in (*SHIFTED, *NEAR, *FAR)}
    rows = [_measure(name, inside, sets, reference) for name in oochub.names("detector")]
    accuracy = float((inside.logits.argmax(axis=1) == inside.label).mean())
    counts, shifted = (", ".join(f"{name} {len(sets[name])}" for name in names) for names in ((*NEAR, *FAR), SHIFTED))
    head = " | ".join((*NEAR, *FAR, *(f"{group}, {reading.replace('_', ' ')}" for group, reading in GROUPS)))
    lines = [
        f"{len(inside)} drawings of 30 known classes against {counts}; detectors are fitted on {len(reference)} other",
        f"drawings. The network's accuracy on the known ones is {accuracy:.2f}. The full spectrum counts {shifted} as",
        "known too. AUROC of new classes, 95% interval:",
        "",
        f"| detector | {head} |",
        "|---|" + "---|" * (len(NEAR + FAR) + len(GROUPS)),
        *rows,
    ]
    text = PAGE.read_text("utf-8")
    before, _, rest = text.partition(BEGIN)
    _, _, after = rest.partition(END)
    PAGE.write_text(f"{before}{BEGIN}\n" + "\n".join(lines) + f"\n{END}{after}", "utf-8")


def _predict(model: object, processor: Path, config: str, raw: Path, *, splits: tuple[str, ...]) -> Predictions:
    data = oochub.load(f"imagenet_ood/{config}", data_dir=str(raw))
    return oochub.predict(model, data, splits=splits, features=True, image_processor=str(processor))


def _measure(name: str, inside: Predictions, sets: dict[str, Predictions], reference: Predictions) -> str:
    """The row of a detector."""
    try:
        report = oochub.evaluate([inside, *sets.values()], detectors=[OWN.get(name, name)], reference=reference)
    except oochub.OochubError as error:
        return f"| `{name}` | {str(error).partition('. ')[0]} |" + " |" * (len(NEAR + FAR) + len(GROUPS) - 1)
    key, cells = OWN.get(name, name), []
    places = [f"imagenet_1k/{each}" for each in (*NEAR, *FAR)] + [f"{reading}/{group}" for group, reading in GROUPS]
    for place in places:
        estimate = report[f"{key}/{place}/auroc_new_class"]
        cells.append(f"{estimate.value:.2f} [{estimate.low:.2f}, {estimate.high:.2f}]")
    return f"| `{name}` | {' | '.join(cells)} |"


if __name__ == "__main__":
    main()
