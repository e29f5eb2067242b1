import pytest
import torch
from torch import Tensor
from transformers.models.llama.modeling_llama import apply_rotary_pos_emb as llama

from labml_nn.transformers import rotary as page
from tests.labml_nn.transformers.seam import equals
from tests.oracles.compare import difference, largest

SEQ_LEN, MAX_LEN, BATCH_SIZE, HEADS, D_K = 7, 13, 3, 5, 22


def heads(dtype: torch.dtype = torch.float64) -> Tensor:
    generator = torch.Generator().manual_seed(1)
    x = torch.randn(SEQ_LEN, BATCH_SIZE, HEADS, D_K, generator=generator)
    return x.to(dtype).requires_grad_()


def table(offset: int = 0, base: float = 10_000.0) -> tuple[Tensor, Tensor]:
    positions = torch.arange(offset, offset + SEQ_LEN, dtype=torch.float64)[:, None, None, None]
    angles = positions * page.inverse_frequencies(D_K, base)
    return angles.cos(), angles.sin()


def complex_numbers(offset: int = 3, base: float = 50.0) -> float:
    r"""Each pair is one, times a power of a root."""
    x, roots = heads(), base ** (-torch.arange(0, D_K, 2).double() / D_K)
    angles = torch.arange(offset, offset + SEQ_LEN)[:, None, None, None] * roots
    turned = torch.complex(*x.chunk(2, dim=-1)) * torch.polar(torch.ones_like(angles), angles)
    expected = torch.cat([turned.real, turned.imag], dim=-1)
    return difference(page.apply_rotary(x, *table(offset, base)), expected, [x], [x])


def hugging_face_llama() -> float:
    r"""Batch and heads come first there, and the angles of both halves are written out."""
    cos, sin = (t[:, 0].permute(1, 0, 2).repeat(1, 1, 2) for t in table())
    x = heads()
    theirs, _ = llama(x.permute(1, 2, 0, 3), x.permute(1, 2, 0, 3), cos, sin)
    return largest([theirs.permute(2, 0, 1, 3)], [page.apply_rotary(x, *table())])


ORACLES = {
    "complex numbers": complex_numbers,
    "Hugging Face Llama": hugging_face_llama,
}
test_it_equals_what_others_compute = equals(ORACLES)


@pytest.mark.parametrize("offset", [1, 17, 1000, 100_000])
def test_scores_depend_on_the_distance(offset: int) -> None:
    torch.testing.assert_close(
        page.scores_from(offset, 5), page.scores_from(0, 5), rtol=0, atol=1e-5
    )


def test_scores_are_those_of_the_formula() -> None:
    query, key = torch.randn(2, 5, 8, generator=torch.Generator().manual_seed(1))
    q, k = (torch.complex(*x.double().chunk(2, dim=-1)) for x in (query, key))
    angles = (torch.arange(5)[:, None] - torch.arange(5))[..., None] * page.inverse_frequencies(8)
    rotation = torch.polar(torch.ones_like(angles), angles)
    expected = torch.einsum("id,jd,ijd->ij", q, k.conj(), rotation).real
    torch.testing.assert_close(page.scores_from(3, 5).double(), expected, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("moved", [False, True], ids=["the input alone", "the model, too"])
@pytest.mark.parametrize(
    ("dtype", "bound"), [(torch.float64, 1e-6), (torch.bfloat16, 0.03), (torch.float16, 4e-3)]
)
def test_the_type_stays_and_the_result_is_near(
    moved: bool, dtype: torch.dtype, bound: float
) -> None:
    x = heads(dtype)
    rotate = page.RotaryPositions(page.inverse_frequencies(D_K), 5000)
    rotate = rotate.to(dtype) if moved else rotate
    for offset, found in ((0, rotate(x)), (4000, rotate(x, 4000))):
        assert found.dtype is dtype
        assert largest([found.double()], [page.apply_rotary(x.double(), *table(offset))]) < bound


# At 10 one row is left: it would be used for all positions.
@pytest.mark.parametrize("offset", [5, 10, -1])
def test_a_position_beyond_the_last_is_refused_and_so_is_an_odd_width(offset: int) -> None:
    rotate, x = page.RotaryPositions(page.inverse_frequencies(8), 11), torch.randn(7, 3, 5, 8)
    assert rotate(x, offset=4).shape == x.shape
    # Nothing is learned or saved.
    assert [*rotate.parameters(), *rotate.state_dict()] == []
    with pytest.raises(ValueError, match="are not within max_len=11"):
        rotate(x, offset=offset)
    with pytest.raises(ValueError, match="must be even to be split into pairs, got 7"):
        page.inverse_frequencies(7)
