r"""
---
title: LoRA
summary: Adapt a trained model by adding a small matrix product to each of its layers.
paper:
  title: "LoRA: Low-Rank Adaptation of Large Language Models"
  authors: Hu et al.
  year: 2021
  link: https://arxiv.org/abs/2106.09685
know: ../transformers/basic/autoregressive_model.py
terms:
  adapter: A few weights that are trained and kept for one task, beside a model that stays as it is.
  fine-tuning: Training a model further, on another text or task than it was trained on.
  LoRA: Adds the product of two thin matrices to a frozen weight matrix, and trains only these two.
  rank of a matrix: The smallest number of products, a column times a row, that add up to it.
---

Take a model that has learned Shakespeare and train it further on Python code. This *fine-tuning*
works, and has two drawbacks:

* **It forgets.** In our [small transformer](../transformers/basic/autoregressive_model.py), the
  loss on Shakespeare rises from [1.852](../../results/lora.json#tables.methods.Before.shakespeare)
  to [3.079](../../results/lora.json#tables.methods.Full%20fine-tuning.shakespeare).
* **Each task needs a whole model.** For ten tasks you keep ten copies of all weights.

*LoRA*, low-rank adaptation, leaves a trained matrix $W$ as it is and adds a product of two thin
matrices to it. Only the thin ones are trained. Say that $W$ has 3 rows and 4 columns:

$$
B A =
\begin{pmatrix} 1 \\ 2 \\ 0 \end{pmatrix} \begin{pmatrix} 1 & 0 & -1 & 3 \end{pmatrix} =
\begin{pmatrix} 1 & 0 & -1 & 3 \\ 2 & 0 & -2 & 6 \\ 0 & 0 & 0 & 0 \end{pmatrix}
$$

Seven trained numbers decide twelve. The price is that each row is a multiple of the same row. With
$r$ columns in $B$ and $r$ rows in $A$, each row is a mix of $r$ rows; $r$ is the *rank*. For the
512 × 128 matrices of our model and $r = 8$, $512 \cdot 8 + 8 \cdot 128 = 5{,}120$ numbers decide
65,536.

$$
y = W x + \frac{\alpha}{r} B A x
$$

You choose $\alpha$ once, 8 in our runs. Divided by $r$, it makes the [first
steps](lora.py#LoRALinear) about equally long at ranks from 1 to 16. With the second term, the model
has forgotten some Shakespeare, too. Leave it out, and you have the old model back, bit for bit.

**In:** a trained model. **Out:** the same model with an *adapter*, which is all that you train and
keep. Each layer still takes `[seq_len, batch_size, d_in]` to `[seq_len, batch_size, d_out]`.
"""

import math
from collections.abc import Callable

import torch
import torch.nn.functional as F
from torch import Tensor, nn


