"""The mode multiple_choice: log-likelihoods of answers, against a bare pass of transformers over prompt and answer."""

import io
import json
import shutil
import sys
import zlib
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
import transformers
from bare_answers import bare_scores
from datasets import ClassLabel, Dataset, Features, Value
from datasets import Image as ImageFeature
from input_rows import encoded, photograph
from mode_examples import Example
from model_folders import edited
from PIL import Image
from tiny_chat_models import KINDS, NAMES, TEMPLATE, WORDS, byte_tokenizer, chat_model, images, rows

import oochub
from oochub.cli import main
from oochub.errors import OochubError
from oochub.models.chat.answer_scores import AnswerScores
from oochub.models.chat.chat_model import make_questions

MODE_EXAMPLES = {"multiple_choice": lambda folder: Example(chat_model(folder, "llava"), NAMES)}


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return cache(lambda kind: chat_model(tmp_path_factory.mktemp(kind), kind))  # made once


def logits(predictions: Any) -> np.ndarray[Any, Any]:
    return np.stack(predictions.rows.column("logits").to_pylist())


def _cost(kind: str) -> pytest.MarkDecorator:
    """The processor of Kosmos-2.5 makes 4,096 patches of each image: a minute."""
    return pytest.mark.campaign if kind == "kosmos2_5" else pytest.mark.slow


@pytest.mark.parametrize("kind", [k if k in ("llava", "blip_2") else pytest.param(k, marks=_cost(k)) for k in KINDS])
def test_scores_are_those_of_a_bare_pass(kind: str, folder: Any) -> None:
    """In every batch size, from one pass over each image."""
    some = rows(count=2 if kind == "kosmos2_5" else 5)  # its processor makes 4,096 patches of an image
    found = [
        oochub.predict(str(folder(kind)), some, mode="multiple_choice", batch_size=size, cache=False, images=False)
        for size in (1, 3)
    ]
    text = found[0].metadata.prompt
    assert isinstance(text, str) and "What is in this image?" in text
    assert text.endswith("<|assistant|>") is (KINDS[kind]().image is not None)
    expected = np.array([bare_scores(folder(kind), text, WORDS, image) for image in images(len(some["test"]))])
    for predictions in found:
        np.testing.assert_allclose(logits(predictions), expected, rtol=0, atol=1e-4)
        assert predictions.metadata.provenance["image_passes"] == "one for each row"
        assert predictions.metadata.class_names == NAMES
        assert predictions.metadata.model.mode == "multiple_choice"
    assert len(np.unique(expected[:, 0].round(3))) > 1, "images make no difference, so nothing is tested"


def test_auto_is_multiple_choice(folder: Any) -> None:
    """Planted fault seen: gemma3, also a causal language model, opened as a head."""
    for kind in ("llava", "gemma3"):
        predictions = oochub.predict(str(folder(kind)), rows(count=2), cache=False)
        assert predictions.metadata.model.mode == "multiple_choice"


@pytest.mark.slow
def test_a_type_that_cannot_share_its_prompt_is_scored_apart(folder: Any, monkeypatch: Any) -> None:
    """The measured difference decides; the numbers stay the same."""
    together = oochub.predict(str(folder("llava")), rows(), cache=False)
    monkeypatch.setattr(AnswerScores, "_score_together", lambda self, prompt, answers: answers[:, 0].float())
    apart = oochub.predict(str(folder("llava")), rows(), cache=False)
    assert apart.metadata.provenance["image_passes"] == "one for each answer"
    np.testing.assert_allclose(logits(apart), logits(together), rtol=0, atol=1e-4)


@pytest.mark.slow
def test_normalized_and_calibrated(folder: Any) -> None:
    """Divided by tokens or characters; minus the same of a gray image of the same size. By hand, with bare passes."""
    where, some = folder("llava"), rows(count=2)
    plain = oochub.predict(str(where), some, cache=False)
    by_tokens = oochub.predict(str(where), some, normalize="tokens", cache=False)
    by_letters = oochub.predict(str(where), some, normalize="characters", cache=False)
    blank = oochub.predict(str(where), some, calibrate="blank", cache=False)
    sizes = [len(byte_tokenizer()(word, add_special_tokens=False)["input_ids"]) for word in WORDS]
    np.testing.assert_allclose(logits(by_tokens), logits(plain) / sizes, rtol=1e-6)
    np.testing.assert_allclose(logits(by_letters), logits(plain) / [len(word) for word in WORDS], rtol=1e-6)
    text = plain.metadata.prompt
    gray = [Image.new("RGB", image.size, (128, 128, 128)) for image in images(2)]
    expected = logits(plain) - [bare_scores(where, str(text), WORDS, image) for image in gray]
    np.testing.assert_allclose(logits(blank), expected, atol=1e-4)
    said = json.loads(pq_metadata(blank))
    assert (said["prompt"], said["normalization"], said["calibration"]) == (text, "none", "blank")
    page = Path("page.html")
    oochub.evaluate(by_tokens, resamples=100).to_html(page)
    assert "Answer with its name.&lt;|assistant|&gt;; scores divided by tokens" in page.read_text("utf-8")
    assert by_tokens.metadata.normalization == "tokens" and "calibration" in json.loads(pq_metadata(by_tokens))


