r"""
---
title: GRPO
summary: Draw several answers to each question, check them, and make the better ones likelier.
paper:
  title: "DeepSeekMath: Pushing the Limits of Mathematical Reasoning in Open Language Models"
  authors: Shao et al.
  year: 2024
  link: https://arxiv.org/abs/2402.03300
know: verifier.py
terms:
  advantage: How much better an answer, or a token of it, was than expected.
  GRPO: Reinforcement learning that compares each answer with others to the same question.
  KL divergence: How far one distribution is from another; zero only if they are equal.
  policy gradient: The gradient of the expected reward, from answers that the model has drawn.
---

A [verifier](verifier.py) can tell a model whether its answers are right. But how do you train with
that? A reward has no gradient: between the weights and the reward, tokens were *drawn*.

*Group relative policy optimisation*, GRPO, draws several answers to the same question, checks them,
and makes those likelier that were better than the others. Here is a group of four answers to
“`315204=`”. The *advantage* of an answer is how much better it was than the group:

| answer | reward | minus the mean | divided by the standard deviation |
| --- | ---: | ---: | ---: |
| `012345;` | 1 | 0.75 | 1.73 |
| `012354;` | 0 | −0.25 | −0.58 |
| `01245;` | 0 | −0.25 | −0.58 |
| `0123345;` | 0 | −0.25 | −0.58 |

The mean of the rewards is 0.25, and their standard deviation $\sqrt{0.25 \cdot 0.75} = 0.43$. A
step pushes each token of the first answer up, with the weight 1.73, and the tokens of the others
down, with 0.58. All four begin with `012`: what is pushed up once and down three times stays nearly
where it was. The step teaches where the answers part.

Our model has [imitated](imitation.py) 50 solved questions and sorts [30.9
%](../../results/grpo.json#tables.ways.Start%3A%2050%20solved%20questions.greedy) of new ones. After
200 steps it sorts [51.2 %](../../results/grpo.json#tables.ways.GRPO.greedy), and nobody has shown
it one more answer.

**In:** the log-probabilities of drawn answers, `[n_tokens, n_questions * n_answers]`, and a reward
for each answer. **Out:** a loss.
"""

import torch
from torch import Tensor, nn

from labml_nn.reinforcement.verifier import answer_mask, draw_questions
from labml_nn.training.sampling import generate


def log_probabilities(model: nn.Module, questions: Tensor, answers: Tensor) -> Tensor:
    r"""
    ## How likely the answers were

    $\ln \pi(o_t \mid q, o_{<t})$ for each token $o_t$ of the answers to the questions $q$,
    `[n_tokens, n_questions * n_answers]`: side by side, each question as often as it is answered.
    """
    # The whole text at once, except for its last token, after which nothing is predicted. The last
    # token of the question predicts the first one of the answer.
    logits = model(torch.cat([questions, answers])[:-1])[len(questions) - 1 :]

    # Of all tokens of the vocabulary, the one that was drawn.
    return logits.log_softmax(dim=-1).gather(-1, answers.unsqueeze(-1)).squeeze(-1)


def group_advantages(rewards: Tensor, divide: bool = True) -> Tensor:
    r"""
    ## Advantages in a group

    $$
    A_i = \frac{r_i - \operatorname{mean}(r_1, \dots, r_G)}{\operatorname{std}(r_1, \dots, r_G)}
    $$

    * `rewards` are `[n_questions, n_answers]`: a row is the *group* of $G$ answers to one question
    * `divide` is whether to divide by the standard deviation
    """
    # What this model gets on average for this question. If the rewards are all the same, right or
    # wrong, the advantages are zero, and nothing is learned from them.
    advantages = rewards - rewards.mean(dim=1, keepdim=True)
    if not divide:
        return advantages

    # So the advantages have the same size, whatever the unit of the reward. Rows without any
    # spread would be 0/0. (The small number is TRL's; the paper has none.)
    return advantages / (rewards.std(dim=1, keepdim=True, correction=0) + 1e-4)


