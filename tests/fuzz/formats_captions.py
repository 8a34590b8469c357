"""COCO's caption files with one thing wrong: the sentences of each image are refused, or the same."""

from pathlib import Path

from fuzz_case import Format, Used
from fuzz_coco import write_coco

from oochub.builders.sources.coco_captions import read_captions


def _use(folder: Path, out: Path) -> Used:
    return Used(numbers={str(number): sentences for number, sentences in read_captions(folder).items()})


CAPTIONS = Format(name="captions", make=write_coco, use=_use)
