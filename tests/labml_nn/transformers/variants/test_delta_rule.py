import math
from functools import partial
from inspect import signature
from itertools import product

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor
from transformers.models.qwen3_next import modeling_qwen3_next as qwen3_next

from labml_nn.transformers.mha import causal_mask
from labml_nn.transformers.variants.delta_rule import DeltaRuleAttention, delta_chunks, delta_steps
from tests.labml_nn.transformers import seam
from tests.labml_nn.transformers.seam import BATCH_SIZE, D_K, D_MODEL, HEADS, at_the_seam, equals
from tests.oracles.compare import difference, gradients, largest
from tests.oracles.hugging_face import all_in_double

D_V = 13


attention = partial(DeltaRuleAttention, HEADS, D_MODEL)


def numbers(seq_len: int = 7) -> tuple[list[Tensor], Tensor]:
    r"""All that the rule takes, and a state that isn't empty, with gradients."""
    generator = torch.Generator().manual_seed(1)

    def draw(*shape: int) -> Tensor:
        return torch.randn(*shape, generator=generator, dtype=torch.float64)

    shape = (seq_len, BATCH_SIZE, HEADS)
    key = F.normalize(draw(*shape, 5), dim=-1)
    made = [draw(*shape, 5), key, draw(*shape, D_V), F.logsigmoid(draw(*shape, 1))]
    made.append(draw(*shape, 1).sigmoid())
    state = draw(BATCH_SIZE, HEADS, 5, D_V).requires_grad_()
    return [one.requires_grad_() for one in made], state


def both(results: tuple[Tensor, Tensor]) -> Tensor:
    r"""What was read, and the last state."""
    return torch.cat([one.flatten() for one in results])


def of_qwen() -> float:
    r"""A function of Qwen3-Next, step by step, against both forms of the page."""
    made, state = numbers()
    query, key, value, log_decay, share = (one.transpose(0, 1) for one in made)
    with all_in_double():
        read, last = qwen3_next.torch_recurrent_gated_delta_rule(
            query,
            key,
            value,
            log_decay.squeeze(-1),
            share.squeeze(-1),
            initial_state=state,
            output_final_state=True,
        )
    # Theirs divides queries by the root of their width.
    variables, wanted = [*made, state], both((read.transpose(0, 1) * math.sqrt(5), last))
    chunks = (delta_chunks(tuple(made), state, chunk_len) for chunk_len in (1, 3, 7, 64))
    found = [both(form) for form in (delta_steps(tuple(made), state), *chunks)]
    return difference(torch.stack(found), wanted.expand(len(found), -1), variables, variables)


def loops() -> float:
    r"""The whole layer from Python's own numbers."""
    module, given = seam.randomised(attention()), seam.inputs(7, 7)
    parts = zip((module.query, module.key, module.value), given.values(), strict=True)
    q, k, v = (part(x).tolist() for part, x in parts)
    decays, shares = (part(given["key"]).tolist() for part in (module.decay, module.share))
    found, features = module(**given, mask=causal_mask(7)), range(D_K)
    expected = torch.empty_like(found).unflatten(-1, (HEADS, D_K))
    for b, h in product(range(BATCH_SIZE), range(HEADS)):
        state = [[0.0] * D_K for _ in features]
        for i in range(7):
            q_size = math.sqrt(sum(f * f for f in q[i][b][h]))
            k_size = math.sqrt(sum(f * f for f in k[i][b][h]))
            key = [f / k_size for f in k[i][b][h]]
            alpha = 1 / (1 + math.exp(-decays[i][b][h]))
            beta = 1 / (1 + math.exp(-shares[i][b][h]))
            for e in features:
                column = [state[d][e] * alpha for d in features]
                there = sum(key[d] * column[d] for d in features)
                for d in features:
                    state[d][e] = column[d] + key[d] * beta * (v[i][b][h][e] - there)
            read = [sum(q[i][b][h][d] / q_size * state[d][e] for d in features) for e in features]
            size = math.sqrt(sum(f * f for f in read) / D_K + 1e-6)
            expected[i, b, h] = torch.tensor(read, dtype=torch.float64) / size
    return largest([found], [module.output(expected.flatten(start_dim=2))])


ORACLES = {"Hugging Face Qwen3-Next": of_qwen, "a loop over scalars": loops}
test_it_equals_what_others_compute = equals(ORACLES)


SMALL = {"weight": (HEADS, D_MODEL), "bias": (HEADS,)}
test_at_the_seam = at_the_seam(
    attention,
    {f"{part}.{name}": shape for part in ("decay", "share") for name, shape in SMALL.items()},
    but=(*seam.HIDDEN, seam.check_idle, seam.check_weights, seam.check_device),
)


def test_a_decay_to_nothing_forgets_all_and_gives_no_infinities() -> None:
    made, state = numbers()
    with torch.no_grad():
        made[3][3] = -1e4
    found, _ = delta_chunks(tuple(made), state)
    fresh, _ = delta_chunks(tuple(x[3:] for x in made), torch.zeros_like(state))
    assert largest([found[3:]], [fresh]) < 1e-10
    assert all(one.isfinite().all() for one in gradients(found, [*made, state]))


def test_a_text_in_pieces_gives_what_the_whole_gives() -> None:
    module, x = seam.randomised(attention()), seam.text()
    first, state = module.extend(x[:2], x[:2], x[:2])
    second, _ = module.extend(x[2:], x[2:], x[2:], state)
    assert largest([torch.cat([first, second])], [seam.attend(module, x)]) < 1e-10


def test_other_masks_are_refused() -> None:
    module, x = attention().double(), seam.text()
    wrong = causal_mask(7).clone()
    wrong[3, 2] = False
    for mask in (wrong, ~causal_mask(7), torch.ones(1, 7, 1, dtype=torch.bool)):
        with pytest.raises(ValueError, match="expected no mask or the causal one"):
            seam.attend(module, x, mask)


def test_half_of_a_write_is_left_after_38_tokens() -> None:
    alpha = torch.sigmoid(attention().decay.bias[0]).item()
    assert round(math.log(0.5) / math.log(alpha)) == 38


def test_padding_at_the_end_changes_no_output_but_the_state() -> None:
    layer = seam.randomised(attention())
    x = seam.text()
    shorter, before = layer.extend(x[:-2], x[:-2], x[:-2])
    longer, after = layer.extend(x, x, x)
    assert (longer[:-2] - shorter).abs().max() < 1e-12
    assert (after - before).abs().max() > 0.01


def test_chunks_have_64_tokens_if_nothing_is_said() -> None:
    assert signature(delta_chunks).parameters["chunk_len"].default == 64


@pytest.mark.parametrize("share", [0.0, 1.0])
def test_under_orthogonal_keys_only_a_rule_that_looks_first_replaces_old_values(
    share: float,
) -> None:
    # All values are written under the same 16 keys twice. With `share` of what was found taken off,
    # 1 is the delta rule, and 0 a sum.
    keys = torch.linalg.qr(torch.randn(16, 16, dtype=torch.float64)).Q
    state = torch.zeros(16, 16, dtype=torch.float64)
    old, new = torch.randn(2, 16, 16, dtype=torch.float64)
    for key, value in (*zip(keys, old, strict=True), *zip(keys, new, strict=True)):
        state = state + key[:, None] * (value - share * key @ state)
    left = keys @ state - new
    torch.testing.assert_close(left, (1 - share) * old)
