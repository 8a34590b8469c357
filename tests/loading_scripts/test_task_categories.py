"""The task categories of a card are those of its configs: WILDS has images, texts, graphs, boxes, arrays and tokens."""

from datasets import get_dataset_config_names
from huggingface_hub import DatasetCard

import oochub
from oochub.dataset_cards.card import card
from oochub.loading_scripts.build_repository import build_parquet

WILDS = {
    "amazon": "text-classification", "camelyon17": "image-classification", "civilcomments": "text-classification",
    "fmow": "image-classification", "globalwheat": "object-detection", "iwildcam": "image-classification",
    "ogb_molpcba": "graph-ml", "poverty_fold_a": "other", "py150": "text-generation", "rxrx1": "image-classification",
}  # fmt: skip
"""The first config of each data set, with the Hub's words for what WILDS predicts on it."""


def test_the_card_of_a_benchmark_has_the_task_of_each_config():
    """Fault seen before the mend: image-classification alone for WILDS."""
    wilds = card(oochub.get("benchmark", "wilds"))
    assert wilds.data.task_categories == sorted(set(WILDS.values()))
    rows = {names.split("`")[1]: line for line in wilds.text.splitlines() if (names := line[2:]).startswith("`")}
    assert {config: task for config, task in WILDS.items() if f"| {task} |" in rows[config]} == WILDS
    for name in oochub.names("benchmark"):
        benchmark = oochub.get("benchmark", name)
        tasks = {benchmark.of(config).task_category for config in get_dataset_config_names(name)}
        assert card(benchmark).data.task_categories == sorted(tasks)


def test_a_built_repository_has_the_tasks_of_what_it_holds(raw, tmp_path):
    """Planted faults: those of the whole benchmark; those of the config that was built first."""
    wanted = set()
    for config in ("civilcomments", "camelyon17"):
        build_parquet(f"wilds/{config}", tmp_path / "out", data_dir=raw(f"wilds/{config}"))
        wanted.add(WILDS[config])
        assert DatasetCard.load(tmp_path / "out" / "README.md").data.task_categories == sorted(wanted)