class LoRALinear(nn.Module):
    r"""
    ## A layer with an adapter

    Takes the place of a linear layer. $A$ has `rank` rows and `d_in` columns, $B$ has `d_out` rows
    and `rank` columns. If $B$ began with random numbers, as $A$ does, the loss on Shakespeare would
    be [2.001](../../results/lora.json#values.random_start) before anything is learned. And if the
    scale were 1 at every rank, the first steps would go further the higher the rank is:

    [How far ten steps move the logits: the mean over 32
    windows](../../results/lora.json#tables.first_steps)
    """

    def __init__(self, base: nn.Linear, rank: int, alpha: float) -> None:
        r"""
        * `base` is the trained layer, which is frozen here
        * `rank` is $r$, the number of rows of $A$
        * `alpha` is $\alpha$: how much the adapter counts, the same for all ranks
        """
        super().__init__()
        # $B A$ of 3 rows and 4 columns can already be any such matrix at rank 3. A higher rank
        # would only add numbers.
        most = min(base.weight.shape)
        if not 1 <= rank <= most:
            raise ValueError(f"the rank must be between 1 and {most}, got {rank}")

        # Frozen: it gets no gradient, and AdamW keeps no averages for it. AdamW has two for each
        # trained weight: 10,240 for the adapter of rank 8 above, and not 131,072 for its matrix.
        self.base = base.requires_grad_(False)

        # $A$ starts as the weights of a linear layer do: random, and smaller the more inputs there
        # are. (The paper says normal numbers; its program does this.)
        self.a = nn.Parameter(base.weight.new_empty(rank, base.in_features))
        nn.init.kaiming_uniform_(self.a, a=math.sqrt(5))

        # $B$ starts at zero, so at the first step the model is still the trained one. If $A$ were
        # zero too, neither would get a gradient: that of $B$ is a multiple of $A x$, and that of
        # $A$ a multiple of $B$.
        self.b = nn.Parameter(base.weight.new_zeros(base.out_features, rank))

        # $B A x$ is a sum of $r$ terms. In the first steps it grows with $r$ (the table above).
        # Divided by $r$ it doesn't. The paper wants one learning rate to fit several ranks so.
        self.scale = alpha / rank

    def weight(self) -> Tensor:
        r"""
        ### Merged weights

        $W + \frac{\alpha}{r} B A$, in the shape of $W$.
        """
        return self.base.weight + self.scale * self.b @ self.a

    def forward(self, x: Tensor) -> Tensor:
        r"""
        From `[seq_len, batch_size, d_in]` to `[seq_len, batch_size, d_out]`.
        """
        # Down to a few features, `[seq_len, batch_size, rank]`, and up again. The large matrix
        # $B A$ is never made.
        few = F.linear(x, self.a)
        return self.base(x) + self.scale * F.linear(few, self.b)

    @torch.no_grad()
    def merged(self) -> nn.Linear:
        r"""
        ### Merge

        A plain layer that gives the same results, up to rounding, as fast as the trained one was.
        """
        # Made with random weights, which are replaced at once.
        layer = nn.Linear(self.base.in_features, self.base.out_features)

        # The matrix is a new one: the trained layer stays as it was. A bias never had an adapter.
        layer.weight = nn.Parameter(self.weight())
        layer.bias = self.base.bias
        return layer


def replace(
    model: nn.Module,
    kind: type[nn.Module],
    chosen: Callable[[str], bool],
    make: Callable[[nn.Module], nn.Module],
) -> None:
    r"""
    ## Replace layers of a model
    """
    # All names first: a model shouldn't change while we walk through it.
    names = [name for name, one in model.named_modules() if isinstance(one, kind) and chosen(name)]
    if not names:
        raise ValueError(f"no {kind.__name__} was chosen to be replaced")

    # `encoder.layers.0.feed_forward.layer1` is the attribute `layer1` of what the rest names.
    for name in names:
        owner, _, attribute = name.rpartition(".")
        setattr(model.get_submodule(owner), attribute, make(model.get_submodule(name)))


def adapt(
    model: nn.Module,
    rank: int,
    alpha: float,
    chosen: Callable[[str], bool] = lambda name: True,
    make: Callable[[nn.Linear, int, float], LoRALinear] = LoRALinear,
) -> None:
    r"""
    ## Adapt a model

    All its linear layers, or those whose name is `chosen`; the paper takes those of queries and
    values. `make` makes a layer; there are [other kinds](dora.py).
    """
    # Everything is frozen: embeddings, normalisations and biases, too.
    model.requires_grad_(False)

    # What is trained now are the adapters, and nothing else.
    replace(model, nn.Linear, chosen, lambda base: make(base, rank, alpha))


def adapter(model: nn.Module) -> dict[str, Tensor]:
    r"""
    ## What is kept for a task

    To be saved, and loaded again with `load_state_dict` and `strict=False` into a model that was
    adapted in the same way.
    """
    # Copies, because training goes on with the tensors themselves.
    return {name: p.detach().clone() for name, p in model.named_parameters() if p.requires_grad}


def merge(model: nn.Module) -> None:
    r"""
    ## Merge a model

    The adapters go into the weights. Layers and names are then those of the trained model.
    Everything but the merged matrices is still frozen: before you train the model further, call
    `model.requires_grad_(True)`.
    """
    replace(model, LoRALinear, lambda name: True, LoRALinear.merged)


