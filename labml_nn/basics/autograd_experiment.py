r"""
---
title: A Network Without PyTorch's Autograd
summary: Train a small network on letters, with the page of code that differentiates it.
---

**In:** a text. **Out:** a network that predicts a letter from the three before it, trained by
[gradient descent](#update) with the derivatives of [our own autograd](autograd.py).

Each letter has a row of 16 numbers in a table. To predict what follows “the”, the rows of “t”, “h”
and “e” go side by side, 48 numbers, through a layer of 64 features, a $\tanh$, and a second layer
that gives a logit for each letter. After 5,000 steps the validation loss is
[2.010](../../results/autograd.json#values.ours), the mean of three seeds. Trained with PyTorch's
autograd from the same weights it is [2.010](../../results/autograd.json#values.pytorchs), too.

[The loss, by the step](../../results/autograd.json#figures.losses)
"""

import torch
from torch import Tensor, nn

from labml_nn.basics.autograd import Variable, cross_entropy
from labml_nn.training.data import prepare
from labml_nn.training.run import Run
from labml_nn.transformers.basic.autoregressive_experiment import read_text

# Letters that the network sees.
CONTEXT = 3


def parameters(n_vocab: int, seed: int, d_model: int = 16, d_ff: int = 64) -> list[Variable]:
    r"""
    ## Weights

    A table with a row for each letter, and two layers, each a matrix and a bias.
    """
    torch.manual_seed(seed)

    # Divided by the root of the number of inputs, so that sums of so many products have the size of
    # one of them. Then few $\tanh$ start where they are flat. Undivided, most of them would.
    return [
        Variable(torch.randn(n_vocab, d_model)),
        Variable(torch.randn(CONTEXT, d_model, d_ff) / (CONTEXT * d_model) ** 0.5),
        Variable(torch.zeros(d_ff)),
        Variable(torch.randn(d_ff, n_vocab) / d_ff**0.5),
        Variable(torch.zeros(n_vocab)),
    ]


def predict(weights: list[Variable], contexts: Tensor) -> Variable:
    r"""
    ## Forward pass

    `contexts` has a row of three letters for each example. The result has a row of logits for each,
    one for every letter.
    """
    table, first, first_bias, second, second_bias = weights

    # The place of a letter matters, so each of the three places has its own part of the matrix.
    # What they give is added up.
    hidden = first_bias
    for place in range(CONTEXT):
        matrix = first[torch.tensor(place)]
        hidden = table[contexts[:, place]] @ matrix + hidden

    # Without the $\tanh$ between them, the two layers would be one.
    return hidden.tanh() @ second + second_bias


def update(weights: list[Variable], contexts: Tensor, targets: Tensor, rate: float) -> Variable:
    r"""
    ## Gradient descent

    One step along the derivatives, downwards. Returns the loss before it.
    """
    # `backward` adds to what is there, so the derivatives start at zero in each step.
    for weight in weights:
        weight.grad = torch.zeros_like(weight.value)

    # One forward pass, one backward pass, and a small step of each weight against its derivative.
    loss = cross_entropy(predict(weights, contexts), targets)
    loss.backward()
    for weight in weights:
        weight.value -= rate * weight.grad
    return loss


class Shared(nn.Module):
    r"""
    ## For the loop

    [Our training loop](../training/loop.py) expects a module of PyTorch. This one has the weights
    under a second name, so that they can be kept in a file. The derivatives stay ours.
    """

    def __init__(self, weights: list[Variable]) -> None:
        r"""
        * `weights` are those of the network
        """
        super().__init__()
        # The same numbers in memory: what our update moves, moves here as well. Nothing of PyTorch
        # differentiates them.
        values = [nn.Parameter(one.value, requires_grad=False) for one in weights]
        self.values = nn.ParameterList(values)


