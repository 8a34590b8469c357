"""A causal language model learns the next tokens of Py150-wilds: trained, predicted, evaluated."""

import math
import shutil

import numpy as np
import pytest
import torch
from transformers import GPT2Config, GPT2LMHeadModel

import oochub
from oochub.errors import OochubError
from oochub.models.modes.head import _NextTokens as NextTokens
from oochub.trainers.losses import example_losses


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    """A folder of a GPT-2 of one layer, untrained."""
    folder = tmp_path_factory.mktemp("model") / "gpt2"
    with torch.random.fork_rng():
        torch.manual_seed(0)
        config = GPT2Config(
            vocab_size=52, n_positions=256, n_embd=32, n_layer=1, n_head=2, bos_token_id=0, eos_token_id=0
        )
        GPT2LMHeadModel(config).save_pretrained(folder)
    return folder


@pytest.fixture(scope="module")
def run(raw, model, tmp_path_factory):
    out = tmp_path_factory.mktemp("run") / "erm"
    oochub.train(
        "wilds/py150",
        out,
        model=str(model),
        data_dir=str(raw("wilds/py150")),
        arguments={
            "num_train_epochs": 3,
            "per_device_train_batch_size": 8,
            "learning_rate": 1e-2,
            "metric_for_best_model": "token_accuracy",
        },
    )
    return out


@pytest.fixture(scope="module")
def predictions(run, raw):
    data = oochub.load("wilds/py150", data_dir=str(raw("wilds/py150")))
    return oochub.predict(str(run), data, splits=["id_test", "test"], batch_size=16, cache=False)


def test_the_loss_of_a_row_is_the_mean_over_its_tokens():
    """By a loop over tokens."""
    rng = np.random.default_rng(0)
    logits, label = rng.normal(size=(4, 6, 9)).astype(np.float32), rng.integers(0, 9, (4, 6))
    label[rng.random((4, 6)) < 0.4] = -100
    label[3] = -100
    losses = example_losses(torch.from_numpy(logits), torch.from_numpy(label.astype(np.int32)))
    for row in range(4):
        terms = [
            math.log(sum(math.exp(z) for z in logits[row, place].tolist())) - float(logits[row, place, token])
            for place, token in enumerate(label[row])
            if token >= 0
        ]
        assert losses[row].item() == pytest.approx(sum(terms) / max(len(terms), 1), abs=1e-5)


@pytest.mark.slow
def test_checkpoints_of_tied_weights_are_written_without_a_word(raw, model, tmp_path, caplog):
    """Of GPT-2 the words that are read and those that are written are one weight. Planted fault: no line left out."""
    arguments = {"num_train_epochs": 2, "per_device_train_batch_size": 64}
    oochub.train("wilds/py150", tmp_path, model=str(model), data_dir=str(raw("wilds/py150")), arguments=arguments)
    assert not [record for record in caplog.records if "shared tensor" in record.getMessage()]


@pytest.mark.slow
def test_predictions_are_the_most_probable_tokens(run, raw, predictions):
    """Against the model of transformers itself, row by row."""
    network = GPT2LMHeadModel.from_pretrained(run).eval()
    part = oochub.load("wilds/py150", data_dir=str(raw("wilds/py150")))["test"]
    of_test = predictions.select(predictions.split == "test")
    for row in (0, len(part) - 1):
        with torch.inference_mode():
            logits = network(input_ids=torch.tensor([part[row]["input_ids"]])).logits[0]
        assert of_test.prediction[row].tolist() == logits.argmax(-1).tolist()
        assert of_test.label[row].tolist() == part[row]["tokens"]
    assert "input_ids" not in predictions.column_names


@pytest.mark.slow
def test_the_report_is_of_the_asked_tokens(predictions):
    report = oochub.evaluate(predictions, resamples=100)
    inside, outside = report["in_context/token_accuracy"], report["out_of_context/token_accuracy"]
    assert report["gap"].value == pytest.approx(outside - inside) and "clusters" in inside.method
    assert "Token accuracy is" in report.to_markdown()


@pytest.mark.slow
def test_group_dro_weighs_the_repositories(raw, model, tmp_path):
    data = oochub.load("wilds/py150", data_dir=str(raw("wilds/py150")))
    objective = oochub.get("objective", "group_dro")(step_size=1.0)
    network = GPT2LMHeadModel.from_pretrained(model)
    from oochub.inputs._stored_processors import TokenProcessor

    trainer = oochub.RobustTrainer(
        network,
        oochub.RobustTrainingArguments(output_dir=tmp_path / "run", num_train_epochs=1, max_steps=2),
        train_dataset=data["train"],
        objective=objective,
        processor=TokenProcessor(),
    )
    trainer.train()
    weights = objective.weights.cpu().numpy()
    assert weights.sum() == pytest.approx(1, abs=1e-5) and (weights > 0).sum() == 6 and weights.std() > 0


