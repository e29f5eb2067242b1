r"""
---
title: What to Watch in Training with Rewards
summary: Six numbers of each step, and what they show when a training goes wrong.
know: grpo.py
terms:
  entropy: How unsure a model is of the next token; zero if one token has all probability.
  silent group: Answers to one question with the same reward, so that nothing is learned from them.
---

Is a training with rewards going well? The loss doesn't tell. Four answers with the rewards 1, 0, 0
and 0 have the [advantages](grpo.py) 1.73, −0.58, −0.58 and −0.58, which sum to zero; so do those of
any other group. In the first step with new answers the loss is zero, up to the distance to the
reference, whatever was drawn. The reward can mislead: if the check has [a hole](verifier.py), it
goes to nearly 1, and fewer answers are right than before.

Other numbers of the same step tell more, and cost next to nothing:

* The *length*. When only the order of the digits is checked, an answer has
  [5.85](../../results/grpo.json#tables.training.Only%20the%20order%20is%20checked.length) tokens in
  the end. A right one has 7, so the length shows the hole.
* *Silent groups*, whose answers all have the same reward, so that nothing is learned from them.
* The *entropy*: how unsure the model is of the next token. At 0 all answers to a question are
  the same.

**In:** log-probabilities of drawn tokens, `[n_tokens, n_questions * n_answers]`, and a reward for
each answer. **Out:** six numbers.
"""

import torch
from torch import Tensor, nn

from labml_nn.reinforcement.grpo import kl_estimate, log_probabilities
from labml_nn.reinforcement.verifier import answer_mask, draw_questions


def signals(
    new: Tensor, old: Tensor, reference: Tensor, rewards: Tensor, mask: Tensor, clip: float
) -> dict[str, float]:
    r"""
    ## Six numbers of a step

    * `new`, `old` and `reference` are log-probabilities of the drawn tokens, as in
      [the loss](grpo.py#grpo_loss), `[n_tokens, n_questions * n_answers]`
    * `rewards` are `[n_questions, n_answers]`
    * `mask` is true up to [the end of each answer](verifier.py#answer_mask)
    * `clip` is $\epsilon$ of the loss
    """
    # What the check says. It is the share of right answers only if the check has no hole.
    reward = rewards.mean()

    # How many tokens an answer has, with its end. A reward may make answers longer or shorter, and
    # nobody has meant it to.
    length = mask.sum(dim=0).float().mean()

    # A group is silent if all its rewards are equal. Their mean is subtracted in GRPO, so all its
    # advantages are zero then.
    silent = (rewards == rewards[:, :1]).all(dim=1).float().mean()

    # A drawn token of probability $p$ has $-\ln p$. Likely tokens are drawn more often, so the mean
    # over drawn tokens estimates the entropy, as long as the model is the one that has drawn them.
    # What stands after an end isn't counted.
    entropy = -new[mask].mean()

    # [How far the model has gone](grpo.py#kl_estimate) from the start, in nats a token.
    kl = kl_estimate(new, reference)[mask].mean()

    # Tokens that are much likelier than when they were drawn, or much less likely. In the first
    # step with new answers there are none, since the model is the one that has drawn them.
    ratio = (new - old).exp()
    beyond = (ratio - 1).abs() > clip
    clipped = beyond[mask].float().mean()

    # Plain numbers: a tensor with a gradient would keep all that it was computed from.
    found = {"reward": reward, "length": length, "silent": silent}
    found |= {"entropy": entropy, "kl": kl, "clipped": clipped}
    return {name: number.item() for name, number in found.items()}


