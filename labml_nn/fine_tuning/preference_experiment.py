r"""
---
title: A Model Learns What Is Preferred
summary: The model that has learned to answer is trained on pairs, and what it gains and loses.
---

Two answers are right: “lima.”, and “the capital of peru is lima.” Suppose that people like the
short one better. Can a model learn that from [pairs](preferences.py) alone, and stay right?

**In:** the model that [has learned to answer](dialogue_experiment.py) in both ways, and pairs about
the taught half of the facts, with the short answer chosen and the sentence rejected. **Out:** its
answers about the other half of the facts: how many are short, and how many are right.

[Before, after 40 steps on pairs, and after as many on the chosen answers
alone](../../results/dialogues.json#tables.preferences)

**What is gained:** almost no answer is a sentence, whatever $\beta$ is. **What is lost:** with
$\beta = 0.1$ only [0.36](../../results/dialogues.json#tables.preferences.beta%200.1.greedy) of its
likeliest answers are right now. A larger $\beta$ keeps the model closer to its copy, and more
answers right. ([Why fewer are right, and what to use instead](preference_experiment.py#example).)
"""

import random
from collections.abc import Sequence
from copy import deepcopy
from typing import Any

import torch
from torch import Tensor

from labml_nn.fine_tuning.dialogue_experiment import (
    FINE_TUNING_RATE,
    BatchAt,
    ask,
    packed_batches,
    small_model,
    text_batches,
)
from labml_nn.fine_tuning.dialogues import ChatTokenizer, inputs_and_targets, side_by_side
from labml_nn.fine_tuning.facts import (
    Fact,
    all_facts,
    dialogue,
    share_right,
    split_facts,
    text_to_read,
)
from labml_nn.fine_tuning.packing import PackedTransformer
from labml_nn.fine_tuning.preferences import log_probabilities, preference_gradients
from labml_nn.training.device import choose_device
from labml_nn.training.loop import adamw
from labml_nn.training.run import Run
from labml_nn.training.sampling import draw


def pairs(tokenizer: ChatTokenizer, facts: Sequence[Fact]) -> tuple[Tensor, Tensor]:
    r"""
    ## Pairs

    Inputs and targets, `[seq_len, batch_size]`: first all short answers, which are chosen, then all
    sentences.
    """
    # Usually people or programs compare two answers that a model has given. Here short is always
    # better, and both answers are right, so that the pairs say nothing about facts.
    said = [dialogue(fact, way) for way in ("short", "sentence") for fact in facts]

    # Side by side and not packed, because a column has to be one answer: its log-probability is a
    # sum over the column.
    rendered = [tokenizer.render(one) for one in said]
    return inputs_and_targets(*side_by_side(rendered, tokenizer.marks["<begin>"]))


def pair_batches(
    tokenizer: ChatTokenizer, facts: Sequence[Fact], seed: int, n_pairs: int = 12
) -> BatchAt:
    r"""
    ## Batches of pairs
    """

    # As for dialogues, seed and step decide which facts are in a batch, so that runs with different
    # losses see the same pairs.
    def batch_at(step: int) -> tuple[Tensor, Tensor]:
        # Twelve pairs are 24 answers, about as many as in two batches of dialogues. Each pair is
        # about one fact, so that the two answers differ in their form alone.
        return pairs(tokenizer, random.Random(seed * 1_000_003 + step).choices(facts, k=n_pairs))

    return batch_at


def preference_recipe(model: PackedTransformer, beta: float) -> dict[str, Any]:
    r"""
    ## Training on pairs

    What the [loop](../training/loop.py#train) gets besides the batches. It is the same loop, with
    another loss.
    """
    # The copy is made before the first step. It has no dropout and no gradients. So there are two
    # models in memory now: that is the price of the reference.
    reference = deepcopy(model).eval().requires_grad_(False)

    # Half the rate of fine-tuning. The loss of a pair can always fall further, so what ends this
    # training is the number of steps.
    optimizers = [adamw(model, rate=1e-4)]
    return {"optimizers": optimizers, "gradients": preference_gradients(reference, beta)}


