"""Every type of model that answers in words and that a tiny config can make, against transformers alone."""

from pathlib import Path

import numpy as np
import pytest
from bare_answers import bare_scores, list_written
from more_chat_models import MORE, more_chat_model
from tiny_chat_models import NAMES, WORDS, images, rows

import oochub

SLOW = ("florence2", "gemma4", "git", "llava_next", "mllama")
"""Run more often than the others: an encoder beside a decoder, tokens of sounds, no shared prompt, crops, attention."""


@pytest.mark.parametrize(
    "kind", [pytest.param(kind, marks=pytest.mark.slow if kind in SLOW else pytest.mark.campaign) for kind in MORE]
)
def test_a_type_answers_as_transformers_alone(kind: str, tmp_path: Path) -> None:
    """Likelihoods of words within 1e-4 nats of a bare pass, and the text that `generate` writes, in batches of 1 and 3.

    Planted faults seen: the last answer of a batch not checked when the model is opened (idefics); answers that a
    model's own `generate` was not made to write (janus).
    """
    folder, some, text = more_chat_model(tmp_path / kind, kind), rows(count=3), ""
    for size in (1, 3):
        options = {"batch_size": size, "cache": False, "images": False}
        scores = oochub.predict(str(folder), some, mode="multiple_choice", **options)
        text, found = str(scores.metadata.prompt), np.stack(scores.rows.column("logits").to_pylist())
        expected = np.array([bare_scores(folder, text, WORDS, image) for image in images(3)])
        np.testing.assert_allclose(found, expected, rtol=0, atol=1e-4)
        assert np.ptp(expected, axis=0).max() > 1e-3, "images make no difference, so nothing is tested"
        assert scores.metadata.class_names == NAMES
        wrote = oochub.predict(str(folder), some, mode="generate", max_new_tokens=4, **options)
        assert wrote.rows.column("answer").to_pylist() == list(list_written(folder, text, 4, images(3)))
