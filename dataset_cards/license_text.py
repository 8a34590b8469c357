"""The LICENSE.md of a benchmark's repository: that of the pictures and that of the labels apart."""

from oochub.benchmark import Benchmark


def license_text(benchmark: Benchmark) -> str:
    """Markdown, from the declaration.

    >>> from oochub import get
    >>> print(license_text(get("benchmark", "nooch")).splitlines()[2])
    - Images: Flickr terms of use; each picture has its own licence.
    """
    files = "\n".join(
        f"| {', '.join(f'`{path}`' for path in paths)} | {url} | {license} |"
        for (url, _, license), paths in benchmark.downloads.items()
    )
    return f"""# Licenses of {benchmark.title}

- Images: {benchmark.images_license}.
- Labels: {benchmark.annotations_license}.

What it was built from:

| files | from | license |
|---|---|---|
{files}
"""
