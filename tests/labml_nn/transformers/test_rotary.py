r"""Rotary positions against complex numbers, Hugging Face, ONNX, and the page's claims."""

import cmath
from collections.abc import Callable

import pytest
import torch
from torch import Tensor
from transformers.models.gpt_neox.modeling_gpt_neox import apply_rotary_pos_emb as neox
from transformers.models.gptj.modeling_gptj import apply_rotary_pos_emb as gptj
from transformers.models.gptj.modeling_gptj import create_sinusoidal_positions
from transformers.models.llama.modeling_llama import apply_rotary_pos_emb as llama

from labml_nn.transformers import rotary
from labml_nn.transformers.kv_cache import KeyValueCache, attend
from labml_nn.transformers.rotary import RotaryPositions, pair_speeds, scores_at, turn_pairs
from tests.oracles import onnx_cases

SEQ_LEN, MAX_LEN, BATCH_SIZE, HEADS, D_K = 7, 13, 3, 5, 22

# As wide as the heads, and partial widths; the last head is an odd one.
WIDTHS = {"whole": (22, 22), "partial": (22, 6), "odd": (11, 10)}


def heads(d_k: int, dtype: torch.dtype = torch.float64) -> Tensor:
    r"""Vectors of all heads, with gradients."""
    generator = torch.Generator().manual_seed(1)
    x = torch.randn(SEQ_LEN, BATCH_SIZE, HEADS, d_k, generator=generator)
    return x.to(dtype).requires_grad_()


def with_gradients(turned: Tensor, x: Tensor) -> list[Tensor]:
    r"""What came out, and the gradient of a sum in which each number counts differently."""
    generator = torch.Generator().manual_seed(2)
    weights = torch.randn(turned.shape, generator=generator).to(turned.dtype)
    return [turned.detach(), *torch.autograd.grad((turned * weights).sum(), x)]


def apart(one: list[Tensor], other: list[Tensor]) -> float:
    r"""The largest difference."""
    return max((a - b).abs().max().item() for a, b in zip(one, other, strict=True))


