"""report.json with one thing wrong, read and shown: refused, or the same numbers."""

import json
from pathlib import Path
from typing import Any

from fuzz_case import Format, Used
from fuzz_predictions import numbers_of, shown
from reports import nooch_report

from oochub import Report

_FILE = "report.json"


def _content() -> dict[str, Any]:
    """A report on the toy NOOCH, cut to two slices of two metrics and one mistake with a small image."""
    content = json.loads(json.dumps(nooch_report()))
    content["mistakes"] = [content["mistakes"][0] | {"image": content["mistakes"][0]["image"][:400]}]
    metrics = ("auc", "nll")
    content["slices"] = [
        part | {"metrics": {name: part["metrics"][name] for name in metrics}} for part in content["slices"][:3]
    ]
    content["metrics"] = {name: content["metrics"][name] for name in metrics}
    return content


def _use(folder: Path, out: Path) -> Used:
    report = Report.load(folder / _FILE)
    shown(report, out)
    return Used(numbers=numbers_of(report), notes=report.notes)


REPORTS = Format(name="reports", make=lambda folder: (folder / _FILE).write_text(json.dumps(_content())), use=_use)
