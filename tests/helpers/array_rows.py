"""A tiny model of arrays in a folder, and a data set for it with ids, two splits and groups."""

import numpy as np
import torch
from datasets import ClassLabel, Dataset, DatasetDict, Features, List, Value
from transformers import ResNetConfig, ResNetForImageClassification

NAMES = ["cat", "dog", "owl"]
SHAPE = (3, 4, 4)


def array_model(folder):
    """A folder with a tiny model of arrays."""
    torch.manual_seed(0)
    config = ResNetConfig(
        embedding_size=8,
        hidden_sizes=[8],
        depths=[1],
        layer_type="basic",
        num_labels=3,
        id2label=dict(enumerate(NAMES)),
        label2id={name: k for k, name in enumerate(NAMES)},
    )
    ResNetForImageClassification(config).save_pretrained(folder)
    return folder


def array_data(**rows):
    """Splits of so many 3 x 4 x 4 arrays, with ids."""
    generator = np.random.default_rng(0)
    features = Features(
        {
            "example_id": Value("string"),
            "array": List(List(List(Value("float32")))),
            "label": ClassLabel(names=NAMES),
            "group": ClassLabel(names=["a", "b"]),
        }
    )
    splits = {}
    for name, count in rows.items():
        columns = {
            "example_id": [f"{name[0]}{k}" for k in range(count)],
            "array": generator.normal(size=(count, *SHAPE)).tolist(),
            "label": (np.arange(count) % 3).tolist(),
            "group": (np.arange(count) % 2).tolist(),
        }
        splits[name] = Dataset.from_dict(columns, features)
    return DatasetDict(splits)
