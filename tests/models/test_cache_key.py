"""The key of predictions: whose code it covers."""

from pathlib import Path

from import_graph import import_graph

import oochub
from oochub.models.cache_key import _ROOMS

_ANSWERING = {"inputs", "models", "outputs", "prediction"}
_BUT = {
    "process": "ranks share the rows, and each answers as one does",
    "remote": "a model of the Hub is known by its commit",
    "settings": "what is asked stands in the key by its values",
}


def test_the_code_that_answers_depend_on_is_in_the_key():
    """What models, inputs and outputs import. Fault planted: a key without the room of storage, which opens images."""
    reached = {
        room
        for module, others in import_graph().items()
        if module.split(".")[1:2] and module.split(".")[1] in _ANSWERING
        for room in (other.split(".")[1] for other in others if other.count(".") > 1)
    }
    assert len(reached) > 5
    assert reached <= {*_ROOMS} | _BUT.keys(), "add the room to _ROOMS of cache_key.py, or say here why not"
    assert not reached <= {*_ROOMS} - {"storage"} | _BUT.keys()
    folder = Path(oochub.__file__).parent
    assert all(any((folder / room).rglob("*.py")) for room in _ROOMS)
