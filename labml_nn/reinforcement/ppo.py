r"""
---
title: PPO and Generalised Advantages
summary: A second model predicts the reward, so that each token gets an advantage of its own.
paper:
  title: Proximal Policy Optimization Algorithms
  authors: Schulman et al.
  year: 2017
  link: https://arxiv.org/abs/1707.06347
know: grpo.py
terms:
  critic: A model that predicts, at each token, the reward that the rest will bring.
  GAE: Advantages from the predictions of a critic, averaged over how far one looks ahead.
  PPO: Reinforcement learning with a critic and a clipped ratio.
---

A model learns to sort digits from *rewards*: 1 for a right answer, 0 for a wrong one.
[GRPO](grpo.py) gives all tokens of an answer the same *advantage*. If “`012435;`” is wrong, its
first three digits are made less likely together with the mistake.

*Proximal policy optimisation*, PPO, which is older, has a second model, the *critic*. Before each
token it predicts the reward, and a token is judged by how the prediction changes. Take a wrong
answer of three tokens:

| | first token | second | third |
| --- | ---: | ---: | ---: |
| prediction before it | 0.5 | 0.8 | 0.2 |
| what comes after it | 0.8 | 0.2 | reward 0 |
| surprise: the difference | 0.3 | −0.6 | −0.2 |
| reward minus prediction | −0.5 | −0.8 | −0.2 |

The second token was the mistake, says the critic. If you trust it alone ($\lambda = 0$), the
advantages are the *surprises*. If you trust the reward alone ($\lambda = 1$), they are those of the
last row. A $\lambda$ between 0 and 1 mixes both.

**In:** rewards and predictions, `[n_tokens, batch_size]`. **Out:** an advantage for each token, of
the same shape, which goes into [the loss of GRPO](grpo.py#grpo_loss). The
[clip](grpo.py#clipped_gain) in that loss is from the paper on PPO. The advantages are from [another
paper](https://arxiv.org/abs/1506.02438) (Schulman et al., 2015).
"""

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from labml_nn.reinforcement.verifier import answer_mask


def at_the_end(rewards: Tensor, mask: Tensor) -> Tensor:
    r"""
    ## One reward for each token

    From one reward for each answer, `[batch_size]`, to one for each token,
    `[n_tokens, batch_size]`: all of it at the last token, when the answer is complete.
    """
    # A token is the last one if the mask is true there, and false at the next place.
    last = mask & ~F.pad(mask[1:], (0, 0, 0, 1))
    return last * rewards


def gae(rewards: Tensor, values: Tensor, gamma: float = 1.0, lam: float = 0.95) -> Tensor:
    r"""
    ## Generalised advantage estimation

    $$
    \hat A_t = \sum_{l \ge 0} (\gamma \lambda)^l\, \delta_{t+l}
    \qquad \delta_t = r_t + \gamma V_{t+1} - V_t
    $$

    * `rewards` are $r_t$, `[n_tokens, batch_size]`, one for each token
    * `values` are the predictions $V_t$, made *before* token $t$; zero after the end
    * `gamma` is $\gamma$: a reward that comes $n$ tokens later counts $\gamma^n$ times as much. An
      answer is short and its reward comes at its end, so 1 is a good choice: it counts in full
    * `lam` is $\lambda$, which weighs the critic against the rewards
    """
    # $\delta_t$ is a *surprise*: the reward and the prediction after the token, less the prediction
    # before it. After the last token, the prediction counts as zero.
    surprises = rewards + gamma * F.pad(values[1:], (0, 0, 0, 1)) - values

    # From the end: $\hat A_t = \delta_t + \gamma \lambda \hat A_{t+1}$, the same sum in one pass.
    advantages = [torch.zeros_like(values[0])]
    for surprise in surprises.flip(0):
        advantages.append(surprise + gamma * lam * advantages[-1])

    # The other way round again, and without the zero it began with.
    return torch.stack(advantages[:0:-1])


