import math
import re
from collections import Counter
from functools import partial

import pytest
import torch
from torch import Tensor, nn

from labml_nn.transformers.mha import MultiHeadAttention, causal_mask
from tests.labml_nn.transformers import seam
from tests.labml_nn.transformers.seam import D_MODEL, HEADS, SEQ_LEN_K, SEQ_LEN_Q
from tests.oracles import hugging_face, onnx_cases
from tests.oracles.compare import difference, largest


def attention() -> MultiHeadAttention:
    return seam.randomised(MultiHeadAttention(HEADS, D_MODEL))


def distance_to_torch(mask: Tensor | None) -> float:
    r"""In the result, the weights, and the gradients of the sequences and of the output layer.
    Theirs wants true where it must *not* look, batch and heads first.
    """
    module, sequences = attention(), seam.inputs()
    other = seam.joined(module, nn.MultiheadAttention(D_MODEL, HEADS))
    hidden = None if mask is None else ~mask.permute(2, 0, 1).repeat_interleave(HEADS, dim=0)
    theirs, their_weights = other(*sequences.values(), attn_mask=hidden, average_attn_weights=False)
    mine = module(**sequences, mask=mask)
    variables = [*sequences.values(), *module.output.parameters()]
    others = [*sequences.values(), *other.out_proj.parameters()]
    weights = largest([module.attn], [their_weights.permute(2, 3, 0, 1)])
    return max(weights, difference(mine, theirs, variables, others))


def distance_to_loops() -> float:
    r"""From one score after the other, with a query that sees nothing, and masks that are the same
    for all sequences or for all queries.
    """
    several = (None, causal_mask(SEQ_LEN_K)[:SEQ_LEN_Q], seam.some_mask(idle=True))
    several = (*several, seam.some_mask()[:1])
    return max(seam.from_loops(attention(), mask, given=seam.inputs()) for mask in several)


def distance_to_gpt2() -> float:
    theirs = hugging_face.gpt2_attention(HEADS, D_MODEL)
    module, mask = attention(), causal_mask(SEQ_LEN_K)
    hugging_face.attention_from_gpt2(theirs, module)
    x, added = seam.text(), hugging_face.added_mask(mask)
    expected = theirs(x.transpose(0, 1).contiguous(), attention_mask=added)[0].transpose(0, 1)
    mine = seam.attend(module, x, mask)
    return difference(mine, expected, [x, module.output.bias], [x, theirs.c_proj.bias])


def reason_against(case: onnx_cases.Case) -> str:
    r"""Why a case can't be said with this attention, or nothing."""
    query, key, value = onnx_cases.heads_first(case)
    reasons = {
        "fewer heads of keys than of queries": query.shape[1] != key.shape[1],
        "values of another width than keys": query.shape[-1] != value.shape[-1],
        "wants the scores before the softmax": onnx_cases.asks_for_scores(case),
        "other scores than products": onnx_cases.changes_scores(case),
        "lengths or windows, of which the mask here is made": onnx_cases.counts_keys(case),
        "a mask for each head": "attn_mask" in case.inputs
        and onnx_cases.visible(case).shape[1] > 1,
    }
    return next((reason for reason, holds in reasons.items() if holds), "")


def said_with_attention(case: onnx_cases.Case, dtype: torch.dtype) -> dict[str, Tensor]:
    r"""A case of ONNX's: linear layers pass on what they get."""
    query, key, value = (t.to(dtype) for t in onnx_cases.heads_first(case))
    heads, d_k = query.shape[1], query.shape[3]
    visible = onnx_cases.visible(case)
    mask = None if visible is None else visible[:, 0].permute(1, 2, 0)
    module = MultiHeadAttention(heads, heads * d_k, 0.0, bias=False).to(dtype)
    for layer in (module.query.linear, module.key.linear, module.value.linear, module.output):
        nn.init.eye_(layer.weight)
    module.query.linear.weight.data *= onnx_cases.scale_of(case) * math.sqrt(d_k)

    sequences = [t.permute(2, 0, 1, 3).flatten(start_dim=2) for t in (query, key, value)]
    x = module(query=sequences[0], key=sequences[1], value=sequences[2], mask=mask)
    x = x.unflatten(-1, (heads, d_k)).permute(1, 2, 0, 3)
    found = {"Y": onnx_cases.heads_last(case, x)}
    if "qk_matmul_output" in case.outputs:
        found["qk_matmul_output"] = module.attn.permute(2, 3, 0, 1)
    return found


