r"""
---
title: GPT-2
summary: The model of 2019, built of the parts of this site and filled with its published weights.
paper:
  title: Language Models are Unsupervised Multitask Learners
  authors: Radford et al.
  year: 2019
  link: https://cdn.openai.com/better-language-models/language_models_are_unsupervised_multitask_learners.pdf
terms:
  tied weights: The embedding and the logits use the same matrix.
---

GPT-2 is the [small transformer](../transformers/basic/autoregressive_model.py) of this site with
other sizes and four small differences. Its smallest version has 12 layers, 12 heads and a width of
768: 124 million weights, where ours has 0.8. They fit into our modules, and [a
notebook](gpt2_experiment.py) writes with them.

Small details can go wrong. GPT-2's file has each matrix with a row for each feature that comes in.
For the input (1, 0) and the matrix with the rows (1, 2) and (3, 4), the result is (1, 2). Our
`nn.Linear` has a row for each feature that goes out, and would make (1, 3) of it. The matrix after
attention is square, so all shapes are right: without a transposition, the loss of a small model
goes from [2.118](../../results/pretrained.json#tables.gpt2.all%20right.loss) to
[4.082](../../results/pretrained.json#tables.gpt2.output%20of%20attention%20not%20transposed.loss).

**In:** tokens, `[seq_len, batch_size]`. **Out:** logits, `[seq_len, batch_size, n_vocab]`. For the
loader: a folder with `config.json` and weights in, a model out.

Where it differs from the small transformer:

| part | small transformer | GPT-2 |
| --- | --- | --- |
| positions | sines and cosines | learned, for up to 1,024 tokens |
| embedding | times $\sqrt{d_{model}}$ | as it is |
| activation | GELU | its approximation with a tanh |
| logits | a matrix of their own, with biases | the matrix of the embedding, *tied* |
"""

from collections.abc import Mapping
from pathlib import Path

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from labml_nn.pretrained.checkpoint import read_folder
from labml_nn.pretrained.names import Rule, as_it_is, fill, in_layers, read_config
from labml_nn.transformers.feed_forward import FeedForward
from labml_nn.transformers.mha import MultiHeadAttention, causal_mask
from labml_nn.transformers.models import Encoder, TransformerLayer
from labml_nn.transformers.positional_encoding import LearnedPositionalEncoding


class GPT2(nn.Module):
    r"""
    ## The model
    """

    def __init__(
        self,
        n_vocab: int,
        d_model: int,
        heads: int,
        n_layers: int,
        d_ff: int,
        seq_len: int,
        eps: float = 1e-5,
    ) -> None:
        r"""
        * `n_vocab` is the number of different tokens
        * `d_model` is the number of features of a position
        * `heads` is the number of heads of each attention
        * `n_layers` is the number of layers
        * `d_ff` is the number of features inside a feed-forward network
        * `seq_len` is the greatest length of a text
        * `eps` keeps the layer normalisations from dividing by zero
        """
        super().__init__()
        # Not our [token embedding](../transformers/models.py#TokenEmbedding), which would multiply
        # each vector by $\sqrt{d_{model}}$, 28 for the smallest GPT-2.
        self.tokens = nn.Embedding(n_vocab, d_model)

        # [Learned vectors](../transformers/positional_encoding.py#LearnedPositionalEncoding), one
        # for each of `seq_len` positions, so longer texts can't be read.
        self.positions = LearnedPositionalEncoding(d_model, seq_len)

        # The [layers of this site](../transformers/models.py#TransformerLayer) as they are. The
        # weights were trained with a GELU that uses a tanh; with the exact one the model would
        # write nearly the same. Dropout is left out, so there is no difference between training
        # and use.
        layers = (
            TransformerLayer(
                d_model=d_model,
                # Its queries, keys and values have biases, as GPT-2's have.
                self_attn=MultiHeadAttention(heads, d_model, 0.0),
                feed_forward=FeedForward(d_model, d_ff, 0.0, lambda: nn.GELU("tanh")),
                dropout_prob=0.0,
            )
            for _ in range(n_layers)
        )

        # With a last normalisation, as in GPT-2. It does more than make the stream smaller, so a
        # number in its place won't do: each position is divided by a size of its own, and each
        # feature has a learned scale.
        self.encoder = Encoder(layers, d_model)

        # PyTorch's own is $10^{-5}$, and so is that of the published model. A file of yours may
        # have another one.
        for module in self.modules():
            if isinstance(module, nn.LayerNorm):
                module.eps = eps

    def forward(self, tokens: Tensor) -> Tensor:
        r"""
        From `[seq_len, batch_size]` to logits, `[seq_len, batch_size, n_vocab]`.
        """
        # What and where, added. Our own model would multiply the first by $\sqrt{d_{model}}$;
        # trained weights know nothing of that.
        x = self.positions(self.tokens(tokens))

        # Each position gathers from those before it, layer by layer.
        x = self.encoder(x, causal_mask(len(tokens)).to(tokens.device))

        # A token's score is the dot product with its own row of the embedding. So the vector of a
        # token serves twice: it comes in for that token, and the last layer must give one like it
        # for that token to come out.
        return F.linear(x, self.tokens.weight)