def test_coral_sees_a_vector_a_token(raw, model, tmp_path):
    """What the language model's last layer sees, (n, t, d): its hidden states, as transformers gives them."""
    from accelerate import Accelerator

    from oochub.trainers.fine_tuning.fitting import find_head_layers
    from oochub.trainers.training_step import TrainingStep

    network = GPT2LMHeadModel.from_pretrained(model).eval()
    ids = {"input_ids": torch.tensor([[3, 4, 5], [6, 7, 8]])}
    training = TrainingStep(
        Accelerator(cpu=True), network, torch.optim.SGD(network.parameters()), head=find_head_layers(network, ids)
    )
    expected = network(**ids, output_hidden_states=True).hidden_states[-1]
    assert torch.allclose(training.outputs(ids).features, expected) and expected.shape == (2, 3, 32)
    folder, settings = str(raw("wilds/py150")), {"max_steps": 2, "per_device_train_batch_size": 6}
    penalty = {"penalty_weight": 1.0, "form": "wilds"}
    sampled = {"sampler": "environments", "environments_per_batch": 2}
    result = oochub.train(
        "wilds/py150",
        tmp_path / "run",
        model=str(model),
        objective="coral",
        hyperparameters=penalty,
        data_dir=folder,
        arguments=settings | sampled,
    )
    assert result["global_step"] == 2 and math.isfinite(result["best_value"])


def test_what_does_not_go_together_is_said(raw, model, tmp_path):
    folder = str(raw("wilds/py150"))
    small = tmp_path / "small"
    config = GPT2Config(vocab_size=40, n_positions=256, n_embd=8, n_layer=1, n_head=1, bos_token_id=0, eos_token_id=0)
    GPT2LMHeadModel(config).save_pretrained(small)
    with pytest.raises(OochubError, match="the token 51, but the model knows only those from 0 to 39"):
        oochub.train("wilds/py150", tmp_path / "run", model=str(small), data_dir=folder)
    data = oochub.load("wilds/py150", data_dir=folder)
    with pytest.raises(OochubError, match=r"has the token \d+, but the model knows only those from 0 to 39"):
        oochub.predict(str(small), data, splits=["test"])
    with pytest.raises(OochubError, match="Use erm, group_dro, irm or coral"):
        oochub.train("wilds/py150", tmp_path / "run", model=str(model), objective="dfr", data_dir=folder)
    with pytest.raises(OochubError, match="Causirl compares the features of environments"):
        oochub.train("wilds/py150", tmp_path / "run", model=str(model), objective="causirl", data_dir=folder)
    with pytest.raises(OochubError, match="Features need rows with one answer"):
        oochub.predict(str(model), data, splits=["test"], features=True)


def test_rows_of_several_lengths_keep_them(model):
    """The shorter row is padded in its batch, and its answers are those that it has alone."""
    from datasets import Dataset

    rows = {"input_ids": [[3, 4, 5, 6], [7, 8], [9]], "tokens": [[4, 5, 6, 7], [8, -100], [2]]}
    both = oochub.predict(str(model), Dataset.from_dict(rows), batch_size=2, cache=False)
    single = oochub.predict(str(model), Dataset.from_dict(rows), batch_size=1, cache=False)
    said = both.to_pandas()["predicted_tokens"].map(list).tolist()
    assert list(map(len, said)) == [4, 2, 1] and said == single.to_pandas()["predicted_tokens"].map(list).tolist()


_UNEQUAL = {
    "input_ids": [[3, 4, 5, 6], [7, 8], [2], [1, 2, 3]],
    "tokens": [[4, 5, 6, 7], [8, -100], [2], [-100, 3, 4]],
    "kinds": [[0, 1, 0, 2], [1, -1], [0], [-1, 1, 1]],
    "environment": ["a", "b", "a", "b"],
}


def _trainer(folder, rows, validation=None, **settings):
    from datasets import Dataset

    from oochub.inputs._stored_processors import TokenProcessor

    return oochub.RobustTrainer(
        _tiny(),
        oochub.RobustTrainingArguments(output_dir=folder, num_train_epochs=1, learning_rate=1e-12, **settings),
        train_dataset=Dataset.from_dict(rows),
        eval_dataset=Dataset.from_dict(validation or rows),
        objective=oochub.get("objective", "erm")(),
        processor=TokenProcessor(),
        metrics=["token_accuracy"],
    )


