r"""The test cases of ONNX's operators, as tensors.

The package `onnx` makes the cases of an operator when the module about it is imported: a model of
one node, what goes in and what must come out. Its `collect_testcases` imports the modules about all
operators, two hundred of them; here only those are imported that have to do with transformers.
"""

import importlib
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

import numpy as np
import onnx
import torch
from onnx.backend.test.case import node as cases_of_nodes
from onnx.reference.ops.op_attention import _compute_attention
from onnx.reference.ops.op_rms_normalization import _rms_normalization
from torch import Tensor

# Operators and the modules about them.
OPERATORS = {
    "Attention": "attention",
    "RMSNormalization": "rmsnormalization",
}


@dataclass(frozen=True)
class Case:
    r"""One case. Inputs, outputs and attributes have the names that the operator gives them."""

    name: str
    attributes: MappingProxyType[str, Any]
    inputs: MappingProxyType[str, Tensor]
    outputs: MappingProxyType[str, Tensor]
    rtol: float
    atol: float


def to_tensor(array: np.ndarray) -> Tensor:
    r"""From numpy, which has no bfloat16 of its own."""
    if array.dtype.name == "bfloat16":
        return torch.from_numpy(array.view(np.int16)).view(torch.bfloat16).clone()
    return torch.from_numpy(np.ascontiguousarray(array)).clone()


def named(
    formal: list[str], present: list[str], arrays: list[np.ndarray]
) -> MappingProxyType[str, Tensor]:
    r"""Arrays, which are there for the names that are not empty, by the operator's own names."""
    places = [name for name, given in zip(formal, present, strict=False) if given]
    return MappingProxyType(dict(zip(places, map(to_tensor, arrays), strict=True)))


def read(operator: str) -> tuple[Case, ...]:
    r"""All cases of an operator, but for those that are the same with its parts written out."""
    importlib.import_module(f"{cases_of_nodes.__name__}.{OPERATORS[operator]}")
    schema = onnx.defs.get_schema(operator)
    found = []
    for one in cases_of_nodes._NodeTestCases:
        nodes = one.model.graph.node
        if len(nodes) != 1 or nodes[0].op_type != operator:
            continue
        inputs, outputs = one.data_sets[0]
        found.append(
            Case(
                one.name.removeprefix("test_"),
                MappingProxyType(
                    {a.name: onnx.helper.get_attribute_value(a) for a in nodes[0].attribute}
                ),
                named([i.name for i in schema.inputs], list(nodes[0].input), list(inputs)),
                named([o.name for o in schema.outputs], list(nodes[0].output), list(outputs)),
                one.rtol,
                one.atol,
            )
        )
    return tuple(found)


CASES = {operator: read(operator) for operator in OPERATORS}


def cases(operator: str) -> tuple[Case, ...]:
    r"""All cases of an operator."""
    return CASES[operator]


def norm_in_double(case: Case) -> Tensor:
    r"""What ONNX's reference of `RMSNormalization` computes in double precision."""
    x, scale = (case.inputs[name].double().numpy() for name in ("X", "scale"))
    axis, epsilon = case.attributes.get("axis", -1), case.attributes.get("epsilon", 1e-5)
    return torch.from_numpy(_rms_normalization(x, scale, axis=axis, epsilon=epsilon))


# Attention


def heads_first(case: Case) -> tuple[Tensor, Tensor, Tensor]:
    r"""Query, key and value as `[batch_size, heads, seq_len, d_k]`, with the past before them."""
    tensors = [case.inputs[name] for name in "QKV"]
    if tensors[0].dim() == 3:
        q_heads, kv_heads = case.attributes["q_num_heads"], case.attributes["kv_num_heads"]
        heads = (q_heads, kv_heads, kv_heads)
        tensors = [
            t.unflatten(-1, (h, -1)).transpose(1, 2) for t, h in zip(tensors, heads, strict=True)
        ]
    query, key, value = tensors
    if "past_key" in case.inputs:
        key = torch.cat([case.inputs["past_key"], key], dim=2)
        value = torch.cat([case.inputs["past_value"], value], dim=2)
    return query, key, value


