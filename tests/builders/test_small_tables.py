"""Tables of raw data cut to a row, to the names of their columns, or to nothing: an error names folder or file."""

import shutil
from collections.abc import Callable

import pytest

import oochub

_TABLES = {
    "waterbirds": "metadata.csv",
    "celebA": "list_attr_celeba.csv",
    "wilds/amazon": "reviews.csv",
    "wilds/camelyon17": "metadata.csv",
    "wilds/civilcomments": "all_data_with_identities.csv",
    "wilds/fmow": "rgb_metadata.csv",
    "wilds/globalwheat": "metadata_domain.csv",
    "wilds/iwildcam": "metadata.csv",
    "wilds/poverty_fold_a": "dhs_metadata.csv",
    "wilds/py150": "metadata/repo_file_names/repo_ids.csv",
    "wilds/rxrx1": "metadata.csv",
}
_CUTS: dict[str, Callable[[list[bytes]], list[bytes]]] = {
    "the first row": lambda lines: lines[:2],
    "the last row": lambda lines: [lines[0], lines[-1]],
    "names alone": lambda lines: lines[:1],
    "rows without names": lambda lines: lines[1:],
}
_EVERY_DAY = ("waterbirds", "celebA", "wilds/amazon", "wilds/civilcomments", "wilds/iwildcam", "wilds/py150")


@pytest.mark.parametrize(
    ("source", "cut"),
    [
        pytest.param(source, cut, marks=() if source in _EVERY_DAY and cut == "the first row" else pytest.mark.slow)
        for source in _TABLES
        for cut in _CUTS
    ],
)
def test_a_table_of_few_rows_is_refused_by_name(source, cut, raw, tmp_path):
    """All that users do, not a stream alone. Written against: Waterbirds and CelebA of one row ended in `datasets`."""
    folder = shutil.copytree(raw(source), tmp_path / "raw", symlinks=True)
    table = folder / _TABLES[source]
    table.write_bytes(b"".join(_CUTS[cut](table.read_bytes().splitlines(keepends=True))))
    with pytest.raises(oochub.OochubError) as error:
        oochub.load(source, data_dir=str(folder))
    assert str(folder) in str(error.value)


@pytest.mark.parametrize("source", ["waterbirds", "celebA"])
def test_half_a_table_names_the_split_that_it_lacks(source, raw, tmp_path):
    """The rows of training alone, of CelebA in both tables."""
    folder = shutil.copytree(raw(source), tmp_path / "raw", symlinks=True)
    for name in ("metadata.csv", "list_attr_celeba.csv", "list_eval_partition.csv"):
        if (folder / name).is_file():
            lines = (folder / name).read_bytes().splitlines(keepends=True)
            (folder / name).write_bytes(b"".join(lines[:31]))
    with pytest.raises(oochub.OochubError, match=f"{source}/default has no row in validation, test, of 30 in all"):
        oochub.load(source, data_dir=str(folder))
