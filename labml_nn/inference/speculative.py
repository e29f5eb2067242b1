r"""
---
title: Speculative Decoding
summary: A cheap draft guesses some letters, and one pass of the model checks them all.
know: ../transformers/kv_cache.py
paper:
  title: Fast Inference from Transformers via Speculative Decoding
  authors: Leviathan, Kalman and Matias
  year: 2022
  link: https://arxiv.org/abs/2211.17192
terms:
  acceptance rate: The probability that the target keeps a token of the draft.
  draft: Tokens guessed by something cheap, for the target to check.
  rejection sampling: Draw from one distribution, keep some draws, and so get another distribution.
  speculative decoding: A cheap draft guesses tokens, and one pass of the target checks them all.
---

A model writes one token for each pass through all of its weights. Reading several tokens in one
pass costs little more than reading one: for our small transformer with a
[cache](../transformers/kv_cache.py), one new letter takes
[1.19](../../results/speculative.json#tables.passes.1.target) milliseconds, and sixteen take
[1.81](../../results/speculative.json#tables.passes.16.target). But when the model *writes*, the
second letter isn't known before the first.

So guess. Something cheap, the *draft*, guesses four letters. One pass of the *target*, the model
that we care about, checks them all:

```
text so far     t h e _
draft guesses           c a r _
target checks           ✓ ✓ ✗       keeps “ca”, draws “t”
text now        t h e _ c a t
```

Three letters for one pass of the target. The check is made so that each text is as likely as from
the target alone. A guess $x$ with probability $q(x)$ in the draft and $p(x)$ in the target is kept
with probability $\min(1, p(x) / q(x))$. With $q = 0.4$ and $p = 0.3$, that is in three cases of
four.

**In:** a target, a draft, and a text, `[n_text]`. **Out:** the text with more tokens, and how many
each pass of the target has added.

[What each pass of the target adds, by the length of the
draft](../../results/speculative.json#figures.lengths)
"""

from collections.abc import Callable

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from labml_nn.training.sampling import draw

# From the text so far to logits for the next token.
Predict = Callable[[Tensor], Tensor]

# From the text and a number of tokens to that many or fewer, with their distributions.
Propose = Callable[[Tensor, int], tuple[Tensor, Tensor]]


def distribution(logits: Tensor, temperature: float) -> Tensor:
    r"""
    ## Distributions

    The probabilities by which a token is drawn.
    """
    # Greedy decoding is a distribution, too, with all of the probability on the likeliest token.
    # The rest of the page works for it unchanged.
    if temperature == 0:
        return F.one_hot(logits.argmax(dim=-1), logits.shape[-1]).double()

    # In double precision, what is kept and what is left add up to $p$ to 15 digits. In single
    # precision it would be 7, and no text would show the difference.
    return (logits.double() / temperature).softmax(dim=-1)