def test_every_token_of_an_answer_counts_for_its_length(monkeypatch: Any) -> None:
    """By hand: 6 nats over two tokens, one and three; token 0 is one. Planted fault seen: token 0 left out."""
    model = torch.nn.Module()
    model.config = transformers.LlamaConfig()
    monkeypatch.setattr(model, "forward", lambda input_ids: None)
    monkeypatch.setattr(AnswerScores, "_score_together", lambda self, prompt, answers: torch.full((3,), -6.0))
    answers = torch.tensor([[[5, 0, -1], [0, -1, -1], [7, 8, 9]]])
    lengths = torch.tensor([[4, 1, 12]])
    batch = {"input_ids": torch.ones(1, 2, dtype=torch.long), "answer_ids": answers, "answer_lengths": lengths}
    expected = {"none": [-6, -6, -6], "tokens": [-3, -6, -2], "characters": [-1.5, -6, -0.5]}
    for normalize, values in expected.items():
        assert AnswerScores(model, rows=4, normalize=normalize)(**batch).logits.tolist() == [values]


def pq_metadata(predictions: Any) -> bytes:
    """The JSON under the key `oochub` of the file."""
    import pyarrow.parquet as pq

    file = io.BytesIO()
    target = Path("predictions.parquet")
    predictions.save(target)
    file.write(target.read_bytes())
    file.seek(0)
    content: bytes = pq.read_schema(file).metadata[b"oochub"]
    return content


@pytest.fixture(autouse=True)
def _in_a_folder_of_its_own(tmp_path: Path, monkeypatch: Any) -> None:
    monkeypatch.chdir(tmp_path)


@pytest.mark.slow
def test_what_is_asked(folder: Any) -> None:
    """Presence is asked as yes or no; words and prompts may be given; options turn with the row's id."""
    where = str(folder("llava"))
    present = oochub.predict(where, rows(("no_car", "car")), cache=False)
    assert present.metadata.prompt == "<|user|><image>Is there a car in this image? Answer yes or no.<|assistant|>"
    text = str(present.metadata.prompt)
    expected = [bare_scores(folder("llava"), text, ("No", "Yes"), image) for image in images()]
    np.testing.assert_allclose(logits(present), expected, atol=1e-4)
    given = oochub.predict(where, rows(), prompt="Which?", words=dict(zip(NAMES, "abc", strict=True)), cache=False)
    text = "<|user|><image>Which?<|assistant|>"
    assert given.metadata.prompt == text
    expected = [bare_scores(folder("llava"), text, ("a", "b", "c"), image) for image in images()]
    np.testing.assert_allclose(logits(given), expected, atol=1e-4)
    listed = oochub.predict(where, rows(), prompt="One of: {options}.", cache=False)
    assert listed.metadata.prompt == "<|user|><image>One of: {options}.<|assistant|>"
    orders = [", ".join([*WORDS[k:], *WORDS[:k]]) for k in range(3)]
    scores = [
        [bare_scores(folder("llava"), f"<|user|><image>One of: {o}.<|assistant|>", WORDS, i) for o in orders]
        for i in images()
    ]
    found = [
        next(k for k in range(3) if np.allclose(row, own[k], atol=1e-4))
        for row, own in zip(logits(listed), scores, strict=True)
    ]
    assert len(set(found)) > 1, "the order of options never turns"
    again = oochub.predict(where, rows(count=3), prompt="One of: {options}.", cache=False)
    np.testing.assert_allclose(logits(again), logits(listed)[:3], atol=1e-5)  # whatever else is predicted


@pytest.mark.slow
def test_a_prompt_without_a_template(folder: Any) -> None:
    """It is read as it is, which a note says; {class} says where the answer stands, and what follows is not read."""
    where = folder("blip_2")
    predictions = oochub.predict(str(where), rows(), prompt="a photo of a {class} outdoors", cache=False)
    assert predictions.metadata.prompt == "a photo of a {class} outdoors"
    assert any("no chat template" in note for note in predictions.metadata.notes)
    expected = [bare_scores(where, "a photo of a ", WORDS, image) for image in images()]
    np.testing.assert_allclose(logits(predictions), expected, atol=1e-4)


