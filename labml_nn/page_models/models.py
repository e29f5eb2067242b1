r"""
---
title: The Live Models
summary: Small models that run in the browser, one for each attention of this site.
---

On many pages you can step through the code with your own text. What runs there is a small language
model with the page's own module inside, trained once by `python -m benchmarks page_models`.

**In:** the name of a model. **Out:** the model, before training, and its training. The
[recorded weights](../training/trained.py) are loaded into a model that was made here.

* `classic` is the [classic transformer](../transformers/basic/autoregressive_model.py)
* `modern` is the [modern one](../transformers/modern/model.py)
* Any other name is that of a page about attention, `positions/alibi` for example. Its module takes
  the place of attention in a model of two layers.
"""

from importlib import import_module

from torch import Tensor, nn

from labml_nn.optimizers.schedules import linear
from labml_nn.training.data import RandomWindows
from labml_nn.training.loop import adamw, learning_rate, train
from labml_nn.transformers.basic.autoregressive_model import AutoregressiveTransformer
from labml_nn.transformers.basic.comparison_experiment import put_in_place
from labml_nn.transformers.modern.experiment import muon_and_adamw
from labml_nn.transformers.modern.model import ModernTransformer
from labml_nn.transformers.ways.side_by_side import attend, four_ways

# Of the two large models, and of all others. The context is 64 characters.
LARGE = {"d_model": 128, "heads": 4, "n_layers": 4, "d_ff": 512, "seq_len": 64}
SMALL = {"d_model": 64, "heads": 4, "n_layers": 2, "d_ff": 256, "seq_len": 64}

# The ways that have another order of axes, by their pages. The names are those of the page that
# compares them.
WAYS = {
    "ways/batch_first": "batch first",
    "ways/folded_heads": "folded heads",
    "ways/one_head_at_a_time": "one head at a time",
}


class Way(nn.Module):
    r"""
    ## A way to write attention, in a layer

    Each has a call of its own; [side by side](../transformers/ways/side_by_side.py#attend) knows
    them.
    """

    def __init__(self, name: str, heads: int, d_model: int) -> None:
        super().__init__()
        # By which to call it.
        self.name = name

        # With its own random weights, like any other attention.
        self.way = four_ways(heads, d_model)[name]

    def forward(self, *, query: Tensor, key: Tensor, value: Tensor, mask: Tensor) -> Tensor:
        # All of them are self-attention under the causal mask, with the batch as the first axis. So
        # key, value and mask say nothing new.
        return attend(self.name, self.way, query.transpose(0, 1)).transpose(0, 1)


def sizes_of(name: str) -> dict[str, int]:
    r"""
    ## Sizes
    """
    # [SwiGLU](../transformers/swiglu.py) has three matrices, each smaller by a third.
    if name == "modern":
        return LARGE | {"d_ff": 336}

    # Models of two layers train in a minute, and their files have about a quarter of the bytes.
    return LARGE if name == "classic" else SMALL


def make(name: str, n_vocab: int) -> nn.Module:
    r"""
    ## Make a model
    """
    sizes = sizes_of(name)

    # It has another layer and no part that could be exchanged.
    if name == "modern":
        return ModernTransformer(n_vocab, **sizes)

    # All others are the classic model, most of them with one part exchanged.
    model = AutoregressiveTransformer(n_vocab, **sizes)

    # A way to write attention has no place in a layer by itself.
    if name in WAYS:
        heads, d_model = sizes["heads"], sizes["d_model"]
        put_in_place(model, {"self_attn": lambda: Way(WAYS[name], heads, d_model)})

    # The page itself says what goes where. The module is found by the name of the page, so a new
    # page needs no line here.
    elif name != "classic":
        page = import_module(f"labml_nn.transformers.{name.replace('/', '.')}")
        put_in_place(model, page.in_transformer(**sizes, dropout_prob=0.0))

    # With random weights.
    return model


def fit(name: str, model: nn.Module, tokens: Tensor, steps: int = 2000, seed: int = 1) -> None:
    r"""
    ## Train it

    `tokens` is the training text.
    """
    # Twelve windows of 64 characters a step, the same ones for every model.
    batches = RandomWindows(tokens, sizes_of(name)["seq_len"], 12, seed)

    # The [modern recipe](../transformers/modern/experiment.py), or that of the loop.
    if name == "modern":
        train(model, batches.at, muon_and_adamw(model), steps, schedule=linear)
    else:
        train(model, batches.at, [adamw(model)], steps, schedule=learning_rate)
