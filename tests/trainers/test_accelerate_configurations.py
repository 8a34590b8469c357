"""FSDP and DeepSpeed: what can be known without GPUs. Accelerate reads the files, and the trainer tells it the rest."""

import os
import shlex
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import torch
from accelerate import Accelerator
from accelerate.commands.config.config_args import ClusterConfig, load_config_from_file
from accelerate.commands.launch import _validate_launch_command, launch_command_parser
from accelerate.utils import DistributedType, FullyShardedDataParallelPlugin
from accelerate.utils.launch import prepare_deepspeed_cmd_env, prepare_multi_gpu_env
from safetensors.torch import load_file
from trainings import made_split, trainer_of

import oochub
from oochub.errors import OochubError
from oochub.trainers.arguments import RobustTrainingArguments
from oochub.trainers.fine_tuning import launch

ROOT = Path(__file__).parents[2]
FILES = {"fsdp": DistributedType.FSDP, "deepspeed_zero2": DistributedType.DEEPSPEED}


def launched(name: str, monkeypatch: pytest.MonkeyPatch) -> Any:
    """What `accelerate launch` makes of the guide's line for a file."""
    monkeypatch.chdir(ROOT)
    lines = (ROOT / "docs" / "training.md").read_text().splitlines()
    (line,) = [one for one in lines if one.startswith("accelerate launch") and f"{name}.yaml" in one]
    arguments, _, _ = _validate_launch_command(launch_command_parser().parse_args(shlex.split(line)[2:]))
    return arguments


@pytest.mark.parametrize("name", FILES)
def test_accelerate_reads_the_files(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Every key is one of the launcher's. Planted: an unknown key of the file or of its part."""
    config = load_config_from_file(str(ROOT / "docs" / "accelerate" / f"{name}.yaml"))
    assert isinstance(config, ClusterConfig) and config.distributed_type == FILES[name]
    arguments = launched(name, monkeypatch)
    known = vars(launch_command_parser().parse_args(["script"]))
    own = config.fsdp_config or config.deepspeed_config
    assert own and set(own) <= set(known)
    assert {key: getattr(arguments, key) for key in own} == own
    assert (arguments.use_fsdp, arguments.use_deepspeed) == (name == "fsdp", name != "fsdp")
    assert arguments.module and arguments.training_script == "oochub.cli" and arguments.num_processes == 8
    assert arguments.training_script_args[0] == "train"


def test_the_environment_makes_the_plugin(monkeypatch: pytest.MonkeyPatch) -> None:
    """The variables that the launcher sets for FSDP, and what Accelerate makes of them in each process."""
    found = prepare_multi_gpu_env(launched("fsdp", monkeypatch))
    assert found["ACCELERATE_USE_FSDP"] == "true"
    for name, value in found.items():
        if name.startswith("FSDP_"):
            monkeypatch.setenv(name, value)
    plugin = FullyShardedDataParallelPlugin()
    assert plugin.fsdp_version == 2 and plugin.reshard_after_forward is True
    assert plugin.state_dict_type.name == "SHARDED_STATE_DICT" and not plugin.cpu_ram_efficient_loading
    from transformers import ResNetConfig, ResNetForImageClassification

    plugin.set_auto_wrap_policy(ResNetForImageClassification(ResNetConfig(depths=[1, 1], hidden_sizes=[4, 8])))
    wrapped = {kind.__name__ for kind in plugin.auto_wrap_policy.keywords["transformer_layer_cls"]}
    assert wrapped == {"ResNetConvLayer", "ResNetShortCut"}
    other = launched("deepspeed_zero2", monkeypatch)
    other.deepspeed_fields_from_accelerate_config = "zero_stage"  # as launch_command sets it
    _, told = prepare_deepspeed_cmd_env(other)
    assert told["ACCELERATE_USE_DEEPSPEED"] == "true" and told["ACCELERATE_DEEPSPEED_ZERO_STAGE"] == "2"
    assert "ACCELERATE_USE_FSDP" not in os.environ


def test_deepspeed_is_told_what_it_does_by_itself(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without these it would refuse to start, or clip at a norm of 1."""
    config: dict[str, Any] = {"gradient_clipping": "auto", "train_micro_batch_size_per_gpu": "auto", "zero": 2}
    given: dict[str, Any] = {}

    def made(**arguments: Any) -> Any:
        given.update(arguments)
        state = SimpleNamespace(deepspeed_plugin=SimpleNamespace(deepspeed_config=config))
        return SimpleNamespace(distributed_type=DistributedType.DEEPSPEED, state=state)

    monkeypatch.setattr(launch, "Accelerator", made)
    batches = {"per_device_train_batch_size": 6, "gradient_accumulation_steps": 3}
    args = RobustTrainingArguments(output_dir=tmp_path, max_grad_norm=0.5, mixed_precision="bf16", **batches)
    launch.make_accelerator(args, tmp_path)
    told = {"train_micro_batch_size_per_gpu": 6, "gradient_accumulation_steps": 3, "gradient_clipping": 0.5, "zero": 2}
    assert config == told and given["mixed_precision"] == "bf16" and given["gradient_accumulation_steps"] == 3


@pytest.mark.parametrize("kind", [DistributedType.FSDP, DistributedType.DEEPSPEED])
def test_who_moves_single_weights_is_refused(kind: DistributedType, tmp_path: Path) -> None:
    args = RobustTrainingArguments(output_dir=tmp_path)
    refused = set()
    for name in oochub.names("objective"):
        objective = oochub.get("objective", name)()
        try:
            launch.check_shards(kind, objective, args)
        except OochubError as error:
            assert name in str(error)
            refused.add(name)
        launch.check_shards(DistributedType.MULTI_GPU, objective, args)
    assert refused == {"fish", "w2d", "jtt", "dfr"}
    second = RobustTrainingArguments(output_dir=tmp_path, auxiliary_column="group")
    with pytest.raises(OochubError, match="auxiliary_column needs the whole model"):
        launch.check_shards(kind, oochub.get("objective", "erm")(), second)


def test_a_run_asks_before_it_begins(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    trainer = trainer_of(tmp_path / "run", made_split(32, 1), objective="fish", sampler="environments")
    monkeypatch.setattr(Accelerator, "distributed_type", DistributedType.FSDP)
    with pytest.raises(OochubError, match="fish needs the whole model in each process, but fsdp keeps it in shards"):
        trainer.train()
    assert not (tmp_path / "run" / "checkpoints").exists()


def test_the_folder_has_what_accelerate_gathers(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Not what this process has: under FSDP that would be its shard."""
    gathered: dict[str, torch.Tensor] = {}

    def whole(self: Accelerator, model: Any, unwrap: bool = True) -> dict[str, torch.Tensor]:
        gathered.update({name: torch.ones_like(values) for name, values in model.state_dict().items()})
        return dict(gathered)

    monkeypatch.setattr(Accelerator, "get_state_dict", whole)
    trainer_of(tmp_path / "run", made_split(32, 1), num_train_epochs=1).train()
    found = load_file(tmp_path / "run" / "model.safetensors")
    assert gathered and found.keys() == gathered.keys()
    assert all(torch.equal(found[name], values) for name, values in gathered.items())
