"""The card of a data set, here or on the Hub, makes nobody read a file from elsewhere."""

import datasets
import pytest
from huggingface_hub import HfApi

import oochub
from oochub.builders.toy_worlds.toy_pictures import toy_pictures
from oochub.errors import OochubError

ROWS = {"text": ["a", "b"] * 20, "label": ["x", "y"] * 20}


@pytest.fixture
def written(tmp_path):
    """Makes a data set with a card, beside another one that holds a secret."""
    (tmp_path / "secret").mkdir()
    datasets.Dataset.from_dict({"text": ["secret"] * 2, "label": ["x", "y"]}).to_parquet(tmp_path / "secret/s.parquet")

    def write(metadata):
        folder = tmp_path / "mine"
        (folder / "data").mkdir(parents=True)
        datasets.Dataset.from_dict(ROWS).to_parquet(folder / "data" / "train.parquet")
        (folder / "README.md").write_text(f"---\n{metadata}\n---\nwords")
        return folder

    return write


PLACES = (
    "data_files: ../secret/s.parquet",
    "data_files: data/../../secret/s.parquet",
    "data_files: {secret}/s.parquet",
    "data_files:\n  - split: train\n    path: [data/train.parquet, {secret}/s.parquet]",
    "data_files: http://127.0.0.1:1/x.parquet",
    "data_files: hf://datasets/user/other/x.parquet",
    "data_dir: ../secret",
    "data_dir: {secret}",
)


@pytest.mark.slow
@pytest.mark.parametrize(
    "place", [pytest.param(place, marks=pytest.mark.slow if number else ()) for number, place in enumerate(PLACES)]
)
def test_files_from_elsewhere_are_refused_here_and_on_the_hub(hub, written, tmp_path, place):
    """The rows of another folder came out before; of a server's name its address was asked."""
    folder = written(f"configs:\n- config_name: default\n  {place.format(secret=tmp_path / 'secret')}")
    with pytest.raises(OochubError, match=r"names data from elsewhere"):
        oochub.load(folder)
    assert not hub.requests
    HfApi().create_repo("user/mine", repo_type="dataset")
    HfApi().upload_folder(folder_path=folder, repo_id="user/mine", repo_type="dataset")
    with pytest.raises(OochubError, match=r"names data from elsewhere|Could not load"):
        oochub.load("user/mine")


def test_its_own_files_are_read_here_and_on_the_hub(hub, written):
    """Of one configuration of two, by a pattern; and what the user names himself, wherever it is."""
    folder = written("configs:\n- config_name: default\n  data_files: data/*\n- config_name: b\n  data_dir: data")
    HfApi().create_repo("user/mine", repo_type="dataset")
    HfApi().upload_folder(folder_path=folder, repo_id="user/mine", repo_type="dataset")
    for source in (folder, "user/mine"):
        for config in ("default", "b"):
            assert oochub.load(source, config=config)["train"].num_rows == 40
    other = str(folder.parent / "secret" / "s.parquet")
    assert oochub.load(folder, options={"data_files": other})["train"].num_rows == 2


@pytest.mark.slow
@pytest.mark.parametrize(
    "metadata",
    [
        "a: !!python/object/apply:os.system ['touch ran']",
        "a: " + "[" * 5000,
        "configs:\n- 5",
        "dataset_info:\n  features:\n  - 5",
        "dataset_info:\n  features:\n  - name: text\n    dtype: evil",
        "dataset_info:\n  features:\n  - name: text\n    dtype: int64",
        "dataset_info:\n  splits:\n  - name: train\n    num_examples: 7000",
    ],
)
def test_a_card_that_lies_is_an_error_in_words(written, metadata):
    """About rows, features or itself; a number of rows that is not there was a traceback."""
    folder = written(metadata)
    with pytest.raises(OochubError, match="Could not load"):
        oochub.load(folder)
    assert not (folder / "ran").exists()


def test_a_script_beside_the_data_is_not_run(written):
    """Nor taken for data."""
    folder = written("license: mit")
    (folder / "mine.py").write_text(f"open({str(folder / 'ran')!r}, 'w')")
    with pytest.raises(OochubError, match="scripts are no longer supported"):
        oochub.load(folder)
    assert not (folder / "ran").exists()


def test_a_path_that_goes_up_is_the_folder_it_leads_to(tmp_path, monkeypatch):
    """`../pictures` was refused, as if its own images lay elsewhere."""
    pictures = toy_pictures(tmp_path / "pictures", size=8)
    (tmp_path / "work").mkdir()
    monkeypatch.chdir(tmp_path / "work")
    loaded = oochub.load("../pictures", label="breed", context="background")
    assert len(loaded["test"]) == len(oochub.load(str(pictures), label="breed", context="background")["test"]) == 16
