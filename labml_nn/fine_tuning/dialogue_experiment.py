r"""
---
title: A Model Learns to Answer
summary: A small transformer reads 146 facts, and is then shown how questions are answered.
---

Does fine-tuning teach a model facts, or only how to answer? A small model reads about 146 facts for
2,000 steps. Then 80 steps show it dialogues about *one half* of the facts, and we ask about the
*other half*.

Before the dialogues it mostly [goes on with questions](dialogues.py). After them it answers
[0.79](../../results/dialogues.json#tables.changes.as%20on%20the%20page.held_out) correctly, letter
for letter. No dialogue has these answers, so the model has them from its reading. The same 80 steps
teach a model that has read nothing next to nothing: it answers
[0](../../results/dialogues.json#tables.changes.nothing%20read%20before.held_out) of them. (20 of
the 73 are [the reverse](facts.py#example) of taught facts, and no easier than the others.)

**In:** a model that has read, and dialogues. **Out:** a model that answers.
"""

import random
from collections.abc import Callable, Sequence
from copy import deepcopy

import torch
import torch.nn.functional as F
from torch import Tensor

from labml_nn.fine_tuning.dialogues import ChatTokenizer, inputs_and_targets
from labml_nn.fine_tuning.facts import (
    Fact,
    all_facts,
    dialogue,
    share_right,
    split_facts,
    text_to_read,
)
from labml_nn.fine_tuning.packing import PackedTransformer, answer, pack
from labml_nn.training.data import RandomWindows
from labml_nn.training.device import choose_device
from labml_nn.training.loop import adamw
from labml_nn.training.run import Run
from labml_nn.training.sampling import Choose, greedy, write
from labml_nn.training.to_device import to_device
from labml_nn.transformers.fused_attention import FusedAttention

# The context. The longest dialogue has 73 tokens, and most windows hold two.
SEQ_LEN = 128

# The highest learning rate of fine-tuning, a fifteenth of that of reading. With five times as much,
# fewer answers are right, as the table [below](dialogue_experiment.py#example) shows.
FINE_TUNING_RATE = 2e-4

# What the training loop takes: the inputs and targets of a step.
BatchAt = Callable[[int], tuple[Tensor, Tensor]]


def small_model(tokenizer: ChatTokenizer) -> PackedTransformer:
    r"""
    ## The model

    Less than half of the [small transformer](../transformers/basic/autoregressive_model.py),
    so that all fits into two minutes: about 340,000 parameters.
    """
    # The context is one window. The fused attention computes the same in less time. The first
    # argument is the mark that the model has to know, to keep dialogues apart.
    return PackedTransformer(
        tokenizer.marks["<begin>"],
        n_vocab=len(tokenizer),
        d_model=96,
        heads=4,
        n_layers=3,
        d_ff=384,
        seq_len=SEQ_LEN,
        attention=FusedAttention,
    )


def text_batches(text: Tensor, seed: int) -> BatchAt:
    r"""
    ## Batches of text

    What the model reads first: every letter counts, and there are no marks in it.
    """
    # Six windows of 128 letters are as many predictions as twelve of 64, the usual batch here. A
    # window can begin anywhere, so the model gets to know each letter at each position. (Those of a
    # dialogue will begin at 0.)
    return RandomWindows(text, SEQ_LEN, 6, seed).at


def packed_batches(
    tokenizer: ChatTokenizer, facts: Sequence[Fact], seed: int, batch_size: int = 6
) -> BatchAt:
    r"""
    ## Batches of dialogues

    Each answered in one of the two ways, at random.
    """

    def batch_at(step: int) -> tuple[Tensor, Tensor]:
        # As in [RandomWindows](../training/data.py#RandomWindows): seed and step decide.
        draw = random.Random(seed * 1_000_003 + step)

        # Enough for all windows, since none has room for more than three dialogues.
        ways = draw.choices(["short", "sentence"], k=4 * batch_size)
        chosen = draw.choices(facts, k=len(ways))

        # One token more than the context, for the last target.
        rendered = [tokenizer.render(dialogue(*one)) for one in zip(chosen, ways, strict=True)]
        tokens, counted = pack(rendered, SEQ_LEN + 1, tokenizer.marks["<begin>"])

        # The windows that are too many are left out: all batches have the same size, whatever was
        # drawn.
        return inputs_and_targets(tokens[:, :batch_size], counted[:, :batch_size])

    return batch_at


