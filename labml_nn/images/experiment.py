import torch
import torch.nn.functional as F
from torch import Tensor, nn

from labml_nn.images.clip import CLIP, TextEncoder, contrastive_loss
from labml_nn.images.digits import (
    EMPTY,
    all_scenes,
    digits_at,
    draw_scenes,
    encode_captions,
)
from labml_nn.images.vit import ViT
from labml_nn.training.loop import adamw, train

D_MODEL, HEADS, N_LAYERS = 48, 4, 2


def classifier(size: int = 2, n_registers: int = 0) -> nn.Sequential:
    vit = ViT((8 // size) ** 2, size, D_MODEL, HEADS, N_LAYERS, 4 * D_MODEL, n_registers)
    return nn.Sequential(vit, nn.Linear(D_MODEL, 10))


def of_digits(model: nn.Module, images: Tensor, digits: Tensor) -> Tensor:
    loss = F.cross_entropy(model(images), digits)
    loss.backward()
    return loss.detach()


def of_pairs(model: CLIP, images: Tensor, tokens: Tensor) -> Tensor:
    loss = contrastive_loss(model(images, tokens))
    loss.backward()
    return loss.detach()


def fit(model, batch_at, gradients, steps, rate=3e-3):
    train(model, batch_at, [adamw(model, rate)], steps, gradients=gradients)


def held_out(scenes: Tensor) -> Tensor:
    left, right = scenes.unbind(dim=1)
    doubles = (left == right) & ((left == 3) | (left == 7))
    return ((right == (3 * left + 1) % 10) | doubles) & (right != EMPTY)

def clip(n_vocab, seq_len, size=4):
    return CLIP(
        ViT(128 // size**2, size, D_MODEL, HEADS, N_LAYERS, 4 * D_MODEL),
        TextEncoder(n_vocab, seq_len, D_MODEL, HEADS, N_LAYERS, 4 * D_MODEL), D_MODEL, D_MODEL, 32)
