r"""Models of the library transformers for images, small, with random weights."""

from collections.abc import Mapping
from typing import Any

import torch
from torch import Tensor, nn
from transformers.models.clip.configuration_clip import CLIPConfig
from transformers.models.clip.modeling_clip import CLIPModel
from transformers.models.dinov2_with_registers.configuration_dinov2_with_registers import (
    Dinov2WithRegistersConfig,
)
from transformers.models.dinov2_with_registers.modeling_dinov2_with_registers import (
    Dinov2WithRegistersModel,
)
from transformers.models.vit.configuration_vit import ViTConfig
from transformers.models.vit.modeling_vit import ViTForImageClassification

from labml_nn.images.clip import CLIP, TextEncoder
from labml_nn.images.vit import ViT
from tests.oracles.hugging_face import randomise

# Images of three rows of three patches, five pixels wide each.
BATCH_SIZE, SIZE, N_PATCHES, HEADS, D_K, D_FF, N_CLASSES, N_REGISTERS = 3, 5, 9, 2, 7, 28, 11, 4
D_MODEL = HEADS * D_K
CONFIG = {
    "hidden_size": D_MODEL,
    "num_attention_heads": HEADS,
    "num_hidden_layers": 2,
    "intermediate_size": D_FF,
    "image_size": 3 * SIZE,
    "patch_size": SIZE,
    "num_channels": 1,
    "layer_norm_eps": 1e-5,
    "attn_implementation": "eager",
}
# Texts of at most thirteen letters, of seventeen.
SEQ_LEN, N_VOCAB, D_TEXT, D_TEXT_FF, D = 13, 17, 10, 19, 23
TEXT_CONFIG = {
    "hidden_size": D_TEXT,
    "num_attention_heads": HEADS,
    "num_hidden_layers": 2,
    "intermediate_size": D_TEXT_FF,
    "max_position_embeddings": SEQ_LEN,
    "vocab_size": N_VOCAB,
    "hidden_act": "gelu",
    "bos_token_id": 0,
    "eos_token_id": 0,
    "pad_token_id": 0,
}
# Our names of the parts of a layer, and theirs.
PROJECTIONS = {f"self_attn.{name}.linear": f"{name[0]}_proj" for name in ("query", "key", "value")}
NETWORK = {"feed_forward.layer1": "mlp.fc1", "feed_forward.layer2": "mlp.fc2"}


def parts(attention: str, output: str, norms: tuple[str, str]) -> dict[str, str]:
    r"""Our names of the parts of a layer, and what these are called there."""
    found = {mine: f"{attention}.{other}" for mine, other in PROJECTIONS.items()} | NETWORK
    names = {"self_attn.output": f"{attention}.{output}"}
    return found | names | dict(zip(("norm_self_attn", "norm_ff"), norms, strict=True))


def layers(
    theirs: nn.ModuleList, norm: nn.Module, names: Mapping[str, str], prefix: str = ""
) -> dict[str, Tensor]:
    r"""Their parameters by our names, the last normalisation with them."""
    modules = {f"{prefix}encoder.norm": norm}
    for number, layer in enumerate(theirs):
        for mine, other in names.items():
            modules[f"{prefix}encoder.layers.{number}.{mine}"] = layer.get_submodule(other)
    return {
        f"{name}.{kind}": one
        for name, module in modules.items()
        for kind, one in module.named_parameters()
    }


def projection(theirs: nn.Conv2d, prefix: str = "") -> dict[str, Tensor]:
    r"""A convolution whose steps are as wide as its kernel is a linear layer on patches."""
    weight, bias = theirs.weight.flatten(1), theirs.bias
    return {f"{prefix}project.weight": weight, f"{prefix}project.bias": bias}


def vit(n_registers: int = 0, **options: Any) -> ViT:
    return ViT(N_PATCHES, SIZE, D_MODEL, HEADS, 2, D_FF, n_registers, **options).double()


def images(n_images: int = BATCH_SIZE) -> Tensor:
    generator = torch.Generator().manual_seed(2)
    shape = (n_images, 3 * SIZE, 3 * SIZE)
    return torch.randn(shape, generator=generator, dtype=torch.float64, requires_grad=True)


