"""Contexts of 76 permissively licensed images of COCO beside COCO's own annotations."""

import json
import shutil

import numpy as np
import pyarrow as pa
import pytest
from test_main_job_on_real_pictures import raw  # noqa: F401  # a fixture

import oochub
from oochub.context_finding.finders.segments import Segments
from oochub.errors import OochubError
from oochub.records.build_record import BuildRecord

pytestmark = pytest.mark.slow


@pytest.fixture
def annotations(real_data):
    return json.loads((real_data / "coco/permissive_subset/instances.json").read_text())


def test_size_and_shape_are_those_of_the_annotations(real_data, annotations, tmp_path, monkeypatch):
    """All 76 images: pixels and width / height of the files are those that COCO's table of images says."""
    monkeypatch.setenv("OOCHUB_CACHE", str(tmp_path / "cache"))
    shutil.copytree(real_data / "coco/permissive_subset/images", tmp_path / "pictures")
    found = oochub.contexts(str(tmp_path / "pictures"), by="properties", out=tmp_path / "found")["train"]
    said = {image["file_name"]: image for image in annotations["images"]}
    files = sorted(path.name for path in (tmp_path / "pictures").rglob("*.jpg"))
    assert len(found) == len(files) == 76
    assert found["property_pixels"][:] == [said[name]["width"] * said[name]["height"] for name in files]
    assert found["property_aspect"][:] == pytest.approx([said[name]["width"] / said[name]["height"] for name in files])
    names = found.features["contexts"].feature.names
    chosen = np.array(found["chosen_on"][:])
    aspect = np.array(found["property_aspect"][:])
    wide = [names.index("wide") in row for row in found["contexts"][:]]
    assert wide == (aspect > np.quantile(aspect[chosen], 2 / 3)).tolist() and 0 < sum(wide) < 76


def test_contexts_and_challenge_by_the_areas_of_annotations(raw):  # noqa: F811
    """Areas of COCO's annotations as the measures of `segments`: what is usual and the criterion are those of NOOCH.

    The builder computes contexts on its training split, the way on the same rows; all 76 rows are compared, for each
    thing that 5 or more images of the training split show. A thing without a context is refused by the builder.
    """
    every = oochub.load("nooch/all", data_dir=str(raw))
    names = every["train"].features["labels"].feature.names
    areas = {split: np.stack(part.with_format("numpy")["areas"][:]) for split, part in every.items()}
    shown = (areas["train"] > 0).sum(0)
    values, rows = np.concatenate(list(areas.values())), {split: len(part) for split, part in every.items()}
    measures = pa.table({"areas": pa.FixedSizeListArray.from_arrays(pa.array(values.ravel()), len(names))})
    chosen_on = np.concatenate([np.full(n, split == "train") for split, n in rows.items()])
    way = object.__new__(Segments)  # its naming alone: no network
    way._names, way._given, way._alpha, way._beta = tuple(names), {}, 0.05, 0.1
    compared = []
    for thing in [names[number] for number in np.flatnonzero(shown >= 5)]:
        config = f"ce_{thing.replace(' ', '_')}"
        label = (values[:, names.index(thing)] > 0).astype(int)
        found = way.name(measures, label=label, classes=[f"no_{thing}", thing], chosen_on=chosen_on)
        usual = found.settings["usual"][thing]
        if not usual:
            with pytest.raises(OochubError, match=f"{thing} has no context at alpha = 0.05"):
                oochub.load(f"nooch/{config}", data_dir=str(raw))
        else:
            task = oochub.load(f"nooch/{config}", data_dir=str(raw))
            assert label.tolist() == [each for part in task.values() for each in part["label"][:]], thing
            assert usual == list(BuildRecord.of(task["train"].info).facts.contexts), thing
            expected = [each for part in task.values() for each in part["challenge"][:]]
            assert found.columns["challenge_ce"][1].to_pylist() == expected, thing
        compared.append((thing, len(label), len(usual)))
    assert len(compared) >= 2 and {n for _, n, _ in compared} == {76} and any(k for _, _, k in compared), compared
