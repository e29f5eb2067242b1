r"""
---
title: Autoregressive Transformer
summary: A small transformer learns to write, character by character, in about a minute on a CPU.
paper:
  title: Attention Is All You Need
  authors: Vaswani et al.
  year: 2017
  link: https://arxiv.org/abs/1706.03762
---

A model is *autoregressive* if it predicts each token from those before it,

$$
p(x_1, \dots, x_n) = \prod_t p(x_t \mid x_1, \dots, x_{t-1}),
$$

which is all it takes to write: draw a token, append it, go on. The decoder of the paper is
such a model. With nothing to translate from it needs no attention to an encoder, and
what is left is a stack of self-attention layers under a causal mask, the kind of model that
large language models are.

The recipe is small: four layers, a width of 128, a context of 64 characters, and 2,000
steps. What it reaches on Tiny Shakespeare is on the page of the
[modern recipe](../modern/experiment.py), beside that.

Its attention is [the general one](../mha.py) without what
[isn't needed here](causal_attention.py). It departs from the paper in the place of the
[normalisation](../models.py#TransformerLayer), and in GELU, which came out a little better than
ReLU. Positions are fixed, as in the paper. Learned ones that start at zero came out worse, learned
ones that start with the size of the tokens did not: it counts that attention can tell positions
apart from the first step on.
"""

import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import torch
from torch import Tensor, nn

from labml_nn.training.command_line import run_experiment
from labml_nn.training.corpora import read_corpus
from labml_nn.training.data import CharTokenizer, InputError, entropy, prepare
from labml_nn.training.figures import draw_attention, draw_losses
from labml_nn.training.leaks import honest_loss
from labml_nn.training.loop import TrainConfig, Trainer
from labml_nn.training.progress import Progress
from labml_nn.training.sampling import complete, evaluating
from labml_nn.training.strategies import Sampling
from labml_nn.transformers.basic.causal_attention import CausalSelfAttention
from labml_nn.transformers.basic.decoder import Decoder, can_decode
from labml_nn.transformers.feed_forward import FeedForward
from labml_nn.transformers.mha import causal_mask
from labml_nn.transformers.models import (
    EmbeddingsWithPositionalEncoding,
    Encoder,
    Generator,
    TransformerLayer,
)


@dataclass(frozen=True)
class Config(TrainConfig):
    r"""
    ## The recipe

    The sizes of the model, and [how to train](../../training/loop.py#TrainConfig) it.
    """

    d_model: int = 128
    heads: int = 4
    n_layers: int = 4
    d_ff: int = 512
    dropout_prob: float = 0.0

    def __post_init__(self) -> None:
        super().__post_init__()
        for name in ("d_model", "heads", "n_layers", "d_ff"):
            if getattr(self, name) < 1:
                raise InputError(f"{name} must be at least 1, got {getattr(self, name)}")
        if self.d_model % self.heads:
            raise InputError(
                f"d_model must be a multiple of heads, got d_model={self.d_model} and "
                f"heads={self.heads}"
            )
        if not 0 <= self.dropout_prob < 1:
            raise InputError(
                f"dropout_prob must be at least 0 and below 1, got {self.dropout_prob}"
            )


