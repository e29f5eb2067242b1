r"""Of several calls, the one that tells the axes apart comes first."""

from literate.measuring.clearest import clearest, first
from literate.measuring.measure import Tensor
from literate.reading.source import parse

SOURCE = parse("def f(x, y):\n    z = x + y\n    return z\n\n\ndef g(x):\n    return x\n")


def tensor(name: str, axes: str, *calls: int) -> Tensor:
    named = tuple(axes.split())
    return Tensor(name, ((2,) * len(named),), named, "float32", None, calls)


def shown(*lines: tuple[int, list[Tensor]]) -> dict[int, list[str]]:
    given = {line: dict(enumerate(found)) for line, found in lines}
    found = first(SOURCE, given)
    return {
        line: [f"{one.name}: {' '.join(one.axes)}" for one in all_] for line, all_ in found.items()
    }


def test_all_lines_of_a_function_show_the_call_with_the_most_names() -> None:
    x = tensor("x", "i b", 1, 2)
    y = [tensor("y", "i b", 1), tensor("y", "j b", 2)]
    z = [tensor("z", "i i b", 1), tensor("z", "i j b", 2)]
    assert shown((1, [x, *y]), (2, z), (3, [tensor("return", "i i b", 1)])) == {
        1: ["x: i b", "y: j b", "y: i b"],
        2: ["z: i j b", "z: i i b"],
        # What the clearest call didn't do is shown as it was.
        3: ["return: i i b"],
    }


def test_of_calls_that_tell_as_much_the_first_is_shown_and_functions_decide_for_themselves() -> (
    None
):
    assert shown(
        (1, [tensor("x", "i b", 3), tensor("x", "j b", 4)]),
        (6, [tensor("x", "i 2*n", 5), tensor("x", "i n+m", 6), tensor("x", "3", 7)]),
    ) == {1: ["x: i b", "x: j b"], 6: ["x: i n+m", "x: i 2*n", "x: 3"]}


def test_without_calls_all_stays_in_its_order() -> None:
    assert clearest([tensor("x", "i"), tensor("y", "i j")]) == 0
    assert shown((2, [tensor("z", "i"), tensor("y", "i"), tensor("z", "i j")])) == {
        2: ["z: i", "z: i j", "y: i"]
    }
