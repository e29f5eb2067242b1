r"""Values and gradients of single operations, in both precisions, are PyTorch's."""

from tests.browser_torch.compare import difference
from tests.browser_torch.worlds import PYTORCH, STAND_IN, run


def test_gradients_are_those_of_pytorch() -> None:
    expected, got = run(PYTORCH, "gradients"), run(STAND_IN, "gradients")
    assert not [one for one in expected.items() if isinstance(one[1], str)]
    assert got.keys() == expected.keys()
    wrong = {
        name: distance
        for name in expected
        if (distance := difference(got[name], expected[name]))[0]
        > (1e-10 if "float64" in name else 1e-5)
    }
    assert wrong == {}
