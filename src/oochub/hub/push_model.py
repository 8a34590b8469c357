"""Pushes a trained model to a model repository of the Hub: weights, processor, card with results, recipe."""

from fnmatch import fnmatchcase
from pathlib import Path

from oochub.errors import OochubError
from oochub.hub.upload import Pushed, open_client, upload
from oochub.report.report import Report
from oochub.storage.files import make_scratch_folder
from oochub.storage.reading import read_text

_CARD, _REPORT = "README.md", "report.json"
_WEIGHTS = ("*.safetensors", "*.safetensors.index.json")
_PUSHED = (
    *_WEIGHTS,
    *("config.json", "generation_config.json", "recipe.json", "arrays.json"),
    *("preprocessor_config.json", "processor_config.json", "image_processor_config.json", "chat_template.j*"),
    *("tokenizer*", "special_tokens_map.json", "added_tokens.json", "vocab.*", "merges.txt", "*.spm", "spiece.model"),
)
"""What of a model's folder is pushed; checkpoints, logs and caches are not."""
_NO_CARD = "---\nlibrary_name: transformers\ntags:\n- oochub\n---\n# {name}\n"


def push_model(
    folder: str | Path,
    to: str,
    *,
    private: bool = False,
    revision: str | None = None,
    overwrite: bool = False,
    dry_run: bool = False,
) -> Pushed:
    """Makes the Hub hold a model: its weights, its processor, its recipe, and its card.

    If a report.json lies in the folder, the card says its results too. What else lies there is not pushed.

    Args:
        folder: Folder that `oochub train` or `save_pretrained` wrote.
        to: user/name.
        private: Make the repository private.
        revision: A branch; None is main.
        overwrite: Replace what somebody else put there.
        dry_run: Only say what would change.

    Raises:
        OochubError: A folder without a finished model, a report.json that is none; what `upload` raises.
    """
    open_client(to, dry_run=dry_run)
    source = Path(folder).expanduser()
    names = sorted(path.name for path in source.iterdir() if path.is_file()) if source.is_dir() else []
    names = [name for name in names if any(fnmatchcase(name, pattern) for pattern in _PUSHED)]
    if "config.json" not in names or not any(fnmatchcase(name, pattern) for name in names for pattern in _WEIGHTS):
        raise OochubError(
            f"{source} holds no finished model: config.json and weights as safetensors. `oochub train` writes them; "
            "the same command finishes an interrupted run."
        )
    for name in names:
        if not (source / name).resolve().is_relative_to(source.resolve()):
            raise OochubError(f"{name} leads out of {source}, so it is not pushed. Copy the file into the folder.")
    card = _make_card(source, to)
    with make_scratch_folder() as staged:
        for name in names:
            (staged / name).symlink_to((source / name).resolve())
        (staged / _CARD).write_text(card, "utf-8")
        return upload(
            staged,
            to,
            repo_type="model",
            message=f"Push {source.absolute().name} with oochub",
            private=private,
            revision=revision,
            delete=_WEIGHTS,
            dry_run=dry_run,
            known_by="config.json",
            overwrite=overwrite,
        )


def _make_card(source: Path, to: str) -> str:
    """The card of the run, and below it what its report says."""
    file = source / _CARD
    card = read_text(file) if file.is_file() else _NO_CARD.format(name=to.partition("/")[2])
    if not (source / _REPORT).is_file():
        return card
    report = Report.load(source / _REPORT)
    return f"{card.rstrip()}\n\n## Evaluation\n\n{report.to_markdown().strip()}\n"
