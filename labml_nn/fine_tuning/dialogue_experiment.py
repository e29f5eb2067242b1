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

from labml_nn.fine_tuning.dialogues import (
    ChatTokenizer,
    inputs_and_targets,
    side_by_side,
)
from labml_nn.fine_tuning.facts import Fact, all_facts, dialogue, split_facts, text_to_read
from labml_nn.fine_tuning.packing import PackedTransformer, pack
from labml_nn.training.data import RandomWindows
from labml_nn.training.loop import adamw, train
from labml_nn.training.sampling import Choose, generate, greedy
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


def continuations(
    model: PackedTransformer, tokenizer: ChatTokenizer, prompts: Sequence[str]
) -> list[str]:
    r"""
    ## Going on with a text

    The 40 likeliest letters after each prompt.
    """
    # All prompts become equally long: a line before them, cut where it has to be.
    before = "what is the opposite of quiet? what is the past of run? what is the capital of cuba?"
    lines = [f"{before}\n{prompt}"[-len(before):] for prompt in prompts]
    tokens = torch.stack([tokenizer.encode(line) for line in lines], dim=1)

    # Greedily, so that the result is the same each time.
    new = generate(model, tokens, 40, SEQ_LEN, greedy)[len(before):]
    return [tokenizer.decode(column) for column in new.t()]


def answers(
    model: PackedTransformer, tokenizer: ChatTokenizer, facts: Sequence[Fact],
    choose: Choose = greedy, generator: torch.Generator | None = None,
) -> list[str]:
    r"""
    ## Answering

    What the model answers to the question of each fact.
    """
    # Only the user's message, and then the mark of an answer.
    asked = [tokenizer.render(dialogue(one, "short")[:1], True)[0] for one in facts]

    # Filled in front: `<begin>` is another dialogue, and all prompts end at one place.
    length = max(map(len, asked))
    begin = tokenizer.marks["<begin>"]
    tokens = torch.stack([F.pad(one, (length - len(one), 0), value=begin) for one in asked], dim=1)

    # An answer ends with its mark. What the model writes after that is nobody's business.
    new = generate(model, tokens, 36, SEQ_LEN, choose, generator)[length:]
    return [tokenizer.decode(column).partition("<end>")[0] for column in new.t()]


def share_right(facts: Sequence[Fact], given: Sequence[str]) -> float:
    r"""
    ## Share of right answers

    In either way, letter for letter.
    """
    right = [one in (fact.short, fact.sentence) for fact, one in zip(facts, given, strict=True)]
    return sum(right) / len(right)
