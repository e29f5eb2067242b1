r"""Encoders of the library transformers, small, with our random weights in them."""

from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from unittest.mock import patch

import torch
from torch import Tensor, nn
from transformers import BertConfig, ModernBertConfig
from transformers.models.modernbert import modeling_modernbert

from labml_nn.encoders.masked_model import BertEncoder
from labml_nn.encoders.modern_encoder import ModernEncoder
from tests.oracles.hugging_face import Double, copied, randomise

N_VOCAB, SEQ_LEN, BATCH_SIZE, HEADS, D_K, D_FF, N_LAYERS, DISTANCE = 17, 11, 3, 5, 6, 13, 4, 2
# There are more positions than a text has letters.
D_MODEL, MAX_LEN = HEADS * D_K, SEQ_LEN + 2
SIZES = (N_VOCAB, D_MODEL, HEADS, N_LAYERS, D_FF, MAX_LEN)
LENGTHS = torch.tensor([7, 11, 5])
CONFIG = {
    "vocab_size": N_VOCAB,
    "hidden_size": D_MODEL,
    "num_attention_heads": HEADS,
    "num_hidden_layers": N_LAYERS,
    "intermediate_size": D_FF,
    "max_position_embeddings": MAX_LEN,
    "pad_token_id": N_VOCAB - 1,
    "attn_implementation": "eager",
}
PARTS = {"query.linear": "query", "key.linear": "key", "value.linear": "value"}


def text() -> Tensor:
    r"""Tokens of which the last ones of shorter texts are padding."""
    generator = torch.Generator().manual_seed(1)
    tokens = torch.randint(N_VOCAB - 1, (SEQ_LEN, BATCH_SIZE), generator=generator)
    return tokens.masked_fill(~visible(), N_VOCAB - 1)


def visible() -> Tensor:
    r"""Where there is no padding, `[seq_len, batch_size]`."""
    return torch.arange(SEQ_LEN)[:, None] < LENGTHS


def bert_config() -> BertConfig:
    r"""A single type of sentence, and the small number that our normalisations add."""
    dropout = {"hidden_dropout_prob": 0.0, "attention_probs_dropout_prob": 0.0}
    return BertConfig(**CONFIG, **dropout, type_vocab_size=1, layer_norm_eps=1e-5)


def bert_encoder() -> BertEncoder:
    r"""Ours."""
    return randomise(BertEncoder(*SIZES))


def into_bert(ours: BertEncoder, theirs: nn.Module) -> None:
    r"""Our weights into their encoder. There are no types of sentences in ours."""
    nn.init.zeros_(theirs.embeddings.token_type_embeddings.weight)
    names = {"tokens": "word_embeddings", "positions": "position_embeddings", "norm": "LayerNorm"}
    copied(ours, theirs, {mine: f"embeddings.{other}" for mine, other in names.items()})
    names = {f"self_attn.{mine}": f"attention.self.{other}" for mine, other in PARTS.items()}
    names |= {"self_attn.output": "attention.output.dense", "feed_forward.layer2": "output.dense"}
    names |= {"norm_self_attn": "attention.output.LayerNorm", "norm_ff": "output.LayerNorm"}
    names |= {"feed_forward.layer1": "intermediate.dense"}
    for mine, other in zip(ours.layers, theirs.encoder.layer, strict=True):
        copied(mine, other, names)


def modern_config(**options: object) -> ModernBertConfig:
    r"""Layers 0 and 3 see the whole text."""
    types = ["full_attention", "sliding_attention", "sliding_attention", "full_attention"]
    return ModernBertConfig(
        **CONFIG, **options, layer_types=types, local_attention=2 * DISTANCE, cls_token_id=0,
        bos_token_id=0, sep_token_id=0, eos_token_id=0,
    )  # fmt: skip


@contextmanager
def doubled() -> Iterator[None]:
    r"""Rotary positions are computed in 32 bits, theirs and ours. In here they have 64."""
    to_double = partial(patch.object, torch.Tensor, "float")
    with to_double(torch.Tensor.double), patch.object(modeling_modernbert, "torch", Double()):
        yield


def modern_encoder() -> ModernEncoder:
    r"""Ours, to be called in `doubled()`."""
    with doubled():
        return randomise(ModernEncoder(*SIZES, distance=DISTANCE))


def modern(kind: type[nn.Module], **options: object) -> nn.Module:
    r"""One of theirs."""
    with doubled():
        return kind(modern_config(**options)).double().eval()


def into_modern(ours: ModernEncoder, theirs: nn.Module) -> None:
    r"""Our weights into their encoder, where matrices with the same input are one."""
    names = {"tokens": "embeddings.tok_embeddings", "norm": "embeddings.norm"}
    copied(ours, theirs, names | {"last_norm": "final_norm"})
    names = {"norm_self_attn": "attn_norm", "norm_ff": "mlp_norm"}
    names |= {"self_attn.output": "attn.Wo", "feed_forward.output": "mlp.Wo"}
    for mine, other in zip(ours.layers, theirs.layers, strict=True):
        copied(mine, other, names)
        attn, network = mine.self_attn, mine.feed_forward
        three = [attn.query[0].linear, attn.key[0].linear, attn.value.linear]
        other.attn.Wqkv.weight.data.copy_(torch.cat([one.weight for one in three]))
        both = [network.gate.weight, network.value.weight]
        other.mlp.Wi.weight.data.copy_(torch.cat(both))
