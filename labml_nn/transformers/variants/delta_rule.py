r"""
---
title: The Gated Delta Rule
summary: A state of fixed size that forgets, and corrects what it has before it writes.
paper:
  title: "Gated Delta Networks: Improving Mamba2 with Delta Rule"
  authors: Yang et al.
  year: 2024
  link: https://arxiv.org/abs/2412.06464
---

The state of [linear attention](linear_attention.py) is a matrix to which each token adds a product
of its key and its value. To read is to multiply by a query. Nothing is ever taken out, so what is
written under one key twice is there twice, and a state with $d_k$ rows is soon full of
everything. Two remedies, and the paper's is both together:

* **Decay.** Before it writes, a token shrinks all that is there, by a factor $\alpha$ of at most 1.
* **The delta rule.** It looks up what is there under its key, and adds only the *difference* from
  what should be there, or a share $\beta$ of it. With $\beta = 1$ and a key of length one, the
  old value is replaced.

$$
S_i = \alpha_i S_{i-1} +
k_i \, \beta_i \left( v_i - (\alpha_i S_{i-1})^\top k_i \right)^\top \qquad o_i = S_i^\top q_i
$$

$\alpha$ and $\beta$ are made of the token. As the result is still linear in the values, this is
attention with weights that nobody wrote down, not all of them positive.

The page departs from the paper's model in what is around the rule: that has a short convolution
and an activation before it, and a gate after it. Both are left out, and the decay is a sigmoid.
Keys and queries of length one, and the normalisation of what is read, are as there.
"""

from collections.abc import Callable

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from labml_nn.transformers.mha import causal_mask, check_shapes
from labml_nn.transformers.rms_norm import rms_norm
from labml_nn.transformers.variants.linear_attention import LinearAttention, empty_state


def delta_steps(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    state: Tensor,
    log_decay: Tensor | None = None,
    share: Tensor | None = None,
) -> tuple[Tensor, Tensor]:
    r"""
    ## Step by step

    Query and key are `[seq_len, batch_size, heads, d_k]`, the value is
    `[seq_len, batch_size, heads, d_v]`, and the state `[batch_size, heads, d_k, d_v]`. `log_decay`
    is $\log \alpha$, for a head, `[seq_len, batch_size, heads, 1]`, or for each feature of a key.
    `share` is $\beta$, `[seq_len, batch_size, heads, 1]`. Without the one nothing is forgotten,
    without the other values are added as they are; without both this is linear attention.
    """
    results = []
    for i in range(len(query)):
        if log_decay is not None:
            state = log_decay[i].exp().unsqueeze(-1) * state
        new = value[i]
        if share is not None:
            new = share[i] * (new - torch.einsum("bhd,bhdv->bhv", key[i], state))
        state = state + key[i][..., :, None] * new[..., None, :]
        results.append(torch.einsum("bhd,bhdv->bhv", query[i], state))
    return torch.stack(results), state


def delta_chunks(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    state: Tensor,
    log_decay: Tensor,
    share: Tensor,
    chunk_len: int = 64,
) -> tuple[Tensor, Tensor]:
    r"""
    ## In chunks

    What a token finds under its key depends on what the tokens before it wrote, which depends on
    what they found. Within a chunk that is a system of linear equations for what is written, $u$,
    in which each has only earlier ones on the right:

    $$
    u_i = \beta_i \Big( v_i - e^{g_i} S^\top k_i -
    \sum_{j < i} e^{g_i - g_j} (k_i \cdot k_j)\, u_j \Big)
    $$

    $g$ is the sum of the logarithms of the decay from the beginning of the chunk, and $S$ the state
    before it. Such a triangular system is solved at once, and no step is left but that from chunk
    to chunk. The decay is one for a head. Otherwise the arguments and the results are those of
    [single steps](delta_rule.py#delta_steps).
    """
    results = []
    parts = (
        x.permute(1, 2, 0, 3).split(chunk_len, 2) for x in (query, key, value, log_decay, share)
    )
    for q, k, v, g, b in zip(*parts, strict=True):
        # What is left, at position $i$, of what position $j$ wrote. As $j \le i$, the exponent is
        # never positive, however strong the decay. The two last axes are those of the chunk.
        g = g.cumsum(dim=2)
        visible = causal_mask(g.shape[2], g.device)[..., 0]
        faded = (g - g.mT).masked_fill(~visible, -torch.inf).exp()

        # The solver takes the ones on the diagonal for granted.
        known = b * (v - g.exp() * (k @ state))
        system = b * faded * (k @ k.mT)
        written = torch.linalg.solve_triangular(system, known, upper=False, unitriangular=True)

        # What the chunk reads was there before it, or it has written itself.
        results.append(g.exp() * (q @ state) + (faded * (q @ k.mT)) @ written)
        end = g[:, :, -1:]
        state = end.exp() * state + ((end - g).exp() * k).mT @ written
    return torch.cat(results, dim=2).permute(2, 0, 1, 3), state


