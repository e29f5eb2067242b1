r"""
---
title: A Model Learns to Answer
summary: A small transformer reads 146 facts, and is then shown how questions are answered.
---

NUMBERS
"""

import random
from collections.abc import Callable, Sequence

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
from labml_nn.training.loop import adamw, train
from labml_nn.training.sampling import Choose, greedy, write
from labml_nn.transformers.fused_attention import FusedAttention

# The longest dialogue has 73 tokens, so most windows hold two or three.
SEQ_LEN, N_WINDOWS = 128, 6

BatchAt = Callable[[int], tuple[Tensor, Tensor]]
AfterStep = Callable[[int, Tensor], bool | None]


def small_model(tokenizer: ChatTokenizer) -> PackedTransformer:
    r"""
    ## The model

    A little smaller than the [small transformer](../transformers/basic/autoregressive_model.py),
    so that all fits into three minutes: about 340,000 parameters.
    """
    # The context is one window. The fused attention computes the same in less time.
    return PackedTransformer(
        tokenizer.marks["<begin>"], n_vocab=len(tokenizer), d_model=96, heads=4, n_layers=3,
        d_ff=384, seq_len=SEQ_LEN, attention=FusedAttention,
    )


def read(
    model: PackedTransformer, text: Tensor, steps: int, seed: int,
    after_step: AfterStep = lambda step, loss: None,
) -> None:
    r"""
    ## Reading

    Training on the text, as ever: every letter counts, and there are no marks in it.
    """
    batches = RandomWindows(text, SEQ_LEN, N_WINDOWS, seed)
    train(model, batches.at, [adamw(model)], steps, after_step=after_step)


def packed_batches(tokenizer: ChatTokenizer, facts: Sequence[Fact], seed: int) -> BatchAt:
    r"""
    ## Batches of dialogues

    Each answered in one of the two ways, at random.
    """

    def batch_at(step: int) -> tuple[Tensor, Tensor]:
        # As in [RandomWindows](../training/data.py#RandomWindows): seed and step decide.
        draw = random.Random(seed * 1_000_003 + step)
        ways = draw.choices(["short", "sentence"], k=4 * N_WINDOWS)
        chosen = draw.choices(facts, k=len(ways))

        # More than enough, and the windows that are too many are left out.
        rendered = [tokenizer.render(dialogue(*one)) for one in zip(chosen, ways, strict=True)]
        tokens, counted = pack(rendered, SEQ_LEN + 1, tokenizer.marks["<begin>"])
        return inputs_and_targets(tokens[:, :N_WINDOWS], counted[:, :N_WINDOWS])

    return batch_at


def fine_tune(
    model: PackedTransformer, batch_at: BatchAt, steps: int,
    after_step: AfterStep = lambda step, loss: None, rate: float = 2e-4,
) -> None:
    r"""
    ## Fine-tuning

    The same loop. Ignored targets are left out of its mean already.
    """
    # A fifteenth of the rate of reading. Large steps would change what the model knows.
    train(model, batch_at, [adamw(model, rate)], steps, after_step=after_step)


def ask(
    model: PackedTransformer, tokenizer: ChatTokenizer, facts: Sequence[Fact],
    choose: Choose = greedy, generator: torch.Generator | None = None,
) -> list[str]:
    r"""
    ## Ask about facts
    """
    # The first message of a dialogue is the question; 36 letters are enough for any answer.
    questions = [dialogue(fact, "short")[:1] for fact in facts]
    return answer(model, tokenizer, questions, 36, SEQ_LEN, choose, generator)


def notebook(steps: int = 2000, fine_tuning_steps: int = 80, seed: int = 1) -> None:
    r"""
    ## In a notebook

    `steps` of reading, then those of fine-tuning. Together about two minutes of one core.
    """
    # ### Reading
    # All facts are in the text.
    facts = all_facts()
    taught, held_out = split_facts(facts)
    text = text_to_read(facts)
    tokenizer = ChatTokenizer(text)
    print(text[:400])

    # Every letter is predicted. Which fact a question will be about can't be.
    torch.manual_seed(seed)
    model = small_model(tokenizer)

    def progress(step: int, loss: Tensor) -> None:
        if step % max(1, steps // 5) == 0:
            print(f"step {step:5,}  loss {loss.item():.3f}")

    read(model, tokenizer.encode(text), steps, seed, progress)

    # ### The failure
    # The model knows the answers, and goes on with other questions.
    for fact in held_out[:3]:
        for prompt in (fact.sentence.removesuffix(fact.short), f"{fact.question} "):
            print(write(model, tokenizer, prompt, 40, SEQ_LEN, temperature=0.0))

    # ### Fine-tuning
    # Half of the facts are in the dialogues. The share of right answers, now and then.
    shares: dict[str, list[float]] = {"taught": [], "held out": []}
    every = max(1, fine_tuning_steps // 8)

    def measure(step: int, loss: Tensor) -> None:
        if step % every == 0:
            for name, some in (("taught", taught), ("held out", held_out)):
                shares[name].append(share_right(some, ask(model, tokenizer, some)))

    fine_tune(model, packed_batches(tokenizer, taught, seed), fine_tuning_steps, measure)

    # ### Right answers
    # Those about held-out facts were read, and never taught.
    import matplotlib.pyplot as plt

    for name, found in shares.items():
        plt.plot([every * (at + 1) for at in range(len(found))], found, label=name)
    plt.xlabel("steps of fine-tuning")
    plt.ylabel("share of right answers")
    plt.legend()
    plt.show()

    # The loss of the answers to held-out questions, and some of these answers.
    inputs, targets = packed_batches(tokenizer, held_out, seed)(0)
    loss = F.cross_entropy(model(inputs).flatten(0, 1), targets.flatten())
    print(f"validation loss {loss.item():.3f}, right {shares['held out'][-1]:.2f}")
    for fact, given in zip(held_out[:5], ask(model, tokenizer, held_out[:5]), strict=True):
        print(f"{fact.question} {given}")


def example(batch_size: int = 6, n_facts: int = 7) -> tuple[Tensor, Tensor]:
    r"""
    ## Example

    A batch of dialogues, as the model is fine-tuned on it.

    ### Exercises
    """
    taught, _ = split_facts(all_facts()[: 2 * n_facts])
    tokenizer = ChatTokenizer(text_to_read(taught, n_facts))
    return packed_batches(tokenizer, taught, seed=1)(0)