@pytest.mark.parametrize("batch_size", [1, 2])
def test_rows_of_several_lengths_train_and_are_validated_as_each_is_alone(tmp_path, batch_size):
    """Against transformers, row by row; most batches lack the longest row."""
    network, losses, right, asked = _tiny(), [], 0, 0
    for ids, tokens, kinds in zip(*(_UNEQUAL[name] for name in ("input_ids", "tokens", "kinds")), strict=True):
        with torch.inference_mode():
            logits = network(input_ids=torch.tensor([ids])).logits[0].double()
        places = [place for place, token in enumerate(tokens) if token >= 0]
        losses.append(np.mean([-logits[place].log_softmax(-1)[tokens[place]].item() for place in places]))
        counted = [place for place in places if kinds[place] in (0, 1)]  # classes and methods
        right += sum(logits[place].argmax().item() == tokens[place] for place in counted)
        asked += len(counted)
    sizes = {"per_device_train_batch_size": batch_size, "per_device_eval_batch_size": batch_size}
    (record,) = _trainer(tmp_path / "run", _UNEQUAL, **sizes).train().history
    assert record["loss"] == pytest.approx(np.mean(losses), abs=2e-6)
    assert record["eval_loss"] == pytest.approx(np.mean(losses), abs=2e-6)
    assert record["eval_token_accuracy"] == right / asked


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"tokens": [[4, 5, 6, 7], [8, 1], [2, 2], [1, 3, 4]]}, "Row 2 of the {} set has 1 input_ids but 2 tokens"),
        ({"input_ids": [[3, 4, 5, 6], [7, 8, 1], [2], [1, 2, 3]]}, "Row 1 of the {} set has 3 input_ids but 2 tokens"),
        ({"input_ids": [[3, 4, 5, 9], [7, 8], [2], [1, 2, 3]]}, "The {} set has the token 9, but the model knows"),
        (
            {"input_ids": [[1] * 5], "tokens": [[2] * 5], "kinds": [[0] * 5], "environment": ["a"]},
            "A row of the {} set has 5 tokens, but the model reads at most 4",
        ),
    ],
)
@pytest.mark.parametrize("split", ["train", "validation"])
def test_tokens_that_do_not_go_together_are_said_before_training(tmp_path, split, change, message):
    """Of either split; a planted check of the training split alone was seen."""
    parts = {"rows": _UNEQUAL, "validation": _UNEQUAL} | {{"train": "rows"}.get(split, split): _UNEQUAL | change}
    with pytest.raises(OochubError, match=message.format(split)):
        _trainer(tmp_path / "run", **parts)


@pytest.mark.slow
def test_the_worst_rows_keep_a_line_with_the_words_of_the_model(run, raw, model, predictions, tmp_path):
    """Planted and seen: lines of other rows than the wrong ones; numbers where the model has a vocabulary."""
    from oochub.builders.toy_worlds._words import VOCABULARY
    from oochub.inputs._stored_processors import TokenProcessor

    lines = predictions.table.column("thumbnail_text").to_pylist()
    wrong = (predictions.label != predictions.prediction[:, : predictions.label.shape[1]]) & (predictions.label >= 0)
    kept = [row for row, line in enumerate(lines) if line is not None]
    assert kept and all(wrong[row].any() for row in kept)
    named = shutil.copytree(run, tmp_path / "named")
    TokenProcessor(vocabulary=VOCABULARY).save_pretrained(named)
    part = oochub.load("wilds/py150", data_dir=str(raw("wilds/py150")))
    said = oochub.predict(str(named), part, splits=["id_test", "test"], batch_size=16, cache=False)
    named_lines = said.table.column("thumbnail_text").to_pylist()
    for row in kept:
        place = int(np.argmax(wrong[row]))
        truth, answer = (VOCABULARY[int(tokens[row][place])].strip() for tokens in (said.label, said.prediction))
        assert f"⟦{truth or '⏎'}, said {answer or '⏎'}⟧" in named_lines[row]
    page = oochub.evaluate(said, resamples=100).to_html()
    assert page.count("<mark>") >= 1 and "⟦" not in page


def _tiny(longest=4):
    torch.manual_seed(0)
    sizes = {"vocab_size": 9, "n_positions": longest, "n_embd": 8, "n_layer": 1, "n_head": 1}
    dropout = {"resid_pdrop": 0.0, "embd_pdrop": 0.0, "attn_pdrop": 0.0}
    config = GPT2Config(**sizes, **dropout, bos_token_id=0, eos_token_id=0)
    return GPT2LMHeadModel(config).eval()


def test_the_largest_token_and_the_longest_row_are_read():
    """One more of either is an error; so are logits that are not finite."""
    model, whole = _tiny(), torch.ones(1, 4, dtype=torch.long)
    ids = torch.tensor([[8, 0, 8, 3]])
    with torch.inference_mode():
        said = NextTokens(model)(input_ids=ids, attention_mask=whole).logits
        assert said.tolist() == model(input_ids=ids).logits.argmax(-1).tolist()
        with pytest.raises(OochubError, match="the token 9, but the model knows only those from 0 to 8"):
            NextTokens(model)(input_ids=ids + 1, attention_mask=whole)
        longer = torch.ones(1, 5, dtype=torch.long)
        with pytest.raises(OochubError, match="A row has 5 tokens, but the model reads at most 4"):
            NextTokens(model)(input_ids=longer, attention_mask=longer)
        model.lm_head.weight[0, 0] = float("nan")
        with pytest.raises(OochubError, match="non-finite logits"):
            NextTokens(model)(input_ids=ids, attention_mask=whole)
