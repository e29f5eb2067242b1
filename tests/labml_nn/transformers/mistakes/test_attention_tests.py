r"""The one call: adapters, options, errors, and the copy that readers take away."""

import ast
import importlib
import subprocess
import sys
from pathlib import Path

import pytest
import torch
from torch import Tensor, nn

from labml_nn.transformers.mha import MultiHeadAttention, causal_mask
from labml_nn.transformers.mistakes import attention_tests
from labml_nn.transformers.mistakes.attention_tests import (
    TRIED,
    check_attention,
    find_mistakes,
    sizes,
)
from labml_nn.transformers.mistakes.decoding import RightDecoding
from labml_nn.transformers.mistakes.experiment import Setup
from labml_nn.transformers.mistakes.masks import MaskUnused
from labml_nn.transformers.mistakes.model_mistakes import TargetsNotShifted
from labml_nn.transformers.mistakes.right_attention import RightAttention
from labml_nn.transformers.mistakes.verdicts import whole_of

ROOT = Path(__file__).resolve().parents[4]


def seam(attention: nn.Module, x: Tensor) -> Tensor:
    x = x.transpose(0, 1)
    return attention(query=x, key=x, value=x, mask=causal_mask(len(x))).transpose(0, 1)


def seam_masked(attention: nn.Module, x: Tensor, mask: Tensor) -> Tensor:
    x = x.transpose(0, 1)
    return attention(query=x, key=x, value=x, mask=mask.permute(1, 2, 0)).transpose(0, 1)


def test_the_attention_of_this_site_passes() -> None:
    check_attention(
        lambda d_model, heads: MultiHeadAttention(heads, d_model), seam, masked=seam_masked
    )


def test_pytorchs_own_passes_batch_first_and_sequence_first() -> None:
    def causal(x: Tensor, axis: int) -> Tensor:
        return torch.ones(x.shape[axis], x.shape[axis], dtype=torch.bool).triu(1)

    check_attention(
        lambda d_model, heads: nn.MultiheadAttention(d_model, heads, 0.1, batch_first=True),
        lambda attention, x: attention(x, x, x, attn_mask=causal(x, 1), need_weights=False)[0],
    )

    def sequence_first(attention: nn.Module, x: Tensor) -> Tensor:
        x = x.transpose(0, 1)
        return attention(x, x, x, attn_mask=causal(x, 0))[0].transpose(0, 1)

    check_attention(lambda d_model, heads: nn.MultiheadAttention(d_model, heads), sequence_first)


def test_a_failure_is_an_assertion_that_lists_the_tests() -> None:
    with pytest.raises(AssertionError) as caught:
        check_attention(MaskUnused)
    first, *others = str(caught.value).splitlines()
    assert first == "3 of the tests fail:"
    assert [line.split(":")[0] for line in others] == ["* comparison", "* future", "* prefix"]
    assert "there is no causal mask in evaluation" in others[0]


def test_without_a_mask_or_a_cache_to_try_they_are_not_tried() -> None:
    assert "padding" not in find_mistakes(MaskUnused)
    assert "padding" in find_mistakes(MaskUnused, masked=MaskUnused.forward)
    assert "decoding" not in find_mistakes(RightDecoding)
    found = find_mistakes(RightDecoding, decode=lambda attention, x: 2 * attention(x))
    assert set(found) == {"decoding"}


def test_an_attention_of_another_kind_is_not_compared() -> None:
    class Normed(RightAttention):
        def forward(self, x: Tensor, mask: Tensor | None = None) -> Tensor:
            return super().forward(x / x.norm(dim=-1, keepdim=True), mask)

    assert set(find_mistakes(Normed)) == {"comparison"}
    assert find_mistakes(Normed, weights=None) == {}


