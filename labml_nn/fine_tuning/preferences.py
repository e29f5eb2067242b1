r"""
---
title: Preferences
summary: From pairs of answers, one better than the other, to a better model, in ten lines of loss.
know: dialogues.py
paper:
  title: "Direct Preference Optimization: Your Language Model is Secretly a Reward Model"
  authors: Rafailov et al.
  year: 2023
  link: https://arxiv.org/abs/2305.18290
terms:
  Bradley-Terry model: The probability that one of two wins, from the difference of two scores.
  direct preference optimization (DPO): Trains a model on pairs of answers, without a reward model.
  reference model: A frozen copy of a model, from which training should not go too far.
---

Often it is easier to say which of two answers is better than to write a good one. *Direct
preference optimization*, DPO, learns from such pairs. A score says how much likelier an answer has
become since the training began: the difference of its log-probabilities, times a small number
$\beta$, 0.1 here. Say that “lima.” was chosen and “the capital of peru is lima.” rejected:

| | log-probability before | now | score |
| --- | ---: | ---: | ---: |
| chosen | −2 | −1.5 | 0.05 |
| rejected | −2 | −3 | −0.1 |

The *margin* is the difference of the scores, 0.15, and the loss is $-\ln \sigma(0.15) = 0.621$. At
the start it was $\ln 2 = 0.693$. So the loss falls if the chosen answer becomes likelier *than the
rejected one*.

It also falls if both get worse. Let chosen go to −5 and rejected to −9: the margin is 0.4, and the
loss 0.513, lower still. That is what happens here. After 40 steps on pairs all answers of our
[fine-tuned model](dialogue_experiment.py) are short, as wanted, but of its likeliest answers only
[0.36](../../results/dialogues.json#tables.preferences.beta%200.1.greedy) are right, and
[0.79](../../results/dialogues.json#tables.preferences.before.greedy) were.

**In:** a question with two answers, the *chosen* one and the *rejected* one, and a frozen copy of
the model. **Out:** a loss.
"""

import copy
from collections.abc import Callable

import torch
import torch.nn.functional as F
from torch import Tensor, nn


def wins(score: Tensor, other: Tensor) -> Tensor:
    r"""
    ## The Bradley-Terry model

    The probability that an answer with this score is preferred to one with the other.

    Chess players have ratings, and the difference of two ratings says how likely one is to beat the
    other. The same for answers: $y_w$ (the winner), with the score $r_w$, is preferred to $y_l$
    (the loser), with the score $r_l$, with the probability

    $$
    p(y_w \succ y_l) = \sigma(r_w - r_l) \qquad \sigma(z) = \frac{1}{1 + e^{-z}}
    $$

    This is the *Bradley-Terry model* of 1952. Scores of 2 and 0 give 0.88, and so do 102 and 100. A
    second model can learn the scores from many pairs. Then the first model is trained to give
    answers with high scores, without going too far from what it was. This longer way was the usual
    one: these are the second and the third step of [the paper on instructions](dialogues.py).
    """
    # Only the difference matters, and without one it is a half.
    return torch.sigmoid(score - other)


def log_probabilities(model: nn.Module, inputs: Tensor, targets: Tensor) -> Tensor:
    r"""
    ## The log-probability of an answer

    Of each column, `[batch_size]`. Inputs and targets are those of
    [dialogues](dialogues.py#inputs_and_targets), `[seq_len, batch_size]`.
    """
    # The probability of an answer is the product of those of its tokens, so the logarithms are
    # added. What is ignored has a loss of 0 and adds nothing.
    logits = model(inputs).flatten(0, 1)
    losses = F.cross_entropy(logits, targets.flatten(), reduction="none")

    # The sum, not the mean: the formula has probabilities of whole answers.
    return -losses.view_as(targets).sum(dim=0)


def preference_loss(
    chosen: Tensor,
    rejected: Tensor,
    reference_chosen: Tensor,
    reference_rejected: Tensor,
    beta: float,
) -> Tensor:
    r"""
    ## The loss

    Of log-probabilities, `[n_pairs]` each.

    DPO needs no model of scores, because it is known where the longer way ends. Of all models
    $\pi$, the one with the best mean score, less $\beta$ times its distance (Kullback-Leibler
    divergence) from the model before, $\pi_{ref}$, gives the answer $y$ to the question $x$ the
    probability

    $$
    \pi(y \mid x) = \frac{1}{Z(x)} \, \pi_{ref}(y \mid x) \, e^{r(x, y) / \beta}
    $$

    where $Z(x)$ makes the sum of all probabilities one. The number $\beta$ is ours to choose: the
    larger, the closer the model stays to the one before; 0.1 is usual. Solved for the score,

    $$
    r(x, y) = \beta \ln \frac{\pi(y \mid x)}{\pi_{ref}(y \mid x)} + \beta \ln Z(x)
    $$

    The second term is the same for both answers to a question, so it cancels in the difference.
    What is left can be computed: the score of an answer is how much likelier it has become, on the
    scale of logarithms, times $\beta$. Put into the Bradley-Terry model, the loss of a pair is

    $$
    L = -\ln \sigma\left( \beta \left(
    \ln \frac{\pi(y_w \mid x)}{\pi_{ref}(y_w \mid x)} -
    \ln \frac{\pi(y_l \mid x)}{\pi_{ref}(y_l \mid x)}
    \right) \right)
    $$

    At the start both models are the same, every score is 0, and the loss is $\ln 2 \approx 0.693$.
    """
    # How much likelier each answer has become, as a logarithm: $e$ times as likely is 1. We
    # subtract logarithms, because the probability of a long answer is too small for a quotient.
    score_chosen = chosen - reference_chosen
    score_rejected = rejected - reference_rejected

    # Positive where the model has moved to the chosen answer.
    margin = beta * (score_chosen - score_rejected)

    # $-\ln \sigma$ in one function: the logarithm of a sigmoid that is rounded to 0 would be
    # infinite.
    return -F.logsigmoid(margin).mean()


