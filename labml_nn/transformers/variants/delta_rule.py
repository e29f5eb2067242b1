r"""
---
title: The Gated Delta Rule
summary: A state of fixed size that forgets, and corrects what it has before it writes.
paper:
  title: "Gated Delta Networks: Improving Mamba2 with Delta Rule"
  authors: Yang et al.
  year: 2024
  link: https://arxiv.org/abs/2412.06464
terms: {delta rule: "Takes off what is stored for a key before a new value is written for it."}
---

The state of [linear attention](linear_attention.py) is a matrix. A token writes by adding the
product of its key and its value, and reads by multiplying with its query. Nothing is ever removed.
Write 3 under a key of length one, and later 5 under the same key: the state holds 8, which is
neither.

The *delta rule* looks first. The second token finds 3 under its key, wants 5, and adds the
difference, 2. The state holds 5. With a share of 0.5 it would add 1, and the state hold 4.

Over many pairs that makes a difference. Write pairs of a random key and a random value into a state
with 64 rows. Write the same keys again with *new* values. Then read the new values. This is the
error, as a share of the values' size (answering zero has an error of 1):

[The error by the number of pairs, mean of three
seeds](../../../results/family_drawings.json#figures.found_again)

With 16 pairs it is [1.24](../../../results/family_drawings.json#tables.recall.16.linear) for linear
attention and [0.45](../../../results/family_drawings.json#tables.recall.16.delta) for the delta
rule.

The paper adds *decay*: before a token writes, it shrinks the whole state by a factor $\alpha$ from
0 to 1. With the share $\beta$ of the difference that is written:

$$
S_i = \alpha_i S_{i-1} +
k_i \, \beta_i \left( v_i - (\alpha_i S_{i-1})^\top k_i \right)^\top \qquad o_i = S_i^\top q_i
$$

**In:** queries $q_i$, keys $k_i$ and values $v_i$ for each position $i$, made of tokens, `[seq_len,
batch_size, d_model]`. $\alpha_i$ and $\beta_i$ are computed from the token as well, one of each for
a head. **Out:** the results $o_i$, and the state $S$, with $d_k$ rows for each head.
"""

from collections.abc import Callable

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from labml_nn.transformers.mha import causal_mask
from labml_nn.transformers.rms_norm import rms_norm
from labml_nn.transformers.variants.linear_attention import LinearAttention


def delta_steps(inputs: tuple[Tensor, ...], state: Tensor) -> tuple[Tensor, Tensor]:
    r"""
    ## Recurrent form

    * `inputs` are five: queries and keys, `[seq_len, batch_size, heads, d_k]`, the keys of length
      one; values, `[seq_len, batch_size, heads, d_v]`; then $\log \alpha$ and $\beta$,
      `[seq_len, batch_size, heads, 1]`
    * `state` is `[batch_size, heads, d_k, d_v]`

    The results are $o$ for all positions, and the last state.
    """
    results = []
    for q, k, v, g, b in zip(*inputs, strict=True):
        # Forget a little of everything. $g$ is $\log \alpha$: the chunked form will add logarithms
        # where this one multiplies.
        state = g.exp().unsqueeze(-1) * state

        # What the state has under this key.
        found = torch.einsum("bhd,bhdv->bhv", k, state)

        # It should have $v$. Add what is missing, or a share of it, in the direction of the key. In
        # directions orthogonal to the key nothing changes.
        state = state + k[..., :, None] * (b * (v - found))[..., None, :]

        # Read after writing, so a token can find its own value.
        results.append(torch.einsum("bhd,bhdv->bhv", q, state))
    return torch.stack(results), state


