r"""Attention by PyTorch's module and by loops, and what every way to write it has to stand."""

import math
from collections.abc import Callable, Sequence

import torch
from torch import Tensor, nn
from torch.func import functional_call

# Pairwise different primes, so that no two axes can be mixed up.
BATCH_SIZE, SEQ_LEN, HEADS, D_K = 3, 5, 2, 7
D_MODEL = HEADS * D_K

# The weight and the bias of a projection; attention has four of them: query, key, value, output.
Layer = tuple[Tensor, Tensor]


def sequences(seq_len: int = SEQ_LEN) -> Tensor:
    r"""Some sequences, batch first, with a gradient."""
    generator = torch.Generator().manual_seed(2)
    x = torch.randn(BATCH_SIZE, seq_len, D_MODEL, generator=generator, dtype=torch.float64)
    return x.requires_grad_()


def causal(seq_len: int = SEQ_LEN) -> Tensor:
    r"""Which position sees which, if none looks ahead."""
    return torch.tensor([[key <= query for key in range(seq_len)] for query in range(seq_len)])


def by_pytorch(x: Tensor, layers: Sequence[Layer], visible: Tensor) -> tuple[Tensor, Tensor]:
    r"""Output and weights of PyTorch's attention, whose mask is true where it must not look."""
    other = nn.MultiheadAttention(D_MODEL, HEADS, batch_first=True, dtype=x.dtype)
    *projections, (weight, bias) = layers
    parameters = {
        "in_proj_weight": torch.cat([one for one, _ in projections]),
        "in_proj_bias": torch.cat([one for _, one in projections]),
        "out_proj.weight": weight,
        "out_proj.bias": bias,
    }
    hidden = ~visible.expand(len(x), HEADS, x.shape[1], x.shape[1]).flatten(end_dim=1)
    options = {"attn_mask": hidden, "average_attn_weights": False}
    return functional_call(other, parameters, (x, x, x), options)


def by_loops(x: Tensor, layers: Sequence[Layer], visible: Tensor) -> Tensor:
    r"""The formula, number by number: no operation sees more than one score at a time."""
    seen = visible.expand(len(x), HEADS, x.shape[1], x.shape[1]).tolist()
    output_weight, output_bias = layers[3]
    rows = []
    for b, sequence in enumerate(x):
        q, k, v = ([weight @ one + bias for one in sequence] for weight, bias in layers[:3])
        for i in range(len(sequence)):
            joined = []
            for head in range(HEADS):
                features = range(head * D_K, (head + 1) * D_K)
                weights = {
                    j: (sum(q[i][d] * k[j][d] for d in features) / math.sqrt(D_K)).exp()
                    for j in range(len(sequence))
                    if seen[b][head][i][j]
                }
                total = sum(weights.values())
                for d in features:
                    mean = sum(
                        (w * v[j][d] / total for j, w in weights.items()), start=x.new_zeros([])
                    )
                    joined.append(mean)
            rows.append(output_weight @ torch.stack(joined) + output_bias)
    return torch.stack(rows).view(x.shape)


def gradients(output: Tensor, variables: Sequence[Tensor]) -> list[Tensor]:
    r"""The gradients of a sum in which every number of the output counts differently."""
    generator = torch.Generator().manual_seed(4)
    weights = torch.randn(output.shape, generator=generator).to(output.dtype)
    found = torch.autograd.grad((output * weights).sum(), variables, materialize_grads=True)
    return list(found)


def difference(mine: Tensor, theirs: Tensor, variables: Sequence[Tensor]) -> float:
    r"""The largest difference of two outputs, and of the gradients of both."""
    one = [mine, *gradients(mine, variables)]
    other = [theirs, *gradients(theirs, variables)]
    pairs = zip(one, other, strict=True)
    # A maximum of Python would pass over a NaN.
    return torch.stack([(a - b).detach().abs().max() for a, b in pairs]).max().item()


def check_nothing_leaks(attend: Callable[[Tensor], Tensor]) -> None:
    r"""An output depends on its own position and the earlier ones, of its own sequence."""
    x = sequences().detach()
    before = attend(x)
    for b in range(BATCH_SIZE):
        for position in range(SEQ_LEN):
            changed = x.clone()
            changed[b, position] += 1
            moved = (attend(changed) != before).any(dim=2)
            assert moved.nonzero().tolist() == [[b, later] for later in range(position, SEQ_LEN)]


def check_saved(make: Callable[[], nn.Module]) -> None:
    r"""Saved weights give the same numbers in another module, which had others before."""
    module, other, x = make(), make(), sequences().detach().float()
    first = module(x)[0]
    assert not torch.equal(other(x)[0], first)
    other.load_state_dict(module.state_dict())
    assert torch.equal(other(x)[0], first)


def check_dropout(make: Callable[[float], nn.Module], call: Callable = nn.Module.__call__) -> None:
    r"""If all weights are dropped, the bias of the output remains; but only in training."""
    x = sequences().detach().float()
    torch.manual_seed(1)
    module = make(1.0)
    dropped, bias = call(module, x), list(module.parameters())[-1]
    assert torch.equal(dropped, bias.expand_as(dropped))
    torch.manual_seed(1)
    torch.testing.assert_close(call(module.eval(), x), call(make(0.0), x))


def check_device(module: nn.Module) -> None:
    r"""What a call makes is made on the device of its input."""
    module, x = module.to("meta"), sequences().to("meta")
    assert module(x).device.type == "meta"