def test_gray_palette_and_16_bit_images(folder: Any) -> None:
    """They are read as RGB, as everywhere."""
    odd = [
        Image.fromarray((np.arange(2400, dtype=np.uint16) * 27).reshape(40, 60)),
        photograph(60, 40).convert("P"),
        photograph(60, 40).convert("L"),
        photograph(60, 40).convert("RGBA"),
    ]
    features: Any = Features({"image": ImageFeature(), "label": ClassLabel(names=list(NAMES))})
    files = [{"bytes": encoded(each), "path": None} for each in odd]
    data = Dataset.from_dict({"image": files, "label": [0, 1, 2, 0]}, features)
    assert np.isfinite(logits(oochub.predict(str(folder("llava")), data, cache=False))).all()


@pytest.mark.parametrize(
    ("names", "options", "words"),
    [
        (("cat", "cat fish"), {}, "'cat' begins that of 'cat fish'"),
        (("big_cat", "big cat"), {}, "'big_cat' and 'big cat' are the same tokens"),
        (("cat", "y" * 300), {}, "has 300 tokens"),
        (NAMES, {"prompt": " "}, "prompt must be a text"),
        (NAMES, {"prompt": "a {class}"}, "has a chat template"),
        (NAMES, {"words": {"cat": "c"}}, "no answer for 2 of 3 classes: brown_dog, x"),
        (NAMES, {"words": {"cats": "c"}}, "cats"),
        (NAMES, {"normalize": "letters"}, "normalize"),
        (NAMES, {"features": True}, "no features and no head"),
        (NAMES, {"odin": 0.001}, "odin|ODIN"),
        (NAMES, {"prompt": "long " * 500}, "the model reads at most 2,048"),
        (NAMES, {"preprocessing": "fused"}, "Remove it"),
        (NAMES, {"label_map": "map.csv"}, "label_map"),
    ],
)
def test_what_cannot_be_asked(names: tuple[str, ...], options: dict[str, Any], words: str, folder: Any) -> None:
    with pytest.raises(OochubError, match=words):
        oochub.predict(str(folder("llava")), rows(names, 2), mode="multiple_choice", cache=False, **options)


def test_prefixes_are_allowed_where_length_counts(folder: Any) -> None:
    predictions = oochub.predict(str(folder("llava")), rows(("cat", "cat fish"), 2), normalize="tokens", cache=False)
    assert np.isfinite(logits(predictions)).all()


def broken(folder: Path, tmp_path: Path, change: str) -> Path:
    copy = tmp_path / change
    shutil.copytree(folder, copy)
    if change == "no image slot":
        (copy / "chat_template.jinja").write_text(TEMPLATE.replace("IMAGE", ""))
    elif change == "no prompt":
        (copy / "chat_template.jinja").write_text("{% for m in messages %}<image>{% endfor %}")
    elif change == "bad template":
        (copy / "chat_template.jinja").write_text("{{ messages[7].content }}")
    elif change == "a processor of texts":
        edited(copy, "processor_config.json", processor_class="LlamaProcessorOfNothing")
    elif change == "no image processor":
        (copy / "preprocessor_config.json").unlink()
    elif change == "not a number":
        from safetensors.torch import load_file, save_file

        weights = load_file(copy / "model.safetensors")
        weights = {name: torch.full_like(each, float("nan")) for name, each in weights.items()}
        save_file(weights, copy / "model.safetensors", {"format": "pt"})
    return copy


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ("no image slot", "no place for an image"),
        ("no prompt", "leaves out the prompt"),
        ("bad template", "chat template of the model fails"),
        ("a processor of texts", "no processor of images and prompts"),
        ("no image processor", "image|preprocessor"),
        ("not a number", "non-finite"),
    ],
)
def test_a_broken_folder(change: str, words: str, folder: Any, tmp_path: Path) -> None:
    with pytest.raises(OochubError, match=words):
        oochub.predict(str(broken(folder("llava"), tmp_path, change)), rows(count=2), cache=False)


def test_a_model_that_does_not_fit_is_not_read(folder: Any, monkeypatch: Any) -> None:
    """Planted fault seen: no check."""
    import psutil

    memory = psutil.virtual_memory()
    monkeypatch.setattr(psutil, "virtual_memory", lambda: memory._replace(available=10**5))
    monkeypatch.setattr(
        transformers.AutoModelForImageTextToText, "from_pretrained", lambda *a, **k: pytest.fail("read")
    )
    with pytest.raises(OochubError, match=r"take 0.0 GB as float32, but this machine has 0.0 GB free"):
        oochub.predict(str(folder("llava")), rows(count=2), cache=False)


