"""Every table that is written in LaTeX compiles in pdflatex itself, whatever names are in it."""

import shutil
import subprocess
from pathlib import Path

import pytest
from reports import nooch_report, read, spawrious_report

from oochub.records.document import Block, Document
from oochub.records.table import Table
from oochub.report.paper_table import PaperCell, PaperTable

NAMES = (
    'a_b & c%d #e $f ^g ~h \\i {j} <k> |l| "m"',
    "\u2212 \u00d7 ± ≥ ≤ ≠ → ↓ ↑ … — \u2013 \u2019 “ ” • µ α β",
    "Zürich, Łódź, naïve, żółć, ąę, «þorn», Đà Nẵng, Ħ",
    "猫, Привет, עברית, 🙂, \u202f \u00a0 \u200b",
    "[x] -- --- ?` a\nb\tc",
)


def compile_latex(folder: Path, *texts: str) -> str:
    """The text of the PDF's log, of a paper that uses booktabs and nothing else."""
    body = "\n".join(texts)
    (folder / "paper.tex").write_text(
        f"\\documentclass{{article}}\n\\usepackage{{booktabs}}\n\\begin{{document}}\n{body}\n\\end{{document}}\n",
        "utf-8",
    )
    words = ["pdflatex", "-interaction=nonstopmode", "-halt-on-error", "paper.tex"]
    ended = subprocess.run(words, cwd=folder, capture_output=True, check=False)
    log = ended.stdout.decode("utf-8", errors="replace")
    assert ended.returncode == 0, log[-1500:]
    return log


@pytest.mark.slow
@pytest.mark.skipif(shutil.which("pdflatex") is None, reason="pdflatex is not on this machine (texlive-latex-base)")
def test_each_table_compiles(tmp_path: Path) -> None:
    """Seen before it was mended: ≥, ą and 猫 in a full table. Planted fault seen: a table without its stand-ins."""
    texts = [
        read(report()).to_latex(style) for report in (nooch_report, spawrious_report) for style in ("compact", "full")
    ]
    for name in NAMES:
        table = Table(heads=("Method", name), rows=((name, "1.0"),), footnotes=(name,))
        texts.append(Document(blocks=(Block(title=name, sentences=(name,), table=table, below=(name,)),)).to_latex())
        cells = ((name, PaperCell("1.0", spread=name, is_bold=True)),)
        texts.append(
            PaperTable(caption=name, label=(name,), heads=("Method", name), rows=cells, notes=(name,)).to_latex()
        )
    log = compile_latex(tmp_path, *texts)
    assert "Missing character" not in log and (tmp_path / "paper.pdf").is_file()
