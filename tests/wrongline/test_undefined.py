r"""Names that a text reads and nobody has defined, function by function."""

from wrongline.undefined import globals_read, guess_for, letters_read, undefined

TEXT = """
def first(x):
    B, T, C = x.shape
    return x

class Head(Base):
    size = wide
    def __init__(self):
        self.key = Linear(C, n_head)
        [i for i in range(T)]
"""


def test_a_name_that_is_bound_elsewhere_is_still_undefined() -> None:
    assert undefined(TEXT, {"Base"}, {"Head"}) == ["C", "Linear", "T", "n_head", "wide"]
    assert undefined(TEXT, {"Base"}, {"first"}) == []
    assert {"C", "Linear"} <= globals_read(TEXT)
    assert globals_read("a = b\ndef f(): return c", outermost=True) >= {"b"}
    assert "c" not in globals_read("a = b\ndef f(): return c", outermost=True)


def test_letters_are_the_axes_of_the_tests_and_other_short_names_say_nothing() -> None:
    names = ("B", "T", "C", "n_head", "device", "k", "wide")
    assert [guess_for(one) for one in names] == [5, 7, 24, 3, "cpu", None, None]
    assert letters_read(TEXT, {"C": 32, "T": "x", "B": 4}, {"Head"}) == {"C": 24}
