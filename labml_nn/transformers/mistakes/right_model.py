r"""
---
title: The Right Model and Its Training
summary: A small GPT-2 and its step of training, for mistakes around the attention.
paper:
  title: Language Models are Unsupervised Multitask Learners
  authors: Radford et al.
  year: 2019
  link: https://cdn.openai.com/better-language-models/language_models_are_unsupervised_multitask_learners.pdf
---

Not every mistake is in the attention. Positions can be added along the wrong axis, and targets can
be the wrong characters: with targets that aren't shifted, the printed loss is
[0.000](../../../results/mistakes.json#tables.mistakes.TargetsNotShifted.printed). So here are the
model and the training around [the attention](right_attention.py). Six of the seven
[mistakes](model_mistakes.py) replace one line of them, the seventh a line of the attention.

**In:** windows of text, the batch first. **Out:** a trained model and the loss that a training
prints.

[What mistakes in the model and in its training do to the
loss](../../../results/mistakes.json#figures.model)

Unlike GPT-2, the model has a matrix of its own for the logits, where GPT-2 takes that of the
tokens, all its matrices start equally small, and its GELU is not approximated. It is here to have a
line replaced. To train a model, take the [real one](../basic/autoregressive_experiment.py) and its
[loop](../../training/loop.py).
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

    Attention lets positions exchange something, then a small network works at each position.
    """

    def __init__(self, d_model: int, attention: nn.Module) -> None:
        r"""
        * `d_model` is the number of features
        * `attention` is the first part of the layer
        """
        super().__init__()

        # Made by the caller, so that an exhibit can take its place.
        self.attention = attention

        # What goes into a part is normalised; the sum that goes past it is not.
        self.norms = nn.ModuleList(nn.LayerNorm(d_model) for _ in range(2))

        # Four times as wide inside, as in GPT-2.
        self.network = nn.Sequential(
            nn.Linear(d_model, 4 * d_model), nn.GELU(), nn.Linear(4 * d_model, d_model)
        )

    def forward(self, x: Tensor) -> Tensor:
        r"""
        `x` and the result are `[batch_size, seq_len, d_model]`.
        """
        # What comes out of a part is *added*, so there is a path on which nothing is lost.
        for norm, part in zip(self.norms, (self.attention, self.network), strict=True):
            x = x + part(norm(x))
        return x


class RightModel(nn.Module):
    r"""
    ## The model
    """

    def __init__(
        self,
        n_vocab: int,
        d_model: int,
        n_layers: int,
        seq_len: int,
        attention: Callable[[], nn.Module],
        layer: Callable[..., nn.Module] = RightLayer,
    ) -> None:
        r"""
        * `n_vocab`, `d_model` and `n_layers` are its sizes
        * `seq_len` is the greatest length of a sequence
        * `attention` makes one, and is called once for each layer
        * `layer` makes a layer of it
        """
        super().__init__()

        # A vector for each token and, added to it, one for each position. Both are learned.
        self.tokens = nn.Embedding(n_vocab, d_model)
        self.positions = nn.Parameter(torch.zeros(seq_len, d_model))

        # Each layer has weights of its own.
        self.layers = nn.Sequential(*(layer(d_model, attention()) for _ in range(n_layers)))

        # From features to a score for each character of the vocabulary.
        self.norm = nn.LayerNorm(d_model)
        self.generator = nn.Linear(d_model, n_vocab, bias=False)

        # As in GPT-2: matrices small, biases zero. Then the first guess is nearly even.
        for name, weight in self.named_parameters():
            if weight.dim() > 1:
                # Gains of normalisations keep their ones.
                nn.init.normal_(weight, std=0.02)
            elif name.endswith("bias"):
                nn.init.zeros_(weight)

    def forward(self, tokens: Tensor) -> Tensor:
        r"""
        From `[batch_size, seq_len]` to logits for the token after each,
        `[batch_size, seq_len, n_vocab]`.
        """
        # The positions are on axis 1.
        x = self.tokens(tokens) + self.positions[: tokens.shape[1]]

        # Normalised once more, then a score for each token.
        return self.generator(self.norm(self.layers(x)))


