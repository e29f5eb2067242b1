r"""
---
title: Two Transformers, Side by Side
summary: A part of the small transformer is exchanged, and both are trained on the same batches.
---

Whether a part is any good shows in a model that is trained with it. Here the
[autoregressive transformer](autoregressive_experiment.py) is trained twice, as it is and
with another part in some place, from the same seed, on the same batches.

A page that has such a part says so in a function `in_transformer`: a table from the name of
a place in the model to a function that makes what goes there. The places are

* `self_attn`, called as [MultiHeadAttention](../mha.py#MultiHeadAttention.forward) is,
* `feed_forward`, which gives back the shape that it gets,
* `positions`, which gets the embedded tokens, and does so too,
* `norm_self_attn`, `norm_ff` and `norm`, the normalisations before the one, before the other and
  at the end.

The notebook of that page ends with the training below. On this page it is the
[feed-forward network](../feed_forward.py#in_transformer) that is exchanged.

One seed is one seed: the same model, trained from another, ends up 0.01 or 0.02 away. A
difference of that size says nothing.
"""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Literal

import torch
from torch import Tensor, nn

from labml_nn.training.corpora import read_corpus
from labml_nn.training.data import CharTokenizer, InputError, entropy
from labml_nn.training.device import choose_device
from labml_nn.training.figures import LiveFigure, draw_attention, draw_losses
from labml_nn.training.loop import Trainer
from labml_nn.training.progress import Progress
from labml_nn.training.sampling import complete
from labml_nn.training.strategies import Sampling
from labml_nn.transformers.basic.autoregressive_experiment import (
    Config,
    attention_map,
    make_trainer,
)
from labml_nn.transformers.feed_forward import in_transformer

# What makes the module for a place.
Parts = Mapping[str, Callable[[], nn.Module]]

# Small is for two cores of a CPU and two minutes, large for a small GPU and three; tiny shows in
# a few seconds that everything works.
SIZES: dict[str, dict[str, Any]] = {
    "tiny": {
        "steps": 60,
        "batch_size": 8,
        "seq_len": 16,
        "d_model": 32,
        "heads": 2,
        "n_layers": 2,
        "d_ff": 64,
    },
    "small": {"steps": 600},
    "large": {
        "steps": 2500,
        "batch_size": 32,
        "seq_len": 256,
        "d_model": 256,
        "heads": 8,
        "n_layers": 6,
        "d_ff": 1024,
        "dropout_prob": 0.2,
    },
}


