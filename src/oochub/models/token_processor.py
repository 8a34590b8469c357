"""What stands beside a model of tokens that the data set has as numbers already: a file in place of a tokenizer."""

import json
from dataclasses import dataclass
from pathlib import Path

from oochub.files import written_whole
from oochub.hub.model_folder import model_folder
from oochub.reading import read_json
from oochub.schema import from_json, to_json

_FILE = "tokens.json"


@dataclass(frozen=True, kw_only=True)
class TokenProcessor:
    """How rows of tokens become what a model is called with.

    Attributes:
        padding: The number that stands after the end of a row that is shorter than its batch's longest.

    >>> TokenProcessor(padding=1)
    TokenProcessor(padding=1)
    """

    padding: int = 0

    @classmethod
    def from_pretrained(cls, source: str | Path) -> "TokenProcessor":
        """Reads `tokens.json` of a model.

        Args:
            source: Folder or Hub id.

        Raises:
            OSError: There is no such file.
            OochubError: One that is not of this form.
        """
        from transformers.utils.hub import cached_file

        file = Path(cached_file(model_folder(str(source)), _FILE))
        return from_json(cls, read_json(file), what=str(file))

    def save_pretrained(self, folder: str | Path) -> list[str]:
        """Writes `tokens.json` into a folder, whole or not at all, and returns its path."""
        target = Path(folder) / _FILE
        with written_whole(target) as draft:
            draft.write_text(json.dumps(to_json(self), indent=2) + "\n", "utf-8")
        return [str(target)]
