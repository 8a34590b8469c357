"""The card of a repository: one of two, in whatever order, and what is no card of one."""

import copy

import pytest
import yaml

from oochub.errors import OochubError
from oochub.repository.repository_card import RepositoryCard


def content(*configs, size="n<1K"):
    """The metadata of a card."""
    features = [{"name": "label", "dtype": {"class_label": {"names": {"0": "no", "1": "yes"}}}}]
    paths = [
        {"split": "train", "path": "{}/train-0.parquet"},
        {"split": "test", "path": ["{}/a.parquet", "{}/b.parquet"]},
    ]
    return {
        "license": "mit",
        "size_categories": [size],
        "configs": yaml.safe_load(
            yaml.dump([{"config_name": each, "data_files": _in(paths, each)} for each in configs])
        ),
        "dataset_info": [
            {
                "config_name": each,
                "features": copy.deepcopy(features),
                "dataset_size": 3,
                "splits": [{"name": "train", "num_examples": 2, "num_bytes": 9}],
            }
            for each in configs
        ],
    }


def _in(paths, config):
    return yaml.safe_load(yaml.dump(paths).replace("{}", config))


def read(metadata, text="# Words\n"):
    """Its card."""
    return RepositoryCard.read(f"---\n{yaml.dump(metadata)}---\n{text}", place="README.md")


def test_one_card_of_two_in_either_order():
    """Planted faults: the notes of the other left out; the later configuration written last."""
    one = read(content("ce_car", size="10K<n<100K"), "# Words\n\n## This build\n\n- `ce_car`: partial\n")
    two = read(content("gist_boat"), "# Words\n\n## This build\n\n- `gist_boat`: drawn\n")
    assert str(one.over(two)) == str(two.over(one)) == str(one.over(two.over(one)))
    both = one.over(two)
    assert list(both.files) == ["ce_car", "gist_boat"] and str(both).endswith(
        "- `ce_car`: partial\n- `gist_boat`: drawn\n"
    )
    assert both.files["ce_car"] == {
        "train": ["ce_car/train-0.parquet"],
        "test": ["ce_car/a.parquet", "ce_car/b.parquet"],
    }
    assert both.folders["gist_boat"] == {"gist_boat/*.parquet"}
    assert both.card.data["size_categories"] == ["10K<n<100K"] and "num_examples" not in str(both)
    assert str(both.of(["gist_boat"]).over(one.of([]))) == str(both)


def test_a_card_of_two_has_the_tasks_of_both():
    """Planted fault: those of the card that is pushed alone."""
    texts, images = content("amazon"), content("camelyon17")
    texts["task_categories"], images["task_categories"] = ["text-classification"], ["image-classification"]
    one, two = read(texts), read(images)
    for both in (one.over(two), two.over(one)):
        assert both.card.data["task_categories"] == ["image-classification", "text-classification"]
    assert one.over(one).card.data["task_categories"] == ["text-classification"]


def _places(value, path=()):
    yield from [path] if path else []
    for key, each in value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ():
        yield from _places(each, (*path, key))


@pytest.mark.slow
def test_what_is_no_card_is_said():
    """Every field of another type or gone. Planted fault: `infos` not looked at by `read`."""
    whole, refused, places = content("a", "b"), 0, list(_places(content("a", "b")))
    for path in places:
        for wrong in (None, "text", 3.5, True, [], {}, ...):
            changed = copy.deepcopy(whole)
            inner = changed
            for step in path[:-1]:
                inner = inner[step]
            if wrong is ...:
                del inner[path[-1]]
            else:
                inner[path[-1]] = wrong
            try:
                str(read(changed).over(read(content("c"))).of(["a", "c"]))
            except OochubError as error:
                assert "README.md are not those of an oochub repository" in str(error)
                refused += 1
    assert len(places) > 40 and refused > 100
    with pytest.raises(OochubError, match="are not those of"):
        RepositoryCard.read("---\n[\n---\n", place="README.md")