class RightTraining:
    r"""
    ## The training
    """

    def __init__(
        self, model: nn.Module, n_steps: int, learning_rate: float = 3e-3, bfloat16: bool = False
    ) -> None:
        r"""
        * `model` is trained for `n_steps` steps
        * `learning_rate` is the highest rate of the schedule
        * `bfloat16` is whether the forward pass computes with 16 bits
        """
        # All that a step needs, in one place.
        self.model = model
        self.bfloat16 = bfloat16

        # AdamW keeps two means: that of the gradients is over about 10 steps, that of their squares
        # over about 100. (PyTorch's own 1,000 would be longer than the museum's runs.)
        self.optimizer = torch.optim.AdamW(
            model.parameters(), learning_rate, betas=(0.9, 0.99), weight_decay=0.1, fused=True
        )

        # The [usual schedule](../../training/loop.py#learning_rate): it rises, then falls.
        self.schedule = torch.optim.lr_scheduler.LambdaLR(
            self.optimizer, lambda step: rate_at(step, n_steps)
        )

    def cut(self, text: Tensor) -> tuple[Tensor, Tensor]:
        # The target of each position is the token after it.
        return text[:, :-1], text[:, 1:]

    def loss(self, logits: Tensor, targets: Tensor) -> Tensor:
        # PyTorch's loss takes logits: the softmax is inside it.
        return F.cross_entropy(logits.flatten(0, 1), targets.flatten())

    def step(self, inputs: Tensor, targets: Tensor) -> Tensor:
        r"""
        ### One step

        Returns the loss before it.
        """
        # Gradients are *added* to those that are there, so those of the last step go first.
        self.model.train()
        self.optimizer.zero_grad()

        # The products may have 16 bits, the loss has 32.
        with torch.autocast("cpu", torch.bfloat16, enabled=self.bfloat16):
            loss = self.loss(self.model(inputs).float(), targets)

        # The gradient of every weight.
        loss.backward()

        # One bad batch must not spoil the steps after it. AdamW divides by the root of its mean
        # square, so that even a huge gradient moves each weight by about the learning rate. But it
        # stays in both means. Without clipping, the next ten steps and more still follow it, and
        # the hundred after them are too short.
        nn.utils.clip_grad_norm_(self.model.parameters(), 1.0)

        # Move the weights, then the learning rate.
        self.optimizer.step()
        self.schedule.step()

        # A number to print, without its graph. `backward` has already freed the activations.
        return loss.detach()

    @torch.no_grad()
    def printed(self, text: Tensor) -> float:
        r"""
        ### The loss that is printed

        Of held-out text, teacher-forced, with whatever is wrong with the model or the loss.
        """
        # Dropout is off, as it should be in evaluation.
        self.model.eval()

        # The same cut as in training, so that the numbers can be compared.
        inputs, targets = self.cut(text)
        return self.loss(self.model(inputs), targets).item()


def example(
    batch_size: int = 3, heads: int = 5, d_k: int = 2, seq_len: int = 7, n_vocab: int = 11
) -> dict[str, Tensor]:
    r"""
    ## Example

    Two steps, and the loss before each. The first is near $\ln 11 = 2.398$, an even guess.
    """
    d_model = heads * d_k
    model = RightModel(n_vocab, d_model, 2, seq_len, lambda: RightAttention(heads, d_model))

    # A schedule of two steps.
    training = RightTraining(model, 2)

    # Random windows: there is nothing to learn but these.
    text = torch.randint(n_vocab, (batch_size, seq_len + 1))

    # Seven inputs from eight characters, and seven targets.
    inputs, targets = training.cut(text)

    # The same batch twice: the second loss is lower.
    losses = [training.step(inputs, targets), training.step(inputs, targets)]

    # The loss as a program would print it, in evaluation.
    assert training.printed(text) > 0

    # Both losses, and logits for each position.
    return {"before": losses[0], "after": losses[1], "logits": model(inputs)}