def notebook(
    corpus: str = "shakespeare",
    steps: int = 5000,
    seed: int = 1,
    sample_length: int = 200,
    keep_in: str = "",
) -> None:
    r"""
    ## Try it

    5,000 steps, as for the loss on this page. To keep the weights, name a folder as `keep_in`
    before you run the cells below. It lies on your Drive if that is mounted, else on the machine,
    which Colab takes back.
    """
    # ### The text and the network
    # Every place of the training text is an example: three letters, and the one after them. In each
    # step there are 256 random places, so each step points a little elsewhere than the whole text
    # would. A long step follows that error far. In the end the rate falls to a tenth, and many
    # short steps average their errors: the validation loss is 2.01 in place of 2.03. (Steps of
    # 8,192 places point more truly, and go down at the high rate as well.) To start from scratch,
    # run this cell again. If you named a folder in `keep_in`, remove the run's file there first.
    tokenizer, training, validation = prepare(read_text(corpus), seq_len=64)
    weights = parameters(len(tokenizer), seed)

    def batch_at(step: int) -> tuple[Tensor, Tensor]:
        # The step decides. A training that was stopped goes on with the places it would have had.
        generator = torch.Generator().manual_seed(seed * 1_000_003 + step)
        places = torch.randint(len(training) - CONTEXT, (256,), generator=generator)
        return training[places[:, None] + torch.arange(CONTEXT)], training[places + CONTEXT]

    def step_down(model: nn.Module, contexts: Tensor, targets: Tensor) -> Tensor:
        # Our update differentiates and moves in one go, so there is no optimizer.
        rate = 0.5 if run.done < 0.7 * run.planned else 0.05
        return update(weights, contexts, targets, rate).value.flatten()[0]

    how = {"gradients": step_down, "clip": lambda model: None}
    run = Run(Shared(weights), batch_at, [], keep_in=keep_in, **how)

    # ### Training
    # The curve goes up and down, because 256 places are a small part of the text. Stop it when you
    # like; run this cell again, and it goes on.
    run.train(steps)

    # ### The validation loss
    # On text that it never saw.
    contexts = validation.unfold(0, CONTEXT, 1)[:-1]
    loss = cross_entropy(predict(weights, contexts), validation[CONTEXT:])
    print(f"validation loss {loss.value.item():.3f}")

    # ### A sample
    # One letter after the other, each drawn by its probability.
    tokens = tokenizer.encode("ROMEO:\n").tolist()
    for _ in range(sample_length):
        logits = predict(weights, torch.tensor([tokens[-CONTEXT:]]))
        tokens.append(logits.value.softmax(dim=1).multinomial(1).item())
    print(tokenizer.decode(torch.tensor(tokens)))


def example(batch_size: int = 7, n_vocab: int = 11, d_ff: int = 5) -> tuple[Tensor, Tensor]:
    r"""
    ## Example

    An alphabet over and over, and a small network that learns what comes next.

    ### Measured here

    A [table of pairs](../training/counting.py) reaches
    [2.482](../../results/counting.json#values.pairs), which is worse than the network's 2.010, and
    counting three letters back [1.789](../../results/counting.json#tables.contexts.3.validation),
    which is better. A network this small doesn't use its three letters as well as a table does.
    With 256 hidden features in place of 64, and the same steps, we found 1.886.

    ### Exercises

    ??? question "How many weights does the network have, with 66 letters?"
        1,056 in the table, 3 · 16 · 64 + 64 in the first layer and 64 · 66 + 66 in the second:
        8,482.

    ??? question "Leave out the line that sets the derivatives to zero. What do you see?"
        Each step goes along the sum of all derivatives so far, like a ball that nothing slows down:
        the loss falls for some steps, and then rises far above guessing. The
        [museum of mistakes](../transformers/mistakes/model_mistakes.py) has the same with AdamW,
        which still learns, only worse.

    ??? question "Give the network six letters in place of three. Does the loss fall?"
        A little, to 1.98. It is one number, `CONTEXT`: try it. The matrix of the first layer then
        has twice as many weights.
    """
    # Three letters of the alphabet, and the one that follows.
    weights = parameters(n_vocab, seed=1, d_model=3, d_ff=d_ff)
    contexts = (torch.arange(batch_size)[:, None] + torch.arange(CONTEXT)) % n_vocab
    targets = (contexts[:, -1] + 1) % n_vocab

    # The loss falls from step to step.
    losses = [update(weights, contexts, targets, rate=0.5).value for _ in range(20)]
    return predict(weights, contexts).value, torch.stack(losses).flatten()
