r"""
---
title: Batches That the Model Writes
summary: Questions, the model's own answers, and what a step learns from their rewards.
know: grpo.py
---

A batch of a language model is cut out of a text that was there before. Here there is no such text:
the model answers questions, a program checks the answers, and the answers are the batch. **In:** a
model, and a [judge](verifier.py) of its answers. **Out:** what the
[loop](../training/loop.py#train) takes, the batch of a step and the gradients of its loss.

Take a question with eight answers, of which two are right. Their rewards are 1, those of the others
0, and the mean is 0.25. The two right ones are better than the mean, so a step pushes their tokens
up, and those of the six others down. Answers have tokens in common, so some wrong ones become
likelier all the same, about a third when we tried. If all eight were right, their rewards would
teach nothing, since none is better than another.

A step needs three models. The one that is trained; the same one *before* the step, which has
written the answers; and a *reference*, which stays where the training began. Whatever the rewards
are, the loss also pulls the model back towards the reference.
"""

from collections.abc import Callable

import torch
from torch import Tensor, nn

from labml_nn.reinforcement.grpo import group_advantages, grpo_loss, log_probabilities
from labml_nn.reinforcement.imitation import Sizes, answer
from labml_nn.reinforcement.signals import signals
from labml_nn.reinforcement.verifier import Judge, answer_mask, draw_questions, verify
from labml_nn.transformers.basic.autoregressive_model import AutoregressiveTransformer
from labml_nn.transformers.kv_cache import CachedTransformer

# What the loop takes: the batch of a step, and what computes its gradients.
BatchAt = Callable[[int], tuple[Tensor, Tensor]]
Gradients = Callable[[nn.Module, Tensor, Tensor], Tensor]

# From questions, answers and rewards to advantages, one for each answer or one for each token.
Advantages = Callable[[Tensor, Tensor, Tensor], Tensor]


def in_groups(questions: Tensor, answers: Tensor, rewards: Tensor) -> Tensor:
    r"""
    ## Advantages of GRPO
    """
    # One for each answer. What [a critic](ppo.py) gives instead depends on questions and answers,
    # so these are arguments here, too.
    return group_advantages(rewards).flatten()


def from_rewards(
    model: nn.Module,
    sizes: Sizes,
    seed: int,
    *,
    judge: Judge = verify,
    advantages: Advantages = in_groups,
    clip: float = 0.2,
    beta: float = 0.04,
    fixed_length: bool = False,
    updates: int = 1,
) -> tuple[BatchAt, Gradients, list[dict[str, float]]]:
    r"""
    ## From rewards

    * `judge` gives the rewards, and `advantages` what the loss makes of them
    * `updates` is the number of steps that are made with the same answers
    * the other arguments are those of [the loss](grpo.py#grpo_loss)

    The result is what the loop takes, its batches and its gradients, and a list that gets a few
    numbers for each step.
    """
    # The reference keeps the weights of the start. It is a second model in memory. With $\beta$ of
    # zero the loss needs none; here it stays, for the curve of the distance.
    reference = AutoregressiveTransformer(*sizes.of_model())
    reference.load_state_dict(model.state_dict())

    # Without a cache, writing would take about half of the time. So a model with [a
    # cache](../transformers/kv_cache.py) writes, with the same weights. Large trainings have a
    # separate program for it.
    writer = CachedTransformer(*sizes.of_model())
    generator = torch.Generator().manual_seed(seed)

    # What is known of the newest answers, and what happened in each step so far.
    drawn: dict[str, Tensor] = {}
    history: list[dict[str, float]] = []

    def batch_at(step: int) -> tuple[Tensor, Tensor]:
        if step % updates == 0:
            # New questions, each as often as it is to be answered.
            questions = draw_questions(sizes.n_digits, sizes.n_questions, generator)
            questions = questions.repeat_interleave(sizes.n_answers, dim=1)

            # The writer gets the newest weights, and forgets what it has read with others.
            writer.load_state_dict(model.state_dict())
            writer.clear()
            answers = answer(writer, questions, generator=generator)

            # A row of rewards for each question: the answers of a row are compared with each other,
            # and with no others.
            rewards = judge(questions, answers).view(sizes.n_questions, sizes.n_answers)
            drawn.update(questions=questions, answers=answers, rewards=rewards)

            # One number for each answer, or one for each of its tokens.
            drawn["advantages"] = advantages(questions, answers, rewards)

            # What the loss compares with has no gradient. “Old” is the model that has drawn, before
            # any step with these answers.
            with torch.no_grad():
                drawn["old"] = log_probabilities(model, questions, answers)
                drawn["reference"] = log_probabilities(reference, questions, answers)

        # The loop calls them inputs and targets. It doesn't know that a model has written them.
        return drawn["questions"], drawn["answers"]

    def gradients(model: nn.Module, questions: Tensor, answers: Tensor) -> Tensor:
        # The model as it is now. In the first step with new answers, it is the old one, and all
        # ratios are 1.
        mask = answer_mask(answers)
        new = log_probabilities(model, questions, answers)

        # The loss, and a gradient for each weight.
        arguments = new, drawn["old"], drawn["reference"], drawn["advantages"], mask
        loss = grpo_loss(*arguments, clip, beta, fixed_length)
        loss.backward()

        # [What tells how the training goes](signals.py), since the loss doesn't.
        found = signals(new, drawn["old"], drawn["reference"], drawn["rewards"], mask, clip)
        history.append(found)
        return loss.detach()

    # The three belong together: they share the answers of a step.
    return batch_at, gradients, history


def example(n_digits: int = 2, n_questions: int = 3, n_answers: int = 5) -> tuple[Tensor, Tensor]:
    r"""
    ## Example

    Three questions with five answers each, from a model that has learned nothing.

    ### Exercises

    ??? question "Why does a second model write the answers, with the same weights?"
        - [ ] So that the gradients don't go through the writing.
            - They wouldn't anyway: a drawn token has no gradient.
        - [x] It keeps what it has read, so each token costs one position and not all of them.
            - Yes. It has [a cache](../transformers/kv_cache.py), and the model that is trained has
              none.
        - [ ] It is smaller.
            - It has the same sizes, or it couldn't have the weights.

    ??? question "With `updates` of 4, which of the three models changes between the four steps?"
        - [x] The one that is trained, and no other.
            - Yes. The answers stay, and so do the probabilities of the model that wrote them. That
              is what the ratio in the loss is for.
        - [ ] The one that is trained and the one that writes.
            - It gets the newest weights only before it writes again.
        - [ ] All three.
            - The reference never changes.

    ??? question "All answers to a question are wrong. What does a step learn from them?"
        - [ ] That they should become less likely.
            - They would have to be worse than others, and there are no others.
        - [x] Nothing from their rewards: all equal their mean.
            - Yes. Such a group is called [silent](signals.py). What is left of the loss is the pull
              towards the reference.
        - [ ] That the question is hard.
            - Nothing in the loss knows of questions.
    """
    # Two digits, and a model of eight features.
    sizes = Sizes(n_digits, 0, n_questions, n_answers, d_model=8, heads=2)
    model = AutoregressiveTransformer(*sizes.of_model())

    # A first token above 4 is rewarded. Seven of the twelve tokens are.
    def above_four(asked: Tensor, said: Tensor) -> Tensor:
        return (said[0] > 4).float()

    # The questions, each five times, and an answer for each.
    batch_at, _, _ = from_rewards(model, sizes, seed=1, judge=above_four)
    return batch_at(0)
