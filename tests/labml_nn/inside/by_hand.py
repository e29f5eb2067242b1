r"""A model that nobody has trained: exactly a previous-token head and an induction head."""

import torch
from torch import Tensor

from labml_nn.inside.induction import AttentionOnly

N_VOCAB, SEQ_LEN, D_K = 7, 11, 16
# Where in the residual stream is what: the token, its position, the token before, the answer.
TOKEN, POSITION, BEFORE, ANSWER = 0, N_VOCAB, N_VOCAB + SEQ_LEN, 2 * N_VOCAB + SEQ_LEN


def by_hand() -> AttentionOnly:
    r"""The first of two heads does the work in each layer. The second says nothing."""
    model = AttentionOnly(N_VOCAB, 2 * D_K, 2, 2, SEQ_LEN).double()
    model.requires_grad_(False)
    for parameter in model.parameters():
        parameter.zero_()
    tokens, positions = torch.arange(N_VOCAB), torch.arange(SEQ_LEN)
    table = model.embed.tokens
    table.embedding.weight[tokens, TOKEN + tokens] = 1 / table.scale
    model.embed.positions.encodings.zero_()
    model.embed.positions.encodings[positions, 0, POSITION + positions] = 1

    # A query is the position before, which is found exactly, and its token is noted.
    first, second = model.layers
    first.query.linear.weight[positions[:-1], POSITION + positions[1:]] = 1000
    first.key.linear.weight[positions, POSITION + positions] = 1
    first.value.linear.weight[tokens, TOKEN + tokens] = 1
    first.output.weight[BEFORE + tokens, tokens] = 1

    # A query is the token, a key what was noted, and the token there is the answer.
    second.query.linear.weight[tokens, TOKEN + tokens] = 1000
    second.key.linear.weight[tokens, BEFORE + tokens] = 1
    second.value.linear.weight[tokens, TOKEN + tokens] = 1
    second.output.weight[ANSWER + tokens, tokens] = 1
    model.generator.projection.weight[tokens, ANSWER + tokens] = 50
    return model


def twice() -> Tensor:
    r"""A start that doesn't come up again, and five tokens, twice: for three sequences."""
    part = torch.stack([torch.randperm(N_VOCAB - 1)[:5] + 1 for _ in range(3)], dim=1)
    return torch.cat([torch.zeros(1, 3, dtype=torch.long), part, part])
