"""Puts a metric up as a Space, from which `evaluate` loads it."""

import sys
from importlib.metadata import version
from typing import Any

from markdown_it import MarkdownIt
from markupsafe import Markup

from oochub import catalog
from oochub.dataset_cards.metric_card import metric_card
from oochub.errors import OochubError
from oochub.hub.flat_module import flat_module
from oochub.hub.pushed import Pushed
from oochub.hub.upload import upload
from oochub.metric import MetricShell
from oochub.report.self_contained_page import self_contained_page
from oochub.storage.files import scratch_folder


def push_metric(name: str, to: str, **options: Any) -> Pushed:
    """Makes a Space that holds a metric as a module of `evaluate`: `evaluate.load("user/auc_hard")` works anywhere.

    The module is one flattened file, `<name>.py`: the metric's own, with what it needs of oochub copied into it
    (`oochub.hub.flat_module`), so that it needs `evaluate` and NumPy, some metrics SciPy too, which `evaluate` asks for
    by name where it is missing, and no oochub. A requirements.txt with a pinned oochub would have needed all of torch
    and transformers for one number. Beside it stand the card, and the card as a page that the Space shows: it is a
    static one, which runs nothing.

    Args:
        name: Of the metric.
        to: The Space, user/<name>: `evaluate` finds the file, and the file the metric, by the Space's name.
        options: Of `oochub.hub.upload.upload`: private, revision, pull_request, dry_run, overwrite.

    Raises:
        OochubError: An unknown metric, a Space of another name, a metric that cannot be one file; as
            `oochub.hub.upload.upload`.
    """
    texts = _space(name, to)
    with scratch_folder() as folder:
        for file, text in texts.items():
            (folder / file).write_text(text, "utf-8")
        return upload(
            folder,
            to,
            repo_type="space",
            message=f"{name} of oochub {version('oochub')}",
            space_sdk="static",
            known_by=f"{name}.py",
            **options,
        )


def _space(name: str, to: str) -> dict[str, str]:
    """The files of the Space, by name."""
    metric = catalog.get("metric", name)
    if to.rpartition("/")[2] != name:
        raise OochubError(
            f"The Space of the metric {name} is named like it, user/{name}, got {to!r}: `evaluate` looks for a file of "
            "the Space's name."
        )
    module = sys.modules[metric.__module__]
    shells = [
        key
        for key, value in vars(module).items()
        if isinstance(value, type) and issubclass(value, MetricShell) and value.__module__ == module.__name__
    ]
    if len(shells) != 1:
        raise OochubError(f"{module.__name__} defines {len(shells)} classes of MetricShell: a Space needs one.")
    readme = metric_card(name, space=to)
    return {
        f"{name}.py": flat_module(module.__name__, (name, "FACTS", *shells)),
        "README.md": readme,
        "index.html": _page(readme, name),
    }


def _page(readme: str, name: str) -> str:
    """The text of the README as a page."""
    _, _, text = readme.removeprefix("---\n").partition("---\n")
    return self_contained_page(
        "metric.html.jinja",
        advice="Shorten the docstrings of its file.",
        title=name,
        text=Markup(MarkdownIt("commonmark", {"html": False}).render(text)),  # noqa: S704
        version=version("oochub"),
    )
