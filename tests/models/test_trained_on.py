"""What a model card says of the training data: read where it says so, and nothing is made up where it does not."""

import pytest

from oochub.models.model_source import ModelSource
from oochub.models.model_source import _read_trained_on as trained_on


def card(folder, text):
    path = folder / "README.md"
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return path


@pytest.mark.parametrize(
    ("header", "names"),
    [
        ("datasets:\n- imagenet-1k\n- detection-datasets/coco", ("imagenet-1k", "detection-datasets/coco")),
        ("datasets: coco", ("coco",)),
        ("datasets: [a/b]\ntrained_on: [c, a/b]", ("a/b", "c")),
        ("datasets:\n- 7\n- a/b\n- null", ("a/b",)),
    ],
)
@pytest.mark.parametrize("line", ["\n", "\r\n"], ids=["lf", "crlf"])
def test_what_the_card_names(tmp_path, header, names, line):
    """The forms of the Hub's metadata. Planted fault: `trained_on` left out of the fields."""
    text = f"---\nlicense: mit\n{header}\n---\n# A model\ndatasets: none\n".replace("\n", line)
    assert trained_on(card(tmp_path, text)) == names


@pytest.mark.parametrize(
    "text",
    [
        "",
        "---\ndatasets: {coco: 1}\n---\n",
        "---\ndatasets: [coco\n---\n",
        "---\nday: 2024-13-45\ndatasets: coco\n---\n",
        f"---\ndatasets: {'[' * 1000}\n---\n",
        b"---\n\xff\xfe\x00\n---\n",
        "---\n!!python/object/apply:os.system ['true']\n---\n",
        "# No metadata\ndatasets: coco\n",
        "---\n- coco\n---\n",
        "---\ndatasets: coco\n",
    ],
)
def test_a_card_that_says_nothing(tmp_path, text):
    """No data sets, no metadata, or none that can be read. Planted fault: a fault of YAML let through."""
    assert trained_on(card(tmp_path, text)) is None


def test_a_model_without_a_card_and_with_one(tmp_path):
    """Planted fault: the card of the folder above."""
    (tmp_path / "config.json").write_text("{}")
    assert ModelSource(tmp_path).about("head").trained_on is None
    card(tmp_path, "---\ndatasets: [imagenet-1k]\n---\n")
    assert ModelSource(tmp_path).about("head").trained_on == ("imagenet-1k",)


def test_many_names_are_cut(tmp_path):
    names = [f"data/{number}" for number in range(150)]
    assert trained_on(card(tmp_path, f"---\ndatasets: {names}\n---\n")) == tuple(names[:100])
