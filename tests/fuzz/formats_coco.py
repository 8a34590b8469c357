"""COCO's four annotation files with one thing wrong: the table of areas is refused, or the same."""

from pathlib import Path

from fuzz_case import Format, Used
from fuzz_coco import write_coco

from oochub.builders.sources.coco import read_coco
from oochub.builders.sources.nooch.split import nooch_split


def _use(folder: Path, out: Path) -> Used:
    table = read_coco(folder)
    rows, notes = nooch_split(folder, table)
    return Used(
        numbers=[table.image_id, table.area.sum(0), table.area.sum(1), table.count.sum(0), rows], notes=(*notes,)
    )


COCO = Format(name="COCO JSON", make=write_coco, use=_use)
