"""Contract of the campaign: every file that reads what users have is fuzzed."""

import ast
import importlib
from pathlib import Path

from formats_wilds import WILDS
from fuzz_case import Format
from import_graph import ROOT, files, module_of, trees

import oochub

_CALLS = {
    *("read_bytes", "read_text", "read_lines", "read_json", "read_picture", "open_picture", "load_tensors"),
    *("tarfile.open", "tomllib.loads", "csv.reader", "pq.read_table", "pd.read_csv", "np.lib.format.read_array"),
    *("loadmat", "safe_open", "pa_csv.open_csv", "check_regular_file"),
}
"""How a file of a user becomes content: the package's own readers, and those of libraries that they stand on."""

FUZZED = {
    "builders/celebA.py": "metadata",
    "builders/imagenet_ood.py": "lists",
    "builders/imagenet_x.py": "metadata",
    "builders/sources/coco_file.py": "coco",
    "builders/sources/coco_json.py": "captions",
    "builders/sources/image_list.py": "lists",
    "builders/sources/raw_table.py": "metadata",
    "builders/sources/imagenet.py": "tars",
    "builders/sources/imagenet_listing.py": "lists",
    "builders/sources/imagenet_truth.py": "lists",
    "builders/sources/objectnet.py": "objectnet",
    "builders/sources/nooch/id_arrays.py": "ids",
    "builders/sources/stored.py": "tars",
    "builders/wilds/globalwheat.py": "wilds",
    "builders/wilds/ogb_molpcba.py": "wilds",
    "builders/wilds/poverty.py": "wilds",
    "builders/wilds/py150.py": "wilds",
    "src/oochub/builder.py": "spawrious",
    "src/oochub/commands/_options.py": "onnx",
    "src/oochub/context_finding/finders/properties.py": "exif",
    "src/oochub/context_finding/measure_images.py": "exif",
    "src/oochub/data/benchmark_file.py": "benchmark_file",
    "src/oochub/data/shards.py": "shards",
    "src/oochub/exchange/answers_file.py": "answers",
    "src/oochub/exchange/bridge.py": "bridges",
    "src/oochub/exchange/bridges/coco_results.py": "detections",
    "src/oochub/exchange/bridges/fiftyone.py": "bridges",
    "src/oochub/evaluation/row_selection.py": "row_files",
    "src/oochub/exchange/bridges/yolo_labels.py": "detections",
    "src/oochub/exchange/bridges/cleanlab.py": "bridges",
    "src/oochub/exchange/bridges/inspect_ai.py": "bridges",
    "src/oochub/exchange/bridges/lmms_eval.py": "bridges",
    "src/oochub/inputs/pictures/chat_processor.py": "chat_models",
    "src/oochub/inputs/pictures/image_processor.py": "models",
    "src/oochub/inputs/pictures/preprocessing.py": "models",
    "src/oochub/inputs/pictures/stored_pictures.py": "models",
    "src/oochub/leaderboard/benchmark_rows.py": "entries",
    "src/oochub/leaderboard/leaderboard_entry.py": "entries",
    "src/oochub/models/class_map.py": "class_files",
    "src/oochub/models/onnx_file.py": "onnx",
    "src/oochub/models/open_model.py": "models",
    "builders/breeds.py": "hierarchy",
    "src/oochub/models/chat/chat_model.py": "chat_models",
    "src/oochub/models/dual_encoder.py": "class_files",
    "src/oochub/inputs/_stored_processors.py": "boxes_and_tokens",
    "src/oochub/models/model_source.py": "models",
    "src/oochub/settings/model_settings.py": "class_files",
    "src/oochub/storage/parquet_file.py": "predictions",
    "src/oochub/storage/picture_file.py": "models",
    "src/oochub/prediction/predictions_file.py": "predictions",
    "probing/object_area.py": "object_areas",
    "src/oochub/storage/reading.py": "coco",
    "src/oochub/checking/rules.py": "check_rules",
    "src/oochub/repairs/repair.py": "repairs",
    "src/oochub/report/report_record.py": "reports",
    "reviewing/decisions.py": "decisions",
    "src/oochub/detector.py": "detectors",
    "src/oochub/sweep/sweep_recipe.py": "recipes",
    "src/oochub/storage/tensor_file.py": "detectors",
    "studies/imagenet_ood/model_list.py": "lists",
    "studies/waterbirds/cub_images.py": "metadata",
    "studies/wilds/submission_file.py": "submissions",
}
"""A file that reads, and the format of tests/fuzz that goes through it: formats_<name>.py."""

