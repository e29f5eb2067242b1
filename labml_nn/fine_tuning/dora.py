import torch
import torch.nn.functional as F
from torch import Tensor, nn

from labml_nn.fine_tuning.lora import LoRALinear


class DoRALinear(LoRALinear):
    def __init__(self, base: nn.Linear, rank: int, alpha: float) -> None:
        super().__init__(base, rank, alpha)
        self.magnitude = nn.Parameter(base.weight.detach().norm(dim=1))

    def weight(self) -> Tensor:
        weight = super().weight()
        length = weight.norm(dim=1).detach()
        return (self.magnitude / length)[:, None] * weight

    def forward(self, x: Tensor) -> Tensor:
        return F.linear(x, self.weight(), self.base.bias)
