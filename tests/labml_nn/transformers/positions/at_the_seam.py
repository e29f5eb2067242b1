r"""What every attention has to stand at the seam `attention(query=, key=, value=, mask=)`.

Each check takes a function that makes an attention without dropout, for `D_MODEL` features.
"""

import math
from collections.abc import Callable, Sequence

import torch
from torch import Tensor

from labml_nn.transformers.mha import MultiHeadAttention, causal_mask

SEQ_LEN_Q, SEQ_LEN_K, BATCH_SIZE, HEADS, D_K = 5, 7, 2, 3, 22
D_MODEL = HEADS * D_K

Make = Callable[[], MultiHeadAttention]


def made(make: Make, dtype: torch.dtype = torch.float64) -> MultiHeadAttention:
    r"""Parameters that are all of the same size, so that none can be forgotten."""
    module = make().to(dtype)
    generator = torch.Generator().manual_seed(1)
    for parameter in module.parameters():
        size = 1 / math.sqrt(parameter.shape[-1])
        parameter.data = torch.randn(parameter.shape, generator=generator).to(dtype) * size
    return module


def inputs(
    seq_len_q: int = SEQ_LEN_Q, seq_len_k: int = SEQ_LEN_K, dtype: torch.dtype = torch.float64
) -> dict[str, Tensor]:
    r"""A query, a key and a value, all different, with gradients."""
    generator = torch.Generator().manual_seed(2)
    lengths = {"query": seq_len_q, "key": seq_len_k, "value": seq_len_k}
    return {
        name: torch.randn(length, BATCH_SIZE, D_MODEL, generator=generator)
        .to(dtype)
        .requires_grad_()
        for name, length in lengths.items()
    }


def any_mask(seq_len_q: int = SEQ_LEN_Q, seq_len_k: int = SEQ_LEN_K) -> Tensor:
    r"""Another one for each sequence; every query sees a key."""
    generator = torch.Generator().manual_seed(3)
    mask = torch.rand(seq_len_q, seq_len_k, BATCH_SIZE, generator=generator) < 0.5
    mask[:, 1] = True
    return mask


def gradients(output: Tensor, variables: Sequence[Tensor]) -> list[Tensor]:
    r"""The gradients of a sum in which every number of the output counts differently."""
    generator = torch.Generator().manual_seed(4)
    weights = torch.randn(output.shape, generator=generator).to(output.dtype)
    return list(torch.autograd.grad((output * weights).sum(), variables))


def apart(found: Sequence[Tensor], expected: Sequence[Tensor]) -> float:
    r"""The largest difference between two numbers of the one and the other."""
    pairs = list(zip(found, expected, strict=True))
    assert all(one.shape == other.shape for one, other in pairs)
    # A maximum of Python would pass over a NaN.
    return torch.stack([(a - b).detach().abs().max() for a, b in pairs]).max().item()


def with_gradients(output: Tensor, *variables: Tensor) -> list[Tensor]:
    r"""The output and its gradients."""
    return [output, *gradients(output, variables)]


def linear(layer: torch.nn.Linear, x: Tensor) -> Tensor:
    r"""The features of all heads at one position."""
    return (layer.weight * x).sum(dim=1) + layer.bias


def by_loops(
    module: MultiHeadAttention,
    query: Tensor,
    key: Tensor,
    value: Tensor,
    mask: Tensor | None,
    score: Callable[[Tensor, Tensor, int, int, int], Tensor],
    carried: Callable[[Tensor, int], Tensor] = lambda v, distance: v,
) -> Tensor:
    r"""Attention for one position, sequence and head after the other.

    `score` is given a query and a key before any scaling, the place of the query among the keys,
    that of the key, and the head; `carried` what is to be handed over, and the distance.
    """
    later = len(key) - len(query)
    visible = torch.ones(len(query), len(key), query.shape[1], dtype=torch.bool)
    visible = (visible if mask is None else visible & mask).tolist()
    places = [(j, b) for j in range(len(key)) for b in range(key.shape[1])]
    keys = {(j, b): linear(module.key.linear, key[j, b]) for j, b in places}
    values = {(j, b): linear(module.value.linear, value[j, b]) for j, b in places}
    rows = []
    for i in range(len(query)):
        for b in range(query.shape[1]):
            q = linear(module.query.linear, query[i, b])
            joined = []
            for h in range(HEADS):
                part = slice(h * D_K, (h + 1) * D_K)
                total, mean = 0.0, 0.0
                for j in range(len(key)):
                    k, v = keys[j, b][part], values[j, b][part]
                    weight = score(q[part], k, i + later, j, h).exp() * visible[i][j][b]
                    total = total + weight
                    mean = mean + weight * carried(v, i + later - j)
                joined.append(mean / total)
            rows.append(linear(module.output, torch.cat(joined)))
    return torch.stack(rows).view(query.shape)


def from_loops(
    make: Make, mask: Tensor | None, score: Callable, carried: Callable | None = None
) -> float:
    r"""How far the output and all gradients are from those of the loops.

    `score` and `carried` are as above, with the module as one more argument before the others.
    """
    module, given = made(make), inputs(len(mask) if mask is not None else SEQ_LEN_K)
    how = {"score": lambda *pair: score(module, *pair)}
    if carried is not None:
        how["carried"] = lambda *pair: carried(module, *pair)
    variables = [*given.values(), *module.parameters()]
    return apart(
        with_gradients(module(**given, mask=mask), *variables),
        with_gradients(by_loops(module, **given, mask=mask, **how), *variables),
    )