def delta_chunks(
    inputs: tuple[Tensor, ...], state: Tensor, chunk_len: int = 64
) -> tuple[Tensor, Tensor]:
    r"""
    ## Chunked form

    A loop over positions is slow in training. But what a token finds depends on what earlier tokens
    wrote, which depends on what they found. Within a chunk that is a system of linear
    equations for $u_i$, what token $i$ writes:

    $$
    u_i = \beta_i \Big( v_i - e^{g_i} S^\top k_i -
    \sum_{j < i} e^{g_i - g_j} (k_i \cdot k_j)\, u_j \Big)
    $$

    $g_i$ is the sum of $\log \alpha$ from the beginning of the chunk up to $i$, and $S$ the state
    before the chunk. Only earlier $u_j$ are on the right, so the system is triangular, and a solver
    finds all of them at once. Arguments and results are those of the recurrent form.
    """
    # Matrix products want the two axes that they multiply to be the last.
    chunks = (x.permute(1, 2, 0, 3).split(chunk_len, dim=2) for x in inputs)
    results = []
    for q, k, v, g, b in zip(*chunks, strict=True):
        # What is left, at position $i$, of what position $j$ wrote. Above the diagonal the exponent
        # would be positive, and could overflow; these positions are in the future anyway.
        g = g.cumsum(dim=2)
        visible = causal_mask(g.shape[2]).squeeze(-1).to(g.device)
        left = (g - g.mT).masked_fill(~visible, -torch.inf).exp()

        # All $\beta_i (v_i - \dots)$ that can be known before the system is solved.
        known = b * (v - g.exp() * (k @ state))

        # The factors of $u_j$ in the sum. The solver takes the diagonal as 1, which stands for
        # $u_i$ itself. PyTorch has none for 16 bits, so it works with 32.
        system = b * left * (k @ k.mT)
        system = system.to(torch.promote_types(system.dtype, torch.float32))
        known = known.to(torch.promote_types(known.dtype, torch.float32))
        written = torch.linalg.solve_triangular(system, known, upper=False, unitriangular=True)

        # A query reads what was there before the chunk, and what the chunk has written up to it.
        results.append(g.exp() * (q @ state) + (left * (q @ k.mT)) @ written)

        # The state after the chunk: what is left of the old one, and of each write.
        end = g[:, :, -1:]
        state = end.exp() * state + ((end - g).exp() * k).mT @ written
    return torch.cat(results, dim=2).permute(2, 0, 1, 3), state


class DeltaRuleAttention(LinearAttention):
    r"""
    ## Attention by the delta rule

    Takes the place of causal [multi-head attention](../mha.py#MultiHeadAttention). Its layers are
    those of [linear attention](linear_attention.py#LinearAttention), and two more.
    """

    def __init__(
        self, heads: int, d_model: int, dropout_prob: float = 0.1, bias: bool = True
    ) -> None:
        r"""
        The arguments are those of linear attention. `bias` is for the four projections that it has.
        """
        # Queries, keys, values and the output.
        super().__init__(heads, d_model, dropout_prob, bias)

        # One decay and one share for each head, so heads can remember for different times.
        self.decay = nn.Linear(d_model, heads)
        self.share = nn.Linear(d_model, heads)

        # $\sigma(4) = 0.982$: by the bias alone, half of a write is left after 38 tokens. A state
        # that forgets at once would get no gradient from what is far back.
        nn.init.constant_(self.decay.bias, 4.0)

    def forward(
        self, *, query: Tensor, key: Tensor, value: Tensor, mask: Tensor | None = None
    ) -> Tensor:
        r"""
        `query`, `key`, `value` and the result are `[seq_len, batch_size, d_model]`.
        """
        # The rule hides the future by itself. Any other mask would be ignored in silence.
        if mask is not None and not mask.equal(causal_mask(len(key)).to(mask.device)):
            raise ValueError(f"expected no mask or the causal one, got {list(mask.shape)}")
        return self.extend(query, key, value)[0]

    def extend(
        self, query: Tensor, key: Tensor, value: Tensor, state: Tensor | None = None
    ) -> tuple[Tensor, Tensor]:
        r"""
        ### Attend with a state

        For a whole text, or for what follows on a text whose `state` the last call returned.
        """
        # The token of the key decides what is forgotten, and how much is written.
        log_decay = F.logsigmoid(self.decay(key)).unsqueeze(-1)
        share = self.share(key).sigmoid().unsqueeze(-1)

        # Keys of length one: with $\beta = 1$ a write then makes the value under its key exactly
        # $v$. Longer keys would overshoot, and the state could grow without bound.
        q = F.normalize(self.query(query), dim=-1)
        k = F.normalize(self.key(key), dim=-1)
        v = self.value(value)

        # A text begins with nothing in the state.
        if state is None:
            state = v.new_zeros(*k.shape[1:], v.shape[-1])
        x, state = delta_chunks((q, k, v, log_decay, share), state)

        # No weights sum to one here, so the size of the result isn't known. Normalise each head.
        return self.output(self.dropout(rms_norm(x)).flatten(start_dim=2)), state