def transposed(x: Tensor) -> Tensor:
    r"""
    ## Transpose

    A bias has one axis and stays as it is.
    """
    return x.transpose(0, -1)


def third(number: int, x: Tensor) -> Tensor:
    r"""
    ## Queries, keys or values

    From the tensor that has all three.
    """
    return transposed(x).chunk(3)[number]


# The parts of a layer. Each has a weight and a bias under these names, and the same is done to
# both. Three of ours come from one of theirs.
LAYER = {
    "norm_self_attn": ("ln_1", as_it_is),
    "self_attn.query.linear": ("attn.c_attn", lambda x: third(0, x)),
    "self_attn.key.linear": ("attn.c_attn", lambda x: third(1, x)),
    "self_attn.value.linear": ("attn.c_attn", lambda x: third(2, x)),
    "self_attn.output": ("attn.c_proj", transposed),
    "norm_ff": ("ln_2", as_it_is),
    "feed_forward.layer1": ("mlp.c_fc", transposed),
    "feed_forward.layer2": ("mlp.c_proj", transposed),
}


def gpt2_table(n_layers: int, layers: Mapping[str, Rule]) -> dict[str, Rule]:
    r"""
    ## The table of names
    """
    # What has no bias. Our positions have an axis for the batch in the middle, because each
    # stands for all sequences.
    table = {
        "tokens.weight": ("wte.weight", as_it_is),
        "positions.encodings": ("wpe.weight", lambda x: x.unsqueeze(1)),
    }
    # Weights and biases of all layers, and of the normalisation after the last one, which stands
    # outside of the layers in both programs. Its name there ends in “f”, for final.
    for kind in ("weight", "bias"):
        layer = {f"{mine}.{kind}": (f"{name}.{kind}", how) for mine, (name, how) in layers.items()}
        table |= in_layers(n_layers, "encoder.layers.{}.", "h.{}.", layer)
        table[f"encoder.norm.{kind}"] = (f"ln_f.{kind}", as_it_is)
    return table