def ask(
    model: PackedTransformer,
    tokenizer: ChatTokenizer,
    facts: Sequence[Fact],
    choose: Choose = greedy,
    generator: torch.Generator | None = None,
) -> list[str]:
    r"""
    ## Ask about facts
    """
    # The first message of a dialogue is the question. No right answer has more than 40 letters.
    questions = [dialogue(fact, "short")[:1] for fact in facts]
    return answer(model, tokenizer, questions, 40, SEQ_LEN, choose, generator)


def notebook(
    steps: int = 2000, fine_tuning_steps: int = 80, seed: int = 1, keep_in: str = ""
) -> None:
    r"""
    ## Try it

    `steps` of reading, then those of fine-tuning. They are as many as for the shares on this page.
    To keep the models, name a folder as `keep_in` before you run the cells below. It lies on your
    Drive if that is mounted, else on the machine, which Colab takes back.
    """
    # ### Reading
    # All facts are in the text. Half of them will be in the dialogues, too. The seed decides the
    # first weights and the batches. The model's [run](../training/run.py) keeps the optimizer, the
    # step and the losses. To start from scratch, run this cell again. If you named a folder in
    # `keep_in`, remove the run's file there first.
    facts = all_facts()
    taught, held_out = split_facts(facts)
    text = text_to_read(facts)
    tokenizer = ChatTokenizer(text)
    print(text[:400])
    torch.manual_seed(seed)
    reader = small_model(tokenizer).to(choose_device())
    texts = text_batches(tokenizer.encode(text), seed)
    reading = Run(reader, texts, [adamw(reader)], name="reading", keep_in=keep_in)

    # The loss stays well above zero: which fact a question will be about nobody can know. The
    # letters of an answer are another matter. Stop it when you like; run this cell again, and it
    # goes on.
    reading.train(steps)

    # ### The failure
    # The model can complete each statement, so it knows the facts. After a question it mostly
    # goes on with another question, as its text does.
    for fact in held_out[:3]:
        for prompt in (fact.sentence.removesuffix(fact.short), f"{fact.question} "):
            # The likeliest letters, so that nothing is left to a random draw.
            print(write(reader, tokenizer, prompt, 40, SEQ_LEN, temperature=0.0))

    # ### Fine-tuning
    # Dialogues about the first half of the facts, for a copy of the reader: run this cell again,
    # and it is the reader once more. The same loop, with other batches and another rate. It needs
    # nothing new: ignored targets are left out of its mean already.
    model = deepcopy(reader)
    batch_at = packed_batches(tokenizer, taught, seed)
    optimizers = [adamw(model, FINE_TUNING_RATE)]
    answering = Run(model, batch_at, optimizers, name="answering", keep_in=keep_in)

    # Four times we ask about all of them.
    def ask_all() -> list[float]:
        # Letter for letter; “lime.” is wrong. A model that has learned the form alone gets
        # nothing.
        return [share_right(half, ask(model, tokenizer, half)) for half in (taught, held_out)]

    answering.train(fine_tuning_steps, ask_all, times=4)

    # ### Right answers
    # Those about held-out facts come from what the model has read. No curve begins at zero steps:
    # there the model can't know what the marks mean, and no answer ends.
    import matplotlib.pyplot as plt

    shares = answering.seen
    for at, name in enumerate(("taught", "held out")):
        plt.plot(list(shares), [one[at] for one in shares.values()], label=name)
    plt.xlabel("steps of fine-tuning")
    plt.ylabel("share of right answers")
    plt.legend()
    plt.show()

    # ### Some answers
    # First the loss of right answers to held-out questions, in nats a token, and the share of right
    # ones among those that the model gives.
    inputs, targets = to_device(packed_batches(tokenizer, held_out, seed), answering.device, 0)
    loss = F.cross_entropy(model(inputs).flatten(0, 1), targets.flatten())
    answers = ask(model, tokenizer, held_out)
    print(f"validation loss {loss.item():.3f}, right {share_right(held_out, answers):.2f}")
    for fact, given in zip(held_out[:5], answers[:5], strict=True):
        # What the model says itself, to see what kind of mistakes it makes.
        print(f"{fact.question} {given}")


