"""Makes the image at the top of the README: the page of `oochub audit` on `oochub example`; needs Chromium.

`python docs/make/page_picture.py` runs it. With two threads, as the numbers in the README: another number of threads
trains another model.
"""

import shutil
import subprocess
import tempfile
from contextlib import chdir
from pathlib import Path

import torch
from PIL import Image

import oochub
from oochub.errors import OochubError
from oochub.storage.files import write_whole
from oochub.studies.demo.example import example

_TARGET = Path(__file__).resolve().parents[1] / "figures" / "report_page.webp"
_WIDTH, _HEIGHT = 1280, 640


def main() -> None:
    """Trains, audits and takes the image."""
    chromium = shutil.which("chromium") or shutil.which("google-chrome")
    if chromium is None:
        raise OochubError("Neither chromium nor google-chrome is installed; the image is one of a browser's window.")
    torch.set_num_threads(2)
    with tempfile.TemporaryDirectory() as scratch, chdir(scratch):
        example("toy")
        oochub.audit("toy/model", "toy/pictures", label="breed", context="background", out="toy/audit")
        page, shot = Path("toy/audit/report.html").resolve(), Path("page.png").resolve()
        window = [f"--window-size={_WIDTH},{_HEIGHT}", f"--screenshot={shot}", "--hide-scrollbars"]
        subprocess.run([chromium, "--headless", "--no-sandbox", *window, page.as_uri()], check=True)
        with Image.open(shot) as picture, write_whole(_TARGET) as draft:
            picture.convert("RGB").save(draft, format="webp", quality=80, method=6)


if __name__ == "__main__":
    main()
