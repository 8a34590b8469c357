"""Lists, truths and WordNet as raw files: cut, not UTF-8, of another kind; each is named, and none hangs."""

import os
import struct
from functools import partial

import numpy as np
import pytest
import scipy.io

from oochub import OochubError
from oochub.builders.sources.imagenet_listing import list_pictures
from oochub.builders.sources.imagenet_truth import DEVKIT, SOLUTION, validation_wnids
from oochub.class_names.wordnet import read_wordnet
from oochub.reviewing.decisions import read_decisions
from oochub.studies.imagenet_ood.class_audit import class_audit
from oochub.studies.imagenet_ood.model_list import read_models
from oochub.studies.imagenet_ood.review import QUESTION

HEAD = "ImageId,PredictionString\n"
SOLUTIONS = {
    "no such column": ("a,b\n1,2\n", "lacks the column ImageId"),
    "no bytes": ("", "lacks the column ImageId"),
    "no class": (f"{HEAD}ILSVRC2012_val_00000001,\n", "line 2: PredictionString must be a class and a box"),
    "no wnid": (f"{HEAD}ILSVRC2012_val_00000001,dog 1 2 3 4\n", "line 2"),
    "cut in a line": (f"{HEAD}ILSVRC2012_val_00000001,n01440764 1 2\nILSVRC2012_val_000", "line 3"),
    "two classes": (f"{HEAD}a,n01440764 1\na,n01443537 1\n", "line 3: a has a second class"),
    "not UTF-8": (f"{HEAD}\xe9,n01440764\n".encode("latin-1"), r"not UTF-8 text \(line 2\)"),
    "a field of a megabyte": (f'{HEAD}"{"x" * 2**20}', r"line [12]: not valid CSV \(field larger than field limit"),
}


@pytest.mark.parametrize("name", SOLUTIONS)
def test_a_broken_solution(tmp_path, name):
    content, words = SOLUTIONS[name]
    (tmp_path / SOLUTION).write_bytes(content if isinstance(content, bytes) else content.encode())
    with pytest.raises(OochubError, match=rf"LOC_val_solution\.csv.*{words}"):
        validation_wnids(tmp_path / "val")


def _meta(folder) -> bytes:
    synsets = np.array([(1, "n01440764"), (2, "n01443537")], [("ILSVRC2012_ID", "f8"), ("WNID", "O")])
    scipy.io.savemat(folder / "meta.mat", {"synsets": synsets})
    return (folder / "meta.mat").read_bytes()


DEVKITS = {
    "a number without class": (lambda folder: (folder / "ILSVRC2012_validation_ground_truth.txt").write_text("1\n7\n")),
    "not UTF-8": (lambda folder: (folder / "ILSVRC2012_validation_ground_truth.txt").write_bytes(b"1\n\xff")),
    "no truth": (lambda folder: (folder / "ILSVRC2012_validation_ground_truth.txt").unlink()),
    "meta.mat cut": (lambda folder: (folder / "meta.mat").write_bytes(_meta(folder)[:200])),
    "meta.mat cut to its header": (lambda folder: (folder / "meta.mat").write_bytes(_meta(folder)[:90])),
    "meta.mat of HDF5": (lambda folder: (folder / "meta.mat").write_bytes(bytes(124) + struct.pack("<HH", 512, 19785))),
    "meta.mat that is text": (lambda folder: (folder / "meta.mat").write_text("x" * 400)),
    "meta.mat without bytes": (lambda folder: (folder / "meta.mat").write_bytes(b"")),
    "other content": (lambda folder: scipy.io.savemat(folder / "meta.mat", {"synsets": np.arange(3)})),
    "meta.mat that is a pipe": (lambda folder: [(folder / "meta.mat").unlink(), os.mkfifo(folder / "meta.mat")]),
}


@pytest.mark.parametrize("name", DEVKITS)
def test_a_broken_devkit(tmp_path, name):
    folder = tmp_path / DEVKIT / "data"
    folder.mkdir(parents=True)
    _meta(folder)
    (folder / "ILSVRC2012_validation_ground_truth.txt").write_text("1\n")
    assert validation_wnids(tmp_path / "val") == {"ILSVRC2012_val_00000001": "n01440764"}
    DEVKITS[name](folder)
    with pytest.raises(OochubError, match=rf"{DEVKIT}"):
        validation_wnids(tmp_path / "val")


LISTS = {
    "a file list": lambda file: list_pictures("imagenet_ood", file.parent, file),
    "decisions": partial(read_decisions, allowed=QUESTION.allowed),
    "WordNet": read_wordnet,
    "candidates": lambda file: class_audit(candidates=file),
    "models": read_models,
}
CONTENTS = {
    "Latin-1": b"n02725872/\xe9.JPEG\n",
    "UTF-16": "n02725872".encode("utf-16"),
    "binary": bytes(range(256)) * 9,
    "no bytes": b"",
    "a null character": b"n02725872/n02725872_1.JPEG\0\n",
    "a line of a megabyte": b"n" * 2**20,
    "a line of quotes": b'"' * 200_001,
}


@pytest.mark.parametrize("content", CONTENTS)
@pytest.mark.parametrize("reader", LISTS)
def test_lists_that_cannot_be_read(tmp_path, reader, content):
    file = tmp_path / "list.txt"
    file.write_bytes(CONTENTS[content])
    with pytest.raises(OochubError):
        LISTS[reader](file)


@pytest.mark.parametrize("reader", LISTS)
def test_a_pipe_for_a_list_does_not_hang(tmp_path, reader):
    os.mkfifo(tmp_path / "list.txt")
    with pytest.raises(OochubError, match=r"list\.txt: it is a pipe"):
        LISTS[reader](tmp_path / "list.txt")