def complex_numbers(interleaved: bool, width: str, offset: int = 3, base: float = 50.0) -> float:
    r"""Each pair is one, times a power of a root. So is the gradient, turned back."""
    (d_k, turned), difference = WIDTHS[width], 0.0
    x = heads(d_k)
    speeds = pair_speeds(turned, base)
    turn = RotaryPositions(d_k, MAX_LEN, speeds=speeds, interleaved=interleaved)
    output = turn(x, offset)
    generator = torch.Generator().manual_seed(2)
    weights = torch.randn(output.shape, generator=generator).double()
    (gradient,) = torch.autograd.grad((output * weights).sum(), x)
    for m in range(SEQ_LEN):
        for b in range(BATCH_SIZE):
            for h in range(HEADS):
                before, after = x[m, b, h].tolist(), output[m, b, h].tolist()
                back, weight = gradient[m, b, h].tolist(), weights[m, b, h].tolist()
                assert before[turned:] == after[turned:]
                assert back[turned:] == weight[turned:]
                for i in range(turned // 2):
                    one, two = (2 * i, 2 * i + 1) if interleaved else (i, i + turned // 2)
                    factor = cmath.exp(1j * (m + offset) * base ** (-2 * i / turned))
                    found = complex(after[one], after[two])
                    found_back = complex(back[one], back[two])
                    difference = max(
                        difference,
                        abs(found - complex(before[one], before[two]) * factor),
                        abs(found_back - complex(weight[one], weight[two]) * factor.conjugate()),
                    )
    return difference


def of_positions(width: int) -> Tensor:
    r"""The angles as Hugging Face lays them out, but in double precision."""
    i = torch.arange(0, width, 2, dtype=torch.float64)
    return torch.arange(SEQ_LEN, dtype=torch.float64)[:, None] / 10_000 ** (i / width)


def hugging_face_halves(other: Callable[..., tuple[Tensor, Tensor]], width: int) -> float:
    r"""Batch and heads come first there, and the angles of both halves are written out."""
    angles = of_positions(width).repeat(1, 2)[None]
    x, y = heads(D_K), heads(D_K)
    turn = RotaryPositions(D_K, SEQ_LEN, speeds=pair_speeds(width))
    theirs, _ = other(y.permute(1, 2, 0, 3), y.permute(1, 2, 0, 3), angles.cos(), angles.sin())
    return apart(with_gradients(turn(x), x), with_gradients(theirs.permute(2, 0, 1, 3), y))


def hugging_face_neighbours() -> float:
    r"""GPT-J has the batch first and neighbours in pairs, of the first features only."""
    angles = of_positions(6)[None]
    x, y = heads(D_K), heads(D_K)
    turn = RotaryPositions(D_K, SEQ_LEN, speeds=pair_speeds(6), interleaved=True)
    turned = gptj(y.transpose(0, 1)[..., :6], angles.sin(), angles.cos()).transpose(0, 1)
    theirs = torch.cat([turned, y[..., 6:]], dim=-1)
    return apart(with_gradients(turn(x), x), with_gradients(theirs, y))


ORACLES: dict[str, Callable[[], float]] = {
    "complex numbers": lambda: complex_numbers(False, "whole"),
    "complex numbers, partial width": lambda: complex_numbers(False, "partial"),
    "complex numbers, odd width": lambda: complex_numbers(False, "odd"),
    "complex numbers, interleaved": lambda: complex_numbers(True, "whole"),
    "complex numbers, interleaved, odd width": lambda: complex_numbers(True, "odd"),
    "Hugging Face Llama": lambda: hugging_face_halves(llama, D_K),
    "Hugging Face GPT-NeoX": lambda: hugging_face_halves(neox, 6),
    "Hugging Face GPT-J": hugging_face_neighbours,
}


@pytest.mark.parametrize("oracle", ORACLES)
def test_it_equals_what_others_compute(oracle: str) -> None:
    assert ORACLES[oracle]() < 1e-10


# There is none among them that the page can't express.
ONNX = {case.name: case for case in onnx_cases.cases("RotaryEmbedding")}


def test_onnx_has_eight_cases() -> None:
    assert sorted(ONNX) == [
        "rotary_embedding",
        "rotary_embedding_3d_input",
        "rotary_embedding_interleaved",
        "rotary_embedding_no_position_ids",
        "rotary_embedding_no_position_ids_interleaved",
        "rotary_embedding_no_position_ids_rotary_dim",
        "rotary_embedding_with_interleaved_rotary_dim",
        "rotary_embedding_with_rotary_dim",
    ]


@pytest.mark.parametrize("case", sorted(ONNX))
def test_it_passes_the_cases_of_onnx(case: str) -> None:
    options, given = ONNX[case].attributes, ONNX[case].inputs
    x, cos, sin = given["X"], given["cos_cache"], given["sin_cache"]

    # Batch and heads come first there, or the heads are folded into the features.
    folded = "num_heads" in options
    x = x.unflatten(-1, (options["num_heads"], -1)) if folded else x.transpose(1, 2)
    for chosen in [given[name] for name in ("position_ids",) if name in given]:
        cos, sin = cos[chosen], sin[chosen]
    found = turn_pairs(
        x, cos[:, :, None], sin[:, :, None], interleaved=bool(options.get("interleaved"))
    )
    found = found.flatten(start_dim=2) if folded else found.transpose(1, 2)
    assert onnx_cases.near(ONNX[case], "Y", found)


def test_the_table_is_that_of_hugging_face() -> None:
    table = create_sinusoidal_positions(MAX_LEN, D_K)
    turn = RotaryPositions(D_K, MAX_LEN)
    mine = torch.cat([turn.sin, turn.cos], dim=1)
    torch.testing.assert_close(mine, table, rtol=0, atol=2e-6)


def test_scores_see_distance_alone() -> None:
    expected = scores_at(0, 5)
    for offset in (1, 17, 1000):
        torch.testing.assert_close(scores_at(offset, 5), expected, rtol=1e-4, atol=1e-4)


def test_scores_are_those_of_the_formula_with_the_difference_of_angles() -> None:
    query, key = torch.randn(2, 5, 8, generator=torch.Generator().manual_seed(1))
    q, k = (torch.complex(*x.double().chunk(2, dim=-1)) for x in (query, key))
    turns = (torch.arange(5)[:, None] - torch.arange(5))[..., None] * pair_speeds(8)
    turned = torch.polar(torch.ones_like(turns), turns)
    expected = torch.einsum("id,jd,ijd->ij", q, k.conj(), turned).real
    torch.testing.assert_close(scores_at(3, 5).double(), expected, rtol=1e-5, atol=1e-5)


def test_pairs_are_of_two_halves_unless_asked_for_otherwise() -> None:
    x, cos, sin = (torch.tensor(one) for one in ([1, 0, 0, 0], [0, 1], [1, 0]))
    assert turn_pairs(x, cos, sin).tolist() == [0, 0, 1, 0]
    assert turn_pairs(x, cos, sin, True).tolist() == [0, 1, 0, 0]


@pytest.mark.parametrize("interleaved", [False, True])
@pytest.mark.parametrize("width", WIDTHS)
def test_scores_see_distance_alone_with_any_pairs(interleaved: bool, width: str) -> None:
    d_k, turned = WIDTHS[width]
    turn = RotaryPositions(d_k, 1100, speeds=pair_speeds(turned), interleaved=interleaved)
    x, y = heads(d_k), heads(d_k).flip(0)
    expected = torch.einsum("ibhd,jbhd->bhij", turn(x), turn(y))
    for offset in (1, 1000):
        found = torch.einsum("ibhd,jbhd->bhij", turn(x, offset), turn(y, offset))
        torch.testing.assert_close(found, expected, rtol=1e-10, atol=1e-10)
    moved = torch.einsum("ibhd,jbhd->bhij", turn(x, 1), turn(y))
    assert (moved - expected).abs().max() > 0.1


def test_what_has_no_distance_is_not_turned() -> None:
    x = torch.randn(1, 3, 5, 8)
    assert RotaryPositions(8, 4)(x).equal(x)


def test_lengths_stay() -> None:
    x = torch.randn(11, 3, 5, 8)
    torch.testing.assert_close(RotaryPositions(8, 11)(x).norm(dim=-1), x.norm(dim=-1))


@pytest.mark.parametrize("interleaved", [False, True])
def test_what_is_turned_is_scaled_and_the_rest_is_not(interleaved: bool) -> None:
    options = {"speeds": pair_speeds(6), "interleaved": interleaved}
    x = heads(D_K)
    once = RotaryPositions(D_K, MAX_LEN, **options)(x)
    twice = RotaryPositions(D_K, MAX_LEN, scale=2.5, **options)(x)
    torch.testing.assert_close(twice[..., :6], 2.5 * once[..., :6])
    assert twice[..., 6:].equal(x[..., 6:])


@pytest.mark.parametrize("dtype", [torch.float64, torch.float32])
def test_the_end_of_a_sequence_is_turned_as_in_the_whole(dtype: torch.dtype) -> None:
    turn, x = RotaryPositions(8, 11), torch.randn(11, 3, 5, 8, dtype=dtype)
    assert turn(x)[6:].equal(turn(x[6:], offset=6))


def test_decoding_with_a_cache_equals_the_whole() -> None:
    turn, x = RotaryPositions(D_K, MAX_LEN), heads(D_K).detach()
    whole = turn(x).permute(1, 2, 0, 3)
    cache = KeyValueCache(1, BATCH_SIZE, HEADS, MAX_LEN, D_K, torch.float64)
    expected = torch.nn.functional.scaled_dot_product_attention(
        whole, whole, x.permute(1, 2, 0, 3), is_causal=True
    )
    for position in range(SEQ_LEN):
        new, start = x[position : position + 1], cache.filled
        [(place, keys, values)] = cache.extend(1)
        turned = turn(new, start).permute(1, 2, 0, 3)
        place[0], place[1] = turned, new.permute(1, 2, 0, 3)
        found = attend(turned, keys, values)
        assert (found - expected[:, :, position : position + 1]).abs().max() < 1e-10


def test_late_angles_are_exact() -> None:
    cos, sin = RotaryPositions(8, 1).table(torch.tensor([100_000]))
    expected = cmath.exp(1j * 100_000 * 10_000**-0.25)
    assert complex(cos[0, 1], sin[0, 1]) == pytest.approx(expected, abs=1e-9)
    kept = RotaryPositions(8, 100_001)
    assert complex(kept.cos[-1, 1], kept.sin[-1, 1]) == pytest.approx(expected, abs=1e-7)


def test_speeds_fall_from_one() -> None:
    assert pair_speeds(6, 8.0).tolist() == pytest.approx([1, 0.5, 0.25])
    assert pair_speeds(4).tolist() == pytest.approx([1, 0.01])
    assert pair_speeds(4).dtype is torch.float64


@pytest.mark.parametrize("interleaved", [False, True])
@pytest.mark.parametrize("moved", [False, True], ids=["the input alone", "the model, too"])
@pytest.mark.parametrize(
    ("dtype", "bound"), [(torch.float32, 1e-6), (torch.bfloat16, 0.03), (torch.float16, 4e-3)]
)
def test_fewer_bits_stay_as_many_and_near(
    interleaved: bool, moved: bool, dtype: torch.dtype, bound: float
) -> None:
    x = heads(8, dtype)
    turn = RotaryPositions(8, 11, interleaved=interleaved)
    expected = turn(x.double())
    turn = turn.to(dtype) if moved else turn
    found = turn(x, 0)
    assert found.dtype is dtype
    assert (found.double() - expected).abs().max() < bound


def test_16_bits_of_late_positions_are_as_good() -> None:
    r"""The angles themselves would have lost all meaning."""
    turn, x = RotaryPositions(8, 5000).bfloat16(), heads(8, torch.bfloat16)
    found, expected = turn(x, 4000), RotaryPositions(8, 5000)(x.double(), 4000)
    assert (found.double() - expected).abs().max() < 0.03


def test_the_table_follows_the_model() -> None:
    turn = RotaryPositions(8, 11).to("meta")
    assert turn(torch.empty(7, 3, 5, 8, device="meta")).device.type == "meta"
    wide = torch.empty(7, 3, 5, 8, device="meta", dtype=torch.float64)
    assert turn(wide).device.type == "meta"


def test_nothing_is_learned_and_nothing_saved() -> None:
    turn = RotaryPositions(8, 11)
    assert list(turn.parameters()) == []
    assert turn.state_dict() == {}


def test_there_is_one_table() -> None:
    shapes = {name: tuple(t.shape) for name, t in RotaryPositions(8, 11).named_buffers()}
    assert shapes == {"cos": (11, 4), "sin": (11, 4)}


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_a_position_beyond_the_last_is_refused(dtype: torch.dtype) -> None:
    turn, x = RotaryPositions(8, 11), torch.randn(7, 3, 5, 8, dtype=dtype)
    assert turn(x, offset=4).shape == x.shape
    with pytest.raises(ValueError, match="there are 11 positions, got one up to 12, from 5 on"):
        turn(x, offset=5)
    with pytest.raises(ValueError, match="there are 11 positions, got one up to 6, from -1 on"):
        turn(x, offset=-1)


def test_an_odd_number_of_features_is_refused() -> None:
    with pytest.raises(ValueError, match=r"must be even.*got 7: pair_speeds\(6\)"):
        RotaryPositions(7, 11)


@pytest.mark.parametrize("n_pairs", [0, 4])
def test_pairs_that_do_not_fit_are_refused(n_pairs: int) -> None:
    with pytest.raises(ValueError, match=f"7 features can't hold {n_pairs} pairs, expected 1 to 3"):
        RotaryPositions(7, 11, speeds=torch.ones(n_pairs))


@pytest.mark.parametrize("d_k", [6, 10])
def test_heads_of_another_width_are_refused(d_k: int) -> None:
    with pytest.raises(ValueError, match=f"expected d_k=8 features, got {d_k}"):
        RotaryPositions(8, 11)(torch.randn(7, 3, 5, d_k))


def test_the_example_leaves_the_last_feature_alone() -> None:
    torch.manual_seed(1)
    whole, end, wider = rotary.example(7, 3, 5, 2, 11)
    assert end.equal(whole[-2:])
    assert wider.shape == (7, 3, 5, 5)