def recipe(size: str, steps: int, learning_rate: float, seed: int) -> Config:
    r"""
    ## The size that suits the machine

    With the size `auto` it is `large` on a GPU and `small` on a CPU. A number of steps other than
    zero takes the place of the one that belongs to the size.
    """
    if size == "auto":
        size = "small" if choose_device("auto").type == "cpu" else "large"
    if size not in SIZES:
        raise InputError(f"unknown size {size!r}: there are auto, {', '.join(SIZES)}")
    chosen = SIZES[size] | ({"steps": steps} if steps else {})
    return Config(
        **chosen,
        learning_rate=learning_rate,
        record_every=max(1, chosen["steps"] // 40),
        evaluate_every=max(1, chosen["steps"] // 4),
        seed=seed,
    )


def put_in_place(model: nn.Module, parts: Parts) -> None:
    r"""
    ## Exchange parts

    Wherever a module of the model has a part with one of the names, a new part takes its place.
    """
    for name, make in parts.items():
        owners = [one for one in model.modules() if name in dict(one.named_children())]
        if not owners:
            raise ValueError(f"the model has no part {name!r}")
        for owner in owners:
            setattr(owner, name, make())


def make_both(config: Config, text: str, parts: Parts) -> tuple[dict[str, Trainer], CharTokenizer]:
    r"""
    ## The plain model and the other

    They are called `plain` and `changed`.
    """
    plain, tokenizer = make_trainer(config, text)
    changed, _ = make_trainer(config, text)
    put_in_place(changed.model, parts)

    # The optimizer of the first one knows the parts that are gone.
    changed = Trainer(changed.model, changed.train, changed.validation, config)
    return {"plain": plain, "changed": changed}, tokenizer


def train_both(trainers: Mapping[str, Trainer], counting: float) -> dict[str, float]:
    r"""
    ## Train one after the other

    Returns the last validation losses. The curves of both are drawn while they grow, over a dashed
    line at the loss `counting`, that of [counting characters](../../training/data.py#entropy).
    """
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(figsize=(8, 4))
    history: list[tuple[int, dict[str, float]]] = []
    losses: dict[str, float] = {}

    def draw() -> None:
        axes.clear()
        draw_losses(axes, history)
        axes.axhline(counting, linestyle="--", color="gray")

    live = LiveFigure(figure, draw)
    for name, trainer in trainers.items():
        progress = Progress(bar=True)

        def record(
            step: int, values: dict[str, float], name: str = name, progress: Progress = progress
        ) -> None:
            found = {key: value for key, value in values.items() if key.startswith("loss.")}
            named = {f"loss.{name}, {key[5:]}": value for key, value in found.items()}
            history.append((step, named))
            losses[name] = found.get("loss.validation", 0.0)
            live.update()
            progress.note(loss=f"{values['loss.train']:.3f}")

        trainer.run(record, progress)
    live.finish()
    return losses


def last_heads(model: nn.Module, tokens: Tensor) -> Tensor | None:
    r"""
    ## What the last layer looks at

    `[seq_len, seq_len, heads]`, or nothing where the attention doesn't keep its weights.
    """
    if not hasattr(model.encoder.layers[-1].self_attn, "keep_attn"):
        return None
    return attention_map(model, tokens)


def notebook(
    size: Literal["auto", "tiny", "small", "large"] = "auto",
    corpus: str = "tiny_shakespeare",
    text_file: str = "",
    steps: int = 0,
    learning_rate: float = 3e-3,
    seed: int = 1,
    sample_length: int = 300,
) -> None:
    r"""
    ## Train it in a transformer

    The small transformer, as it is and with this page's part in its place, from one seed and on
    the same batches. It takes about two minutes on a CPU, and about three on a small GPU. The
    number of steps is that of the size, unless it is given.
    """
    # ### The text
    # It is `tiny_shakespeare`, `python`, which needs no network, or any file in UTF-8.
    text = read_corpus(corpus, Path(text_file) if text_file else None)
    print(text[:300])

    # ### The models
    # The plain one, and the one whose parts are exchanged.
    config = recipe(size, steps, learning_rate, seed)
    parts = in_transformer(
        d_model=config.d_model,
        heads=config.heads,
        d_ff=config.d_ff,
        seq_len=config.seq_len,
        dropout_prob=config.dropout_prob,
    )
    trainers, tokenizer = make_both(config, text, parts)
    for name, trainer in trainers.items():
        n_parameters = sum(parameter.numel() for parameter in trainer.model.parameters())
        print(f"{name}: {n_parameters:,} parameters, {trainer.dtype} on {trainer.device}")
    print(f"changed: {', '.join(parts)}")

    # ### Training
    # The dashed line is what [counting characters](../../training/data.py#entropy) reaches, with
    # no idea of their order.
    plain = trainers["plain"]
    counting = entropy(torch.cat([plain.train, plain.validation]))
    losses = train_both(trainers, counting)

    # ### Samples
    # They begin as the text does.
    for name, trainer in trainers.items():
        generator = torch.Generator().manual_seed(seed)
        sample = complete(
            trainer.model,
            tokenizer,
            text[0],
            sample_length,
            config.seq_len,
            Sampling(temperature=0.8),
            generator,
        )
        print(f"--- {name}\n{sample}\n")

    # ### Attention
    # The first head of the last layer, over the beginning of the text.
    import matplotlib.pyplot as plt

    beginning = text[: min(config.seq_len, 32)]
    tokens = tokenizer.encode(beginning).to(trainer.device).unsqueeze(1)
    heads = {name: last_heads(trainer.model, tokens) for name, trainer in trainers.items()}
    heads = {name: weights for name, weights in heads.items() if weights is not None}
    _, grid = plt.subplots(1, len(heads), figsize=(6 * len(heads), 6), squeeze=False)
    for axes, (name, weights) in zip(grid[0], heads.items(), strict=True):
        draw_attention(axes, weights[:, :, 0], beginning, beginning)
        axes.set_title(name)
    plt.show()

    # ### Did they learn?
    # A model that is no better than counting has learned nothing about order.
    for name, loss in losses.items():
        print(f"{name}: validation loss {loss:.4f}, counting alone reaches {counting:.4f}")
        assert loss < counting, f"{name}: validation loss {loss:.3f}, counting {counting:.3f}"


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

    A step of each.
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
    parts = in_transformer(d_model=d_model, d_ff=d_ff, dropout_prob=0.0)
    trainers, tokenizer = make_both(config, text, parts)
    tokens = tokenizer.encode(text[:seq_len]).unsqueeze(1)
    heads_of_last_layer = last_heads(trainers["changed"].model, tokens)
    losses = {name: trainer.train_step() for name, trainer in trainers.items()}
    return losses | {"attention": heads_of_last_layer}
