import math
from collections import Counter
from collections.abc import Callable

import pytest
import torch
import torch.nn.functional as F
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor

from labml_nn.transformers import kv_cache
from labml_nn.transformers.kv_cache import (
    CachedModel,
    KeyValueCache,
    attend,
    last_rows_mask,
    texts_mask,
)
from labml_nn.transformers.mha import causal_mask
from tests.oracles import hugging_face, onnx_cases
from tests.oracles.compare import difference, largest

SIZES = {"n_layers": 2, "batch_size": 3, "key_heads": 5, "max_len": 7, "d_k": 11}


def loops(query: Tensor, keys: Tensor, values: Tensor) -> Tensor:
    r"""Attention one number at a time, the last query at the last key."""
    batch_size, heads, n_new, d_k = query.shape
    key_heads, n_keys = keys.shape[1:3]
    result = torch.zeros_like(query)
    for b in range(batch_size):
        for h in range(heads):
            k, v = keys[b, h * key_heads // heads], values[b, h * key_heads // heads]
            for i in range(n_new):
                visible = range(n_keys - n_new + i + 1)
                weights = [math.exp(float(query[b, h, i] @ k[j]) / math.sqrt(d_k)) for j in visible]
                for j in visible:
                    result[b, h, i] += weights[j] / sum(weights) * v[j]
    return result


@pytest.mark.parametrize("n_new", [1, 2, 7])
@pytest.mark.parametrize("key_heads", [6, 3, 2, 1])
def test_new_positions_see_all_before_them_and_their_group_of_keys(
    key_heads: int, n_new: int
) -> None:
    torch.manual_seed(1)
    query = torch.randn(2, 6, n_new, 5, dtype=torch.float64)
    keys, values = torch.randn(2, 2, key_heads, 7, 5, dtype=torch.float64)
    torch.testing.assert_close(
        attend(query, keys, values), loops(query, keys, values), rtol=0, atol=1e-12
    )


def test_a_kernel_that_knows_of_no_groups_gets_the_keys_written_out(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    query = torch.randn(2, 6, 3, 5, dtype=torch.float64)
    keys, values = torch.randn(2, 2, 2, 7, 5, dtype=torch.float64)
    expected = attend(query, keys, values)
    monkeypatch.setattr(kv_cache, "KERNEL_HAS_GROUPS", False)
    torch.testing.assert_close(attend(query, keys, values), expected, rtol=0, atol=1e-12)


@pytest.mark.parametrize(
    ("knows_groups", "expected"), [(True, (2, {"enable_gqa": True})), (False, (6, {}))]
)
def test_a_kernel_gets_as_few_keys_as_it_can_take(
    knows_groups: bool, expected: tuple[int, dict[str, bool]], monkeypatch: pytest.MonkeyPatch
) -> None:
    seen = []
    monkeypatch.setattr(kv_cache, "KERNEL_HAS_GROUPS", knows_groups)
    monkeypatch.setattr(
        F,
        "scaled_dot_product_attention",
        lambda query, keys, *_, **groups: seen.append((keys.shape[1], groups)) or query,
    )
    attend(torch.randn(2, 6, 3, 5), *torch.randn(2, 2, 2, 7, 5))
    assert seen == [expected]


@given(st.integers(1, 9), st.integers(0, 9))
def test_the_mask_is_the_last_rows_of_the_causal_one(n_new: int, n_before: int) -> None:
    n_keys = n_before + n_new
    assert last_rows_mask(n_new, n_keys).equal(causal_mask(n_keys)[-n_new:, :, 0])


@pytest.mark.parametrize("n_new", [1, 2, 7])
@pytest.mark.parametrize("key_heads", [6, 2, 1])
def test_texts_of_different_lengths_see_no_padding(key_heads: int, n_new: int) -> None:
    torch.manual_seed(1)
    query = torch.randn(3, 6, n_new, 5, dtype=torch.float64)
    keys, values = torch.randn(2, 3, key_heads, 7, 5, dtype=torch.float64)
    starts = torch.tensor([0, 2, 4])
    result = attend(query, keys, values, starts)
    for text, start in enumerate(starts.tolist()):
        # Without the padding there are fewer positions, of which the last are new.
        one, n_seen = slice(text, text + 1), min(n_new, 7 - start)
        alone = loops(query[one, :, -n_seen:], keys[one, :, start:], values[one, :, start:])
        torch.testing.assert_close(result[one, :, -n_seen:], alone, rtol=0, atol=1e-12)
    assert result.isfinite().all()


def test_the_masks_are_where_the_texts_are() -> None:
    assert texts_mask(3, 4, torch.zeros(2, device="meta")).device.type == "meta"
    assert last_rows_mask(3, 4, "meta").device.type == "meta"


def test_padding_sees_itself_and_text_sees_the_past() -> None:
    mask = texts_mask(3, 4, torch.tensor([0, 2]))
    assert mask.int().tolist() == [
        [[1, 1, 0, 0], [1, 1, 1, 0], [1, 1, 1, 1]],
        [[0, 1, 0, 0], [0, 0, 1, 0], [0, 0, 1, 1]],
    ]


@given(st.lists(st.integers(1, 4), min_size=1, max_size=6))
def test_what_was_stored_piece_by_piece_is_read_in_order(lengths: list[int]) -> None:
    total = sum(lengths)
    stored = torch.randn(2, 2, 3, 5, total, 11)
    cache = KeyValueCache(2, 3, 5, total, 11)
    for end, length in zip(torch.tensor(lengths).cumsum(0).tolist(), lengths, strict=True):
        for layer, (place, keys, values) in enumerate(cache.extend(length)):
            place.copy_(stored[layer, :, :, :, end - length : end])
            assert keys.equal(stored[layer, 0, :, :, :end])
            assert values.equal(stored[layer, 1, :, :, :end])
        assert cache.filled == end


def test_a_cleared_cache_begins_anew() -> None:
    cache = KeyValueCache(**SIZES)
    cache.extend(7)
    cache.last = torch.zeros(1, 3, 11)
    cache.clear()
    assert cache.filled == 0
    assert cache.last is None
    assert [keys.shape[2] for _, keys, _ in cache.extend(2)] == [2, 2]


def test_memory_is_made_once() -> None:
    cache = KeyValueCache(**SIZES)
    address = cache.memory.data_ptr()
    for _ in range(7):
        place, keys, _ = cache.extend(1)[0]
        assert keys.data_ptr() == address
    assert cache.memory.numel() == 2 * math.prod(SIZES.values())
    assert place.shape == (2, 3, 5, 1, 11)


@pytest.mark.parametrize(("before", "n_new"), [(0, 8), (5, 3), (7, 1), (2, 0), (2, -1)])
def test_a_cache_without_room_says_how_much_there_is(before: int, n_new: int) -> None:
    cache = KeyValueCache(**SIZES)
    for _ in range(before):
        cache.extend(1)
    with pytest.raises(
        ValueError, match=f"room for 7 positions, of which {before} are filled: {n_new} more"
    ):
        cache.extend(n_new)
    assert cache.filled == before


@pytest.mark.parametrize("name", SIZES)
def test_a_size_of_zero_is_refused(name: str) -> None:
    sizes = SIZES | {name: 0}
    with pytest.raises(ValueError, match=f"at least 1, got {', '.join(map(str, sizes.values()))}$"):
        KeyValueCache(**sizes)


def test_the_type_of_numbers_and_the_place_are_those_asked_for() -> None:
    assert KeyValueCache(**SIZES, dtype=torch.float64).memory.dtype is torch.float64
    assert KeyValueCache(**SIZES, device="meta").memory.device.type == "meta"
    assert last_rows_mask(2, 3, "meta").device.type == "meta"
    tensors = torch.empty(3, 2, 3, 5, 7, device="meta")
    assert attend(*tensors).device.type == "meta"


def test_a_single_new_position_needs_no_mask(monkeypatch: pytest.MonkeyPatch) -> None:
    kernel, seen = F.scaled_dot_product_attention, []

    def remember(query: Tensor, keys: Tensor, values: Tensor, mask: Tensor | None) -> Tensor:
        seen.append(mask)
        return kernel(query, keys, values, mask)

    monkeypatch.setattr(F, "scaled_dot_product_attention", remember)
    keys, values = torch.randn(2, 2, 3, 5, 7)
    attend(torch.randn(2, 3, 1, 7), keys, values)
    attend(torch.randn(2, 3, 2, 7), keys, values)
    assert seen[0] is None
    assert seen[1].equal(last_rows_mask(2, 5))


def test_groups_are_not_mistaken_where_there_are_as_many_keys_as_heads() -> None:
    torch.manual_seed(1)
    query = torch.randn(2, 6, 5, 3, dtype=torch.float64)
    keys, values = torch.randn(2, 2, 2, 6, 3, dtype=torch.float64)
    expected = loops(query, keys, values)
    torch.testing.assert_close(attend(query, keys, values), expected, rtol=0, atol=1e-12)


def test_a_model_is_called_with_its_cache_and_texts_that_fit() -> None:
    cache = KeyValueCache(**SIZES)
    seen: list[KeyValueCache] = []

    def model(tokens: Tensor, cache: KeyValueCache) -> Tensor:
        seen.append(cache)
        return tokens * 2

    cached = CachedModel(model, cache)
    assert cached(torch.ones(2, 3)).equal(torch.full((2, 3), 2.0))
    assert seen == [cache]
    with pytest.raises(ValueError, match="tokens of 1 texts, the cache is for 3"):
        cached(torch.ones(2, 1))


def distance_to_loops() -> float:
    r"""From one number at a time."""
    found = 0.0
    for key_heads in (6, 3, 2, 1):
        for n_new in (1, 2, 7):
            torch.manual_seed(1)
            query = torch.randn(2, 6, n_new, 5, dtype=torch.float64)
            keys, values = torch.randn(2, 2, key_heads, 7, 5, dtype=torch.float64)
            result = attend(query, keys, values)
            found = max(found, largest([result], [loops(query, keys, values)]))
    return found


def distance_to_llama() -> float:
    r"""From the attention of Llama, with groups and with gradients."""
    found = 0.0
    for key_heads in (6, 2):
        for n_new in (1, 3):
            torch.manual_seed(2)
            shapes = [(2, 6, n_new, 5), (2, key_heads, 7, 5), (2, key_heads, 7, 5)]
            tensors = [
                torch.randn(shape, dtype=torch.float64, requires_grad=True) for shape in shapes
            ]
            mask = hugging_face.added_mask(last_rows_mask(n_new, 7).unsqueeze(-1))
            theirs = hugging_face.llama_mean(*tensors, mask)
            found = max(found, difference(attend(*tensors), theirs, tensors, tensors))
    return found


def reason_against(case: onnx_cases.Case) -> str:
    r"""Why a case can't be said with `attend`, or nothing."""
    reasons = {
        "adds numbers to the scores": onnx_cases.adds_numbers(case),
        "caps the scores": case.attributes.get("softcap", 0) > 0,
        "wants the scores or the weights": "qk_matmul_output" in case.outputs,
        "queries that are not the last positions": onnx_cases.lengths_of_texts(case) is None,
    }
    return next((reason for reason, holds in reasons.items() if holds), "")


def said(case: onnx_cases.Case, dtype: torch.dtype) -> Tensor:
    r"""A case of ONNX's, one text after the other: here all have as many keys."""
    query, keys, values = (t.to(dtype) for t in onnx_cases.heads_first(case))
    query = query * (onnx_cases.scale_of(case) * math.sqrt(query.shape[-1]))
    results = [
        attend(query[b : b + 1], keys[b : b + 1, :, :length], values[b : b + 1, :, :length])
        for b, length in enumerate(onnx_cases.lengths_of_texts(case))
    ]
    return onnx_cases.heads_last(case, torch.cat(results))


ONNX = onnx_cases.cases("Attention")
SAID = [case for case in ONNX if not reason_against(case)]


def distance_to_onnx() -> float:
    r"""From ONNX's reference in numpy, in double precision."""
    return max(largest([said(case, torch.float64)], [onnx_cases.in_double(case)]) for case in SAID)


ORACLES: dict[str, Callable[[], float]] = {
    "a loop over scalars": distance_to_loops,
    "Hugging Face Llama": distance_to_llama,
    "ONNX Attention": distance_to_onnx,
}


@pytest.mark.parametrize("oracle", ORACLES)
def test_it_is_what_others_compute(oracle: str) -> None:
    assert ORACLES[oracle]() < 1e-10


@pytest.mark.parametrize("case", SAID, ids=lambda case: case.name)
def test_it_gives_what_a_case_of_onnx_says(case: onnx_cases.Case) -> None:
    assert onnx_cases.near(case, "Y", said(case, case.inputs["Q"].dtype))


def test_all_cases_of_onnx_but_these_can_be_said() -> None:
    assert len(ONNX) == 93
    assert Counter(map(reason_against, ONNX)) == {
        "": 5,
        "adds numbers to the scores": 42,
        "queries that are not the last positions": 35,
        "caps the scores": 7,
        "wants the scores or the weights": 4,
    }
