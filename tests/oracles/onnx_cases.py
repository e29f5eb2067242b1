r"""The test cases of ONNX's operators, as tensors.

The package `onnx` makes the cases of an operator when the module about it is imported: a model of
one node, what goes in and what must come out. Its `collect_testcases` imports the modules about all
operators, two hundred of them; here only those are imported that have to do with transformers.
"""

import importlib
from dataclasses import dataclass
from typing import Any

import numpy as np
import onnx
import torch
from onnx.backend.test.case import node as cases_of_nodes
from onnx.reference.ops.op_attention import _compute_attention
from onnx.reference.ops.op_rms_normalization import _rms_normalization
from torch import Tensor


@dataclass(frozen=True)
class Case:
    r"""One case. Inputs, outputs and attributes have the names that the operator gives them."""

    name: str
    attributes: dict[str, Any]
    inputs: dict[str, Tensor]
    outputs: dict[str, Tensor]
    rtol: float
    atol: float


def to_tensor(array: np.ndarray) -> Tensor:
    r"""From numpy, which has no bfloat16 of its own."""
    if array.dtype.name == "bfloat16":
        return torch.from_numpy(array.view(np.int16)).view(torch.bfloat16).clone()
    return torch.from_numpy(np.ascontiguousarray(array)).clone()


def named(formal: Any, present: list[str], arrays: list[np.ndarray]) -> dict[str, Tensor]:
    r"""Arrays, which are there for the names that are not empty, by the operator's own names."""
    places = [one.name for one, given in zip(formal, present, strict=False) if given]
    return dict(zip(places, map(to_tensor, arrays), strict=True))


def read(operator: str) -> tuple[Case, ...]:
    r"""All cases of an operator, but for those that are the same with its parts written out."""
    importlib.import_module(f"{cases_of_nodes.__name__}.{operator.lower()}")
    schema = onnx.defs.get_schema(operator)
    found = []
    for one in cases_of_nodes._NodeTestCases:
        first, *others = one.model.graph.node
        if others or first.op_type != operator:
            continue
        attributes = {each.name: onnx.helper.get_attribute_value(each) for each in first.attribute}
        inputs, outputs = one.data_sets[0]
        before = named(schema.inputs, first.input, inputs)
        after = named(schema.outputs, first.output, outputs)
        name = one.name.removeprefix("test_")
        found.append(Case(name, attributes, before, after, one.rtol, one.atol))
    return tuple(found)


# Once, however many mutants meet them.
CASES = {operator: read(operator) for operator in ("Attention", "RMSNormalization")}


def cases(operator: str) -> tuple[Case, ...]:
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
    first axis may be one. None if that is everything. The first query stands behind the past.
    """
    query, key, _ = heads_first(case)
    n_queries, n_keys = query.shape[2], key.shape[2]
    mask, causal = case.inputs.get("attn_mask"), case.attributes.get("is_causal", 0)
    if mask is None and not causal:
        return None
    allowed = torch.ones(1, 1, n_queries, n_keys, dtype=torch.bool)
    if causal:
        allowed = allowed.tril(n_keys - case.inputs["K"].shape[-2])
    if mask is not None:
        seen = mask if mask.dtype == torch.bool else mask != -torch.inf
        allowed = allowed & torch.nn.functional.pad(seen, (0, n_keys - seen.shape[-1]))
    return allowed


def counts_keys(case: Case) -> bool:
    r"""Whether there are lengths or windows of keys, beside or in place of a mask."""
    windows = (case.attributes.get(f"{side}_window_size", -1) for side in ("left", "right"))
    return "nonpad_kv_seqlen" in case.inputs or max(windows) >= 0


def changes_scores(case: Case) -> bool:
    r"""Whether scores are capped, or other numbers than zero and minus infinity are added."""
    mask = case.inputs.get("attn_mask", torch.tensor(True))
    adds = mask.dtype != torch.bool and bool((mask.isfinite() & (mask != 0)).any())
    return adds or "softcap" in case.attributes


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
