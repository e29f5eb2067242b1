r"""What is asked before a step of a run is shown: each question by what its tensor is."""

from typing import Any

from tests.page_runner.scripts import in_node


def tensor(name: str, shape: dict[str, int], numbers: list[float], **more: Any) -> dict[str, Any]:
    r"""A tensor as a panel draws it."""
    names, lengths = [*shape], [*shape.values()]
    return {"name": name, "axes": names, "shape": lengths, "data": numbers, **more}


def asked(kind: str, *given: Any) -> dict[str, Any]:
    return in_node("predict", f"predict.{kind}(...given)", given)


def test_the_wrong_shapes_have_other_lengths_than_the_right_one() -> None:
    found = asked("shapeOf", tensor("x", {"seq_len": 7, "batch_size": 3, "d_k": 2}, []))
    assert found["right"] == "[seq_len 7, batch_size 3, d_k 2]"
    assert found["answers"] == [
        found["right"],
        "[seq_len 7, d_k 2, batch_size 3]",
        "[seq_len 7, batch_size 3]",
        "[batch_size 3, seq_len 7, d_k 2]",
    ]
    # Two axes of one length could change places: nobody is asked for their names.
    square = asked("shapeOf", tensor("x", {"seq_len_q": 7, "seq_len_k": 7}, []))
    assert square["answers"] == [square["right"], "[seq_len_q 7]", "[seq_len_k 7]"]
    assert asked("shapeOf", tensor("x", {"d_k": 2}, [])) is None


def test_signs_are_asked_where_chance_does_not_decide() -> None:
    weights = {"kind": "weights", "low": 0.0, "high": 0.9}
    found = asked("signsOf", tensor("attn", {"n": 20}, [0.05] * 20, **weights))
    assert found["right"] == "none below zero"
    masked = tensor("scores", {"n": 20}, [0.5] * 20, kind="values", low=0.5, high=0.5)
    assert asked("signsOf", masked)["right"] == "none below zero"
    assert asked("signsOf", tensor("x", {"n": 2}, [1.0, 2.0], kind="values")) is None
    assert asked("signsOf", tensor("ids", {"n": 20}, [1.0] * 20, kind="whole")) is None


def test_the_larger_of_two_is_asked_where_they_differ_clearly() -> None:
    query = tensor("query", {"n": 2}, [-3.0, 1.0], kind="values")
    scaled = tensor("query", {"n": 2}, [-2.0, 0.7], kind="values")
    found = asked("largerOf", scaled, query)
    assert found["answers"] == ["query before this line", "query after it"]
    assert found["right"] == "query before this line"
    assert found["because"] == "query before this line reaches 3, and query after it 2"
    assert asked("largerOf", query, {**query, "data": [-2.9, 1.0]}) is None
    assert asked("largerOf", query, None) is None


def test_all_kinds_come_in_turn_and_the_right_answer_at_any_place() -> None:
    before = tensor("x", {"a": 5, "b": 4}, [9.0] * 20, kind="values")
    weights = tensor("attn", {"a": 5, "b": 4}, [0.25] * 20, kind="weights")
    script = "[0, 1, 2, 3, 4, 5].map((turn) => predict.question(given[0], given[1], turn))"
    found = in_node("predict", script, [weights, before])
    assert len({one["ask"] for one in found}) == 3
    assert all(one["right"] in one["answers"] for one in found)
    assert len({one["answers"].index(one["right"]) for one in found}) > 1
