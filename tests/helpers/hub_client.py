"""Points the Hugging Face libraries of this process at a loopback Hub, and back."""

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from loopback_hub import LoopbackHub, child_environment


@contextmanager
def clients_of(hub: LoopbackHub, home: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[LoopbackHub]:
    """Lets every client of this process and of its children take a Hub for the Hub, with caches of its own.

    Waits between retries are cut to a hundredth of a second by the clients' own parameters.
    """
    import datasets
    import huggingface_hub
    from huggingface_hub import HfFileSystem, constants
    from huggingface_hub.utils import _http

    hub.env = {**os.environ, **child_environment(hub, home)}
    for name, value in child_environment(hub, home).items():
        monkeypatch.setenv(name, value)
    of_hub: dict[str, Any] = {
        "ENDPOINT": hub.endpoint,
        "HUGGINGFACE_CO_URL_TEMPLATE": hub.endpoint + "/{repo_id}/resolve/{revision}/{filename}",
        "HF_HUB_OFFLINE": False,
        "HF_HUB_DISABLE_XET": True,
        "HF_HUB_DISABLE_TELEMETRY": True,
        "HF_HOME": str(home),
        "HF_HUB_CACHE": str(home / "hub"),
        "HUGGINGFACE_HUB_CACHE": str(home / "hub"),
        "HF_TOKEN_PATH": str(home / "token"),
        "HF_STORED_TOKENS_PATH": str(home / "stored_tokens"),
        "AGENT_HARNESSES_PATH": str(home / "agent_harnesses.json"),
        "HF_HUB_DOWNLOAD_TIMEOUT": 30,
        "HF_HUB_ETAG_TIMEOUT": 30,
    }
    for name, value in of_hub.items():
        monkeypatch.setattr(constants, name, value)
    monkeypatch.setattr(huggingface_hub.hf_api.api, "endpoint", hub.endpoint)
    of_datasets: dict[str, Any] = {
        "HF_ENDPOINT": hub.endpoint,
        "HUB_DATASETS_URL": hub.endpoint + "/datasets/{repo_id}/resolve/{revision}/{path}",
        "HF_HUB_OFFLINE": False,
        "HF_DATASETS_OFFLINE": False,
        "HF_DATASETS_CACHE": home / "datasets",
        "DOWNLOADED_DATASETS_PATH": home / "datasets" / "downloads",
        "EXTRACTED_DATASETS_PATH": home / "datasets" / "downloads" / "extracted",
        "STREAMING_READ_RETRY_INTERVAL": 0.01,
        "STREAMING_READ_SERVER_UNAVAILABLE_RETRY_INTERVAL": 0.01,
        "USE_PARQUET_EXPORT": False,  # another server
    }
    for name, value in of_datasets.items():
        monkeypatch.setattr(datasets.config, name, value)
    for retry in (_http.http_backoff, _http.http_stream_backoff.__wrapped__):
        monkeypatch.setitem(retry.__kwdefaults__, "base_wait_time", 0.01)
    point_evaluate(hub.endpoint)
    _forget(HfFileSystem)
    _forget_transformers()
    try:
        yield hub
    finally:
        point_evaluate("https://huggingface.co")
        _forget(HfFileSystem)
        _forget_transformers()
        hub.close()


def _forget_transformers() -> None:
    """Lets `transformers`, where it is imported, make its client anew, which knows the Hub of its first use."""
    module: Any = sys.modules.get("transformers.utils.hub")
    if module is not None:
        module._hf_api = None


def point_evaluate(endpoint: str) -> None:
    """Points `evaluate` at a Hub where it is imported; where it is not, it reads HF_ENDPOINT when it is."""
    config: Any = sys.modules.get("evaluate.config")
    if config is not None:
        config.HF_ENDPOINT = endpoint
        config.HUB_EVALUATE_URL = endpoint + "/spaces/{path}/resolve/{revision}/{name}"


def _forget(file_system: Any) -> None:
    """Forgets connections and listings, which outlive a server."""
    from huggingface_hub.utils import close_session

    close_session()
    file_system.clear_instance_cache()