class AutoregressiveTransformer(nn.Module):
    r"""
    ## Autoregressive transformer

    [Embeddings](../models.py#EmbeddingsWithPositionalEncoding), an
    [encoder](../models.py#Encoder) that may not look ahead, and a
    [generator](../models.py#Generator).
    """

    def __init__(
        self,
        n_vocab: int,
        d_model: int,
        heads: int,
        n_layers: int,
        d_ff: int,
        seq_len: int,
        dropout_prob: float,
    ) -> None:
        r"""
        * `n_vocab` is the number of different tokens
        * `d_model` is the number of features
        * `heads` is the number of heads of each attention
        * `n_layers` is the number of layers
        * `d_ff` is the number of features inside the feed-forward networks
        * `seq_len` is the greatest length of a sequence, the *context*
        * `dropout_prob` is the probability of dropping a feature or an attention weight
        """
        super().__init__()
        self.embed = EmbeddingsWithPositionalEncoding(d_model, n_vocab, seq_len, dropout_prob)
        self.encoder = Encoder(
            TransformerLayer(
                d_model=d_model,
                self_attn=CausalSelfAttention(heads, d_model, seq_len, dropout_prob),
                feed_forward=FeedForward(d_model, d_ff, dropout_prob, nn.GELU),
                dropout_prob=dropout_prob,
            )
            for _ in range(n_layers)
        )
        self.generator = Generator(n_vocab, d_model)

        # Made once, and on whatever device the model is. It is no weight, so it is not saved.
        self.register_buffer("mask", causal_mask(seq_len), persistent=False)

    def forward(self, tokens: Tensor) -> Tensor:
        r"""
        ### Predict the next token at each position

        From tokens, `[seq_len, batch_size]`, to logits, `[seq_len, batch_size, n_vocab]`.
        Shorter sequences than the context may be given, longer ones not.
        """
        length = len(tokens)
        x = self.encoder(self.embed(tokens), self.mask[:length, :length])
        return self.generator(x)

    def decoder(self, batch_size: int) -> Decoder | None:
        r"""
        ### Prepare to write

        A [decoder](decoder.py#Decoder) for that many texts, or `None` if parts of the model
        were exchanged for others.
        """
        parts = (self.embed, self.encoder, self.generator)
        return Decoder(*parts, batch_size, len(self.mask)) if can_decode(*parts) else None


def make_trainer(config: Config, text: str) -> tuple[Trainer, CharTokenizer]:
    r"""
    ## Put it together

    The seed decides how the weights start and which batches come, so the same `config` and
    text give the same run.
    """
    torch.manual_seed(config.seed)
    tokenizer, train, validation = prepare(text, config.seq_len)
    model = AutoregressiveTransformer(
        n_vocab=len(tokenizer),
        d_model=config.d_model,
        heads=config.heads,
        n_layers=config.n_layers,
        d_ff=config.d_ff,
        seq_len=config.seq_len,
        dropout_prob=config.dropout_prob,
    )
    trainer = Trainer(model, train, validation, config)
    return trainer, tokenizer


def attention_map(model: AutoregressiveTransformer, tokens: Tensor) -> Tensor:
    r"""
    ## What the last layer looks at

    `tokens` is `[seq_len, 1]`. The result has the weights of each head,
    `[seq_len, seq_len, heads]`, for queries and keys.
    """
    attention = model.encoder.layers[-1].self_attn
    attention.keep_attn = True
    with evaluating(model):
        model(tokens)
    attention.keep_attn = False
    return attention.attn[:, :, 0]


def main(argv: Sequence[str] | None = None) -> int:
    r"""
    ## On the command line

    `python -m labml_nn.transformers.basic.autoregressive_experiment --help` lists the options. See
    [what it does](../../training/command_line.py#run_experiment).
    """
    name = "labml_nn.transformers.basic.autoregressive_experiment"
    return run_experiment(name, Config, make_trainer, argv)


