r"""What every attention of this room has to stand at the seam, and a reference in loops."""

import math
from collections.abc import Callable

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from labml_nn.transformers.mha import causal_mask
from tests.oracles.compare import difference

SEQ_LEN, BATCH_SIZE, HEADS, D_K = 7, 3, 6, 10
D_MODEL = HEADS * D_K


def text(dtype: torch.dtype = torch.float64) -> Tensor:
    r"""A text with gradients."""
    generator = torch.Generator().manual_seed(2)
    x = torch.randn(SEQ_LEN, BATCH_SIZE, D_MODEL, generator=generator, dtype=torch.float64)
    return x.to(dtype).requires_grad_()


def some_mask() -> Tensor:
    r"""Another one for each sequence, and one query of one sequence sees nothing."""
    shape = (SEQ_LEN, SEQ_LEN, BATCH_SIZE)
    mask = torch.rand(shape, generator=torch.Generator().manual_seed(3)) < 0.6
    mask[:, 1] = True
    mask[4, :, 2] = False
    return mask


def randomise(module: nn.Module) -> nn.Module:
    r"""In double precision, and no two parameters alike: gains and sinks are at the start."""
    generator = torch.Generator().manual_seed(1)
    module.double()
    with torch.no_grad():
        for parameter in module.parameters():
            parameter.copy_(torch.randn(parameter.shape, generator=generator) / 3)
    return module


def attend(module: nn.Module, x: Tensor, mask: Tensor | None = None) -> Tensor:
    r"""Self-attention."""
    return module(query=x, key=x, value=x, mask=mask)


def by_loops(module: nn.Module, x: Tensor, mask: Tensor) -> Tensor:
    r"""Position by position and head by head; queries share a head of keys if there are fewer."""
    query, key, value = (
        F.linear(x, part.linear.weight, part.linear.bias).unflatten(-1, (-1, D_K))
        for part in (module.query, module.key, module.value)
    )
    group = HEADS // key.shape[2]
    mask = mask.expand(len(x), len(x), BATCH_SIZE)
    rows = []
    for i in range(len(x)):
        for b in range(BATCH_SIZE):
            for h in range(HEADS):
                # A sink is a term of the denominator, and adds nothing to the average.
                total = module.sinks[h].exp() if hasattr(module, "sinks") else torch.tensor(0.0)
                summed = torch.zeros(D_K).double()
                for j in range(len(x)):
                    if mask[i, j, b]:
                        exp = (query[i, b, h] @ key[j, b, h // group] / math.sqrt(D_K)).exp()
                        total = total + exp
                        summed = summed + exp * value[j, b, h // group]
                rows.append(summed / total if total > 0 else summed)
    x = torch.stack(rows).view(len(x), BATCH_SIZE, D_MODEL)
    return F.linear(x, module.output.weight, module.output.bias)


def from_loops(module: nn.Module, mask: Tensor, given: Tensor | None) -> float:
    r"""With `given` in the call, `mask` is what should be seen."""
    x = text()
    variables = [x, *module.parameters()]
    return difference(attend(module, x, given), by_loops(module, x, mask), variables, variables)


def from_module(mine: nn.Module, theirs: nn.Module, mask: Tensor | None) -> float:
    r"""From another attention with the same parameters."""
    theirs.load_state_dict(mine.state_dict())
    x = text()
    mine_parts, their_parts = [x, *mine.parameters()], [x, *theirs.parameters()]
    return difference(attend(mine, x, mask), attend(theirs, x, mask), mine_parts, their_parts)


def check_at_the_seam(make: Callable[[], nn.Module]) -> None:
    r"""Nothing leaks, a query may see nothing, and parameters can be saved and loaded."""
    module, x = randomise(make()), text()

    # Another last token moves the last output, and no earlier one.
    changed = x.detach().clone()
    changed[-1] += 1
    before, after = (attend(module, t, causal_mask(SEQ_LEN)) for t in (x, changed))
    assert torch.equal(before[:-1], after[:-1])
    assert (before[-1] != after[-1]).any(dim=-1).all()

    # Another sequence in the batch moves none.
    changed = x.detach().clone()
    changed[:, 0] += 1
    after = attend(module, changed, causal_mask(SEQ_LEN))
    assert (before[:, 1:] - after[:, 1:]).abs().max() < 1e-12

    # A key that is hidden from all queries of its sequence has no influence there.
    mask = some_mask()
    mask[:, 3, 1] = False
    x.grad = None
    output = attend(module, x, mask)
    value_only = x.detach().clone()
    value_only[3, 1] = 9
    others = [i for i in range(SEQ_LEN) if i != 3]
    after = attend(module, value_only, mask)
    assert torch.equal(output[others, 1], after[others, 1])

    # A query that may look at nothing takes zero from every head, and all gradients are finite.
    bias = module.output.bias
    zero = torch.zeros(D_MODEL) if bias is None else bias.detach()
    assert torch.equal(output[4, 2].detach(), zero.double())
    output.square().sum().backward()
    assert x.grad.isfinite().all()
    assert all(p.grad is not None and p.grad.isfinite().all() for p in module.parameters())

    # What is saved is all that is needed.
    other = make().double()
    other.load_state_dict(module.state_dict())
    assert torch.equal(attend(other, x, mask), output)

    # In 32 bits the result has 32 bits, and is about the same.
    single = attend(other.float(), x.float(), mask)
    assert single.dtype == torch.float32
    assert (single - output).abs().max() < 1e-4


def shapes(module: nn.Module) -> dict[str, tuple[int, ...]]:
    r"""The names and shapes of the parameters, and of what else is saved."""
    return {name: tuple(t.shape) for name, t in module.state_dict().items()}


def parameters_of_heads(key_features: int = D_MODEL) -> dict[str, tuple[int, ...]]:
    r"""The parameters of multi-head attention, with fewer features for keys and values or not."""
    rows = {"query": D_MODEL, "key": key_features, "value": key_features}
    found: dict[str, tuple[int, ...]] = {}
    for name, features in rows.items():
        found |= {f"{name}.linear.weight": (features, D_MODEL), f"{name}.linear.bias": (features,)}
    return found | {"output.weight": (D_MODEL, D_MODEL), "output.bias": (D_MODEL,)}