def test_rows_of_another_kind(folder: Any) -> None:
    texts = Dataset.from_dict(
        {"text": ["a"], "label": [0]}, Features({"text": Value("string"), "label": ClassLabel(2)})
    )
    with pytest.raises(OochubError, match="no column 'image'"):
        oochub.predict(str(folder("llava")), texts, mode="multiple_choice")
    numbers = rows().map(lambda row: {"label": 0.5}, remove_columns="label")
    with pytest.raises(OochubError, match=r"gives one class to each row, but these rows have number\. Use"):
        oochub.predict(str(folder("llava")), numbers, mode="multiple_choice")


@pytest.mark.slow
def test_cached_and_by_the_command_line(folder: Any, tmp_path: Path, monkeypatch: Any) -> None:
    """The second run opens no model; another prompt is another prediction; --prompt is the same option."""
    where, some = str(folder("llava")), rows()
    first = oochub.predict(where, some)
    assert oochub.predict(where, some).metadata.provenance["when"].get("cached")
    other = oochub.predict(where, some, prompt="Which animal?")
    assert not other.metadata.provenance["when"].get("cached")
    assert not np.allclose(logits(first), logits(other))
    pictures = tmp_path / "pictures"
    for k, image in enumerate(images()):
        place = pictures / "test" / NAMES[k % 3]
        place.mkdir(parents=True, exist_ok=True)
        image.save(place / f"{k}.png")
    out = tmp_path / "p.parquet"
    words = ["oochub", "predict", where, str(pictures), "--prompt", "Which animal?", "--out", str(out)]
    monkeypatch.setattr(sys, "argv", words)
    with pytest.raises(SystemExit) as ended:
        main()
    assert not ended.value.code
    assert oochub.Predictions.load(out).metadata.prompt == "<|user|><image>Which animal?<|assistant|>"


@pytest.mark.slow
def test_rows_that_ask_their_own_question(folder: Any) -> None:
    """The letter of each option, in an order that turns by the row's id; the options may differ in number."""
    options = [["a cow", "a camel"], ["yes", "no", "maybe"], ["red", "blue"], ["yes", "no", "maybe"], ["1", "2"]]
    data = rows()["test"].remove_columns("label").add_column("question", [f"What is {k}?" for k in range(5)])
    data = data.add_column("options", options).add_column("label", [0, 1, 1, 0, 1])
    for calibrate in ("none", "blank"):
        predictions = oochub.predict(str(folder("llava")), data, batch_size=3, calibrate=calibrate, cache=False)
        assert predictions.metadata.kind == "choices" and predictions.class_names == ["A", "B", "C"]
        chosen, turned = [], set()
        for k, image in enumerate(images()):
            start = zlib.crc32(f"e{k}".encode()) % len(options[k])
            order = [*range(start, len(options[k])), *range(start)]
            turned.add(start)
            listed = "\n".join(f"{letter}. {options[k][own]}" for letter, own in zip("ABC", order))  # noqa: B905
            text = f"<|user|><image>What is {k}?\n{listed}\nAnswer with the letter of the option.<|assistant|>"
            letters = tuple("ABC"[: len(order)])
            scores = np.array(bare_scores(folder("llava"), text, letters, image))
            if calibrate == "blank":
                gray = Image.new("RGB", image.size, (128, 128, 128))
                scores -= bare_scores(folder("llava"), text, letters, gray)
            chosen.append(order[int(scores.argmax())])
        assert predictions.rows.column("prediction").to_pylist() == chosen and len(turned) > 1
    assert "{question}" in str(predictions.metadata.prompt)


def test_written_answers_to_own_questions(folder: Any) -> None:
    """By letter, in the order that was shown, or by the words of an option."""
    where = str(folder("llava"))
    data = rows()["test"].remove_columns("label").add_column("question", ["What?"] * 5)
    first = data.add_column("options", [["yes", "no"]] * 5).add_column("label", [0] * 5)
    wrote = oochub.predict(where, first, mode="generate", max_new_tokens=4, cache=False)
    assert set(wrote.rows.column("prediction").to_pylist()) == {-1}
    from oochub.models.modes.generate import GenerateMode

    mode = object.__new__(GenerateMode)
    mode._questions = make_questions(first, prompt=None, words=None, has_template=True)
    mode._read = lambda outputs: ["A", "B", "yes", "No.", "(A)"]  # type: ignore[method-assign]
    columns = {name: first[name][:] for name in ("example_id", "question", "options")}
    starts = [zlib.crc32(f"e{k}".encode()) % 2 for k in range(5)]
    expected = [starts[0], 1 - starts[1], 0, 1, starts[4]]
    assert mode.finish(np.zeros((5, 4), np.float32), columns)[:, 0].tolist() == expected
