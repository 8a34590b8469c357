"""The verb `oochub build`."""

from pathlib import Path
from typing import Annotated

import typer

from oochub.verbs._options import AsJson, BenchmarkName, DataDir, Options, done


def build(
    benchmark: BenchmarkName,
    out: Annotated[Path, typer.Option(help="The folder of the Parquet repository.")],
    data_dir: DataDir = None,
    option: Options = None,
    num_proc: Annotated[int | None, typer.Option(help="Processes to build with.")] = None,
    as_json: AsJson = False,
) -> None:
    """Builds a benchmark into a Parquet repository with a card; plain `datasets` loads it, without oochub."""
    from oochub.loading import parse_options
    from oochub.loading_scripts.parquet_repository import parquet_repository

    path = parquet_repository(benchmark, out, data_dir=data_dir, options=parse_options(option or []), num_proc=num_proc)
    done({"repository": str(path)}, as_json)
