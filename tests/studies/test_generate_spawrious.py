"""Generated images: the real classes of diffusers and transformers, tiny; about half of the images are fit."""

import json
import pickle
import shutil
from collections.abc import Iterator
from dataclasses import replace
from hashlib import sha256
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tiny_generators
import torch
from PIL import Image
from safetensors.torch import load_file, save_file

from oochub import errors
from oochub.errors import OochubError
from oochub.storage.ownership import MANIFEST, FolderManifest
from oochub.storage.parquet_file import read_parquet
from oochub.studies.spawrious.generation import generate_spawrious as generation
from oochub.studies.spawrious.generation.dog_prompts import NEGATIVE_PROMPT, dog_prompts
from oochub.studies.spawrious.generation.generate_spawrious import generate_spawrious
from oochub.studies.spawrious.generation.generation_plan import GenerationPlan
from oochub.studies.spawrious.generation.generation_record import read_record
from oochub.studies.spawrious.generation.picture_maker import PictureMaker
from oochub.studies.spawrious.generation.tried_image import IN_BAD_MINIBATCH, reason_to_drop


@pytest.fixture(scope="module")
def models(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """The folders of a pipeline and a captioner."""
    folder = tmp_path_factory.mktemp("models")
    made = {"model": tiny_generators.pipeline(folder / "sd"), "captioner": tiny_generators.captioner(folder / "says")}
    (made["model"] / "README.md").write_text("---\nlicense: creativeml-openrail-m\n---\nTiny.\n")
    (made["captioner"] / "README.md").write_text("---\nlicense: [mit\n---\nNo YAML.\n")
    return {name: str(path) for name, path in made.items()}


@pytest.fixture(scope="module")
def small(models: dict[str, str]) -> GenerationPlan:
    """Two prompts in two folders, two images of each."""
    return GenerationPlan(
        **models,
        prompts=2,
        images_per_prompt=2,
        steps=1,
        repeats=(0,),
        backgrounds=("snow",),
        breeds=("corgi", "labrador"),
    )


@pytest.fixture(scope="module")
def made(small: GenerationPlan, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What an undisturbed run of it leaves; tests only read it."""
    folder = tmp_path_factory.mktemp("generated") / "dogs"
    generate_spawrious(folder, small, device="cpu")
    return folder


def files(folder: Path) -> dict[str, bytes]:
    """All files but the records, by name."""
    return {
        path.relative_to(folder).as_posix(): path.read_bytes()
        for path in sorted(folder.rglob("*"))
        if path.is_file() and path.name not in ("generation.json", "manifest.parquet", MANIFEST)
    }


def rows(folder: Path) -> list[dict[str, Any]]:
    return read_parquet(folder / "manifest.parquet").table.to_pylist()


@pytest.mark.slow
def test_each_picture_is_that_of_its_seed(made: Path, models: dict[str, str]) -> None:
    """The libraries called one image at a time, as their own pages do; the seed by its formula."""
    import diffusers
    import transformers

    pipeline = diffusers.StableDiffusionPipeline.from_pretrained(models["model"], use_safetensors=True)
    pipeline.set_progress_bar_config(disable=True)
    says = transformers.VisionEncoderDecoderModel.from_pretrained(models["captioner"]).eval()
    tokenizer = transformers.AutoTokenizer.from_pretrained(models["captioner"])
    processor = transformers.ViTImageProcessorPil.from_pretrained(models["captioner"])
    known = rows(made)
    tries: dict[tuple[str, int], list[dict[str, Any]]] = {}
    for row in known:
        tries.setdefault((row["breed"], row["prompt_number"]), []).append(row)
    assert len(tries) == 4 and len(known) > 8  # some are refused
    for own in tries.values():  # two of each are accepted, and none is tried after the second
        assert [row["attempt"] for row in own] == [*range(len(own))]
        assert sum(row["accepted"] for row in own) == 2 and own[-1]["accepted"]
    for row in known:
        name = f"0/0/{row['background']}/{row['breed']}/{row['prompt_number']}/{row['attempt']}"
        assert row["seed"] == int.from_bytes(sha256(name.encode()).digest()[:8], "big") >> 1
        assert row["prompt"] == dog_prompts(row["breed"], row["background"])[row["prompt_number"]]
        generator = torch.Generator().manual_seed(row["seed"])
        result = pipeline(row["prompt"], generator=generator, num_inference_steps=1)
        picture = result.images[0]
        assert (row["reason"] == "flagged by the safety checker") == result.nsfw_content_detected[0]
        if result.nsfw_content_detected[0]:
            assert not row["accepted"] and not row["caption"]
            continue
        tokens = says.generate(
            processor(picture, return_tensors="pt").pixel_values, num_beams=4, max_length=16, do_sample=False
        )
        caption = tokenizer.decode(tokens[0], skip_special_tokens=True)
        assert row["caption"] == caption
        assert row["accepted"] == ("dog" in caption.split())
        if row["accepted"]:
            kept = np.asarray(Image.open(made / row["file"])).astype(int)
            expected = np.asarray(picture.resize((224, 224), Image.Resampling.LANCZOS)).astype(int)
            assert kept.shape == (224, 224, 3) and np.abs(kept - expected).max() <= 1


@pytest.mark.slow
def test_the_layout_and_the_record(made: Path, small: GenerationPlan) -> None:
    """Numbers 1 to 4 in each folder, prompts in turn. Planted fault: numbers that count one prompt after the other."""
    for breed in ("corgi", "labrador"):
        names = {path.name for path in (made / "spawrious224" / "0" / "snow" / breed).iterdir()}
        assert names == {f"snow_{breed}_{number}.png" for number in range(1, 5)}
    by_number = {row["file"]: row["prompt_number"] for row in rows(made) if row["accepted"]}
    prompts = [by_number[f"spawrious224/0/snow/corgi/snow_corgi_{number}.png"] for number in range(1, 5)]
    assert prompts == [0, 36] * 2
    record = read_record(made)
    assert record is not None and record.safety_checker and record.plan.model == "sd"
    assert (record.model.license, record.captioner.license) == ("creativeml-openrail-m", None)
    everything = record.shares[0]
    known = rows(made)
    assert (everything.tried, everything.accepted, everything.estimate.method) == (len(known), 8, "wilson")
    assert everything.flagged == sum(row["reason"] == "flagged by the safety checker" for row in known) > 0
    corgis = next(share for share in record.shares if share.breed == "corgi" and not share.background)
    assert corgis.estimate.value == 4 / sum(row["breed"] == "corgi" for row in known)
    assert all(row["model"] == "sd" and len(row["model_revision"]) == 40 for row in known)
    assert str(made.parent) not in (made / "generation.json").read_text()
    with Image.open(made / "contact_sheet.png") as sheet:
        assert sheet.width > 1000


def test_a_second_run_has_nothing_to_do(made: Path, small: GenerationPlan, monkeypatch: pytest.MonkeyPatch) -> None:
    """Planted fault: models that are opened before what is left is known."""
    monkeypatch.setattr(generation, "_open_models", lambda *_: pytest.fail("models were opened"))
    times = {path: path.stat().st_mtime_ns for path in made.rglob("*")}
    record = generate_spawrious(made, small, device="cpu")
    assert record == read_record(made)
    assert times == {path: path.stat().st_mtime_ns for path in made.rglob("*")}


@pytest.mark.slow
def test_the_batch_does_not_matter(made: Path, small: GenerationPlan, tmp_path: Path) -> None:
    """Planted fault: one generator for a batch."""
    generate_spawrious(tmp_path / "dogs", replace(small, batch_size=1), device="cpu")
    first = {name: content for name, content in files(made).items() if not name.startswith(("tries", "contact"))}
    assert first.keys() == {name for name in files(tmp_path / "dogs") if name.startswith("spawrious224")}
    kept = [
        [(row["file"], row["seed"]) for row in rows(place) if row["accepted"]] for place in (made, tmp_path / "dogs")
    ]
    assert kept[0] == kept[1]


@pytest.mark.slow
def test_more_is_added(made: Path, small: GenerationPlan, tmp_path: Path) -> None:
    """Fewer images first and one breed, then all. Planted fault: a seed that depends on how many are wanted."""
    for plan in (replace(small, images_per_prompt=1, breeds=("labrador",)), small):
        generate_spawrious(tmp_path / "dogs", plan, device="cpu")
    pictures = {name: content for name, content in files(tmp_path / "dogs").items() if name.startswith("spawrious")}
    assert pictures == {name: content for name, content in files(made).items() if name.startswith("spawrious")}


class _Stopped(BaseException):
    pass


@pytest.fixture
def stopping(monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    """`stopping(n)` stops a run after n writes of whatever kind."""
    with monkeypatch.context() as patch:

        def after(writes: int) -> None:
            left = iter(range(writes))
            from oochub.storage import files as module

            take_place = module.take_place

            def counted(draft: Path, path: Path, **options: Any) -> None:
                if next(left, None) is None:
                    raise _Stopped
                take_place(draft, path, **options)

            patch.setattr(module, "take_place", counted)

        yield lambda writes: (patch.undo(), after(writes))


@pytest.mark.slow
def test_stopped_anywhere_it_goes_on(made: Path, small: GenerationPlan, tmp_path: Path, stopping: Any) -> None:
    """At every fifth write or so. Planted fault: a try that is not counted among the tries."""
    folder, stops = tmp_path / "dogs", 0
    for writes in range(400):
        stopping(5 + writes % 3)
        try:
            generate_spawrious(folder, small, device="cpu")
            break
        except _Stopped:
            stops += 1
    assert stops > 2
    assert files(folder) == files(made) and rows(folder) == rows(made)


@pytest.mark.slow
def test_deleted_pictures_come_back(made: Path, small: GenerationPlan, tmp_path: Path) -> None:
    """Planted fault: only the number of lines counted."""
    shutil.copytree(made, tmp_path / "dogs")
    (tmp_path / "dogs/spawrious224/0/snow/corgi/snow_corgi_3.png").unlink()
    generate_spawrious(tmp_path / "dogs", small, device="cpu")
    pictures = {name: content for name, content in files(tmp_path / "dogs").items() if name.startswith("spawrious")}
    assert pictures == {name: content for name, content in files(made).items() if name.startswith("spawrious")}


@pytest.mark.slow
def test_the_released_form_drops_minibatches(small: GenerationPlan, tmp_path: Path) -> None:
    """Planted faults seen: the fit ones of a bad minibatch kept; no negative prompt."""
    plan = replace(small, form="released", prompts=1, images_per_prompt=8, breeds=("corgi",))
    asked: list[dict[str, Any]] = []
    with pytest.MonkeyPatch.context() as patch:
        whole = PictureMaker.pictures
        patch.setattr(PictureMaker, "pictures", lambda self, *a, **k: asked.append(k) or whole(self, *a, **k))
        generate_spawrious(tmp_path / "dogs", plan, device="cpu")
    known = rows(tmp_path / "dogs")
    batches = [known[start : start + 4] for start in range(0, len(known), 4)]
    assert len(batches) > 1 and len(known) % 4 == 0
    for batch in batches:
        assert len({row["accepted"] for row in batch}) == 1
    assert IN_BAD_MINIBATCH in {row["reason"] for row in known}
    assert all(
        row["prompt"].startswith("(((one ") and "welsh corgi dog sitting))) in a snowy" in row["prompt"]
        for row in known
    )
    assert asked[0] == {"negative_prompt": NEGATIVE_PROMPT, "steps": 1}
    assert replace(plan, steps=None).steps_taken == 100 and replace(small, steps=None).steps_taken is None


@pytest.mark.parametrize(
    ("caption", "paper", "released"),
    [
        ("a dog on a beach", True, True),
        ("a dog, running", True, False),
        ("A Dog runs", True, False),
        ("two dogs running", False, False),
        ("a hotdog", False, False),
        ("", False, False),
        (" dog ", True, True),
    ],
)
def test_what_is_fit(caption: str, paper: bool, released: bool) -> None:
    """Worked by hand from Section 4.1 and from `caption.strip().split(" ")`. Planted fault: a part of a word counts."""
    assert (not reason_to_drop(caption, flagged=False, form="paper")) is paper
    assert (not reason_to_drop(caption, flagged=False, form="released")) is released
    assert reason_to_drop(caption, flagged=True, form="paper") == "flagged by the safety checker"


@pytest.mark.parametrize(
    ("setting", "words"),
    [
        ({"breeds": ("corgy",)}, "No breed named 'corgy'. Did you mean 'corgi'"),
        ({"repeats": (2,)}, "No repeat named '2'"),
        ({"breeds": ("corgi", "corgi")}, "each breed once"),
        ({"breeds": ()}, "at least one"),
        ({"dtype": "int8"}, "No dtype"),
        ({"form": "code"}, "'paper' or 'released'"),
        ({"prompts": 73}, "There are 72 prompts"),
        ({"prompts": 0}, "must be 1 or more"),
        ({"steps": 0}, "must be 1 or more"),
        ({"form": "released", "images_per_prompt": 6}, "multiple of 4"),
        ({"form": "released", "batch_size": 8}, "batch_size 4, got 8"),
    ],
)
def test_a_wrong_plan(setting: dict[str, Any], words: str) -> None:
    with pytest.raises(OochubError, match=words):
        GenerationPlan(**setting)


@pytest.mark.slow
def test_another_folder_or_other_settings(made: Path, small: GenerationPlan, tmp_path: Path) -> None:
    """Planted faults: settings that are not compared; weights that are not; a line of a list that is skipped."""
    before = files(made)
    for setting, words in (({"seed": 1}, "seed 0"), ({"prompts": 3}, "prompts 2"), ({"model": "other"}, "model 'sd'")):
        with pytest.raises(OochubError, match=words):
            generate_spawrious(made, replace(small, **setting), device="cpu")
    assert files(made) == before
    (tmp_path / "thesis").mkdir()
    (tmp_path / "thesis" / "text.docx").write_text("mine")
    with pytest.raises(OochubError, match="not replaced"):
        generate_spawrious(tmp_path / "thesis", small, device="cpu")
    shutil.copytree(made, tmp_path / "dogs")
    other = tmp_path / "other" / "sd"
    shutil.copytree(small.model, other)
    weights = load_file(other / "vae" / "diffusion_pytorch_model.safetensors")
    weights["decoder.conv_out.bias"] += 1
    save_file(weights, other / "vae" / "diffusion_pytorch_model.safetensors", metadata={"format": "pt"})
    with pytest.raises(OochubError, match=r"was started with revision .* of sd, but its revision is now"):
        generate_spawrious(tmp_path / "dogs", replace(small, model=str(other), images_per_prompt=3), device="cpu")
    part = tmp_path / "dogs" / "tries" / "0_snow_corgi_00.jsonl"
    part.write_text(part.read_text()[:-20])
    with pytest.raises(OochubError, match=r"0_snow_corgi_00.jsonl: it was changed after oochub wrote it"):
        generate_spawrious(tmp_path / "dogs", small, device="cpu")
    FolderManifest.at(tmp_path / "dogs").add(part, part)
    with pytest.raises(OochubError, match=r"0_snow_corgi_00.jsonl, line \d+ is not complete JSON"):
        generate_spawrious(tmp_path / "dogs", small, device="cpu")
    record = tmp_path / "dogs" / "generation.json"
    record.write_text(json.dumps(json.loads(record.read_text()) | {"schema_version": 9}))
    FolderManifest.at(tmp_path / "dogs").add(record, record)
    with pytest.raises(OochubError, match="newer oochub"):
        generate_spawrious(tmp_path / "dogs", small, device="cpu")


@pytest.mark.slow
def test_what_is_missing_is_said_first(small: GenerationPlan, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Planted faults: each check left out in turn."""
    out = tmp_path / "dogs"

    def refused(words: str, **setting: Any) -> None:
        with pytest.raises(OochubError, match=words):
            generate_spawrious(out, replace(small, **setting), device="cpu")
        assert not out.exists()

    refused("No model at ./nowhere", model="./nowhere")
    refused("No model at ./nowhere", captioner="./nowhere")
    refused("does not generate text from an image", captioner=str(Path(small.model) / "text_encoder"))
    refused("neither a folder nor a Hub id of a text-to-image pipeline", model=small.captioner)
    unchecked = str(tiny_generators.pipeline(tmp_path / "unchecked", checker=False))
    refused("no safety checker", model=unchecked)
    assert not PictureMaker(unchecked, unchecked=True).has_checker
    shutil.copytree(small.model, tmp_path / "cut")
    file = tmp_path / "cut" / "unet" / "diffusion_pytorch_model.safetensors"
    weights = load_file(file)
    weights.pop("conv_out.weight")
    save_file(weights, file, metadata={"format": "pt"})
    refused("would be random|cannot be loaded|can be loaded", model=str(tmp_path / "cut"))
    file.rename(file.with_suffix(".bin"))
    refused("can be loaded", model=str(tmp_path / "cut"))
    with monkeypatch.context() as patch:
        patch.setattr(errors, "find_spec", lambda name: None)
        refused(r"pip install 'oochub\[images\]'")
    with monkeypatch.context() as patch:
        patch.setattr(generation.shutil, "disk_usage", lambda place: shutil._ntuple_diskusage(10, 5, 5))
        refused("Free disk space")


class _Runs:
    """Unpickled, it makes a file."""

    def __init__(self, file: str) -> None:
        self._file = file

    def __reduce__(self) -> tuple[object, tuple[str, str]]:
        return open, (self._file, "w")


@pytest.mark.parametrize(
    ("part", "fault"), [("unet", "pickle"), ("text_encoder", "pickle"), ("unet", "code"), ("", "code")]
)
def test_a_pipeline_runs_no_code(models: dict[str, str], tmp_path: Path, part: str, fault: str) -> None:
    """A pickle in the place of weights, and a class of the folder's own as a part and as the pipeline itself.

    Pickles are refused twice: torch loads weights only, so that use_safetensors=False alone is no fault that shows.
    """
    folder, ran = tmp_path / "sd", tmp_path / "ran"
    shutil.copytree(models["model"], folder)
    if fault == "pickle":
        file = next((folder / part).glob("*.safetensors"))
        file.unlink()
        bad = "pytorch_model.bin" if part == "text_encoder" else "diffusion_pytorch_model.bin"
        (folder / part / bad).write_bytes(pickle.dumps(_Runs(str(ran))))
    else:
        (folder / part / "own.py").write_text(f"open({str(ran)!r}, 'w')\nclass Own: pass\n")
        index = json.loads((folder / "model_index.json").read_text())
        index[part or "_class_name"] = ["own", "Own"]
        (folder / "model_index.json").write_text(json.dumps(index))
    with pytest.raises(OochubError, match="can be loaded"):
        PictureMaker(str(folder))
    assert not ran.exists()


@pytest.mark.slow
def test_too_few_are_fit(small: GenerationPlan, tmp_path: Path) -> None:
    """A checker that flags everything. Planted fault: no bound, and the run never ends."""
    strict = str(tiny_generators.pipeline(tmp_path / "strict", strictness=-1.0))
    with pytest.raises(OochubError, match=r"0 of 10 images .* are fit \(10 flagged by the safety checker\)"):
        generate_spawrious(tmp_path / "dogs", replace(small, model=strict, most_tries=10), device="cpu")
    assert not list((tmp_path / "dogs").rglob("*.png"))
