"""A processor of our own as a JSON file beside a model's weights: read and written as those of transformers are."""

import json
from pathlib import Path
from typing import ClassVar, Self

from oochub.records.schema import from_json, to_json
from oochub.remote.model_folder import model_folder
from oochub.storage.files import written_whole
from oochub.storage.reading import read_json


class StoredProcessor:
    """The base of a frozen dataclass that is a model's processor; `file_name` is the file's.

    >>> import tempfile
    >>> from oochub.processors.token_processor import TokenProcessor
    >>> Path(TokenProcessor(padding=1).save_pretrained(tempfile.mkdtemp())[0]).name
    'tokens.json'
    """

    file_name: ClassVar[str]

    @classmethod
    def from_pretrained(cls, source: str | Path) -> Self:
        """Reads the file of a model.

        Args:
            source: Folder or Hub id.

        Raises:
            OSError: There is no such file.
            OochubError: One that is not of this form.
        """
        from transformers.utils.hub import cached_file

        file = Path(cached_file(model_folder(str(source)), cls.file_name))
        return from_json(cls, read_json(file), what=str(file))

    def save_pretrained(self, folder: str | Path) -> list[str]:
        """Writes the file into a folder, whole or not at all, and returns its path."""
        target = Path(folder) / self.file_name
        with written_whole(target) as draft:
            draft.write_text(json.dumps(to_json(self), indent=2) + "\n", "utf-8")
        return [str(target)]