def example(
    n_digits: int = 2,
    n_questions: int = 3,
    n_answers: int = 5,
    n_tokens: int = 7,
    n_vocab: int = 13,
) -> Tensor:
    r"""
    ## Example

    Two random models, the new one and the reference, and rewards by chance.

    ### Measured here

    [The last 20 steps of each training, or 40 of the 400. Without a clip, nothing counts as beyond
    it](../../results/grpo.json#tables.training)

    ### Entropy

    It falls: the model becomes surer of what it says, and its eight answers to a question more
    alike. At [0.313](../../results/grpo.json#tables.training.GRPO.entropy) nats a token it still
    tries something else now and then. If it were zero, all answers of a group would be the same,
    and all groups silent. Without a start the model stays unsure:
    [2.34](../../results/grpo.json#tables.training.Without%20the%20start.entropy), where $\ln 12 =
    2.48$ is the most that twelve tokens can have.

    One curve falls almost to zero within 60 steps: with rewards of 1 and 2, and without the group's
    mean. Its answers have shrunk to their end, and there is nothing left to be unsure of. Then the
    distance to the reference pulls it up a little, to
    [0.172](../../results/grpo.json#tables.training.No%20mean%2C%20rewards%201%20and%202.entropy).
    In a try with $\beta = 0$ it stays down.

    [Entropy, in nats a token](../../results/grpo.json#figures.entropy)

    ### Silent groups

    When an untrained model is to learn from rewards alone,
    [100 %](../../results/grpo.json#tables.training.Without%20the%20start.silent) of the groups are
    silent: all of their answers are wrong, and it learns nothing. With a start, a third of the
    groups is all right or all wrong in the end,
    [33.3 %](../../results/grpo.json#tables.training.GRPO.silent). They cost as much as the others.
    [DAPO](https://arxiv.org/abs/2503.14476) (Yu et al., 2025) draws answers to other questions in
    their place.

    ### Distance to the start

    GRPO gets to [0.166](../../results/grpo.json#tables.training.GRPO.kl) nats a token. With
    rewards of 1 and 2, and without the mean, the distance is
    [5.63](../../results/grpo.json#tables.training.No%20mean%2C%20rewards%201%20and%202.kl). Every
    answer is made likelier there, and the mean over its tokens favours short ones: the model
    forgets sorting, and writes
    [1.03](../../results/grpo.json#tables.training.No%20mean%2C%20rewards%201%20and%202.length)
    tokens, of which one is the end. Divide by a fixed length instead (`fixed_length`): in a try
    with two seeds, the answers keep their length, and the model learns to sort better.

    [KL to the start, in nats a token](../../results/grpo.json#figures.kl)

    [Tokens of an answer](../../results/grpo.json#figures.length)

    ### Beyond the clip

    If each draw is used for four steps, [0.33
    %](../../results/grpo.json#tables.training.100%20draws%2C%20each%20used%20four%20times.clipped)
    of the tokens are beyond the clip. With one step for each draw it is zero, so a number above
    zero shows a mistake: the old log-probabilities are of another model, or of other answers.

    ### What did not help here

    The curve of the reward, in training with a hole in the check. It is [the best of
    all](verifier.py#example). Left out is what needs a second check, one that isn't rewarded: how
    many answers are right by it. If you can have one, watch that.

    ### Exercises

    ??? question "All groups are silent, and the entropy is 0.01. What has happened?"
        - [ ] The questions are too hard.
            - That makes all groups silent, too, but it doesn't make the answers alike. The entropy
              says that they are.
        - [x] The model gives the same answer each time, right or wrong.
            - Yes. Nothing is left to compare, so nothing more is learned.
        - [ ] The learning rate is zero.
            - Then the entropy would be what it was at the start.

    ??? question "Two tokens were drawn, of probabilities 0.5 and 0.25. What is the estimate?"
        $(\ln 2 + \ln 4) / 2 = 1.04$ nats.

    ??? question "You leave `mask` out of the entropy. What is counted then?"
        What was drawn after the end of each answer, too. Nothing trains the model there, so it is
        a number about nothing, and the shorter the answers are, the more of it there is.

    ??? question "Why does `kl` use an estimate, when both models give all probabilities?"
        Only those of the drawn tokens were kept. The exact distance needs all twelve for each
        token; a large model has 100,000 of them.
    """
    # A table each: row $i$ has the logits of the token after token $i$.
    model = nn.Embedding(n_vocab, n_vocab)
    before = nn.Embedding(n_vocab, n_vocab)

    # Random answers. Some have an end, and what comes after it doesn't count.
    questions = draw_questions(n_digits, n_questions, torch.Generator().manual_seed(1))
    questions = questions.repeat_interleave(n_answers, dim=1)
    answers = torch.randint(n_vocab, (n_tokens, n_questions * n_answers))
    mask = answer_mask(answers)

    # Every answer to the first question is right, so its group is silent.
    rewards = torch.randint(2, (n_questions, n_answers)).float()
    rewards[0] = 1.0

    # The old model was a little different, as after a few steps with the same answers.
    new = log_probabilities(model, questions, answers)
    reference = log_probabilities(before, questions, answers)
    old = new + 0.2 * torch.randn_like(new)
    return torch.tensor([*signals(new, old, reference, rewards, mask, clip=0.2).values()])