class Critic(nn.Module):
    r"""
    ## Critic

    A transformer with one number for each position, where a language model has a score for each
    token.
    """

    def __init__(self, model: nn.Module, lam: float = 0.95, rate: float = 1e-3) -> None:
        r"""
        * `model` gives one number for each token, where a language model has logits
        * `lam` is $\lambda$ of [the advantages](ppo.py#gae)
        * `rate` is the learning rate
        """
        super().__init__()
        self.model = model
        self.lam = lam

        # It has weights of its own, and learns on its own. (In our run it starts as a copy of the
        # model that has [imitated](imitation.py) solved questions, with a new last layer.)
        self.optimizer = torch.optim.AdamW(model.parameters(), rate, weight_decay=0.0)

    def forward(self, questions: Tensor, answers: Tensor) -> Tensor:
        r"""
        The values have the shape of the answers, `[n_tokens, batch_size]`. The questions have as
        many columns.
        """
        # What is known before each token of the answer: the question and the tokens before it. So
        # the last token is never read. After the end, the value is zero.
        values = self.model(torch.cat([questions, answers])[:-1])[len(questions) - 1 :]
        return values.squeeze(-1) * answer_mask(answers)

    def advantages(self, questions: Tensor, answers: Tensor, rewards: Tensor) -> Tensor:
        r"""
        ### Advantages, and a step of learning

        Advantages for [the loss](grpo.py#grpo_loss), `[n_tokens, batch_size]`. `rewards` are
        `[batch_size]`.
        """
        # The *policy*, the model that writes the answers, doesn't learn through the critic.
        mask = answer_mask(answers)
        values = self(questions, answers)
        advantages = gae(at_the_end(rewards, mask), values.detach(), lam=self.lam)

        # What the value should have been: what it was, and the advantage. The critic makes one step
        # towards it, by the mean of the squared errors.
        returns = advantages + values.detach()
        loss = (values - returns).square().sum() / mask.sum()
        self.optimizer.zero_grad()
        loss.backward()
        self.optimizer.step()

        # A mean of 0 and a standard deviation of 1, so that the distance to the reference weighs
        # the same with rewards of any size. (AdamW's [steps](../optimizers/adamw.py#first_step) are
        # as long without it.) The paper doesn't mention it, but many programs do it.
        mean = advantages[mask].mean()
        return (advantages - mean) / (advantages[mask].std() + 1e-4)


def example(
    n_digits: int = 2, batch_size: int = 3, n_tokens: int = 5, n_vocab: int = 13
) -> tuple[Tensor, ...]:
    r"""
    ## Example

    A critic that knows the last token only.

    ### What did not help here

    These are entries of [a list](../../docs/what_did_not_help.md) of such things.

    The critic. With PPO, the likeliest answer is right for [50.7
    %](../../results/grpo.json#tables.ways.PPO%20with%20GAE.greedy)
    ([49.0](../../results/grpo.json#tables.ways.PPO%20with%20GAE.low) to
    [52.2](../../results/grpo.json#tables.ways.PPO%20with%20GAE.high) in three seeds) of new
    questions, with GRPO for [51.2 %](../../results/grpo.json#tables.ways.GRPO.greedy)
    ([47.6](../../results/grpo.json#tables.ways.GRPO.low) to
    [53.0](../../results/grpo.json#tables.ways.GRPO.high)). The second model takes time and memory,
    too. It has learned little: after 200 steps it knows how often answers are right that are drawn
    ([37.0 %](../../results/grpo.json#tables.ways.PPO%20with%20GAE.drawn) of them), but its
    prediction hardly changes when it has read a mistake:

    [The mean prediction before each token, of answers with the first mistake at one
    place](../../results/grpo.json#figures.values)

    Would a perfect critic help? We tried one, with two seeds: it knows the right answer, and
    predicts 0 after the first mistake. With $\lambda = 0.95$ it gains nothing: a token five places
    before the mistake still gets $0.95^5 = 0.77$ of the blame. With $\lambda = 0$ it gains a
    little.

    PPO for language models usually puts the distance to the *reference*, the model as it was before
    this training, into the reward of each token. Here it is a part of the loss, as in GRPO, so that
    the advantages alone differ. Left out: a clip for the values, and several steps of the critic.

    ### Exercises

    ??? question "Values 0.5, 0.8, 0.2 and a reward of 0 at the third token. The surprises?"
        0.3, −0.6 and −0.2. The second token has made things worse.

    ??? question "With $\gamma = \lambda = 1$, what is the sum of the example above?"
        For the first token $0.3 - 0.6 - 0.2 = -0.5$: the reward, 0, minus the first value. All
        values between cancel.

    ??? question "With $\lambda = 0$, and a critic that knows nothing. What does a policy learn?"
        Next to nothing, if the critic always says the mean reward: each token is judged by the
        critic alone, and only the last one sees the reward. It can be worse. In a try with one
        seed, a critic always said 0.25, twice the share of right answers. Most ends of answers were
        then a bad surprise, and the model forgot how to sort.

    ??? question "You forget `detach` in the line of the returns. What does the critic learn?"
        Nothing. The value cancels from `values - returns`, so all its gradients are zero.
    """
    # A table: one number for each token that may have been the last.
    critic = Critic(nn.Embedding(n_vocab, 1), rate=0.1)
    questions = torch.randint(10, (n_digits, batch_size))
    answers = torch.randint(n_vocab, (n_tokens, batch_size))

    # A reward for each answer, at its last token.
    rewards = torch.rand(batch_size)
    values = critic(questions, answers)
    advantages = critic.advantages(questions, answers, rewards)

    # A reward for each token. For the token before, it counts nine tenths.
    discounted = gae(torch.rand(n_tokens, batch_size), values.detach(), gamma=0.9)
    return values, advantages, discounted
