r"""
---
title: Settings of a Run
summary: Everything that can be set for a run, as the fields of one dataclass.
---

What can be set is written down once: name, type, default and meaning are a field of a dataclass.
**In:** values. **Out:** a configuration that makes sense, or an
[`InputError`](errors.py#InputError) that names the field. The
[options](command_line.py#make_parser) of the command line are made from the fields, and a run keeps
the whole dataclass in its folder.

A configuration is frozen. What a run was trained with can't change while it trains, so what it
keeps is true.
"""

import math
from dataclasses import dataclass, field
from typing import Any

from labml_nn.training.engine.errors import InputError


def setting(default: Any, help: str) -> Any:
    r"""
    ## A field with its meaning

    The result is a field, and stands where its value will stand; that is why it may be `Any`.
    """
    return field(default=default, metadata={"help": help})


def option_name(field: str) -> str:
    r"""
    ### `d_model` is “--d-model”
    """
    # The usual form on a command line; in Python it would be a subtraction.
    return f"--{field.replace('_', '-')}"


@dataclass(frozen=True)
class TrainConfig:
    r"""
    ## How to train
    """

    # 2,000 steps of 12 windows of 64 characters are 1.5 million predictions: one and a half passes
    # over Tiny Shakespeare.
    steps: int = setting(2000, "training steps")
    batch_size: int = setting(12, "windows in a batch")
    seq_len: int = setting(64, "tokens in a window, the context")
    micro_batches: int = setting(1, "parts that a batch is computed in, to save memory")

    # Those of [the loop](../loop.py), where each has its reason.
    learning_rate: float = setting(3e-3, "highest learning rate")
    warmup: float = setting(0.05, "share of the steps in which the learning rate rises")
    final: float = setting(0.1, "share of the learning rate that is left at the end")
    schedule: str = setting("cosine", "how the learning rate falls: cosine or linear")
    weight_decay: float = setting(0.1, "weight decay of matrices")
    clip: float = setting(1.0, "greatest length of all gradients together")

    # Left open, the precision is [decided](distributed.py#decide) by the hardware, and kept. The
    # device may be another one when the run goes on.
    device: str = setting("auto", "auto, cpu, cuda or mps")
    precision: str = setting("auto", "auto, float32, bfloat16 or float16")

    # Three values: yes, no, and whatever is best.
    compile: bool | None = setting(None, "compile the model; by default on a GPU only")
    cuda_graph: bool = setting(False, "on a CUDA GPU and not compiled, record the kernels once")
    sharded: bool = setting(False, "with several processes, split the model over them")

    # A record reads the losses, and on a GPU that means waiting. An evaluation takes a second or
    # more, and a checkpoint writes three times the model.
    record_every: int = setting(20, "steps from one record to the next")
    evaluate_every: int = setting(500, "steps from one evaluation to the next")
    save_every: int = setting(500, "steps from one checkpoint to the next")

    # One number for everything random, so that a run can be repeated.
    seed: int = setting(1, "random seed of weights, batches and sample")

    def __post_init__(self) -> None:
        # Here, before anything is computed. “--steps 0” would otherwise be a run without a loss,
        # which fails when the loss is printed.
        for name in ("steps", "batch_size", "seq_len", "micro_batches"):
            self.check(name, "at least 1", getattr(self, name) >= 1)
        for name in ("record_every", "evaluate_every", "save_every"):
            self.check(name, "at least 1", getattr(self, name) >= 1)

        # Written so that NaN, for which no comparison is true, is refused as well.
        for name in ("learning_rate", "clip"):
            self.check(name, "above 0", 0 < getattr(self, name) < math.inf)

        # The first two are shares, and no recipe that we know has a larger decay.
        for name in ("warmup", "final", "weight_decay"):
            self.check(name, "between 0 and 1", 0 <= getattr(self, name) <= 1)

        # Here and not as a type, because a configuration may come from a file.
        self.check("schedule", "cosine or linear", self.schedule in ("cosine", "linear"))

    def check(self, name: str, expected: str, is_right: bool) -> None:
        r"""
        ### Check one setting
        """
        # With the value, because it may come from a script.
        if not is_right:
            raise InputError(f"{name} must be {expected}, got {getattr(self, name)}")


@dataclass(frozen=True)
class ModelConfig(TrainConfig):
    r"""
    ## The sizes of a transformer
    """

    # Together 810,306 weights with 66 tokens.
    d_model: int = setting(128, "features of a token")
    heads: int = setting(4, "attention heads; they divide the features")
    n_layers: int = setting(4, "layers")
    d_ff: int = setting(512, "features inside the feed-forward networks")

    # One and a half passes are too few to learn the text by heart.
    dropout_prob: float = setting(0.0, "probability of dropout")

    def __post_init__(self) -> None:
        # What is above, too.
        super().__post_init__()
        for name in ("d_model", "heads", "n_layers", "d_ff"):
            self.check(name, "at least 1", getattr(self, name) >= 1)
        self.check("dropout_prob", "at least 0 and below 1", 0 <= self.dropout_prob < 1)

        # Each head gets the same number of features.
        self.check("d_model", f"a multiple of heads={self.heads}", self.d_model % self.heads == 0)
