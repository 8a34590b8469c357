"""A text-to-image pipeline and a captioner of the real classes, tiny and with random weights, saved in folders."""

import string
from pathlib import Path
from typing import Any

import diffusers as hd
import torch
import transformers as hf
from diffusers.pipelines.stable_diffusion import StableDiffusionSafetyChecker
from tokenizers import Tokenizer
from tokenizers.models import WordLevel
from tokenizers.pre_tokenizers import Whitespace

SIZE = 32  # pixels a side
_TEXT = {
    "hidden_size": 16,
    "num_hidden_layers": 1,
    "num_attention_heads": 2,
    "intermediate_size": 16,
    "max_position_embeddings": 77,
}
_VISION = {
    "hidden_size": 16,
    "num_hidden_layers": 1,
    "num_attention_heads": 2,
    "intermediate_size": 16,
    "image_size": SIZE,
    "patch_size": 16,
}
_WORDS = ["[PAD]", "[BOS]", "[EOS]", "a", "dog", "cat"]


def pipeline(folder: Path, *, checker: bool = True, strictness: float = 0.78) -> Path:
    """A Stable Diffusion of few channels.

    Args:
        folder: Where it is saved.
        checker: Whether it has a safety checker.
        strictness: The cosine above which an image is flagged.
    """
    torch.manual_seed(0)
    letters = [*string.ascii_lowercase, *string.digits, *",.()"]
    words = [*letters, *(f"{letter}</w>" for letter in letters), "<|startoftext|>", "<|endoftext|>"]
    tokenizer = hf.CLIPTokenizer(
        vocab={word: number for number, word in enumerate(words)}, merges=[], model_max_length=77
    )
    ends = {"bos_token_id": len(words) - 2, "eos_token_id": len(words) - 1, "pad_token_id": len(words) - 1}
    parts: dict[str, Any] = {
        "vae": hd.AutoencoderKL(
            block_out_channels=(8, 8),
            norm_num_groups=4,
            down_block_types=("DownEncoderBlock2D",) * 2,
            up_block_types=("UpDecoderBlock2D",) * 2,
            latent_channels=4,
        ),
        "text_encoder": hf.CLIPTextModel(hf.CLIPTextConfig(vocab_size=len(words), **_TEXT, **ends)),
        "tokenizer": tokenizer,
        "unet": hd.UNet2DConditionModel(
            sample_size=SIZE // 2,
            block_out_channels=(8, 16),
            norm_num_groups=4,
            layers_per_block=1,
            down_block_types=("DownBlock2D", "CrossAttnDownBlock2D"),
            up_block_types=("CrossAttnUpBlock2D", "UpBlock2D"),
            cross_attention_dim=16,
            attention_head_dim=4,
        ),
        "scheduler": hd.DDIMScheduler(clip_sample=False, steps_offset=1, set_alpha_to_one=False),
        "safety_checker": None,
        "feature_extractor": None,
    }
    with torch.no_grad():
        parts["vae"].decoder.conv_out.weight.mul_(3)  # images of contrast
    if checker:
        config = hf.CLIPConfig(text_config=_TEXT, vision_config=_VISION, projection_dim=8)
        watching = StableDiffusionSafetyChecker(config)
        with torch.no_grad():
            for weight in watching.parameters():
                if weight.ndim > 1:
                    weight.normal_()
            watching.concept_embeds_weights.fill_(strictness)
            watching.special_care_embeds_weights.fill_(1)
        square = {"height": SIZE, "width": SIZE}
        parts["safety_checker"] = watching
        parts["feature_extractor"] = hf.CLIPImageProcessorPil(size={"shortest_edge": SIZE}, crop_size=square)
    hd.StableDiffusionPipeline(**parts, requires_safety_checker=checker).save_pretrained(folder)
    return folder


def captioner(folder: Path) -> Path:
    """A ViT that tells a GPT-2 of six words what it sees; about half of its captions have a dog."""
    torch.manual_seed(3)
    encoder = hf.ViTConfig(**_VISION)
    decoder = hf.GPT2Config(
        vocab_size=len(_WORDS), n_positions=16, n_embd=16, n_layer=1, n_head=2, bos_token_id=1, eos_token_id=2
    )
    config = hf.VisionEncoderDecoderConfig.from_encoder_decoder_configs(
        encoder, decoder, pad_token_id=0, decoder_start_token_id=1, bos_token_id=1, eos_token_id=2
    )
    model = hf.VisionEncoderDecoderModel(config)
    with torch.no_grad():
        for weight in model.parameters():
            if weight.ndim > 1:
                weight.normal_()
    model.generation_config.update(pad_token_id=0, decoder_start_token_id=1, eos_token_id=2)
    model.save_pretrained(folder)
    hf.ViTImageProcessorPil(size={"height": SIZE, "width": SIZE}).save_pretrained(folder)
    known = Tokenizer(WordLevel({word: number for number, word in enumerate(_WORDS)}, unk_token="[PAD]"))  # noqa: S106
    known.pre_tokenizer = Whitespace()
    names = {"pad_token": "[PAD]", "bos_token": "[BOS]", "eos_token": "[EOS]"}
    hf.PreTrainedTokenizerFast(tokenizer_object=known, **names).save_pretrained(folder)
    return folder