class DeltaRuleAttention(LinearAttention):
    r"""
    ## Attention by the delta rule

    Causal, at the same seam. The mask is [what it is there](linear_attention.py): none, padding, or
    the causal one. Padding writes nothing, and nothing is forgotten for it.
    """

    def __init__(
        self, heads: int, d_model: int, dropout_prob: float = 0.1, bias: bool = True
    ) -> None:
        r"""
        The arguments are those of [LinearAttention](linear_attention.py#LinearAttention.__init__).
        """
        super().__init__(heads, d_model, dropout_prob, bias, causal=True)

        # One number for each head. The decay starts where half is left after some dozens of
        # tokens: a state that forgets at once learns nothing of what is far.
        self.decay = nn.Linear(d_model, heads)
        self.share = nn.Linear(d_model, heads)
        nn.init.constant_(self.decay.bias, 4.0)

    def forward(
        self, *, query: Tensor, key: Tensor, value: Tensor, mask: Tensor | None = None
    ) -> Tensor:
        r"""
        ### Attend

        `query`, `key`, `value` and the result are `[seq_len, batch_size, d_model]`. What is
        written is up to the tokens of the keys.
        """
        check_shapes(query.shape, key.shape, value.shape, self.d_model)
        mask = self.padding_of(mask, query.shape, key.shape)
        arguments = self.prepare_rule(query, key, value, mask)
        state = empty_state(*arguments[1:3])
        read, _ = delta_chunks(*arguments[:3], state, *arguments[3:])

        # With the identity for values, what is read are the weights themselves.
        self.attn = None
        if self.keep_attn:
            q, k, _, log_decay, share = (x.detach() for x in arguments)
            one = torch.eye(len(k), dtype=k.dtype, device=k.device)[:, None, None]
            one = one.expand(-1, *k.shape[1:3], -1)
            weights, _ = delta_chunks(q, k, one, empty_state(k, one), log_decay, share)
            self.attn = weights.permute(0, 3, 1, 2)
        return self.finish_rule(read, query.dtype)

    def extend(self, x: Tensor, state: Tensor | None = None) -> tuple[Tensor, Tensor]:
        r"""
        ### Go on

        As in [linear attention](linear_attention.py#LinearAttention.extend): `x` are the new
        tokens, `[seq_len, batch_size, d_model]`.
        """
        arguments = self.prepare_rule(x, x, x, None)
        state = empty_state(*arguments[1:3]) if state is None else state
        read, state = delta_chunks(*arguments[:3], state, *arguments[3:])
        return self.finish_rule(read, x.dtype), state

    def prepare_rule(
        self, query: Tensor, key: Tensor, value: Tensor, padding: Tensor | None
    ) -> tuple[Tensor, ...]:
        r"""
        ### Everything that the rule takes

        Query, key and value, the logarithm of the decay and the share.
        """
        made = [self.query(query), self.key(key), self.value(value)]
        made += [
            F.logsigmoid(self.decay(key)).unsqueeze(-1),
            self.share(key).sigmoid().unsqueeze(-1),
        ]
        q, k, v, log_decay, share = (x.float() if x.element_size() == 2 else x for x in made)

        # Padding has a share of zero, and a decay of one.
        if padding is not None:
            log_decay, share = (
                log_decay * padding[0].unsqueeze(-1),
                share * padding[0].unsqueeze(-1),
            )
        return F.normalize(q, dim=-1), F.normalize(k, dim=-1), v, log_decay, share

    def finish_rule(self, read: Tensor, dtype: torch.dtype) -> Tensor:
        r"""
        ### Give what was read a known size

        No weights sum to one here, so nothing else does.
        """
        x = self.dropout(rms_norm(read)).to(dtype)
        return self.output(x.flatten(start_dim=2))


def in_transformer(
    *, d_model: int, heads: int, dropout_prob: float, **_: float
) -> dict[str, Callable[[], nn.Module]]:
    r"""
    ## In a transformer

    In the place of the attention that the [transformer that
    writes](../basic/autoregressive_experiment.py) has.
    """
    return {"self_attn": lambda: DeltaRuleAttention(heads, d_model, dropout_prob)}


def example(
    seq_len: int = 7, batch_size: int = 3, heads: int = 5, d_k: int = 2, d_v: int = 11
) -> tuple[Tensor, ...]:
    r"""
    ## Example

    Both ways on the same numbers, and a text that is gone on with.
    """
    query, key = F.normalize(torch.randn(2, seq_len, batch_size, heads, d_k), dim=-1)
    value = torch.randn(seq_len, batch_size, heads, d_v)
    log_decay, share = (
        torch.rand(2, seq_len, batch_size, heads, 1)
        * torch.tensor([-1, 1])[:, None, None, None, None]
    )
    state = empty_state(key, value)
    steps, last = delta_steps(query, key, value, state, log_decay, share)
    chunks, _ = delta_chunks(query, key, value, state, log_decay, share, chunk_len=3)

    d_model = heads * d_k
    attention = DeltaRuleAttention(heads, d_model)
    attention.keep_attn = True
    x = torch.randn(seq_len, batch_size, d_model)
    whole = attention(query=x, key=x, value=x, mask=causal_mask(seq_len))
    begun, carried = attention.extend(x)
    end, _ = attention.extend(x[:2], carried)
    return steps, last, chunks, whole, begun, end
