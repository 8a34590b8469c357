"""Makes the image at the top of the README, the page of `oochub audit` on `oochub example`, in light and dark.

`python docs/make/page_picture.py` runs it. It uses two threads, as the numbers in the README do: another number of
threads trains another model.
"""

import sys
import tempfile
from contextlib import chdir
from pathlib import Path

import torch
from PIL import Image

import oochub
from oochub.storage.files import write_whole
from oochub.studies.demo.example import example

_ROOT = Path(__file__).resolve().parents[2]
_TARGETS = {
    scheme: _ROOT / "docs" / "figures" / f"report_page{end}.webp" for scheme, end in (("light", ""), ("dark", "_dark"))
}
_WIDTH, _HEIGHT = 1280, 640


def main() -> None:
    """Trains, audits and takes both images."""
    sys.path.insert(0, str(_ROOT / "tests" / "helpers"))
    from browser import Browser

    torch.set_num_threads(2)
    with tempfile.TemporaryDirectory() as scratch, chdir(scratch):
        example("toy")
        oochub.audit("toy/model", "toy/pictures", label="breed", context="background", out="toy/audit")
        browser = Browser(Path(scratch, "profile"))
        for scheme, target in _TARGETS.items():
            browser.show(Path("toy/audit/report.html").resolve(), width=_WIDTH, scheme=scheme)
            top = Image.fromarray(browser.screenshot()).crop((0, 0, _WIDTH, _HEIGHT))
            with write_whole(target) as draft:
                top.convert("RGB").save(draft, format="webp", quality=80, method=6)
        browser.close()


if __name__ == "__main__":
    main()