def example(
    seq_len: int = 7, batch_size: int = 3, d_in: int = 11, d_out: int = 5, rank: int = 2
) -> tuple[Tensor, ...]:
    r"""
    ## Example

    A layer whose adapter has learned something, and the same merged.

    ### What a low rank looks like

    With rank 1, all rows of the change are multiples of one row.

    [What 100 steps have added to a corner of one matrix: trained in full, and with ranks 1 and
    8](../../results/lora.json#figures.changes)

    ### Measured here

    In [300](../../results/lora.json#values.steps) steps, full fine-tuning takes the loss on Python
    from [4.876](../../results/lora.json#tables.methods.Before.python) to
    [1.316](../../results/lora.json#tables.methods.Full%20fine-tuning.python). What it keeps for the
    task has [3,277](../../results/lora.json#tables.methods.Full%20fine-tuning.kilobytes) kB, and a
    LoRA adapter of rank 8 has
    [302](../../results/lora.json#tables.methods.LoRA%20rank%208.kilobytes) kB.

    With that adapter on, the loss on Shakespeare is
    [2.819](../../results/lora.json#tables.methods.LoRA%20rank%208.shakespeare), so LoRA
    [forgets](lora_experiment.py#example), too. With the adapter off, it is what it was before.

    Dividing by the rank is no gain for the loss here. With rank 16 and one seed, the loss on Python
    is [1.571](../../results/lora.json#values.undivided.divided) with the division, and
    [1.505](../../results/lora.json#values.undivided.without) with the scale of rank 8.

    At our size LoRA learns less. The loss on Python is
    [1.606](../../results/lora.json#tables.methods.LoRA%20rank%208.python) with rank 8, and
    [1.567](../../results/lora.json#tables.methods.LoRA%20rank%2016.python) with rank 16. In the
    paper hardly anything is lost on average, with models of 125 million weights (RoBERTa) to 175
    billion (GPT-3). Our guess is that its tasks are nearer to what these models know than Python is
    to Shakespeare. [An experiment](lora_experiment.py) compares ranks, layers and what is
    forgotten.

    ### Exercises

    ??? question "A layer has 128 inputs and 512 outputs. How many weights has rank 4?"
        $4 \cdot 128 + 512 \cdot 4 = 2{,}560$, in place of 65,536. From rank 103 on the adapter has
        more weights than the matrix.

    ??? question "$B$ is zero at first. Which of the two matrices learns at the first step?"
        $B$ alone. The gradient of $A$ is $\frac{\alpha}{r} B^\top$ times something, so it's zero
        as long as $B$ is. From the second step on both learn. (With weight decay the first step
        makes $A$ a little smaller, but not by anything that it has learned.)

    ??? question "Double `alpha`, and halve the learning rate. Is that the same training?"
        Nearly, at first. How far AdamW moves a weight of $B$ depends on the rate, and not on the
        size of its gradients.
        So $B$ grows half as fast and counts twice. But $A$ moves half as far too, and that is a
        difference: it didn't start at zero.

    ??? question "Merge, and subtract the update again. Is the model bit for bit the old one?"
        No. $(W + U) - U$ is rounded twice. That is why `merged` makes a new layer: to take an
        adapter off, keep the trained layers.

    ??? question "Forget `model.requires_grad_(False)` in `adapt`. How would you notice?"
        There is no error. Embeddings and normalisations are then trained as well, so `adapter`
        returns more than the thin matrices, and the model without its adapter is no longer the old
        one.
    """
    layer = LoRALinear(nn.Linear(d_in, d_out), rank, alpha=2 * rank)
    x = torch.randn(seq_len, batch_size, d_in)

    # Before training nothing is added.
    before = layer(x)

    # Any numbers, as if they had been learned.
    nn.init.normal_(layer.b)
    after = layer(x)

    # One matrix does the same.
    return before, after, layer.merged()(x)
