"""Predictions, a file or a folder of parts, with one thing wrong: refused, or numbers."""

import hashlib
import json
from collections.abc import Callable
from pathlib import Path
from random import Random

import numpy as np
import pytest
from drawn_changes import changed_field
from fuzz_case import Format, Used
from fuzz_predictions import evaluated, numbers_of

from oochub.prediction import predictions_file
from oochub.prediction.predictions import Predictions

FILE, FOLDER = "predictions.parquet", "parts.parquet"
_ROWS = 40


def _made() -> Predictions:
    """Forty rows of three classes with challenges and groups; the model is right in most."""
    rng = np.random.default_rng(0)
    label = rng.integers(0, 3, _ROWS)
    logits = rng.normal(size=(_ROWS, 3)) + 1.5 * np.eye(3)[label]
    challenge = rng.choice(["easy", "easy", "hard_positive", "hard_negative"], _ROWS)
    group = rng.choice(["day", "night"], _ROWS)
    return Predictions.from_arrays(
        logits=logits, label=label, class_names=["cat", "dog", "owl"], challenge=challenge, group=group, model="mine"
    )


def _make_parts(folder: Path) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(predictions_file, "_ONE_FILE", 1)
        _made().save(folder / FOLDER)


def _use(name: str) -> Callable[[Path, Path], Used]:
    def use(folder: Path, out: Path) -> Used:
        report = evaluated(folder / name, out, metrics=["accuracy"])
        return Used(numbers=numbers_of(report), notes=report.notes)

    return use


def resealed_field(folder: Path, rng: Random) -> str:
    """A field of the manifest changed, and a seal that fits it, as anyone can make it."""
    manifest = folder / FOLDER / "_manifest.json"
    content = json.loads(manifest.read_text())
    content.pop("seal")
    done = changed_field(content, rng)
    digest = hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()
    manifest.write_text(json.dumps({**content, "seal": digest}))
    return f"{done}, resealed"


_NAMES = ("group", "challenge", "label", "logits", "split")
PREDICTIONS = Format(name="predictions", make=lambda folder: _made().save(folder / FILE), use=_use(FILE), names=_NAMES)
PARTS = Format(name="predictions in parts", make=_make_parts, use=_use(FOLDER), names=_NAMES)
