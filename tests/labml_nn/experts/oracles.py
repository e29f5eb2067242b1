r"""Layers of experts of the library transformers, small, with random weights."""

from collections.abc import Iterator
from contextlib import contextmanager
from unittest.mock import patch

import torch
from torch import Tensor, nn
from torch.func import functional_call
from transformers import DeepseekV3Config, MixtralConfig, Qwen3MoeConfig
from transformers.models.deepseek_v3.modeling_deepseek_v3 import DeepseekV3MoE
from transformers.models.mixtral.modeling_mixtral import MixtralSparseMoeBlock
from transformers.models.qwen3_moe.modeling_qwen3_moe import Qwen3MoeSparseMoeBlock

from labml_nn.experts.mixture import Mixture
from tests.oracles.compare import difference
from tests.oracles.hugging_face import randomise

SEQ_LEN, BATCH_SIZE, D_MODEL, D_FF, N_ACTIVE, N_EXPERTS, N_SHARED = 7, 3, 5, 11, 2, 13, 17
SIZES = (D_MODEL, D_FF, N_EXPERTS, N_ACTIVE)
NAMES = {"hidden_size": D_MODEL, "num_experts_per_tok": N_ACTIVE}


@contextmanager
def all_in_double() -> Iterator[None]:
    r"""Their routers compute in 32 bits. Let them use 64 in here."""
    double = torch.float64
    with (
        patch.multiple(torch, float=double, float32=double),
        patch.object(Tensor, "float", Tensor.double),
    ):
        yield


def mixtral() -> nn.Module:
    config = MixtralConfig(**NAMES, intermediate_size=D_FF, num_local_experts=N_EXPERTS)
    return randomise(MixtralSparseMoeBlock(config))


def qwen() -> nn.Module:
    sizes = {"moe_intermediate_size": D_FF, "num_experts": N_EXPERTS}
    return randomise(Qwen3MoeSparseMoeBlock(Qwen3MoeConfig(**NAMES, **sizes, norm_topk_prob=True)))


def deepseek() -> nn.Module:
    r"""With one group of experts, as here, and biases that change what is chosen."""
    sizes = {"moe_intermediate_size": D_FF, "n_routed_experts": N_EXPERTS}
    sizes |= {"n_shared_experts": N_SHARED, "n_group": 1, "topk_group": 1}
    block = DeepseekV3MoE(DeepseekV3Config(**NAMES, **sizes, routed_scaling_factor=1.0))
    bias = block.gate.e_score_correction_bias
    bias.copy_(torch.linspace(-0.5, 0.5, N_EXPERTS))
    return randomise(block)


def text() -> Tensor:
    generator = torch.Generator().manual_seed(2)
    shape = (SEQ_LEN, BATCH_SIZE, D_MODEL)
    return torch.randn(shape, generator=generator, dtype=torch.float64, requires_grad=True)


def from_hugging_face(ours: Mixture, theirs: nn.Module) -> float:
    r"""How far outputs and gradients are apart; ours is called with their parameters."""
    tensors = {"router.linear.weight": theirs.gate.weight}
    both = zip(theirs.experts.gate_up_proj, theirs.experts.down_proj, strict=True)
    for number, (gate_value, output) in enumerate(both):
        gate, value = gate_value.chunk(2)
        for name, one in (("gate", gate), ("value", value), ("output", output)):
            tensors[f"experts.{number}.{name}.weight"] = one
    for name, part in (("gate", "gate_proj"), ("value", "up_proj"), ("output", "down_proj")):
        for shared in [one for key, one in theirs.named_children() if key == "shared_experts"]:
            tensors[f"shared.{name}.weight"] = shared.get_submodule(part).weight
    for bias in theirs.buffers():
        tensors["router.bias"] = bias
    assert set(tensors) == set(ours.state_dict())
    x = text()
    with all_in_double():
        expected = theirs(x.transpose(0, 1).contiguous()).transpose(0, 1)
    variables = [x, *theirs.parameters()]
    return difference(functional_call(ours, tensors, x), expected, variables, variables)