def hugging_face_vit() -> tuple[nn.Module, dict[str, Tensor]]:
    r"""A classifier, and its parameters by the names of our encoder and a linear layer."""
    theirs = randomise(ViTForImageClassification(ViTConfig(**CONFIG, num_labels=N_CLASSES)))
    names = parts("attention", "o_proj", ("layernorm_before", "layernorm_after"))
    begin = theirs.vit.embeddings
    tensors = layers(theirs.vit.layers, theirs.vit.layernorm, names, "0.")
    tensors |= projection(begin.patch_embeddings.projection, "0.") | {
        "0.class_token": begin.cls_token,
        "0.registers": torch.zeros(0, 1, D_MODEL, dtype=torch.float64),
        "0.positions": begin.position_embeddings.transpose(0, 1),
    }
    head = {f"1.{name}": one for name, one in theirs.classifier.named_parameters()}
    return theirs, tensors | head


def dino() -> tuple[nn.Module, dict[str, Tensor]]:
    r"""A model with registers, without the gains of its sublayers."""
    sizes = {"num_register_tokens": N_REGISTERS, "mlp_ratio": D_FF // D_MODEL}
    config = {name: one for name, one in CONFIG.items() if name != "intermediate_size"}
    theirs = Dinov2WithRegistersModel(Dinov2WithRegistersConfig(**config, **sizes))
    randomise(theirs)
    for name, one in theirs.named_parameters():
        one.data[...] = 1.0 if "lambda1" in name else one.data
    names = parts("attention", "o_proj", ("norm1", "norm2"))
    begin = theirs.embeddings
    tensors = layers(theirs.encoder.layer, theirs.layernorm, names)
    return theirs, tensors | projection(begin.patch_embeddings.projection) | {
        "class_token": begin.cls_token,
        "registers": begin.register_tokens.transpose(0, 1),
        "positions": begin.position_embeddings.transpose(0, 1),
    }


def clip(**options: Any) -> CLIP:
    texts = TextEncoder(N_VOCAB, D_TEXT, HEADS, 2, D_TEXT_FF, SEQ_LEN, **options)
    return CLIP(vit(), texts, D_MODEL, D_TEXT, D).double()


def hugging_face_clip() -> tuple[nn.Module, dict[str, Tensor]]:
    r"""CLIP, but its image encoder is a vision transformer as in the paper of that: with biases in
    the projection of patches, and no normalisation before the first layer.
    """
    config = CLIPConfig(
        text_config=TEXT_CONFIG, vision_config=CONFIG | {"hidden_act": "gelu"}, projection_dim=D,
        attn_implementation="eager",
    )  # fmt: skip
    theirs = CLIPModel(config)
    theirs.vision_model.pre_layrnorm = nn.Identity()
    theirs.vision_model.embeddings.patch_embedding = nn.Conv2d(1, D_MODEL, SIZE, SIZE)
    randomise(theirs)
    names = parts("self_attn", "out_proj", ("layer_norm1", "layer_norm2"))
    seen, read = theirs.vision_model, theirs.text_model
    tensors = layers(seen.encoder.layers, seen.post_layernorm, names, "images.")
    tensors |= layers(read.encoder.layers, read.final_layer_norm, names, "texts.")
    return theirs, tensors | projection(seen.embeddings.patch_embedding, "images.") | {
        "images.class_token": seen.embeddings.class_embedding.view(1, 1, -1),
        "images.registers": torch.zeros(0, 1, D_MODEL, dtype=torch.float64),
        "images.positions": seen.embeddings.position_embedding.weight.unsqueeze(1),
        "texts.tokens.weight": read.embeddings.token_embedding.weight,
        "texts.positions": read.embeddings.position_embedding.weight.unsqueeze(1),
        "project_image.weight": theirs.visual_projection.weight,
        "project_text.weight": theirs.text_projection.weight,
        "log_scale": theirs.logit_scale,
    }


def texts() -> Tensor:
    r"""Three texts of different lengths; behind the end of one there are other letters."""
    generator = torch.Generator().manual_seed(3)
    tokens = torch.randint(1, N_VOCAB, (SEQ_LEN, BATCH_SIZE), generator=generator)
    tokens[12, 0] = tokens[4, 1] = 0
    tokens[7:, 2] = 0
    return tokens
