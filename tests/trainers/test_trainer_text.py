"""Text classification by the same trainer: a tiny BERT against a bare loop, saved with its tokenizer, resumed."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from datasets import ClassLabel, Dataset, Features, List, Value
from tokenizers import Tokenizer
from tokenizers.models import WordLevel
from tokenizers.pre_tokenizers import Whitespace
from tokenizers.processors import TemplateProcessing
from trainings import arguments
from transformers import BertConfig, BertForSequenceClassification, PreTrainedTokenizerFast, pipeline

import oochub
from oochub.errors import OochubError
from oochub.inputs.texts import Texts
from oochub.trainers.backbone import open_backbone
from oochub.trainers.robust_trainer import RobustTrainer
from oochub.trainers.samplers import UniformSampler

WORDS = "[PAD] [UNK] [CLS] [SEP] good bad film book was the a very not today again so".split()


def tokenizer() -> PreTrainedTokenizerFast:
    made = Tokenizer(WordLevel({word: number for number, word in enumerate(WORDS)}, unk_token=WORDS[1]))
    made.pre_tokenizer = Whitespace()
    made.post_processor = TemplateProcessing(single="[CLS] $A [SEP]", special_tokens=[("[CLS]", 2), ("[SEP]", 3)])
    names = {"unk_token": "[UNK]", "pad_token": "[PAD]", "cls_token": "[CLS]", "sep_token": "[SEP]"}
    return PreTrainedTokenizerFast(tokenizer_object=made, model_max_length=12, **names)


def bert(outputs: int = 2, dropout: float = 0.0) -> Any:
    torch.manual_seed(0)
    shape = {"hidden_size": 16, "num_hidden_layers": 1, "num_attention_heads": 2, "intermediate_size": 16}
    drops = {"hidden_dropout_prob": dropout, "attention_probs_dropout_prob": dropout}
    config = BertConfig(vocab_size=len(WORDS), max_position_embeddings=12, num_labels=outputs, **shape, **drops)
    return BertForSequenceClassification(config)


def texts(rows: int, seed: int) -> Dataset:
    """Good or bad, of films or books; up to 9 other words, so that lengths differ."""
    rng = np.random.default_rng(seed)
    label, environment = rng.integers(0, 2, rows), rng.integers(0, 2, rows)
    others = [" ".join(rng.choice(WORDS[8:], rng.integers(0, 10))) for _ in range(rows)]
    said = [
        f"{('bad', 'good')[y]} {('film', 'book')[e]} {o}" for y, e, o in zip(label, environment, others, strict=True)
    ]
    features = Features(
        {
            "text": Value("string"),
            "label": ClassLabel(names=["bad", "good"]),
            "environment": ClassLabel(names=["film", "book"]),
        }
    )
    return Dataset.from_dict({"text": said, "label": label, "environment": environment}, features)


def trainer_of(out: Path, train: Dataset, validation: Any = None, *, objective: str = "erm", **changed: Any) -> Any:
    own = {"model": bert(), "metrics": ()} | {key: changed.pop(key) for key in ("model", "metrics") if key in changed}
    return RobustTrainer(
        own["model"],
        arguments(out, **changed),
        train_dataset=train,
        eval_dataset=validation,
        objective=oochub.get("objective", objective)(),
        tokenizer=tokenizer(),
        metrics=own["metrics"],
    )


@pytest.mark.parametrize("objective", ["erm", "group_dro"])
def test_equals_a_bare_loop(tmp_path: Path, objective: str) -> None:
    """Batches in the sampler's order, padded by the tokenizer. Planted: no attention mask."""
    train = texts(40, 1)
    trainer = trainer_of(tmp_path / "run", train, objective=objective)
    trainer.train()
    model, prepare = bert().train(), tokenizer()
    label, environment = torch.tensor(train["label"][:]), torch.tensor(train["environment"][:])
    loss_of = oochub.get("objective", objective)()
    loss_of.prepare(environment_counts=torch.bincount(environment).tolist())
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3, weight_decay=1e-4)
    sampler = UniformSampler(40, seed=0)
    for epoch in range(2):
        sampler.set_epoch(epoch)
        order = list(sampler)
        for start in range(0, 40, 16):
            rows = order[start : start + 16]
            batch = prepare([train[row]["text"] for row in rows], padding=True, truncation=True, return_tensors="pt")
            logits = model(input_ids=batch["input_ids"], attention_mask=batch["attention_mask"]).logits
            loss_of(logits, label[rows], environment[rows]).backward()
            optimizer.step()
            optimizer.zero_grad()
    found = trainer.model.state_dict()
    for name, values in model.state_dict().items():
        assert torch.allclose(found[name], values, atol=1e-6), name


