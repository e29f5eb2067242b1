r"""
---
title: The Right Model and Its Training
summary: A small language model and a step of training, each decision a method that can go wrong.
paper:
  title: Language Models are Unsupervised Multitask Learners
  authors: Radford et al.
  year: 2019
  link: https://cdn.openai.com/better-language-models/language_models_are_unsupervised_multitask_learners.pdf
---

Not every mistake is in the attention. Positions can be added along the wrong axis, and the targets
can be the wrong characters. So here are a model and its training in the form that
[the attention](right_attention.py) has: each decision is a method, and
[a mistake](model_mistakes.py) replaces one of them.

The model is a small GPT-2: tokens and learned positions, layers that normalise what goes into
them, weights that start out small. As for the attention, the batch comes first. What the page
leaves out, the [real model](../basic/autoregressive_experiment.py) and its
[loop](../../training/loop.py) have.
"""

from collections.abc import Callable

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from labml_nn.training.loop import learning_rate as rate_at
from labml_nn.transformers.mistakes.right_attention import RightAttention


class RightLayer(nn.Module):
    r"""
    ## A layer

    Attention, then a small network at each position.
    """

    def __init__(self, d_model: int, attention: nn.Module) -> None:
        r"""
        * `d_model` is the number of features
        * `attention` is called with the normalised sequence alone
        """
        super().__init__()
        self.attention = attention
        self.norms = nn.ModuleList(nn.LayerNorm(d_model) for _ in range(2))
        self.network = nn.Sequential(
            nn.Linear(d_model, 4 * d_model), nn.GELU(), nn.Linear(4 * d_model, d_model)
        )

    def add(self, x: Tensor, z: Tensor) -> Tensor:
        r"""
        ### The residual

        What comes out of a part is added to what went in, so there is a path through the model
        on which nothing is lost.
        """
        return x + z

    def forward(self, x: Tensor) -> Tensor:
        r"""
        ### Apply

        `[batch_size, seq_len, d_model]` in and out.
        """
        x = self.add(x, self.attention(self.norms[0](x)))
        return self.add(x, self.network(self.norms[1](x)))


class RightModel(nn.Module):
    r"""
    ## The model
    """

    layer: type[RightLayer] = RightLayer

    def __init__(
        self,
        n_vocab: int,
        d_model: int,
        heads: int,
        n_layers: int,
        max_len: int,
        attention: Callable[..., nn.Module] = RightAttention,
        dropout_prob: float = 0.0,
    ) -> None:
        r"""
        * `n_vocab`, `d_model`, `heads` and `n_layers` are its sizes
        * `max_len` is the greatest length of a sequence
        * `attention` is called with `d_model`, `heads` and `dropout_prob`, once for each layer
        """
        super().__init__()
        self.tokens = nn.Embedding(n_vocab, d_model)
        self.positions = nn.Parameter(torch.zeros(max_len, d_model))
        self.layers = nn.Sequential(
            *(self.layer(d_model, attention(d_model, heads, dropout_prob)) for _ in range(n_layers))
        )
        self.norm = nn.LayerNorm(d_model)
        self.generator = nn.Linear(d_model, n_vocab, bias=False)

        # As in GPT-2: matrices small, biases zero. Then the first guess is nearly even.
        for name, weight in self.named_parameters():
            if weight.dim() > 1:
                nn.init.normal_(weight, std=0.02)
            elif name.endswith("bias"):
                nn.init.zeros_(weight)

    def add_positions(self, x: Tensor) -> Tensor:
        r"""
        ### Add the positions

        The positions are on axis 1 of `[batch_size, seq_len, d_model]`.
        """
        return x + self.positions[: x.shape[1]]

    def forward(self, tokens: Tensor) -> Tensor:
        r"""
        ### Predict

        From `[batch_size, seq_len]` to logits for the token after each,
        `[batch_size, seq_len, n_vocab]`.
        """
        x = self.add_positions(self.tokens(tokens))
        return self.generator(self.norm(self.layers(x)))


class RightTraining:
    r"""
    ## The training
    """

    def __init__(
        self, model: nn.Module, n_steps: int, learning_rate: float = 3e-3, bfloat16: bool = False
    ) -> None:
        r"""
        * `model` is trained in place, for `n_steps`
        * `learning_rate` is the highest
        * `bfloat16` says whether products are computed in 16 bits
        """
        self.model, self.n_steps, self.bfloat16 = model, n_steps, bfloat16
        self.optimizer = torch.optim.AdamW(
            model.parameters(), learning_rate, betas=(0.9, 0.99), weight_decay=0.1, fused=True
        )
        self.schedule = torch.optim.lr_scheduler.LambdaLR(
            self.optimizer, lambda step: rate_at(step, n_steps)
        )

    def cut(self, text: Tensor) -> tuple[Tensor, Tensor]:
        r"""
        ### Inputs and targets

        From windows of the text, `[batch_size, seq_len + 1]`, to two of `[batch_size, seq_len]`:
        the target at each position is the token after it.
        """
        return text[:, :-1], text[:, 1:]

    def loss(self, logits: Tensor, targets: Tensor) -> Tensor:
        r"""
        ### The loss

        PyTorch's takes logits, and the softmax is inside it.
        """
        return F.cross_entropy(logits.flatten(0, 1), targets.flatten())

    def forget(self) -> None:
        r"""
        ### Forget the last step

        Gradients are *added* to those that are there.
        """
        self.optimizer.zero_grad()

    def step(self, inputs: Tensor, targets: Tensor) -> Tensor:
        r"""
        ### One step

        Returns the loss before it.
        """
        self.model.train()
        self.forget()
        with torch.autocast("cpu", torch.bfloat16, enabled=self.bfloat16):
            loss = self.loss(self.model(inputs).float(), targets)
        loss.backward()
        nn.utils.clip_grad_norm_(self.model.parameters(), 1.0)
        self.optimizer.step()
        self.schedule.step()
        return loss.detach()

    @torch.no_grad()
    def printed(self, text: Tensor) -> float:
        r"""
        ### The loss that is printed

        Of windows of held-out text, `[batch_size, seq_len + 1]`, teacher-forced, with whatever is
        wrong with the model, the targets or the loss.
        """
        self.model.eval()
        inputs, targets = self.cut(text)
        return self.loss(self.model(inputs), targets).item()


def example(
    batch_size: int = 3,
    heads: int = 5,
    d_k: int = 2,
    seq_len: int = 7,
    n_vocab: int = 11,
) -> dict[str, Tensor]:
    r"""
    ## Example

    Two steps, and the loss of a window after each.
    """
    d_model = heads * d_k
    model = RightModel(n_vocab, d_model, heads, 2, seq_len)
    training = RightTraining(model, 2)
    text = torch.randint(n_vocab, (batch_size, seq_len + 1))
    inputs, targets = training.cut(text)
    losses = [training.step(inputs, targets), training.step(inputs, targets)]
    assert training.printed(text) > 0
    return {"before": losses[0], "after": losses[1], "logits": model(inputs)}