def clipped_gain(ratio: Tensor, advantages: Tensor, clip: float) -> Tensor:
    r"""
    ## Clipped ratio

    $$
    \begin{gathered} \rho = \frac{\pi(o_t \mid q, o_{<t})}{\pi_{old}(o_t \mid q, o_{<t})} \\
    \min(\rho A,\; \operatorname{clip}(\rho, 1 - \epsilon, 1 + \epsilon) A) \end{gathered}
    $$

    The answers were drawn from $\pi_{old}$, the model as it was then. If you make several steps
    with them, the model $\pi$ moves away, and the ratio $\rho$ corrects for that. A large ratio
    would let a few tokens dominate. So a good token ($A > 0$) gains nothing above $1 + \epsilon$,
    and a bad one nothing below $1 - \epsilon$, with `clip` for $\epsilon$. [PPO](ppo.py)
    introduced this clip.
    """
    # The smaller of the two. A good token whose probability fell, or a bad one whose probability
    # rose, isn't clipped: there the step went wrong, and has to be taken back.
    return torch.minimum(ratio * advantages, ratio.clamp(1 - clip, 1 + clip) * advantages)


def kl_estimate(new: Tensor, reference: Tensor) -> Tensor:
    r"""
    ## Distance to the reference

    $$
    \begin{gathered} d = \ln \pi_{ref}(o_t \mid q, o_{<t}) - \ln \pi(o_t \mid q, o_{<t}) \\
    e^{d} - d - 1 \end{gathered}
    $$

    The *reference* $\pi_{ref}$ is the model at the start. Over tokens drawn from $\pi$, the average
    of $-d$ is the KL divergence $\operatorname{KL}(\pi \,\|\, \pi_{ref})$ by definition, and that
    of $e^d - 1$ is zero. The second part makes each single estimate at least zero, as a distance
    should be. One thing is odd: in a loss, the average of the gradients is that of the *other*
    divergence, $\operatorname{KL}(\pi_{ref} \,\|\, \pi)$. With a vocabulary of a few tokens you can
    sum over all of them and see both.
    """
    # Zero where both models agree.
    difference = reference - new
    return difference.exp() - 1 - difference


def grpo_loss(
    new: Tensor,
    old: Tensor,
    reference: Tensor,
    advantages: Tensor,
    mask: Tensor,
    clip: float = 0.2,
    beta: float = 0.04,
    fixed_length: bool = False,
) -> Tensor:
    r"""
    ## Loss

    * `new`, `old` and `reference` are log-probabilities of the drawn tokens,
      `[n_tokens, n_questions * n_answers]`; only `new` has a gradient
    * `advantages` are one number for each answer, `[n_questions * n_answers]`, or for each token
    * `mask` is true up to [the end of each answer](verifier.py#answer_mask)
    * `clip` is $\epsilon$, 0.2 as in the paper on PPO
    * `beta` is the weight $\beta$ of the distance, 0.04 as in DeepSeekMath
    * `fixed_length` is whether to divide by the longest possible length, not by each answer's own

    ### Policy gradient

    Let the model give the answer $o$ to the question $q$ the probability $\pi(o \mid q)$, and let
    its reward be $r(o)$. We want the expected reward to grow. Since $\nabla \pi = \pi\, \nabla \ln
    \pi$, its gradient is an average over answers of the model,

    $$
    \nabla \sum_o \pi(o \mid q)\, r(o) = \sum_o \pi(o \mid q)\, r(o)\, \nabla \ln \pi(o \mid q),
    $$

    and a few that were drawn give an estimate.
    """
    # With one step for each draw, `new` equals `old`. The ratio is then 1, but its gradient is
    # that of `new`: the policy gradient.
    gain = clipped_gain((new - old).exp(), advantages, clip)
    gain = gain - beta * kl_estimate(new, reference)

    # A mean over the tokens of an answer, as in the paper. So a token of a long answer counts less
    # than one of a short answer. With a fixed length, all tokens count the same.
    length = len(mask) if fixed_length else mask.sum(dim=0)

    # A mean over all answers. The optimizer wants something to make smaller, hence the sign.
    return -((gain * mask).sum(dim=0) / length).mean()