def preference_gradients(
    reference: nn.Module, beta: float
) -> Callable[[nn.Module, Tensor, Tensor], Tensor]:
    r"""
    ## Loss and gradients of a batch

    For the [training loop](../training/loop.py#train), in the place of its own. The first half of
    the columns are chosen answers, the second half the rejected ones, in the same order.

    What does a step do? The derivative of the loss of a pair with the margin $m$ is

    $$
    \nabla L = - \beta \, \sigma(-m) \left(
    \nabla \ln \pi(y_w \mid x) - \nabla \ln \pi(y_l \mid x) \right)
    $$

    So a step pushes the chosen answer up and the rejected one down, with a weight: a pair in the
    right order, $m = 4$, weighs 0.018, one in the wrong order, $m = -4$, weighs 0.982. Pairs that
    the model has right already are nearly left alone. (Both answers use the same weights, so each
    push moves the other answer, too. If the two gradients are much alike, and the rejected one's is
    the longer, both fall.) With a small $\beta$ a model has to go
    further to get a margin of 4.

    [The loss of a pair, and its weight](../../results/dialogues.json#figures.margin)

    Only the *difference* counts. If both answers become less likely, but the rejected one by more,
    the loss falls as well.
    """

    def gradients(model: nn.Module, inputs: Tensor, targets: Tensor) -> Tensor:
        # The model, whose weights get gradients, and the copy, whose weights don't.
        now = log_probabilities(model, inputs, targets)
        with torch.no_grad():
            before = log_probabilities(reference, inputs, targets)

        # Halves: chosen and rejected, by the model and by its copy.
        loss = preference_loss(*now.chunk(2), *before.chunk(2), beta)
        loss.backward()
        return loss.detach()

    return gradients


def example(n_pairs: int = 3, seq_len: int = 5, n_vocab: int = 7) -> tuple[Tensor, Tensor]:
    r"""
    ## Example

    A table of pairs as the model, and random answers of which the last three tokens count.

    ### Measured here

    Our model gives short answers, “lima.”, and sentences, “the capital of peru is lima.”: at first
    [0.47](../../results/dialogues.json#tables.preferences.before.short) of its drawn answers are
    short, and after 40 steps on pairs
    [1.00](../../results/dialogues.json#tables.preferences.beta%200.1.short). Plain fine-tuning on
    the short answers does less harm than the pairs:
    [0.77](../../results/dialogues.json#tables.preferences.chosen%20answers%20only.greedy) of the
    likeliest answers stay right. Pairs are for answers that are easier to judge than to write.
    [The experiment](preference_experiment.py) looks into it.

    ### Exercises

    ??? question "Chosen is twice as likely as before, rejected half as likely. The margin?"
        With $\beta = 0.1$, $0.1 \, (\ln 2 - \ln \tfrac12) = 0.2 \ln 2 \approx 0.139$. The loss is
        0.626.

    ??? question "Leave out the reference. What does the loss want then?"
        That the chosen answer is likelier than the rejected one, however likely both were before. A
        long answer usually has a lower log-probability than a short one, so pairs with a long
        chosen answer look as if they were in the wrong order from the start.

    ??? question "Use the mean of the tokens' log-probabilities for their sum. What changes?"
        The formula has the probability of a whole answer, a product, whose logarithm is a sum. With
        the mean, each token of a long answer counts less than one of a short answer. Some methods
        want just that, but it is another loss.

    ??? question "Both begin at $e^{-2}$. Chosen falls to $e^{-5}$, rejected to $e^{-9}$. The loss?"
        It is lower, since the difference has grown by 4. Both answers have become rare, and
        something else has become likely: the loss doesn't say what.
    """
    # A winner and a loser, by their scores.
    wins(torch.tensor(2.0), torch.tensor(0.0))

    # Row $i$ has the logits of the token after token $i$. The copy stays as it is, so it remembers
    # how likely each answer was.
    model = nn.Embedding(n_vocab, n_vocab)
    reference = copy.deepcopy(model).requires_grad_(False)

    # The first columns are chosen, the last ones rejected. Targets of -100 are those that
    # `cross_entropy` leaves out: here all but the last three of each answer.
    batch_size = 2 * n_pairs
    tokens = torch.randint(n_vocab, (seq_len + 1, batch_size))
    inputs = tokens[:-1]
    targets = tokens[1:].clone()
    targets[:-3] = -100

    # One step of plain gradient descent, and the loss of the same pairs after it.
    gradients = preference_gradients(reference, beta=0.5)

    # The first loss is that of two equal models.
    first = gradients(model, inputs, targets)
    with torch.no_grad():
        model.weight -= model.weight.grad
    return first, gradients(model, inputs, targets)