def heads_last(case: Case, result: Tensor) -> Tensor:
    r"""The result in the layout of the case."""
    three = case.inputs["Q"].dim() == 3
    return result.transpose(1, 2).flatten(start_dim=2) if three else result


def scale_of(case: Case) -> float:
    r"""What the products of queries and keys are multiplied by."""
    return case.attributes.get("scale") or heads_first(case)[0].shape[-1] ** -0.5


def visible(case: Case) -> Tensor | None:
    r"""What a query may attend to, `[batch_size, heads, seq_len_q, seq_len_k]`; the middle or the
    first axis may be one. None if that is everything. Numbers that a case adds to the scores are
    passed over: see `adds_numbers`.
    """
    query, key, _ = heads_first(case)
    n_queries, n_keys = query.shape[2], key.shape[2]
    mask = case.inputs.get("attn_mask")
    lengths = case.inputs.get("nonpad_kv_seqlen")
    left = case.attributes.get("left_window_size", -1)
    right = case.attributes.get("right_window_size", -1)
    causal = case.attributes.get("is_causal", 0)
    if mask is None and lengths is None and left < 0 and right < 0 and not causal:
        return None

    # The first query stands where its batch entry has so many keys before it.
    before = torch.zeros(1, dtype=torch.int64)
    if "past_key" in case.inputs:
        before = before + case.inputs["past_key"].shape[2]
    if lengths is not None:
        before = lengths - n_queries
    places = torch.arange(n_queries)[:, None] + before[:, None, None, None]
    distance = places - torch.arange(n_keys)
    allowed = torch.ones_like(distance, dtype=torch.bool)
    if causal:
        allowed = allowed & (distance >= 0)
    if left >= 0:
        allowed = allowed & (distance <= left)
    if right >= 0:
        allowed = allowed & (distance >= -right)
    if lengths is not None:
        allowed = allowed & (torch.arange(n_keys) < lengths[:, None, None, None])
    if mask is not None:
        seen = mask if mask.dtype == torch.bool else mask != -torch.inf
        seen = torch.nn.functional.pad(seen, (0, n_keys - seen.shape[-1]))
        allowed = allowed & seen
    return allowed


def adds_numbers(case: Case) -> bool:
    r"""Whether the mask adds to scores other numbers than zero and minus infinity."""
    mask = case.inputs.get("attn_mask")
    return mask is not None and mask.dtype != torch.bool and bool(mask.isfinite().any())


def grouped(case: Case) -> bool:
    r"""Whether there are fewer heads of keys than of queries."""
    query, key, _ = heads_first(case)
    return query.shape[1] != key.shape[1]


def in_double(case: Case) -> Tensor:
    r"""What ONNX's reference, written in numpy, computes in double precision."""
    arrays = {
        name: (one.double() if one.is_floating_point() else one).numpy()
        for name, one in case.inputs.items()
    }
    double = {"softmax_precision": onnx.TensorProto.DOUBLE}
    with np.errstate(all="ignore"):
        result, *_ = _compute_attention(**arrays, **{**case.attributes, **double})
    return torch.from_numpy(result)


def changed_scores(case: Case, scores: Tensor) -> Tensor:
    r"""Scores, `[batch_size, heads, seq_len_q, seq_len_k]`, capped and with what is added."""
    cap = case.attributes.get("softcap", 0)
    scores = cap * (scores / cap).tanh() if cap else scores
    if not adds_numbers(case):
        return scores
    mask = case.inputs["attn_mask"].to(scores.dtype)
    missing = scores.shape[-1] - mask.shape[-1]
    return scores + torch.nn.functional.pad(mask, (0, missing), value=-torch.inf)


def asks_for_scores(case: Case) -> bool:
    r"""Whether a second result is wanted, of the scores before they have become weights."""
    return "qk_matmul_output" in case.outputs and case.attributes.get("qk_matmul_output_mode") != 3


def near(case: Case, name: str, result: Tensor) -> bool:
    r"""Whether a result is as near to what the case says as it asks for; 16 bits may round once
    more or less.
    """
    expected = case.outputs[name]
    rtol = max(case.rtol, 2 * torch.finfo(expected.dtype).eps)
    assert result.dtype == expected.dtype
    return torch.allclose(result, expected, rtol=rtol, atol=case.atol)