def example(
    n_digits: int = 2,
    n_questions: int = 3,
    n_answers: int = 5,
    n_tokens: int = 7,
    n_vocab: int = 13,
) -> tuple[Tensor, Tensor, Tensor]:
    r"""
    ## Example

    One step, with a model that knows nothing. It hardly ever sorts, so here an answer is rewarded
    if a 7 is in it.

    [Right answers among those that are drawn in training, with this page's changes and
    PPO](../../results/grpo.json#figures.rewards)

    ### Why subtract the mean?

    The probabilities sum to 1, so a constant in place of $r$ has the gradient zero. Subtracting it
    changes nothing on average. But without it every rewarded answer becomes likelier, even a bad
    one. And GRPO divides by the length of an answer, so a constant reward makes answers shorter.
    Rewards of 1 and 2 in place of 0 and 1 show it, without the mean: [0.0
    %](../../results/grpo.json#tables.ways.No%20mean%2C%20rewards%201%20and%202.greedy) are right in
    the end, and answers are
    [1.03](../../results/grpo.json#tables.training.No%20mean%2C%20rewards%201%20and%202.length)
    tokens long.

    The mean of a group of $G$ contains the answer itself, which multiplies the expected gradient by
    $1 - 1/G$ and leaves its direction. A test with all groups of all answers of a tiny model finds
    exactly that, and that each of two divisions of the paper changes the direction: by the standard
    deviation, and by an answer's length. [Dr. GRPO](https://arxiv.org/abs/2503.20783) (Liu et al.,
    2025) leaves out both. With the second, its authors say, long wrong answers are punished less
    for each token, and so answers grow.

    ### What did not help here

    These are entries of [a list](../../docs/what_did_not_help.md) of such things.

    All of the following is within the range of three seeds,
    [47.6](../../results/grpo.json#tables.ways.GRPO.low) to [53.0
    %](../../results/grpo.json#tables.ways.GRPO.high), or overlaps it. Leaving out the two divisions
    gives [48.3 %](../../results/grpo.json#tables.ways.Without%20the%20two%20divisions.greedy). With
    rewards of 0 and 1, leaving out the mean gives [49.6
    %](../../results/grpo.json#tables.ways.Without%20the%20group%27s%20mean.greedy): then wrong
    answers teach nothing, and right ones are imitated. Leaving out the distance to the reference
    gives [50.0 %](../../results/grpo.json#tables.ways.Without%20KL.greedy). If each answer is used
    for four steps (400 steps, with half as many draws), it is [50.3
    %](../../results/grpo.json#tables.ways.100%20draws%2C%20each%20used%20four%20times.greedy), and
    without the clip [47.5
    %](../../results/grpo.json#tables.ways.Four%20times%2C%20without%20clip.greedy): the largest
    difference in this list, but the two overlap as well.

    [All trainings](../../results/grpo.json#tables.ways)

    Left out: rewards for single steps of an answer, which the paper has, too; and long answers with
    reasoning, as [DeepSeek-R1](https://arxiv.org/abs/2501.12948) (2025) learned to write.

    ### Exercises

    ??? question "Rewards of 1, 1, 0 and 0: the advantages, with and without the division?"
        The mean is 0.5 and so is the standard deviation: 1, 1, −1, −1, and half of that without.

    ??? question "In one group 1 of 8 answers is right, in another 4. Which right one counts more?"
        The rare one: $\sqrt 7 = 2.65$ against 1 with the division, and 7/8 against 1/2 without.

    ??? question "All answers to a question are right. What is its gradient?"
        Zero, up to that of the distance to the reference. Training slows down as the model gets
        better, until you ask harder questions.
    """
    # A table as the model: row $i$ has the logits of the token after token $i$.
    model = nn.Embedding(n_vocab, n_vocab)
    questions = draw_questions(n_digits, n_questions, torch.Generator().manual_seed(1))

    # Each question as often as there are answers in a group, side by side. Then they are answered.
    asked = questions.repeat_interleave(n_answers, dim=1)
    answers = generate(model, asked, n_tokens, len(asked) + n_tokens)[len(asked) :]

    # One row for each question. (`verify(asked, answers)` would be the reward for sorting.)
    mask = answer_mask(answers)
    rewards = ((answers == 7) & mask).any(dim=0).float().view(n_questions, n_answers)
    advantages = group_advantages(rewards).flatten()

    # The model that draws is the one that learns, and the reference as well: it is the first step.
    new = log_probabilities(model, asked, answers)
    old = new.detach()
    loss = grpo_loss(new, old, old, advantages, mask)
    loss.backward()

    # A small step against the gradient: by how much is each answer likelier now?
    with torch.no_grad():
        model.weight -= 0.1 * model.weight.grad
    change = ((log_probabilities(model, asked, answers) - old) * mask).sum(dim=0)
    return loss, advantages, change.detach()