ELSEWHERE = {
    "builders/toy_worlds/_corruptions.py": "decodes what the toy world drew",
    "builders/toy_worlds/toy_imagenet.py": "packs what the toy world drew",
    "builders/sources/sentence_embeddings.py": "weights by name, tests/builders/test_sentence_embeddings.py",
    "builders/sources/spawrious_compositions.py": "TOML, tests/builders/test_spawrious_compositions.py",
    "src/oochub/sweep/model_soup.py": "recipes of the runs of its own sweep, tests/sweep/test_model_soup.py",
    "browsing/sprite_sheets.py": "tiles that it wrote just before, images by the decoder of all",
    "src/oochub/class_names/wordnet.py": "WordNet as its package installs it",
    "figures/_picture_grid.py": "images of a dataset that was built",
    "src/oochub/exchange/bridges/every_eval_ever.py": "tells what stands in the place of an output",
    "src/oochub/storage/artifacts.py": "tells what stands in the place of an output",
    "attention/object_masks.py": "images by the decoder of all, tests/attention/test_attention.py",
    "src/oochub/storage/cache.py": "records of the library's own builds, tests/commands/test_cache.py",
    "src/oochub/commands/_options.py": "names of columns, tests/commands/test_completion.py",
    "src/oochub/commands/train.py": "the recipe that it wrote just before",
    "src/oochub/data/table_rows.py": "tables drawn by formats_own_data.py and test_layouts_of_user_data.py",
    "src/oochub/data/tar_rows.py": "shards drawn by formats_own_data.py and tests/data/test_layouts_of_user_data.py",
    "src/oochub/data/build_file.py": "build.json of a repository, tests/data/test_own_repository.py",
    "src/oochub/repository/write_webdataset.py": "images of a data set that was built",
    "src/oochub/data/open_source.py": "what kind of file it is alone, tests/data/test_folder_files.py",
    "src/oochub/repository/repository_card.py": "images of a dataset that is written, by the decoder of all",
    "src/oochub/repository/join_images.py": "images compared by their digest, tests/hub/test_push_repository.py, and "
    "the README of a repository, tests/repository/test_repository_card.py",
    "src/oochub/repository/write_repository.py": "the README of a repository, tests/data/test_challenge.py",
    "src/oochub/exchange/export.py": "images of a dataset that was loaded",
    "src/oochub/hub/push.py": "a card as text, a report by its own reader, tests/hub/test_push_model.py",
    "src/oochub/hub/push_repository.py": "questions and images of a dataset that was built, the README of a repository",
    "src/oochub/leaderboard/check_entry.py": "the library's own cache, tests/leaderboard/test_kept_entry.py",
    "src/oochub/models/adapter.py": "adapter_config.json and its weights, tests/models/test_doors.py",
    "src/oochub/models/other_formats.py": "adapter_config.json, tests/models/test_doors.py",
    "src/oochub/repairs/repaired_module.py": "the layer that a repair wrote, tests/commands/test_repair.py",
    "src/oochub/models/modes/linear_probe.py": "the library's own cache, tests/models/test_linear_probe_mode.py",
    "src/oochub/prediction/parts.py": "parts of a run that was stopped, tests/prediction/test_parts.py",
    "src/oochub/prediction/stored_columns.py": "files that predictions_file.py has checked",
    "src/oochub/commands/_drawing.py": "a table of the package",
    "reviewing/context_page.py": "answers by their own reader, and their digest",
    "reviewing/review_page.py": "images of a dataset that was built",
    "studies/imagenet_ood/class_audit.py": "a list of classes, tests/studies/test_class_audit.py",
    "studies/spawrious/generation/contact_sheet.py": "images of a run of its own",
    "studies/spawrious/generation/generation_record.py": "a run's own record, tests/studies/test_generate_spawrious.py",
    "studies/spawrious/generation/picture_maker.py": "headers of weights that diffusers has read",
    "studies/spawrious/generation/tried_image.py": "a run's own lists, tests/studies/test_generate_spawrious.py",
    "studies/spawrious/cleanliness/cleanliness_sample.py": "beside the pages, tests/studies/test_cleanliness.py",
    "studies/waterbirds/construct_waterbirds.py": "images, tests/studies/test_construct_waterbirds.py",
    "trainers/fine_tuning/run_folder.py": "a run's own progress, tests/trainers/test_trainer_resume.py",
}
"""A file that reads something else, and what that is."""


_FOLDERS = ("builders", "eval_modules", "trainers", "figures", "studies", "src")


def _readers() -> set[str]:
    found = set()
    for file in files():
        text = file.read_text("utf-8") if file.relative_to(ROOT).parts[0] in _FOLDERS else ""
        if not any(call in text for call in _CALLS):
            continue
        called = (node.func for node in ast.walk(trees()[module_of(file)]) if isinstance(node, ast.Call))
        if _CALLS & {ast.unparse(function) for function in called}:
            found.add(file.relative_to(ROOT).as_posix())
    return found


def test_every_reader_is_fuzzed():
    """Fault planted: `read_json` called in src/oochub/records/sides.py."""
    readers = _readers()
    assert len(readers) > 20
    unknown = sorted(readers - FUZZED.keys() - ELSEWHERE.keys())
    assert not unknown, f"{unknown} read files: write a format in tests/fuzz and name it in FUZZED"


def test_every_data_set_of_wilds_is_drawn():
    assert {*WILDS} == set(oochub.get("benchmark", "wilds").tried_configs)


def test_every_format_is_drawn():
    """Fault planted: `REPAIRS` left out of the readers of test_fuzz_formats.py."""
    here, drawn, formats = Path(__file__).parent, set(), {}
    for file in sorted(here.glob("*.py")):
        for name, value in vars(importlib.import_module(file.stem)).items():
            if name.endswith("READERS"):
                drawn |= {reader.kind.make for reader in value}
            for each in value.values() if isinstance(value, dict) else [value]:
                if isinstance(each, Format) and file.stem.startswith("formats_"):
                    formats.setdefault(file.stem.removeprefix("formats_"), []).append(each)
    left = {kind.name for kinds in formats.values() for kind in kinds if kind.make not in drawn}
    assert not left, f"{left} are read by no `Reader` of tests/fuzz"
    assert set(FUZZED.values()) <= formats.keys()
    assert len(drawn) > 50