def share_short(answers: Sequence[str]) -> float:
    r"""
    ## Share of short answers

    Right or wrong.
    """
    # No word that is an answer begins like a sentence. An answer that is neither, such as half a
    # word, is counted as short.
    return sum(not one.startswith("the ") for one in answers) / len(answers)


def notebook(
    steps: int = 2000,
    fine_tuning_steps: int = 80,
    preference_steps: int = 40,
    beta: float = 0.1,
    seed: int = 1,
    keep_in: str = "",
) -> None:
    r"""
    ## Try it

    Reading, fine-tuning, and then the pairs, with as many steps as for the table on this page. To
    keep the models, name a folder as `keep_in` before you run the cells below. It lies on your
    Drive if that is mounted, else on the machine, which Colab takes back.
    """
    # ### A model that answers
    # As in [the experiment before](dialogue_experiment.py). First it reads. The model's
    # [run](../training/run.py) keeps the optimizer, the step and the losses. To start from scratch,
    # run this cell again. If you named a folder in `keep_in`, remove the run's file there first.
    facts = all_facts()
    taught, held_out = split_facts(facts)
    text = text_to_read(facts)
    tokenizer = ChatTokenizer(text)
    torch.manual_seed(seed)
    reader = small_model(tokenizer).to(choose_device())
    texts = text_batches(tokenizer.encode(text), seed)
    reading = Run(reader, texts, [adamw(reader)], name="reading", keep_in=keep_in)

    # Stop it when you like; run this cell again, and it goes on.
    reading.train(steps)

    # A copy learns to answer, in both ways, as its dialogues do.
    before = deepcopy(reader)
    dialogues = packed_batches(tokenizer, taught, seed)
    optimizers = [adamw(before, FINE_TUNING_RATE)]
    answering = Run(before, dialogues, optimizers, name="answering", keep_in=keep_in)

    # So few steps that nothing is measured on the way.
    answering.train(fine_tuning_steps)

    # ### Before
    # Drawn, since the likeliest answer hides how likely the other way is.
    def look(model: PackedTransformer) -> None:
        # The same random numbers each time, so that a difference is one of the model.
        given = ask(model, tokenizer, held_out, draw, torch.Generator().manual_seed(seed))
        print(f"drawn answers: {share_short(given):.2f} are short, such as {given[:4]}")

        # Whether an answer is right, the likeliest tells better: a drawn answer can be wrong by
        # chance, however sure the model is.
        likeliest = ask(model, tokenizer, held_out)
        print(f"likeliest answers: {share_right(held_out, likeliest):.2f} are right")

    look(before)

    # ### Learn from pairs
    # Those of taught facts are trained on, and those of held-out facts looked at, so that what is
    # measured was never a target. A copy of the model from above learns: run this cell again, and
    # it is that model once more.
    model = deepcopy(before)
    batch_at = pair_batches(tokenizer, taught, seed)
    run = Run(model, batch_at, **preference_recipe(model, beta), name="pairs", keep_in=keep_in)
    watched = [one.to(run.device) for one in pairs(tokenizer, held_out)]

    # Chosen answers are the first half of the columns. They are looked at after each step.
    def log_likely() -> list[float]:
        # No gradients are needed here, and the training goes on as if nobody had looked.
        with torch.no_grad():
            chosen, rejected = log_probabilities(model, *watched).chunk(2)
        return [chosen.mean().item(), rejected.mean().item()]

    run.train(preference_steps, log_likely, times=preference_steps)

    # ### What the pairs have done
    # Both kinds of answers can become less likely, as long as the rejected ones do so faster. And
    # whether a short answer is right, no pair has said.
    import matplotlib.pyplot as plt

    curves = list(run.seen.values())
    for at, name in enumerate(("chosen", "rejected")):
        plt.plot([one[at] for one in curves], label=name)
    plt.xlabel("steps on pairs")
    plt.ylabel("mean log-probability of an answer")
    plt.legend()
    plt.show()

    look(model)
    print(f"validation loss of chosen answers {-curves[-1][0]:.3f} nats each")


