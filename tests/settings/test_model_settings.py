"""The names of a model's outputs as they are typed."""

import pytest

from oochub.errors import OochubError
from oochub.settings.model_settings import ModelSettings
from oochub.settings.option import list_options

READ = list_options(ModelSettings)["class_names"].parse


def test_class_names_are_typed_with_commas_or_stand_in_a_file(tmp_path):
    """A file has one a line, and its commas are part of a name."""
    file = tmp_path / "names"
    file.write_text("tench, Tinca tinca\n\n  dog \r\n", "utf-8")
    assert READ(str(file), "--class-names") == ("tench, Tinca tinca", "dog")
    assert READ("cat, dog", "--class-names") == ("cat", "dog") and READ("cat", "--class-names") == ("cat",)
    assert READ(None, "--class-names") is None


@pytest.mark.parametrize("typed", ["names.txt", "runs/names"])
def test_a_file_of_class_names_that_is_not_there_is_said(typed, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(OochubError, match=f"Cannot read {typed}: there is no such file"):
        READ(typed, "--class-names")
