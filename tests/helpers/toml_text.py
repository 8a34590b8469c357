"""Python values as the text of a TOML file, for files of tests with something wrong in them."""

import json
from typing import Any


def toml_text(content: dict[str, Any]) -> str:
    """A line for each key; tables and lists stand in one line."""
    return "".join(f"{key} = {_write(value)}\n" for key, value in content.items())


def _write(value: Any) -> str:
    if isinstance(value, dict):
        return "{" + ", ".join(f"{json.dumps(key)} = {_write(item)}" for key, item in value.items()) + "}"
    if isinstance(value, list):
        return "[" + ", ".join(map(_write, value)) + "]"
    return str(value) if isinstance(value, float) else json.dumps(value)