@pytest.mark.slow
def test_the_folder_opens_with_transformers(tmp_path: Path) -> None:
    trainer = trainer_of(
        tmp_path / "run", texts(120, 1), texts(40, 2), num_train_epochs=8, learning_rate=5e-3, metrics=("accuracy",)
    )
    result = trainer.train()
    best = result.history[result.best_epoch - 1]
    assert best["eval_accuracy"] > 0.9 and best["eval_accuracy_by_environment"].keys() == {"film", "book"}
    classify = pipeline("text-classification", model=str(result.output_dir))
    assert classify("very good film")[0]["label"] == "good" and classify("bad book again")[0]["label"] == "bad"
    card = (result.output_dir / "README.md").read_text()
    assert "pipeline_tag: text-classification" in card
    recipe = json.loads((result.output_dir / "recipe.json").read_text())
    assert recipe["settings"]["tokenizer"]["max_length"] is None
    model, again = open_backbone(str(result.output_dir), class_names=["a", "b", "c"], kind=Texts)
    assert model.config.num_labels == 3 and again("good film")["input_ids"] == tokenizer()("good film")["input_ids"]


def test_features_several_labels_and_stages(tmp_path: Path) -> None:
    """Coral takes the features before the classifier; labels may be several; jtt takes two stages."""
    train = texts(40, 1)
    assert trainer_of(tmp_path / "coral", train, objective="coral").train().global_step == 6
    assert trainer_of(tmp_path / "jtt", train, objective="jtt").train().global_step > 6
    several = train.map(lambda row: {"labels": [row["label"], 2]}, remove_columns="label", keep_in_memory=True)
    several = several.cast_column("labels", List(ClassLabel(names=["bad", "good", "text"])))
    result = trainer_of(tmp_path / "labels", several, model=bert(3)).train()
    config = json.loads((result.output_dir / "config.json").read_text())
    assert config["problem_type"] == "multi_label_classification"


def test_what_is_for_pictures_is_refused(tmp_path: Path) -> None:
    train = texts(20, 1)
    for change, message in (
        ({"augment": "flip"}, "augment='flip' is for images"),
        ({"objective": "mixup"}, "Mixup mixes images; tokens cannot be mixed"),
        ({"objective": "lisa"}, "Lisa mixes images"),
        ({"objective": "w2d"}, "W2d hides parts of images"),
    ):
        with pytest.raises(OochubError, match=message):
            trainer_of(tmp_path / "run", train, **change)
    with pytest.raises(OochubError, match="no column 'text', only words"):
        trainer_of(tmp_path / "run", train.rename_column("text", "words"))
    with pytest.raises(OochubError, match=r"Pass one of image_processor=, .* tokenizer="):
        RobustTrainer(
            bert(), arguments(tmp_path / "run"), train_dataset=train, objective=oochub.get("objective", "erm")()
        )
    with pytest.raises(
        OochubError, match=r"reads pictures or arrays, and the rows are of texts\. Built-in models for them: distilbert"
    ):
        open_backbone("resnet-tiny", class_names=["a", "b"], kind=Texts)