def accept(draft: Tensor, q: Tensor, p: Tensor, generator: torch.Generator | None = None) -> Tensor:
    r"""
    ## Accept or replace

    * `draft` are the guessed tokens, `[n_draft]`
    * `q` are the distributions that they were drawn from, `[n_draft, n_vocab]`
    * `p` are those of the target: one more, for the token after the draft

    The simplest check would be to draw from $p$ and keep the guess if it is the same. That is
    right, too, but two draws often differ, even from one distribution. In the example below they
    agree in 0.3 · 0.5 + 0.4 · 0.3 + 0.1 · 0.2 = 0.29 of all cases, and the rule keeps 0.7.

    Keep a guess $x$ with probability $\min(1, p(x) / q(x))$: a token that the draft makes too often
    by the factor $q(x) / p(x)$ gets rarer by just as much. Else draw from what is left of $p$:

    $$
    p'(x) = \frac{\max(0,\; p(x) - q(x))}{\sum_y \max(0,\; p(y) - q(y))}
    $$

    An example: what comes after “the c”?

    | letter | a | o | e | r | sum |
    | --- | ---: | ---: | ---: | ---: | ---: |
    | target, $p$ | 0.5 | 0.3 | 0.2 | 0 | 1 |
    | draft, $q$ | 0.3 | 0.4 | 0.1 | 0.2 | 1 |
    | keep with $\min(1, p/q)$ | 1 | 0.75 | 1 | 0 | |
    | drawn and kept, $\min(p, q)$ | 0.3 | 0.3 | 0.1 | 0 | 0.7 |
    | left, $\max(0, p - q)$ | 0.2 | 0 | 0.1 | 0 | 0.3 |

    In 0.7 of all cases the guess is kept. In the other 0.3 we draw from what is left, which sums to
    0.3, too. The last two rows add up to $p$: the distribution is exactly that of the target,
    whatever the draft is. A bad draft costs time, never quality.

    [The same as bars](../../results/speculative.json#figures.overlap)
    """
    for i, token in enumerate(draft):
        # A token that was drawn from $q$ has a $q$ above zero.
        share = (p[i, token] / q[i, token]).clamp(max=1)
        if torch.bernoulli(share, generator=generator):
            continue

        # The first guess that isn't kept ends the draft: all that come later were made for another
        # text. `draw` takes logits, and its softmax of logarithms makes the sum one.
        left = (p[i] - q[i]).clamp(min=0)
        return torch.cat([draft[:i], draw(left.log(), generator)[None]])

    # All were kept, and the pass has given the distribution after the last one: a token for free.
    return torch.cat([draft, draw(p[-1].log(), generator)[None]])


class Draft:
    r"""
    ## Draft

    Draw one token after the other from whatever predicts.
    """

    def __init__(
        self, predict: Predict, temperature: float = 1.0, generator: torch.Generator | None = None
    ) -> None:
        r"""
        * `predict` gives the logits of the next token
        * `temperature` may differ from that of the target; the text is the target's all the same
        * `generator` draws the tokens
        """
        # One generator can serve draft and target: then one seed gives one text.
        self.predict = predict
        self.temperature = temperature
        self.generator = generator

    def __call__(self, text: Tensor, n_draft: int) -> tuple[Tensor, Tensor]:
        # One pass of the draft for each guess, because each depends on the one before it.
        start = len(text)
        q = []
        for _ in range(n_draft):
            # The whole distribution is kept, because `accept` needs it.
            q.append(distribution(self.predict(text), self.temperature))
            text = torch.cat([text, draw(q[-1].log(), self.generator)[None]])

        # The guesses alone, and the distribution that each was drawn from.
        return text[start:], torch.stack(q)


def next_logits(model: nn.Module) -> Predict:
    r"""
    ## A model as a draft

    Its logits at the last position, of a single text.
    """
    return lambda text: model(text[:, None])[-1, 0]


@torch.no_grad()
def speculate(
    target: nn.Module,
    propose: Propose,
    text: Tensor,
    n_tokens: int,
    n_draft: int = 4,
    temperature: float = 1.0,
    generator: torch.Generator | None = None,
) -> tuple[Tensor, Tensor]:
    r"""
    ## Decoding

    * `target` turns tokens into logits, and has no dropout. [One with a cache](rewind.py) computes
      the new positions only; clear its cache before the call
    * `propose` is a draft
    * `text` is the prompt: a single one, because texts of a batch would differ in length
    * `n_tokens` is the number of tokens to append; text and draft must fit in the model's context
    """
    # How many tokens each pass adds is worth knowing: the time depends on it.
    end = len(text) + n_tokens
    added = []
    while len(text) < end:
        # A few guesses, and *one* pass over all of them. Its logits at the last token of the text
        # are for the first guess, those at the last guess for the token after the draft.
        draft, q = propose(text, n_draft)
        logits = target(torch.cat([text, draft])[:, None])[-len(draft) - 1 :, 0]

        # A cache that still holds the text would give logits for the draft alone.
        if len(logits) <= len(draft):
            raise ValueError(
                f"{len(logits)} logits for {len(draft)} guesses: clear the cache first"
            )

        # At least one token, at most one more than the draft has. So a bad draft costs time, and
        # the text goes on all the same.
        new = accept(draft, q, distribution(logits, temperature), generator)
        text = torch.cat([text, new])
        added.append(len(new))

    # The last pass may have added more than was asked for.
    return text[:end], torch.tensor(added)


