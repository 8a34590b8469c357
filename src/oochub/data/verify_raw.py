"""A raw folder compared with the release of a benchmark: what a build of each config finds, without an image read."""

from dataclasses import dataclass, field
from pathlib import Path

from oochub.benchmark import find_data_folder
from oochub.data.load import get_builder_class, get_declaration
from oochub.errors import OochubError
from oochub.records.build_record import BuildRecord


@dataclass(frozen=True, kw_only=True)
class VerifiedConfig:
    """What a build of one config would find.

    Attributes:
        config: Name of the config.
        rows: Rows of each split; empty if it cannot be built.
        notes: What the build notes of its rows, among it what is missing of the release.
        error: Why it cannot be built; "" if it can.
    """

    config: str
    rows: dict[str, int] = field(default_factory=dict)
    notes: tuple[str, ...] = ()
    error: str = ""

    @property
    def is_whole(self) -> bool:
        """Whether it can be built and no note says that a part of the release is missing."""
        return not self.error and not any(note.startswith("partial") for note in self.notes)


def verify_raw(benchmark: str, config: str = "", *, data_dir: str | None = None) -> list[VerifiedConfig]:
    """Compares a raw folder with the release: files, tables, ids and counts, as the builder checks them.

    No image is read, so a broken one is found when the benchmark is built. The counts are those that the builder knows
    of the release; what it does not know is not compared.

    Args:
        benchmark: Name of the benchmark.
        config: Config to verify; "" takes all that the folder can give.
        data_dir: Raw folder; default $OOCHUB_DATA/<benchmark>.

    Returns:
        One outcome for each config.

    Raises:
        OochubError: No such benchmark, config or folder, or a folder that lacks files.

    >>> verify_raw("waterbirds", data_dir="nowhere")
    Traceback (most recent call last):
    ...
    oochub.errors.OochubError: data_dir is not a folder: nowhere. ...
    """
    kind, declared = get_builder_class(benchmark), get_declaration(f"{benchmark}/{config}" if config else benchmark)
    names = [kind.checked_config(config)] if config else list(kind.builder_configs) or ["default"]
    folder = find_data_folder(declared, data_dir)
    absent = declared.not_buildable(folder, {}) if declared.not_buildable is not None else {}
    return [_verify_config(benchmark, name, folder) for name in names if config or name not in absent]


def _verify_config(benchmark: str, config: str, folder: Path) -> VerifiedConfig:
    import datasets

    try:
        name = None if config == "default" else config
        parts = datasets.load_dataset(benchmark, name, data_dir=str(folder), streaming=True)
        record = BuildRecord.of(next(iter(parts.values())).info)
    except OochubError as error:
        return VerifiedConfig(config=config, error=str(error))
    assert record is not None  # noqa: S101  a builder writes one
    return VerifiedConfig(config=config, rows=dict(record.facts.rows or {}), notes=record.notes)
