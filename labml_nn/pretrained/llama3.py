r"""
---
title: Llama 3
summary: Grouped queries, rotary positions and SwiGLU together, and a loader for published weights.
know: ../transformers/rotary.py, ../transformers/memory/grouped_query.py
paper:
  title: The Llama 3 Herd of Models
  authors: Dubey et al.
  year: 2024
  link: https://arxiv.org/abs/2407.21783
---

Llama 3 has no part that this site doesn't have: [grouped
queries](../transformers/memory/grouped_query.py), [rotary positions](../transformers/rotary.py),
[RMSNorm](../transformers/rms_norm.py) and [SwiGLU](../transformers/swiglu.py). What can go wrong is
*which* of two conventions its weights were trained with:

* **Pairs.** A head has four features, 1 2 3 4. Which two are rotated together? Meta's own files
  have neighbours, (1, 2) and (3, 4). Those at Hugging Face were
  [converted](../transformers/positions/rotary_pairs.py) to halves, (1, 3) and (2, 4), which our
  pages have, too.
* **Groups.** Six heads of queries share two heads of keys. Those that share one are neighbours,
  0 0 0 1 1 1, and not 0 1 0 1 0 1.
* **Frequencies.** The base is 500,000. From Llama 3.1 on, slow pairs are [slower
  still](llama_frequencies.py).

With the wrong one, all shapes are right and no error is raised. Neighbours in place of halves take
the loss of a small Llama from [1.939](../../results/pretrained.json#tables.llama.all%20right.loss)
to
[3.349](../../results/pretrained.json#tables.llama.neighbours%20as%20pairs%2C%20not%20halves.loss).

**In:** tokens, `[seq_len, batch_size]`. **Out:** logits, `[seq_len, batch_size, n_vocab]`. The
loader takes a folder.
"""

from collections.abc import Mapping
from pathlib import Path

import torch
from torch import Tensor, nn

from labml_nn.pretrained.checkpoint import read_folder
from labml_nn.pretrained.llama_frequencies import rotary_of
from labml_nn.pretrained.names import Config, as_it_is, fill, in_layers, read_config
from labml_nn.transformers.memory.grouped_query import GroupedQueryAttention
from labml_nn.transformers.mha import causal_mask
from labml_nn.transformers.models import Encoder, TransformerLayer
from labml_nn.transformers.rms_norm import RMSNorm
from labml_nn.transformers.rotary import RotaryPositions
from labml_nn.transformers.swiglu import SwiGLU


class LlamaAttention(GroupedQueryAttention):
    r"""
    ## Attention
    """

    def __init__(self, config: Config, rotary: RotaryPositions) -> None:
        r"""
        * `config` are the settings of the model
        * `rotary` are its [rotary positions](../transformers/rotary.py#RotaryPositions)
        """
        # No dropout and no biases. Queries have more heads than keys and values.
        heads = config["num_attention_heads"]
        d_model = config["hidden_size"]
        super().__init__(heads, d_model, 0.0, False, config["num_key_value_heads"])

        # Queries and keys are rotated by the same angles, or scores would depend on more than
        # distances. One module serves all layers.
        self.rotary = rotary

    def get_scores(self, query: Tensor, key: Tensor) -> Tensor:
        # As in [rotary attention](../transformers/positions/rotary_attention.py). Keys have been
        # repeated for their groups; before that, the rotations would give the same, because all
        # heads are rotated by the same angles.
        return super().get_scores(self.rotary(query), self.rotary(key))


class Llama(nn.Module):
    r"""
    ## The model
    """

    def __init__(self, config: Config, attention: type[LlamaAttention] = LlamaAttention) -> None:
        r"""
        * `config` are the settings, as `config.json` has them
        * `attention` makes the attention of a layer
        """
        super().__init__()
        # What the outer parts need to know. Layers read the rest.
        n_vocab = config["vocab_size"]
        d_model = config["hidden_size"]
        eps = config["rms_norm_eps"]

        # A vector for each token, as it is. Our small transformer would multiply it by
        # $\sqrt{d_{model}}$; trained weights know nothing of that.
        self.tokens = nn.Embedding(n_vocab, d_model)

        # Our stack and our layers come with layer normalisation. RMSNorm takes its place in all
        # of them; it has gains and no biases.
        self.encoder = Encoder((), d_model)
        self.encoder.norm = RMSNorm(d_model, eps)

        # One table of angles for all layers, since nothing in it is learned. Each layer is made by
        # calls of its own, so that no two share weights.
        rotary = rotary_of(config)
        for _ in range(config["num_hidden_layers"]):
            layer = TransformerLayer(
                d_model=d_model,
                # The settings say how many heads share one head of keys.
                self_attn=attention(config, rotary),
                dropout_prob=0.0,
                feed_forward=SwiGLU(d_model, config["intermediate_size"]),
            )

            # The two normalisations of a layer, each with gains of its own, and with the small
            # number that the settings say.
            layer.norm_self_attn = RMSNorm(d_model, eps)
            layer.norm_ff = RMSNorm(d_model, eps)
            self.encoder.layers.append(layer)

        # The small models use the embedding for the logits, too, as GPT-2 does. The large ones have
        # a matrix of their own.
        self.head = nn.Linear(d_model, n_vocab, bias=False)
        if config["tie_word_embeddings"]:
            self.head.weight = self.tokens.weight

    def forward(self, tokens: Tensor) -> Tensor:
        r"""
        From `[seq_len, batch_size]` to logits, `[seq_len, batch_size, n_vocab]`.
        """
        # A vector for each token. Nothing is added for its position, because positions come in with
        # the scores of each layer, as distances.
        x = self.tokens(tokens)

        # Layer by layer, each position gathers from those before it. The mask is made where the
        # tokens are, on the GPU or not.
        mask = causal_mask(len(tokens)).to(tokens.device)
        x = self.encoder(x, mask)

        # How well each token of the vocabulary would go on.
        return self.head(x)


