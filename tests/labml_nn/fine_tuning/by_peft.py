r"""Two layers with adapters, ours and those of the library peft, with the same random numbers."""

import torch
from peft import LoraConfig, inject_adapter_in_model
from torch import Tensor, nn

from labml_nn.fine_tuning.lora import LoRALinear, adapt
from tests.oracles.compare import difference, largest
from tests.oracles.hugging_face import randomise

D_IN, HIDDEN, D_OUT, RANK, ALPHA = 7, 11, 5, 3, 13.0


def layers() -> nn.Sequential:
    r"""A layer with a bias and one without."""
    parts = nn.Linear(D_IN, HIDDEN), nn.SiLU(), nn.Linear(HIDDEN, D_OUT, bias=False)
    return randomise(nn.Sequential(*parts))


def adapted(make: type[LoRALinear] = LoRALinear) -> nn.Sequential:
    r"""With the adapters of a page."""
    model = layers()
    adapt(model, RANK, ALPHA, make=make)
    return randomise(model, seed=2)


def text() -> Tensor:
    r"""Something to put in, of which gradients can be taken."""
    generator = torch.Generator().manual_seed(3)
    return torch.randn(2, 17, D_IN, generator=generator, dtype=torch.float64).requires_grad_()


def from_peft(ours: nn.Sequential, extra: tuple[str, ...] = ()) -> float:
    r"""How far its results, gradients and merged matrices are from ours."""
    config = LoraConfig(r=RANK, lora_alpha=ALPHA, target_modules=["0", "2"], use_dora=bool(extra))
    theirs = inject_adapter_in_model(config, layers())
    x, my_parts, their_parts = text(), [], []
    for mine, its in zip(ours[::2], theirs[::2], strict=True):
        its.base_layer.weight.data.copy_(mine.base.weight)
        its.base_layer.bias = mine.base.bias
        names = {"a": its.lora_A, "b": its.lora_B}
        names |= {name: its.lora_magnitude_vector for name in extra}
        for name, part in names.items():
            part["default"].weight.data.copy_(getattr(mine, name))
            my_parts.append(getattr(mine, name))
            their_parts.append(part["default"].weight)
    far = difference(ours(x), theirs(x), [x, *my_parts], [x, *their_parts])
    for mine, its in zip(ours[::2], theirs[::2], strict=True):
        its.merge()
        far = max(far, largest([mine.merged().weight], [its.base_layer.weight]))
    return far
