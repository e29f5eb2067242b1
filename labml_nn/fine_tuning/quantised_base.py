import torch
from torch import Tensor, nn
from torch.autograd.function import FunctionCtx, once_differentiable

from labml_nn.fine_tuning.lora import LoRALinear, adapt
from labml_nn.training.trained import quantise, restore


class Product(torch.autograd.Function):
    @staticmethod
    def forward(ctx: FunctionCtx, x: Tensor, whole: Tensor, scale: Tensor) -> Tensor:
        ctx.save_for_backward(whole, scale)
        return x @ restore(whole, scale).t()

    @staticmethod
    @once_differentiable
    def backward(ctx: FunctionCtx, grad: Tensor) -> tuple[Tensor, None, None]:
        return grad @ restore(*ctx.saved_tensors), None, None


class QuantisedLinear(nn.Module):
    def __init__(self, layer: nn.Linear) -> None:
        super().__init__()
        whole, scale = quantise(layer.weight.detach())
        self.register_buffer("whole", whole)
        self.register_buffer("scale", scale)
        self.bias = layer.bias
        self.in_features, self.out_features = layer.in_features, layer.out_features

    @property
    def weight(self) -> Tensor:
        return restore(self.whole, self.scale)

    def forward(self, x: Tensor) -> Tensor:
        x = Product.apply(x, self.whole, self.scale)
        return x if self.bias is None else x + self.bias


def quantise_bases(model: nn.Module) -> None:
    for one in model.modules():
        if isinstance(one, LoRALinear):
            one.base = QuantisedLinear(one.base)
