"""The check of a prompt: the verdict by hand, the images of the libraries, the command and its page in between."""

import json
from dataclasses import replace

import pytest
import tiny_generators
from PIL import Image
from typed_commands import in_one_line

from oochub.errors import OochubError
from oochub.reviewing.decisions import Decision, write_decisions
from oochub.studies.spawrious.cleanliness.prompt_check import checked_job
from oochub.studies.spawrious.cleanliness.prompt_verdict import prompt_verdict
from oochub.studies.spawrious.generation.dog_prompts import dog_prompts
from oochub.studies.spawrious.generation.generation_plan import GenerationPlan
from oochub.studies.spawrious.generation.tried_image import FLAGGED, NO_DOG, TriedImage, read_tried

NOON = "2026-01-31T12:00:00.000Z"


def pictures(n, dropped=()):
    return [
        TriedImage(
            repeat=0, background="snow", breed="corgi", prompt_number=0, attempt=k, seed=k, prompt="one corgi",
            caption="a cat" if k in dropped else "a dog", accepted=k not in dropped,
            reason=NO_DOG if k in dropped else "", file=f"{k}.png",
        )
        for k in range(n)
    ]  # fmt: skip


def answers(**numbers):
    return {
        ("image", f"{k}.png"): Decision("image", f"{k}.png", word, NOON) for word, own in numbers.items() for k in own
    }


@pytest.mark.parametrize(
    ("dropped", "given", "outcome"),
    [
        ({0, 1, 2, 3, 4}, {"no_dog": range(5), "fits": range(5, 100)}, "accepted"),
        ({0, 1, 2, 3, 4, 9}, {"no_dog": range(5), "fits": range(5, 100)}, "accepted"),  # 9 fits and is dropped
        ({0, 1, 2, 3, 4, 5}, {"no_dog": range(6), "fits": range(6, 100)}, "rejected"),  # 94 fit
        ({0, 1, 2, 3}, {"no_dog": range(5), "fits": range(5, 100)}, "rejected"),  # 4 has no dog and passes
        ({0}, {"unfit": [0], "fits": range(1, 100)}, "rejected"),  # a dog with five legs, dropped or not
        ({0}, {"no_dog": [0], "fits": range(1, 99)}, "open"),  # 98 fit, the last may show an unfit dog
        ({0}, {"no_dog": [0], "fits": range(1, 99), "open": [99]}, "open"),  # taken back
        (set(), {"unfit": [0]}, "rejected"),  # whatever the others are
        (set(range(6)), {"no_dog": range(6)}, "rejected"),  # at most 94 can fit
        (set(), {}, "open"),
    ],
)
def test_verdicts_by_hand(dropped, given, outcome):
    """Appendix E, of 100 images."""
    assert prompt_verdict(pictures(100, dropped), answers(**given)).outcome == outcome


def test_how_many_must_fit_is_rounded_up():
    assert [prompt_verdict(pictures(n), {}).wanted for n in (1, 6, 20, 21, 100)] == [1, 6, 19, 20, 95]


def test_wrong_answers_are_named():
    for made, message in ((pictures(2), "1 decisions refer to nothing of this prompt"), ([], "images of one prompt")):
        with pytest.raises(OochubError, match=message):
            prompt_verdict(made, answers(fits=[7]))
    with pytest.raises(OochubError, match="images of one prompt"):
        prompt_verdict([*pictures(1), replace(pictures(1)[0], prompt="another")], {})
    for plan, number, message in (
        (GenerationPlan(), 0, "one breed, one background and one repeat"),
        (GenerationPlan(repeats=(0,), backgrounds=("snow",), breeds=("corgi",)), 72, "from 0 to 71"),
    ):
        with pytest.raises(OochubError, match=message):
            checked_job(plan, number, 100)


@pytest.fixture
def run(run):
    """Runs `oochub spawrious prompt_check`; its exit code, output and errors on one line."""
    return lambda *words: in_one_line(*run("spawrious", "prompt_check", *words))


@pytest.fixture(scope="module")
def models(tmp_path_factory):
    folder = tmp_path_factory.mktemp("models")
    return tiny_generators.pipeline(folder / "sd"), tiny_generators.captioner(folder / "says")


@pytest.mark.slow
def test_from_a_prompt_to_a_verdict_by_the_command_line(run, models, tmp_path):
    """All images are kept, each that of its seed; planted fault seen: the dropped ones are left out."""
    import diffusers
    import numpy as np
    import torch

    out, saved = tmp_path / "check", tmp_path / "prompt.csv"
    made = ("--model", models[0], "--captioner", models[1], "--steps", 1, "--device", "cpu")
    words = (*made, "--breed", "corgi", "--background", "snow", "--number", 7, "--images", 10, "--out", out)
    code, output, error = run(*words)
    prompt = dog_prompts("corgi", "snow")[7]
    assert code == 0 and prompt in " ".join(output.split()), error
    tried = read_tried(out / "pictures.jsonl")
    assert [(each.attempt, each.prompt, each.prompt_number) for each in tried] == [(k, prompt, 7) for k in range(10)]
    assert 0 < sum(each.accepted for each in tried) < 10
    assert all(each.accepted == ("dog" in each.caption.split()) for each in tried if each.reason != FLAGGED)
    plan = GenerationPlan(repeats=(0,), backgrounds=("snow",), breeds=("corgi",))
    assert [each.seed for each in tried] == [plan.image_seed(checked_job(plan, 7, 10), k) for k in range(10)]
    pipeline = diffusers.StableDiffusionPipeline.from_pretrained(models[0])
    last = pipeline(prompt, num_inference_steps=1, generator=torch.Generator("cpu").manual_seed(tried[9].seed))
    expected = last.images[0].resize((224, 224), Image.Resampling.LANCZOS)
    with Image.open(out / tried[9].file) as picture:
        assert np.abs(np.asarray(picture, int) - np.asarray(expected, int)).max() <= 2
    page = (out / "prompt.html").read_text()
    assert page.count("<li ") == 10 and page.count("data:image/jpeg") == 10 and prompt in page
    assert not any(f">{each.caption}<" in page for each in tried if each.caption)

    dropped = {each.file for each in tried if not each.accepted}
    words_of = {each.file: "no_dog" if each.file in dropped else "fits" for each in tried}
    marks = {("image", file): Decision("image", file, word, NOON) for file, word in words_of.items()}
    write_decisions(saved, marks)
    code, output, error = run(out, saved)
    assert code == 3 and "The prompt is rejected." in output and f"{10 - len(dropped)} of 10 images fit" in output
    write_decisions(saved, {key: mark._replace(decision="fits") for key, mark in marks.items()})
    code, output, _ = run(out, saved, "--json")
    assert code == 0 and json.loads(output)["outcome"] == "accepted" and set(json.loads(output)["lost"]) == dropped
    for several, message in (
        ((out,), "Pass one of two"),
        ((tmp_path, saved), "There is no pictures.jsonl in"),
        ((out, "--out", tmp_path / "x"), "Pass one of two"),
        ((*made, "--breed", "poodle", "--out", tmp_path / "x"), "poodle"),
        ((out, tmp_path / "none.csv"), "There are no decisions at"),
    ):
        code, _, error = run(*several)
        assert code == 2 and message in error, (several, error)
    assert not (tmp_path / "x").exists()