# Nothing is transposed, because their layers are `nn.Linear`, too. “up” is the projection that is
# multiplied by the gate.
LAYER = {
    "norm_self_attn.gain": "input_layernorm",
    "self_attn.query.linear.weight": "self_attn.q_proj",
    "self_attn.key.linear.weight": "self_attn.k_proj",
    "self_attn.value.linear.weight": "self_attn.v_proj",
    "self_attn.output.weight": "self_attn.o_proj",
    "norm_ff.gain": "post_attention_layernorm",
    "feed_forward.gate.weight": "mlp.gate_proj",
    "feed_forward.value.weight": "mlp.up_proj",
    "feed_forward.output.weight": "mlp.down_proj",
}


def load_llama3(
    folder: Path,
    dtype: torch.dtype = torch.float32,
    model_type: str = "llama",
    attention: type[LlamaAttention] = LlamaAttention,
    layer: Mapping[str, str] = LAYER,
) -> Llama:
    r"""
    ## Load a Llama, or [a model that is nearly one](qwen3.py)
    """
    # Settings that have no weights. Biases would be left over, so they need no line.
    config = read_config(folder, model_type=model_type, hidden_act="silu", use_sliding_window=False)

    # All weights are random until they are filled. In a tied model the head has none of its own.
    model = Llama(config, attention).to(dtype)
    tied = config["tie_word_embeddings"]

    # The names of ours, each with the name in the file. Everything is called “weight” there, gains
    # too. A tied head is filled from the embedding once more, which changes nothing.
    rules = {mine: (f"{name}.weight", as_it_is) for mine, name in layer.items()}
    table = in_layers(len(model.encoder.layers), "encoder.layers.{}.", "model.layers.{}.", rules)
    embedding = ("model.embed_tokens.weight", as_it_is)
    table["tokens.weight"] = embedding
    table["head.weight"] = embedding if tied else ("lm_head.weight", as_it_is)
    table["encoder.norm.gain"] = ("model.norm.weight", as_it_is)

    # Some files of tied models have the embedding a second time. Then it must be the same: the
    # model has one matrix for both.
    copies = {"lm_head.weight": embedding[0]} if tied else {}

    # Every name of ours must be filled, and every name of the file must be used.
    fill(model, read_folder(folder), table, copies)
    return model.eval()


def example(
    seq_len: int = 7,
    batch_size: int = 3,
    key_heads: int = 5,
    n_pairs: int = 2,
    n_vocab: int = 13,
    d_ff: int = 11,
) -> Tensor:
    r"""
    ## Example

    ### Measured here

    [A small Llama that is loaded with one wrong detail: means of three
    seeds](../../results/pretrained.json#tables.llama)

    The loss doesn't find an $\epsilon$ of $10^{-12}$ in place of $10^{-5}$: it stays
    [1.939](../../results/pretrained.json#tables.llama.%CE%B5%20of%201e-12%2C%20not%201e-5.loss),
    since either is small beside the squares of the features. A comparison finds it. With the right
    one, from random files, our logits differ from those of the library “transformers” by less than
    $10^{-10}$. We haven't tried the published weights themselves. Left out are Llama's tokenizer and
    a cache.

    ### Exercises

    ??? question "Llama 3 with 8 billion weights has 32 heads, 8 of keys. How large is “k_proj”?"
        Its $d_{model}$ is 4,096, so a head has 128 features, and 8 heads have 1,024: a matrix of
        $1024 \times 4096$. That of the queries has four times as many rows.

    ??? question "You repeat the heads of keys as 0 1 0 1 in place of 0 0 1 1. What happens?"
        No error: `fill` and all shapes agree. The loss of the small Llama goes from
        [1.939](../../results/pretrained.json#tables.llama.all%20right.loss) to
        [2.499](../../results/pretrained.json#tables.llama.groups%200%201%200%201%2C%20not%200%200%201%201.loss).

    ??? question "A file has pairs of neighbours. How do you load it?"
        With [this function](../transformers/positions/rotary_pairs.py#neighbours_to_halves) in
        place of `as_it_is`, in the rules of queries and keys. It has to know how many heads each
        has.

    ??? question "Exchange “gate_proj” and “up_proj” in the table. What happens?"
        All shapes are right. But only one of the two goes through Swish, so the results are others,
        and the loss rises to
        [2.415](../../results/pretrained.json#tables.llama.gate%20and%20value%20exchanged.loss).
    """
    # Twice as many heads of queries as of keys, with $2 \cdot 2$ features each.
    config = {
        "vocab_size": n_vocab, "hidden_size": 4 * key_heads * n_pairs, "num_hidden_layers": 2,
        "num_attention_heads": 2 * key_heads, "num_key_value_heads": key_heads,
        "intermediate_size": d_ff, "rms_norm_eps": 1e-5, "rope_theta": 500_000.0,
        "max_position_embeddings": seq_len, "tie_word_embeddings": True,
    }  # fmt: skip

    # The longest text that there are positions for, and random tokens.
    return Llama(config)(torch.randint(n_vocab, (seq_len, batch_size)))