def example(batch_size: int = 3, n_facts: int = 7) -> tuple[Tensor, Tensor]:
    r"""
    ## Example

    A batch of dialogues, as the model is fine-tuned on it.

    ### Measured here

    The model has [342,274](../../results/dialogues.json#values.parameters) parameters. Reading
    takes [68](../../results/dialogues.json#values.seconds.reading) seconds of one core, and
    fine-tuning [3](../../results/dialogues.json#values.seconds.fine_tuning) seconds.

    [Fine-tuning with one thing changed at a time](../../results/dialogues.json#tables.changes)

    * *The questions count, too:*
      [0.72](../../results/dialogues.json#tables.changes.questions%20count%2C%20too.held_out) are
      right. The seeds differ by more than that, so these runs don't tell the two apart. Others
      [found a gain](https://arxiv.org/abs/2405.14394) (Shi et al. 2024) where instructions are long
      and answers short, or examples few.
    * *The end doesn't count:*
      [0](../../results/dialogues.json#tables.changes.the%20end%20doesn%27t%20count.stops) of the
      answers end. The model answers, and goes on with another question, as it did before.
    * *Five times the rate:*
      [0.62](../../results/dialogues.json#tables.changes.five%20times%20the%20rate.held_out) are
      right, though the loss is lower:
      [0.080](../../results/dialogues.json#tables.changes.five%20times%20the%20rate.loss) nats, and
      not [0.102](../../results/dialogues.json#tables.changes.as%20on%20the%20page.loss).

    ### What did not help here

    There is [a list](../../docs/what_did_not_help.md) of more such things.

    * [Keeping packed dialogues apart](packing.py) makes no difference that three seeds could show:
      [0.79](../../results/dialogues.json#tables.changes.neither%20mask%20nor%20restart.held_out)
      without the mask, with positions that run on, and
      [0.79](../../results/dialogues.json#tables.changes.as%20on%20the%20page.held_out) as on the
      page. Only the loss is a little higher without,
      [0.118](../../results/dialogues.json#tables.changes.neither%20mask%20nor%20restart.loss).
    * Fine-tuning itself, if you can write a longer prompt: with one answered question before it,
      the model that has only read answers [0.98](../../results/dialogues.json#values.before.shown)
      of the questions correctly, more than after fine-tuning. But the fine-tuned model needs no
      example.

    ### Exercises

    ??? question "Fine-tune a model that has read nothing. Which answers can be right?"
        Those about taught facts, if it learns them by heart. In so few steps it learns none.

    ??? question "An answer of 8 tokens has a loss of 0.1 nats a token. How likely is it?"
        $e^{-0.8} \approx 0.45$.

    ??? question "Let all 146 facts come up in dialogues. What does the curve show then?"
        That the model can learn 146 answers by heart. It doesn't show any more that it answers from
        what it has read.
    """
    # From a few facts, half of them taught. The tokenizer knows the letters of these alone, and the
    # four marks.
    taught, _ = split_facts(all_facts()[: 2 * n_facts])
    tokenizer = ChatTokenizer(text_to_read(taught, n_facts))

    # Most targets are ignored, because a question is longer than its answer, and the marks of the
    # program don't count either.
    return packed_batches(tokenizer, taught, seed=1, batch_size=batch_size)(0)