def example(n_text: int = 5, n_draft: int = 3, n_tokens: int = 7, n_vocab: int = 11) -> Tensor:
    r"""
    ## Example

    A table of letter pairs is the target, and its own draft.

    ### Measured here

    With [counted letters](prompt_lookup.py) as the draft, text comes
    [2.6](../../results/speculative.json#tables.drafts.counted,%203%20letters.times) times as fast,
    at [3.1](../../results/speculative.json#tables.drafts.counted,%203%20letters.per_pass) letters a
    pass. The rule keeps the first guess in
    [0.78](../../results/speculative.json#tables.drafts.counted,%203%20letters.overlap) of all
    places; two draws would agree in
    [0.37](../../results/speculative.json#tables.drafts.counted,%203%20letters.agree).

    A small transformer as the draft is too slow. With 64 features and a single layer it adds
    [3.5](../../results/speculative.json#tables.drafts.transformer,%2064%20features.per_pass)
    letters a pass, more than counted letters, but is only
    [1.3](../../results/speculative.json#tables.drafts.transformer,%2064%20features.times) times as
    fast as no draft: its four guesses are four passes of
    [0.33](../../results/speculative.json#tables.passes.1.draft) milliseconds each. Our target is
    quick, too: it has 0.8 million parameters, and that of the paper has 11 billion.

    [Drafts of four letters: what they add, and what they
    cost](../../results/speculative.json#tables.drafts)

    Each further guess pays less: it counts only if all before it were kept.

    [Letters a second, by the length of the draft](../../results/speculative.json#figures.speed)

    Left out: batches, whose passes are large anyway, and texts longer than the model's context.

    ### A manager and her clerk

    Think of a manager who reads faster than she writes. A clerk drafts her letters. She corrects
    the first mistake in a draft, and the clerk goes on from there. A slow clerk is no help.

    ### Exercises

    ??? question "Draft and target are the same model. How many tokens does a pass add?"
        One more than the draft has: $p / q = 1$ everywhere, so all guesses are kept.

    ??? question "$p$ = (0.6, 0.4), and the draft always says the first. How often is it kept?"
        $q$ = (1, 0), so it is kept with 0.6. Otherwise only the second is left.

    ??? question "Each guess is kept with 0.7, whatever came before. What does a draft of 4 add?"
        $1 + 0.7 + 0.7^2 + 0.7^3 + 0.7^4 = (1 - 0.7^5) / (1 - 0.7) = 2.77$. The 1 is the target's.

    ??? question "After a rejection, draw from $p$ and not from what is left. What goes wrong?"
        “a” of the example then comes with $0.3 + 0.3 \cdot 0.5 = 0.45$ in place of 0.5. No single
        text looks wrong. Count the letters of many texts, or compute the distribution.
    """
    # Rows of logits: for the token after each token. The draft is the target itself here.
    generator = torch.Generator().manual_seed(1)
    target = nn.Embedding(n_vocab, n_vocab)
    propose = Draft(next_logits(target), generator=generator)

    # One step by hand. The target gives one distribution more than the draft.
    text = torch.randint(n_vocab, (n_text,), generator=generator)
    draft, q = propose(text, n_draft)
    p = distribution(target(torch.cat([text, draft])[:, None])[-n_draft - 1 :, 0], 1.0)

    # All guesses are kept, since draft and target agree, and one token is added. Then the target
    # rules the first guess out.
    accept(draft, q, p, generator)

    # The first guess gets probability 0, so it can't be accepted.
    without = F.normalize(p.index_fill(1, draft[0], 0), p=1, dim=1)
    accept(draft, q, without, generator)
    return speculate(target, propose, text, n_tokens, n_draft, 1.0, generator)[0]
