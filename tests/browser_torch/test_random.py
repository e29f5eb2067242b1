r"""Random numbers are PyTorch's, to the last bit."""

from tests.browser_torch.compare import difference
from tests.browser_torch.worlds import PYTORCH, STAND_IN, run

# Single-precision powers and logarithms of PyTorch's vector library may differ in the last digit.
NEARLY = {"exponential"}


def test_what_is_drawn_is_what_pytorch_draws() -> None:
    expected, got = run(PYTORCH, "random_numbers"), run(STAND_IN, "random_numbers")
    wrong = {
        (seed, name): difference(got[seed][name], expected[seed][name])
        for seed in expected
        for name in expected[seed]
        if got[seed][name] != expected[seed][name]
    }
    assert {key: one for key, one in wrong.items() if key[1] not in NEARLY} == {}
    assert all(distance <= 2e-7 for distance, _ in wrong.values())