def example(n_pairs: int = 3, n_facts: int = 7) -> tuple[Tensor, Tensor]:
    r"""
    ## Example

    A batch of pairs.

    ### Why fewer answers are right

    Before the pairs, [0.79](../../results/dialogues.json#tables.preferences.before.greedy) of the
    likeliest answers were right. Look at the log-probabilities of right answers:

    [The mean log-probability of both answers about held-out
    facts](../../results/dialogues.json#figures.pairs)

    Libraries print such numbers as chosen and rejected *rewards*: what a log-probability has gained
    since the start, times $\beta$.

    In the first ten steps the chosen answers become likelier. From then on *both* fall, and the
    rejected ones faster: with $\beta = 0.1$ their log-probabilities are
    [−3.5](../../results/dialogues.json#tables.preferences.beta%200.1.chosen) and
    [−19.4](../../results/dialogues.json#tables.preferences.beta%200.1.rejected) at the end, and
    were [−2.8](../../results/dialogues.json#tables.preferences.before.chosen) and
    [−1.9](../../results/dialogues.json#tables.preferences.before.rejected) before. That satisfies
    the loss, which sees the difference alone. The probability goes to short texts that are wrong. A
    few are answers to other questions, more are no words at all: asked for the capital of croatia,
    a model said “cohia.” With $\beta = 1$ the right short answers end likelier than at the start,
    and still fewer of the likeliest answers are right,
    [0.55](../../results/dialogues.json#tables.preferences.beta%201.greedy). Our guess is that many
    of the right ones had been sentences, and that a part of what these lost went to wrong short
    texts. In larger models both fall as well ([Razin et al.
    2024](https://arxiv.org/abs/2410.08847), [Pal et al. 2024](https://arxiv.org/abs/2402.13228)).

    ### What did not help here

    DPO itself, if answers should be right and short. This is an entry of [a
    list](../../docs/what_did_not_help.md) of such things. As many steps of [plain
    fine-tuning](dialogue_experiment.py) on the chosen answers alone make
    [0.94](../../results/dialogues.json#tables.preferences.chosen%20answers%20only.short) of the
    answers short and leave
    [0.77](../../results/dialogues.json#tables.preferences.chosen%20answers%20only.greedy) right.
    Where the wanted answer can be written down, that is enough. Pairs are for what can be judged
    but not written.

    ### Exercises

    ??? question "Which loss do you expect for the very first batch of pairs?"
        $\ln 2 \approx 0.693$, whatever $\beta$ is: model and copy are the same, so every margin is
        0.

    ??? question "Asked for a capital, a trained model says “cohia.” Why did no pair prevent it?"
        In all pairs both answers are right, so they say nothing about wrong ones. Put wrong answers
        among the rejected, or stop earlier: after ten steps the chosen answers were still likelier
        than at the start.

    ??? question "Train with $\beta = 0$. What happens?"
        Next to nothing. The margin is 0 for any model, and so is its gradient. Only weight decay
        is left.
    """
    # From a few facts, half of them taught. The tokenizer knows the letters of these alone, and the
    # marks.
    taught, _ = split_facts(all_facts()[: 2 * n_facts])
    tokenizer = ChatTokenizer(text_to_read(taught, n_facts))

    # Twice as many columns as pairs. The last half has the longer answers, so the columns of the
    # first half are filled.
    batch_size = 2 * n_pairs
    inputs, targets = pair_batches(tokenizer, taught, 1, n_pairs)(0)
    seq_len = len(inputs)
    assert targets.shape == (seq_len, batch_size)
    return inputs, targets
