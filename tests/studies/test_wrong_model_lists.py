"""A list of models that is no list of models is said with words, before any model is looked for."""

import pytest

from oochub.errors import OochubError
from oochub.studies.imagenet_ood.model_list import read_models


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "names no model"),
        ("über/modèle\n".encode("latin-1"), r"is not UTF-8 text \(line 1\)"),
        (b"../../x\n", r"line 1: there is no folder \.\./\.\./x"),
        (b"a/b\0\n", "line 1: .* is neither a model folder nor a Hub id"),
        (b"a/b\na/b\n", "line 2: a/b is named twice"),
    ],
)
def test_a_wrong_list_is_said(tmp_path, content, message):
    """Planted fault: bytes decoded without a look."""
    (tmp_path / "models.txt").write_bytes(content)
    with pytest.raises(OochubError, match=message):
        read_models(tmp_path / "models.txt")