def load_gpt2(
    folder: Path, dtype: torch.dtype = torch.float32, layers: Mapping[str, Rule] = LAYER
) -> GPT2:
    r"""
    ## Load
    """
    # With another value of one of these, the weights have the same names and shapes, and the model
    # computes something else. There are such models.
    config = read_config(
        folder,
        model_type="gpt2",
        activation_function="gelu_new",
        scale_attn_weights=True,
        scale_attn_by_inverse_layer_idx=False,
    )
    # The feed-forward network is four times as wide as the model, if nothing else is said. The
    # published file says nothing.
    n_layers = config["n_layer"]
    d_ff = config.get("n_inner") or 4 * config["n_embd"]
    sizes = (config["vocab_size"], config["n_embd"], config["n_head"], n_layers, d_ff)
    model = GPT2(*sizes, config["n_positions"], config["layer_norm_epsilon"]).to(dtype)

    # The published file has no “transformer.” before its names, files that you save yourself have
    # it. Masks are no weights, and we make our own.
    tensors = {
        name.removeprefix("transformer."): tensor
        for name, tensor in read_folder(folder).items()
        if not name.endswith((".attn.bias", ".attn.masked_bias"))
    }

    # Everything else must have its place. A weight that is left out would stay random, and without
    # `fill` no error would tell.
    fill(model, tensors, gpt2_table(n_layers, layers), {"lm_head.weight": "wte.weight"})
    return model.eval()


def example(
    seq_len: int = 7,
    batch_size: int = 3,
    heads: int = 5,
    d_k: int = 2,
    n_vocab: int = 13,
    d_ff: int = 11,
) -> tuple[Tensor, ...]:
    r"""
    ## Example

    One matrix of the file, and a model with random weights. [A notebook](gpt2_experiment.py) loads
    a whole folder.

    ### Where its file differs from our weights

    * Its linear layers are called “Conv1D” and compute $x W + b$, with $W$ of the shape $d_{in}
      \times d_{out}$. `nn.Linear` computes $x W^\top + b$. So each matrix has to be transposed.
    * Queries, keys and values are one matrix, of $768 \times 2304$. After the transposition, the
      first third of its rows are the queries, then come keys and values. In each third, head
      follows head, as in ours.
    * Each layer has a tensor “attn.bias”, which is no bias. It is the causal mask, 1,024 × 1,024
      numbers. We have [our own](../transformers/mha.py#causal_mask) and leave it out.
    * Some files have “transformer.” before all names, and some have “lm_head.weight”, a copy of the
      embedding.

    ### What did not help here

    There is [a list](../../docs/what_did_not_help.md) of more such things.

    Looking at the loss. With GELU in place of its approximation the loss changes by at most
    [0.0000069](../../results/pretrained.json#values.gelu) nats. Only a comparison finds that: from
    a random file, in double precision, our logits and those of the library “transformers” differ by
    less than $10^{-10}$. We had no network to try the published weights; the notebook does. Left
    out are dropout in training, and a cache for writing.

    [What one wrong detail does: the mean loss of three seeds, and their range as a
    line](../../results/pretrained.json#figures.details)

    ### Exercises

    ??? question "How many numbers has “h.0.attn.c_attn.weight” of the smallest GPT-2?"
        $768 \cdot 2304 = 1{,}769{,}472$. Transposed, its first 768 rows make the queries.

    ??? question "Leave out `transposed` for one matrix. For which does `fill` find it?"
        For those that aren't square: both of the feed-forward network, and the joint matrix of
        queries, keys and values, whose thirds would be 256 × 2,304. The output of attention is
        square, so its shape is right either way. Compare logits with those of another program.

    ??? question "Take the third for keys as queries, and the other way round. What happens?"
        All shapes are right. A score is now the product of key $i$ and query $j$. Of the positions
        before it, which are all that the mask allows, each now looks at those whose query fits its
        own key, and not at those whose key fits its query.

    ??? question "The embedding is used for the logits, too. How many weights does that save?"
        $50{,}257 \cdot 768 = 38{,}597{,}376$, nearly a third of the 124 million.
    """
    # As in the file: what goes in down, three times what comes out across: queries, keys and values
    # side by side.
    d_model = heads * d_k
    joined = torch.randn(d_model, 3 * d_model)
    query = third(0, joined)

    # The longest text that there are positions for. In training or not, the result is the same, as
    # nothing is dropped.
    model = GPT2(n_vocab, d_model, heads, 2, d_ff, seq_len)
    return query, model(torch.randint(n_vocab, (seq_len, batch_size)))