ONNX = onnx_cases.cases("Attention")
SAID = [case for case in ONNX if not reason_against(case)]


def distance_to_onnx() -> float:
    return max(
        largest([said_with_attention(case, torch.float64)["Y"]], [onnx_cases.in_double(case)])
        for case in SAID
    )


ORACLES = {
    "torch.nn.MultiheadAttention": lambda: max(map(distance_to_torch, (None, seam.some_mask()))),
    "a loop over scalars": distance_to_loops,
    "Hugging Face GPT-2": distance_to_gpt2,
    "ONNX Attention": distance_to_onnx,
}
test_it_is_what_others_compute = seam.equals(ORACLES)
test_at_the_seam = seam.at_the_seam(partial(MultiHeadAttention, HEADS, D_MODEL), {})
test_a_width_that_heads_do_not_divide_is_refused = seam.refuses(
    MultiHeadAttention, "{heads=}, {d_model=}", [{"heads": 7, "d_model": D_MODEL}]
)


@pytest.mark.parametrize("case", SAID, ids=lambda case: case.name)
def test_it_gives_what_a_case_of_onnx_says(case: onnx_cases.Case) -> None:
    found = said_with_attention(case, case.inputs["Q"].dtype)
    assert all(onnx_cases.near(case, name, result) for name, result in found.items())


def test_all_cases_of_onnx_but_these_can_be_said() -> None:
    assert Counter(map(reason_against, ONNX)) == {
        "": 19,
        "other scores than products": 20,
        "lengths or windows, of which the mask here is made": 9,
        "a mask for each head": 1,
        "fewer heads of keys than of queries": 17,
        "values of another width than keys": 15,
        "wants the scores before the softmax": 12,
    }


def test_scores_beyond_the_range_of_float16_are_scaled_before_they_are_summed() -> None:
    module = MultiHeadAttention(heads=1, d_model=64, dropout_prob=0.0)
    for layer in (module.query.linear, module.key.linear):
        nn.init.eye_(layer.weight)
        nn.init.zeros_(layer.bias)
    x = torch.full((2, 1, 64), 64, dtype=torch.float16)
    assert (x * x).sum(dtype=torch.float32) / 2 > torch.finfo(torch.float16).max
    output = module.half()(query=x, key=x, value=x)
    torch.testing.assert_close(output, module.output(module.value.linear(x)), rtol=1e-3, atol=1e-3)


@pytest.mark.parametrize(("width", "plain", "scaled"), [(64, 0.12, 0.09), (1024, 0.04, 0.09)])
def test_without_the_scale_only_very_wide_heads_have_a_small_gradient(
    width: int, plain: float, scaled: float
) -> None:
    query, keys = torch.randn(1000, 1, width), torch.randn(1000, 64, width)
    scores = (query * keys).sum(dim=-1)
    weights = torch.stack([scores, scores / math.sqrt(width)]).softmax(dim=-1)
    largest_slopes = (weights * (1 - weights)).amax(dim=-1).mean(dim=-1)
    assert largest_slopes.tolist() == pytest.approx([plain, scaled], abs=0.01)


def test_a_mask_that_does_not_fit_is_refused() -> None:
    # Numbers, two axes, transposed, for one key, and for another batch.
    shapes = ((5, 7), (7, 5, 3), (5, 1, 3), (5, 7, 2))
    wrong = [torch.ones(5, 7, 3), *(torch.ones(shape, dtype=torch.bool) for shape in shapes)]
    for mask in wrong:
        with pytest.raises(ValueError, match=r"torch.bool \[5, 7, 3\], got torch"):
            attention()(**seam.inputs(), mask=mask)


@pytest.mark.parametrize("name", ["query", "key", "value"])
def test_sequences_that_do_not_fit_together_are_refused(name: str) -> None:
    sequences = seam.inputs()
    # Of a smaller batch, and of a larger one.
    for wrong in (sequences[name][:, :1], sequences[name].repeat(1, 2, 1)):
        given = {**sequences, name: wrong}
        shapes = [list(given[one].shape) for one in ("query", "key", "value")]
        with pytest.raises(ValueError, match=re.escape(f"don't fit: {shapes}")):
            attention()(**given)