def notebook(
    corpus: str = "tiny_shakespeare",
    text_file: str = "",
    steps: int = 2000,
    batch_size: int = 12,
    seq_len: int = 64,
    micro_batches: int = 1,
    learning_rate: float = 3e-3,
    warmup: float = 0.05,
    final: float = 0.1,
    schedule: str = "cosine",
    weight_decay: float = 0.1,
    clip: float = 1.0,
    device: str = "auto",
    precision: str = "auto",
    attention: str = "auto",
    compile: str = "auto",
    record_every: int = 20,
    evaluate_every: int = 250,
    seed: int = 1,
    d_model: int = 128,
    heads: int = 4,
    n_layers: int = 4,
    d_ff: int = 512,
    dropout_prob: float = 0.0,
    sample_length: int = 500,
) -> None:
    r"""
    ## In a notebook

    The same training with a bar, the loss curves, a sample, and what each head looks at. It takes
    about a minute.
    """
    # ### The text
    # It is `tiny_shakespeare`, `python`, which needs no network, or any file in UTF-8.
    text = read_corpus(corpus, Path(text_file) if text_file else None)
    print(text[:300])

    # ### The model
    # The same seed gives the same run.
    config = Config(
        steps=steps,
        batch_size=batch_size,
        seq_len=seq_len,
        micro_batches=micro_batches,
        learning_rate=learning_rate,
        warmup=warmup,
        final=final,
        schedule=schedule,
        weight_decay=weight_decay,
        clip=clip,
        device=device,
        precision=precision,
        attention=attention,
        compile=compile,
        record_every=record_every,
        evaluate_every=evaluate_every,
        seed=seed,
        d_model=d_model,
        heads=heads,
        n_layers=n_layers,
        d_ff=d_ff,
        dropout_prob=dropout_prob,
    )
    trainer, tokenizer = make_trainer(config, text)
    n_parameters = sum(parameter.numel() for parameter in trainer.model.parameters())
    print(f"{n_parameters:,} parameters, {trainer.dtype} on {trainer.device}")

    # ### Training
    # The numbers are shown, and kept for the curves.
    history = []
    progress = Progress(bar=True)

    def record(step: int, values: dict[str, float]) -> None:
        history.append((step, values))
        progress.record(step, values)

    trainer.run(record, progress)

    # ### Loss curves
    # The dashed line is what [counting characters](../../training/data.py#entropy) reaches, with
    # no idea of their order.
    import matplotlib.pyplot as plt

    counting = entropy(torch.cat([trainer.train, trainer.validation]))
    _, axes = plt.subplots(figsize=(8, 4))
    draw_losses(axes, history)
    axes.axhline(counting, linestyle="--", color="gray")
    plt.show()

    # ### A sample
    # It begins as the text does.
    generator = torch.Generator().manual_seed(seed)
    sampling = Sampling(temperature=0.8)
    print(complete(trainer.model, tokenizer, text[0], sample_length, seq_len, sampling, generator))

    # ### Attention
    # Each head of the last layer, over the beginning of the text. Above the diagonal is the future.
    beginning = text[: min(seq_len, 32)]
    tokens = tokenizer.encode(beginning).to(trainer.device).unsqueeze(1)
    weights = attention_map(trainer.model, tokens)
    _, grid = plt.subplots(1, heads, figsize=(6 * heads, 6), squeeze=False)
    for head in range(heads):
        draw_attention(grid[0, head], weights[:, :, head], beginning, beginning)
    plt.show()

    # ### Is it honest?
    # The loss once more, from [prefixes alone](../../training/leaks.py).
    honest = honest_loss(trainer.model, trainer.validation, seq_len)
    assert not honest.leaks, honest
    print(honest)

    # ### Did it learn?
    # A model that is no better than counting has learned nothing about order.
    loss = history[-1][1]["loss.validation"]
    assert loss < counting, f"validation loss {loss:.3f}, counting alone reaches {counting:.3f}"
    print(f"validation loss {loss:.4f}, counting alone reaches {counting:.4f}")


def example(
    d_k: int = 2,
    batch_size: int = 3,
    heads: int = 5,
    seq_len: int = 7,
    d_ff: int = 11,
    n_vocab: int = 13,
) -> dict[str, Tensor]:
    r"""
    ## Example

    Two layers, one step, and the attention of the last layer.
    """
    d_model = heads * d_k
    config = Config(
        steps=1,
        batch_size=batch_size,
        seq_len=seq_len,
        device="cpu",
        precision="float32",
        d_model=d_model,
        heads=heads,
        n_layers=2,
        d_ff=d_ff,
    )

    # An alphabet, over and over; the last token stands for what is not in it.
    text = "".join(chr(97 + index % (n_vocab - 1)) for index in range(20 * n_vocab * seq_len))
    trainer, tokenizer = make_trainer(config, text)
    loss = trainer.train_step()
    tokens = tokenizer.encode(text[:seq_len]).unsqueeze(1)
    return {"loss": loss, "attention": attention_map(trainer.model, tokens)}


if __name__ == "__main__":
    sys.exit(main())
