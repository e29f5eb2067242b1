from functools import partial

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor
from transformers.models.diffllama.configuration_diffllama import DiffLlamaConfig
from transformers.models.diffllama.modeling_diffllama import DiffLlamaAttention, lambda_init_fn

from labml_nn.transformers.mha import causal_mask
from labml_nn.transformers.variants import differential_attention as page
from labml_nn.transformers.variants.differential_attention import (
    DifferentialAttention,
    first_lambda,
)
from tests.labml_nn.transformers import seam
from tests.labml_nn.transformers.seam import D_K, D_MODEL, HEADS
from tests.oracles.compare import gradients, largest

D_HALF = D_K // 2
DEPTH = 4


attention = partial(DifferentialAttention, HEADS, D_MODEL, depth=DEPTH)


def halves_first(rows: Tensor) -> Tensor:
    r"""From all of the first head, then all of the second, to the first halves of all heads."""
    return rows.unflatten(0, (HEADS, 2, D_HALF)).transpose(0, 1).flatten(0, 2)


def diff_llama() -> float:
    sizes = {"num_attention_heads": 2 * HEADS, "num_key_value_heads": 2 * HEADS, "head_dim": 2}
    config = DiffLlamaConfig(**seam.CONFIG | sizes, attention_dropout=0.0, rms_norm_eps=0.01)
    # An odd width couldn't be turned, and is refused before anybody has tried.
    config.head_dim = D_HALF
    ours = seam.randomised(attention(eps=0.01))
    theirs = DiffLlamaAttention(config, layer_idx=DEPTH - 1).double().eval()
    seam.copied(ours, theirs, {"output": "o_proj"})
    for mine, other in (("query", "q_proj"), ("key", "k_proj"), ("value", "v_proj")):
        state = ours.get_submodule(mine).linear.state_dict()
        halves = {name: halves_first(rows) for name, rows in state.items()}
        theirs.get_submodule(other).load_state_dict(halves)
    for index in (0, 1):
        getattr(theirs, f"lambda_q{index + 1}").data.copy_(ours.lambda_query[index])
        getattr(theirs, f"lambda_k{index + 1}").data.copy_(ours.lambda_key[index])

    x = seam.text()
    found = seam.attend(ours, x, causal_mask(len(x)))
    expected = seam.by_hugging_face(theirs, x, seam.no_turn(D_HALF))
    of_x, lambdas = gradients(found, [x, ours.lambda_query])
    wanted = gradients(expected, [x, theirs.lambda_q1, theirs.lambda_q2])
    return largest([found, of_x, *lambdas], [expected, *wanted])


ORACLES = {"Hugging Face DiffLlama": diff_llama}
test_it_equals_what_others_compute = seam.equals(ORACLES)
test_at_the_seam = seam.at_the_seam(
    attention, {"lambda_query": (2, D_HALF), "lambda_key": (2, D_HALF)}
)
test_a_width_that_cannot_be_halved_is_refused = seam.refuses(
    DifferentialAttention,
    "must divide d_model, got {heads=} and {d_model=}",
    [{"heads": 2, "d_model": 6}],
)


def test_the_normalisation_has_the_epsilon_of_the_paper_s_code() -> None:
    assert DifferentialAttention(HEADS, D_MODEL).eps == 1e-5


def test_the_first_share_is_that_of_the_paper_and_the_vectors_of_lambda_start_small() -> None:
    assert DifferentialAttention(HEADS, D_MODEL).lambda_init == first_lambda(1)
    assert all(first_lambda(n) == pytest.approx(lambda_init_fn(n - 1)) for n in range(1, 30))
    torch.manual_seed(1)
    module = DifferentialAttention(3, 666)
    for part in (module.lambda_query, module.lambda_key):
        assert 0.09 < part.std() < 0.11


def test_of_two_even_maps_only_what_the_values_share_cancels(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    torch.manual_seed(1)
    module, kept = DifferentialAttention(2, 64, 0.0), []
    monkeypatch.setattr(page, "rms_norm", lambda x, _: kept.append(x) or x)
    random = torch.randn(64, 4, 64)
    sizes, slopes = {}, {}
    for name, x in {"random": random, "shared": random + 5 * torch.randn(64)}.items():
        x = F.layer_norm(x, (64,))
        for share in (0.0, 1.0):
            monkeypatch.setattr(module, "get_lambda", partial(torch.tensor, share))
            module.zero_grad()
            (module(query=x, key=x, value=x) * random).sum().backward()
            sizes[name, share] = kept[-1].norm().item()
            slopes[name, share] = module.query.linear.weight.grad.norm().item()
    assert 0.3 < sizes["random", 1.0] / sizes["random", 0.0] < 0.5
    assert sizes["shared", 1.0] / sizes["shared", 0.0] < 0.1
    assert slopes["random", 1.0] > 1.2 * slopes["random", 0.0]


def test_the_share_that_cancels_depends_on_the_score() -> None:
    for score, share in ((4, 0.544), (2, 0.909)):
        weights = torch.tensor([float(score), *[0.0] * 63]).softmax(dim=0)
        assert (weights[1:].sum() * 64 / 63).item() == pytest.approx(share, abs=5e-4)