def in_transformer(
    *, d_model: int, heads: int, dropout_prob: float, **_: float
) -> dict[str, Callable[[], nn.Module]]:
    r"""
    ## In a transformer

    In the [small transformer](../basic/autoregressive_experiment.py), in the place of attention.
    """
    # The model passes a causal mask, which this attention takes.
    return {"self_attn": lambda: DeltaRuleAttention(heads, d_model, dropout_prob)}


def example(
    seq_len: int = 7, batch_size: int = 3, heads: int = 5, d_k: int = 2, d_v: int = 11
) -> tuple[Tensor, ...]:
    r"""
    ## Example

    ### Measured here

    In a small model, after 500 steps, linear attention has a loss of
    [2.316](../../../results/families.json#tables.losses.linear.loss), multi-head attention
    [2.213](../../../results/families.json#tables.losses.multi-head%20attention.loss), and the rule
    of this page [2.035](../../../results/families.json#tables.losses.gated%20delta%20rule.loss)
    (three seeds), the best of all [variants](__init__.py). Which part does it? When we took them
    apart, each helped by itself, and the decay more than the delta. With decay alone, where a token
    writes $\beta_i v_i$ without looking first, the loss was nearly as low. With $\alpha = 1$
    everywhere, two thirds of the gain were left. With neither it is 2.32 (one seed), no better than
    linear attention: the rest of the page gains nothing alone. Our guess is that decay tells near
    from far.

    In the picture above, with 64 pairs the delta rule is bad, too: random keys aren't orthogonal,
    so each write disturbs others. With orthogonal keys its error would be 0. That of linear
    attention would still be 1, since the old values are never removed.

    ### What is left out, and padding

    The short convolution and the activation that the paper's model has before the rule, and its
    gate after it, are left out, and the decay is a sigmoid. Padding at the end needs no mask for
    the outputs: no earlier position sees it. But it does change the state that `extend` returns. To
    go on with a text, pass it without its padding.

    ### Overwriting, by hand

    A state with two rows and two columns. The key (1, 0) is written twice, first with the value (2,
    1), then with (0, 3). The sum keeps both; by the delta rule, with $\beta = 1$ and nothing
    forgotten, the second write replaces the first:

    [The state after one write and after
    two](../../../results/hand_drawings.json#figures.overwritten)

    ### Exercises

    ??? question "The state has 3 under a key of length one. The token writes 5 with $\beta = 0.5$."
        $3 + 0.5 \cdot (5 - 3) = 4$ is there now. Linear attention would have $3 + 5 = 8$.

    ??? question "$\alpha = 0$ at one position. What do later queries find of the text before it?"
        Nothing. The model can close a subject like that, in one token.

    ??? question "Two keys are orthogonal. Does writing under one change what is under the other?"
        No. But a state of $d_k$ rows has room for $d_k$ orthogonal keys only.

    ??? question "Leave out `F.normalize` for the keys. What happens for a key of length 2?"
        With $\beta = 1$ the write under that key is four times what is missing. So it overshoots
        threefold, and each new write under the key makes it worse.
    """
    # All that the rule takes, at random: a decay below 1 has a negative logarithm.
    query, key = F.normalize(torch.randn(2, seq_len, batch_size, heads, d_k), dim=-1)
    value = torch.randn(seq_len, batch_size, heads, d_v)
    log_decay = -torch.rand(seq_len, batch_size, heads, 1)
    share = torch.rand(seq_len, batch_size, heads, 1)

    # Both forms begin with nothing in the state. The chunks have 3 positions, the last one fewer.
    inputs = query, key, value, log_decay, share
    state = torch.zeros(batch_size, heads, d_k, d_v)
    steps, last = delta_steps(inputs, state)
    chunks, _ = delta_chunks(inputs, state, chunk_len=3)

    # As an attention among others, under the only mask that it takes.
    d_model = heads * d_k
    x = torch.randn(seq_len, batch_size, d_model)
    attention = DeltaRuleAttention(heads, d_model)
    return steps, last, chunks, attention(query=x, key=x, value=x, mask=causal_mask(seq_len))
