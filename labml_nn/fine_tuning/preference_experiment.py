r"""
---
title: A Model Learns What Is Preferred
summary: The model that has learned to answer is trained on pairs, and what it gains and loses.
---

NUMBERS
"""

import copy
import random
from collections.abc import Sequence

import torch
import torch.nn.functional as F
from torch import Tensor

from labml_nn.fine_tuning.dialogue_experiment import (
    AfterStep,
    BatchAt,
    ask,
    fine_tune,
    packed_batches,
    read,
    small_model,
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
from labml_nn.training.loop import adamw, train
from labml_nn.training.sampling import draw


def pairs(tokenizer: ChatTokenizer, facts: Sequence[Fact]) -> tuple[Tensor, Tensor]:
    r"""
    ## Pairs

    Inputs and targets: first all short answers, which are chosen, then all sentences.
    """
    # A judge would see two answers of the model and choose one. This one prefers what is short, and
    # both answers are right, so the pairs say nothing about facts.
    said = [dialogue(fact, way) for way in ("short", "sentence") for fact in facts]
    rendered = [tokenizer.render(one) for one in said]

    # Side by side, so that a column is an answer.
    return inputs_and_targets(*side_by_side(rendered, tokenizer.marks["<begin>"]))


def pair_batches(
    tokenizer: ChatTokenizer, facts: Sequence[Fact], seed: int, n_pairs: int = 12
) -> BatchAt:
    r"""
    ## Batches of pairs
    """
    # As for dialogues, seed and step decide which facts are in a batch.
    def batch_at(step: int) -> tuple[Tensor, Tensor]:
        chosen = random.Random(seed * 1_000_003 + step).choices(facts, k=n_pairs)
        return pairs(tokenizer, chosen)

    return batch_at


def prefer(
    model: PackedTransformer, batch_at: BatchAt, steps: int, beta: float,
    after_step: AfterStep = lambda step, loss: None, rate: float = 1e-4,
) -> None:
    r"""
    ## Training on pairs

    The loop is the same, with another loss.
    """
    # The copy is made before the first step, and never changes.
    reference = copy.deepcopy(model).eval().requires_grad_(False)
    gradients = preference_gradients(reference, beta)

    # Half the rate of fine-tuning: two answers push in opposite directions.
    optimizers = [adamw(model, rate)]
    train(model, batch_at, optimizers, steps, gradients=gradients, after_step=after_step)


def share_short(answers: Sequence[str]) -> float:
    r"""
    ## Share of preferred answers

    Short is what doesn't begin like a sentence, right or wrong.
    """
    return sum(not one.startswith("the ") for one in answers) / len(answers)