def check_decoding(make: Make) -> None:
    r"""Queries alone, with the keys so far, give what the whole text gives."""
    module, x = made(make), inputs()["key"]
    whole = module(query=x, key=x, value=x, mask=causal_mask(SEQ_LEN_K))
    for end in range(1, SEQ_LEN_K + 1):
        seen = x[:end]
        alone = module(query=seen[-1:], key=seen, value=seen)
        assert apart([alone], [whole[end - 1 : end]]) < 1e-6
    few = module(query=x[-3:], key=x, value=x, mask=causal_mask(SEQ_LEN_K)[-3:])
    assert apart([few], [whole[-3:]]) < 1e-6


def check_distance_alone(make: Make, also_before: int = 19) -> None:
    r"""A text that stands later, after something that no one may see, gives the same."""
    module, x = made(make), inputs()["key"].detach()
    plain = module(query=x, key=x, value=x, mask=causal_mask(SEQ_LEN_K))
    longer = torch.cat([torch.randn(also_before, BATCH_SIZE, D_MODEL, dtype=x.dtype), x])
    mask = causal_mask(len(longer))
    mask[also_before:, :also_before] = False
    moved = module(query=longer, key=longer, value=longer, mask=mask)[also_before:]
    assert apart([moved], [plain]) < 1e-6


def check_order_matters(make: Make) -> None:
    r"""Keys in another order give something else, which without positions they would not."""
    module, given = made(make), inputs()
    order = [3, 6, 0, 2, 5, 1, 4]
    shuffled = {**given, "key": given["key"][order], "value": given["value"][order]}
    assert apart([module(**shuffled)], [module(**given)]) > 1e-3


def check_causality(make: Make) -> None:
    r"""What comes later changes nothing."""
    module, x = made(make), inputs()["key"].detach()
    mask = causal_mask(SEQ_LEN_K)
    before = module(query=x, key=x, value=x, mask=mask)
    for position in range(SEQ_LEN_K):
        y = x.clone()
        y[position] += 1
        same = (module(query=y, key=y, value=y, mask=mask) == before).flatten(start_dim=1)
        assert same[:position].all()
        assert not same[position:].all(dim=1).any()


def check_idle(make: Make) -> None:
    r"""A query that may attend to nothing gets zero from every head, and gradients are finite."""
    for dtype in (torch.float64, torch.bfloat16, torch.float16):
        module, given = made(make, dtype), inputs(dtype=dtype)
        mask = any_mask()
        mask[2, :, 1] = False
        output = module(**given, mask=mask)
        assert output.dtype is dtype
        assert torch.equal(output[2, 1], module.output.bias)
        found = gradients(output, [*given.values(), *module.parameters()])
        assert all(gradient.isfinite().all() for gradient in found)
        assert not found[0][2, 1].any()


def check_weights(make: Make) -> None:
    r"""Those of the last call are there, without a gradient, and sum to one."""
    module = made(make)
    module(**inputs(), mask=any_mask())
    assert module.attn.shape == (SEQ_LEN_Q, SEQ_LEN_K, BATCH_SIZE, HEADS)
    assert not module.attn.requires_grad
    sums = module.attn.sum(dim=1)
    assert apart([sums], [torch.ones_like(sums)]) < 1e-10


def check_dropout(make: Make) -> None:
    r"""If all weights are dropped, only the bias remains; none is dropped outside training."""
    module, given = made(make), inputs()
    plain = module(**given)
    module.dropout.p = 1.0
    assert torch.equal(module(**given), module.output.bias.expand_as(plain))
    assert torch.equal(module.eval()(**given), plain)


def check_device(make: Make) -> None:
    r"""What a call makes is made on the device of its input."""
    module, given = made(make).to("meta"), {n: x.to("meta") for n, x in inputs().items()}
    assert module(**given, mask=any_mask().to("meta")).device.type == "meta"


def check_saved(make: Make) -> None:
    r"""Saved weights give the same numbers in another one, which had others before."""
    module, other, given = make(), make(), inputs(dtype=torch.float32)
    assert not torch.equal(module(**given), other(**given))
    other.load_state_dict(module.state_dict())
    assert torch.equal(module(**given), other(**given))


CHECKS = [
    check_decoding,
    check_distance_alone,
    check_order_matters,
    check_causality,
    check_idle,
    check_weights,
    check_dropout,
    check_device,
    check_saved,
]


def shapes_beyond_attention(module: MultiHeadAttention) -> dict[str, tuple[int, ...]]:
    r"""The parameters that plain attention doesn't have; those that it has are there too."""
    plain = {n: p.shape for n, p in MultiHeadAttention(HEADS, D_MODEL).state_dict().items()}
    found = {n: p.shape for n, p in module.state_dict().items()}
    assert plain.items() <= found.items()
    return {name: tuple(shape) for name, shape in found.items() if name not in plain}
