"""The README.md of a repaired model: what was done, and both numbers on rows never used before."""

from collections.abc import Sequence

from oochub.records.table import escape_markdown
from oochub.report import wording
from oochub.report.repair import Repair
from oochub.report.repair_words import (
    describe_choice,
    describe_draws,
    make_repair_tables,
    write_sentences,
    write_verdict,
)


def write_repair_card(repair: Repair, *, class_names: Sequence[str], is_wrapper: bool) -> str:
    """Markdown with the Hub's YAML header; the same repair gives the same card.

    Args:
        repair: A repair that is better.
        class_names: Names of the model's outputs.
        is_wrapper: Whether the model is an encoder with a linear layer, which transformers opens after an import.
    """
    base = wording.name(str(repair.provenance.get("model") or "a model"), 60)
    data = wording.name(str(repair.provenance.get("data") or "the user's own data"), 60)
    shown = ", ".join(wording.name(name, 40) for name in class_names[:20])
    more = f" and {len(class_names) - 20} more" if len(class_names) > 20 else ""
    lines = [
        "---",
        "library_name: transformers",
        "pipeline_tag: image-classification",
        "tags:",
        "- oochub",
        "- repair",
        "---",
        f"# {escape_markdown(base)}, repaired on {escape_markdown(data)}",
        "",
        f"{write_verdict(repair)} {write_sentences(repair)[0]}",
        "",
        "The whole network was fine-tuned from the given model on."
        if repair.chosen is not None and repair.chosen.is_fine_tuned
        else "All weights but those of the last layer are the given model's.",
        f"Classes: {escape_markdown(shown + more)}.",
        *(["The Auto classes of transformers open it after `import oochub.models.encoder_classifier`."] * is_wrapper),
        "",
        "## What was done",
        describe_choice(repair),
        "",
        *filter(None, [describe_draws(repair)]),
    ]
    for table in make_repair_tables(repair):
        lines += ["", f"## {table.title}", table.to_markdown()]
    if repair.command:
        lines += ["", "## How to make it again", "```", repair.command, "```"]
    packages = repair.provenance.get("packages") or {}
    versions = [f"oochub {repair.provenance.get('oochub', '')}", *(f"{name} {text}" for name, text in packages.items())]
    return "\n".join([*lines, "", "## Versions", f"{', '.join(versions)}."]) + "\n"
