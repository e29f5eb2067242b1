from labml_nn.transformers.mistakes import attention_tests as page
from labml_nn.transformers.mistakes.one_line import Doubled


def test_the_example_names_the_mistake_and_leaves_the_right_one_alone() -> None:
    right, wrong = page.example()
    assert right == {}
    assert "divided by the root of the whole width" in wrong["comparison"]


def test_a_mistake_that_is_not_among_the_known_ones_passes() -> None:
    assert page.find_mistakes(Doubled.make()(2, 10), 2, 10) == {}
