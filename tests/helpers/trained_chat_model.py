"""A small model that answers in words, trained on a folder of images: a tiny eye, a tiny language model, few steps."""

import json
from pathlib import Path
from typing import Any

import torch
import transformers as hf
from tiny_chat_models import TEMPLATE, TOKEN, byte_tokenizer
from transformers.models.clip import CLIPImageProcessorPil

from oochub.inputs.pictures.chat_processor import load_chat_processor

SIDE = 48  # pixels


def untrained(folder: Path, *, seed: int = 0) -> Path:
    """A LLaVA of two layers that reads images of 48 pixels as 9 patches, with its processor."""
    torch.manual_seed(seed)
    layers = {"hidden_size": 64, "intermediate_size": 128, "num_hidden_layers": 2, "num_attention_heads": 4}
    ends = {"pad_token_id": 0, "bos_token_id": 1, "eos_token_id": 2}
    config = hf.LlavaConfig(
        vision_config=hf.CLIPVisionConfig(**layers, image_size=SIDE, patch_size=16),
        text_config=hf.LlamaConfig(**layers, **ends, vocab_size=300, max_position_embeddings=256),
        image_token_id=TOKEN["<image>"],
        vision_feature_layer=-1,
    )
    hf.LlavaForConditionalGeneration(config).save_pretrained(folder)
    byte_tokenizer().save_pretrained(folder)
    square = {"height": SIDE, "width": SIDE}
    CLIPImageProcessorPil(size={"shortest_edge": SIDE}, crop_size=square).save_pretrained(folder)
    options = {"patch_size": 16, "vision_feature_select_strategy": "default", "num_additional_image_tokens": 1}
    (folder / "processor_config.json").write_text(json.dumps({"processor_class": "LlavaProcessor", **options}))
    (folder / "chat_template.jinja").write_text(TEMPLATE.replace("IMAGE", "<image>"))
    return folder


def trained(folder: Path, rows: Any, prompt: str, *, epochs: int = 4, seed: int = 0) -> Path:
    """The same, trained to answer a prompt with the name of each row's label and an end token.

    Args:
        folder: Where it is saved.
        rows: Rows with `image` and a `label` with names.
        prompt: What is asked of each.
        epochs: Times that each row is seen.
        seed: Random seed for the weights and the order.
    """
    untrained(folder, seed=seed)
    model = hf.LlavaForConditionalGeneration.from_pretrained(folder, dtype=torch.float32)
    processor = load_chat_processor(str(folder))
    names = rows.features["label"].names
    text = processor.render(prompt)
    answers = [[*processor.encode(name.replace("_", " ")), TOKEN["</s>"]] for name in names]
    made = [processor(image.convert("RGB"), text) for image in rows["image"]]
    start = made[0]["input_ids"][0].tolist()
    pixels = torch.cat([each["pixel_values"] for each in made])
    labels = torch.tensor(rows["label"][:])
    longest = max(map(len, answers))
    tokens = torch.tensor([start + answer + [TOKEN["<pad>"]] * (longest - len(answer)) for answer in answers])
    targets = torch.full_like(tokens, -100)
    for number, answer in enumerate(answers):
        targets[number, len(start) : len(start) + len(answer)] = torch.tensor(answer)
    steps, size = epochs * -(-len(labels) // 32), 32
    optimizer = torch.optim.AdamW(model.parameters(), lr=2e-3)
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimizer, 2e-3, total_steps=steps)
    model.train()
    for _ in range(epochs):
        for batch in torch.randperm(len(labels)).split(size):
            own = labels[batch]
            loss = model(input_ids=tokens[own], pixel_values=pixels[batch], labels=targets[own]).loss
            optimizer.zero_grad()
            loss.backward()
            torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            optimizer.step()
            schedule.step()
    model.eval().save_pretrained(folder)
    return folder
