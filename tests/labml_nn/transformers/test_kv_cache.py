import math

import pytest
import torch
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
    with pytest.raises(ValueError, match="must be at least 1, got .*0"):
        KeyValueCache(**(SIZES | {name: 0}))


def test_the_type_of_numbers_is_the_one_asked_for() -> None:
    assert KeyValueCache(**SIZES, dtype=torch.float64).memory.dtype is torch.float64


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