def test_matrices_that_cannot_be_found_are_given() -> None:
    class Hidden(nn.Module):
        def __init__(self, d_model: int, heads: int) -> None:
            super().__init__()
            self.inside = RightAttention(d_model, heads)
            self.extra = nn.Parameter(torch.zeros(d_model, d_model))

        def forward(self, x: Tensor) -> Tensor:
            return self.inside(x) + 0 * self.extra.sum()

    def given(attention: nn.Module, d_model: int) -> list[tuple[Tensor, Tensor]]:
        one = attention.inside
        layers = (one.output, one.value, one.query, one.key)
        return [(layer.weight.detach(), layer.bias.detach()) for layer in layers]

    assert "found 5 matrices" in find_mistakes(Hidden)["comparison"]
    assert set(find_mistakes(Hidden, weights=given)) == {"gradients"}


def test_a_whole_model_is_tested_in_the_same_call() -> None:
    whole = whole_of(Setup(training=TargetsNotShifted))
    found = find_mistakes(RightAttention, whole=whole)
    assert set(found) == {"targets_follow_inputs", "honest"}


def test_what_does_not_run_is_asked_nothing_else() -> None:
    def broken(attention: nn.Module, x: Tensor) -> Tensor:
        raise TypeError("missing an argument")

    found = find_mistakes(RightAttention, broken)
    assert found == {"sizes": "with d_model=24, heads=3 came TypeError: missing an argument"}


def test_another_shape_or_a_tuple_is_said() -> None:
    assert "came tuple, expected a tensor" in sizes(RightAttention, lambda a, x: (x, x))
    assert "came [3, 7, 23]" in sizes(RightAttention, lambda a, x: x[..., 1:])
    assert sizes(RightAttention, lambda a, x: a(x)) == ""


def test_a_size_that_only_works_once_is_found() -> None:
    class Once(RightAttention):
        def merge(self, x: Tensor) -> Tensor:
            return x.transpose(1, 2).reshape(len(x), -1, 24)

    assert find_mistakes(Once)["sizes"].startswith("with d_model=20, heads=2 came RuntimeError")


def test_an_unfit_width_must_be_refused_and_the_rest_is_asked_all_the_same() -> None:
    class Unchecked(RightAttention):
        def head_width(self) -> int:
            return self.d_model // self.heads

        def scale(self, scores: Tensor) -> Tensor:
            return scores

    found = find_mistakes(Unchecked)
    assert set(found) == {"sizes", "comparison"}
    assert "10 features and 3 heads could be made" in found["sizes"]


def test_an_error_in_a_test_is_a_failure_of_that_test() -> None:
    def odd(attention: nn.Module, x: Tensor) -> Tensor:
        assert x.shape[1] != 2, "not two positions"
        return attention(x)

    found = find_mistakes(RightAttention, odd)
    assert set(found) == {"prefix"}
    assert found["prefix"].startswith("AssertionError: not two positions")


def test_there_is_no_chance_in_it_and_the_state_of_chance_is_left_alone() -> None:
    state = torch.get_rng_state()
    first, second = (find_mistakes(MaskUnused) for _ in range(2))
    assert first == second
    assert torch.get_rng_state().equal(state)


def test_the_widths_that_are_tried_tell_all_scales_apart() -> None:
    for d_model, heads in TRIED:
        d_k = d_model // heads
        factors = {1, d_k, heads, d_model, d_k * d_k}
        assert len(factors) == 5
        assert d_k % 2 == 0


def test_the_example_finds_the_scale() -> None:
    assert set(attention_tests.example()) == {"comparison"}


def test_the_copy_needs_pytorch_alone_and_finds_a_mistake(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    place = "labml_nn/transformers/mistakes/attention_tests.py:check_attention"
    command = [sys.executable, "-m", "literate", "snippet", place]
    copied = subprocess.run(command, cwd=ROOT, check=True, capture_output=True, text=True).stdout
    (tmp_path / "copy_of_check.py").write_text(copied)
    body = [node for node in ast.walk(ast.parse(copied)) if isinstance(node, ast.ImportFrom)]
    assert {node.module.partition(".")[0] for node in body} - sys.stdlib_module_names == {"torch"}
    assert "import labml_nn" not in copied

    monkeypatch.syspath_prepend(tmp_path)
    copy = importlib.import_module("copy_of_check")
    with pytest.raises(AssertionError, match="there is no causal mask"):
        copy.check_attention(MaskUnused)
    copy.check_attention(RightAttention)
