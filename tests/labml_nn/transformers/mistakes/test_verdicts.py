r"""Exactly which of the tests for readers fail, for every mistake, and for what is right."""

import pytest

from labml_nn.transformers.mistakes import verdicts
from labml_nn.transformers.mistakes.model_tests import find_in_whole
from labml_nn.transformers.mistakes.verdicts import FLAWLESS, WRONG, verdict, whole_of

# What sees the future, and what the weights of the past sum to.
LEAK = {"comparison", "future", "prefix"}
HIDES = {"padding"}
SUM = {"equal_tokens"}

EXPECTED = {
    "QueryForAll": {"comparison", "gradients"},
    "WidthAsFloat": {"sizes"},
    "WidthUnchecked": {"sizes"},
    "ScaledByModelWidth": {"comparison"},
    "Unscaled": {"comparison"},
    "ScaledUp": {"comparison"},
    "MaskUnused": LEAK | HIDES,
    "MaskOnlyInTraining": LEAK,
    "MaskOffByOne": LEAK,
    "MaskInverted": LEAK | SUM | HIDES,
    "MaskAfterSoftmax": LEAK | SUM | HIDES,
    "MaskAsZeros": LEAK | HIDES,
    "StrictMask": LEAK | SUM | HIDES | {"alone", "numbers"},
    "SoftmaxOverQueries": LEAK | SUM | HIDES,
    "SoftmaxOverHeads": LEAK | SUM | HIDES,
    "ViewForSplit": LEAK | SUM | HIDES,
    "ViewForMerge": LEAK | SUM,
    "SizeFromGlobal": {"comparison"},
    "DropoutInEvaluation": {"evaluation"},
    "PositionsOfTheBatch": {"each_sequence_alone"},
    "NoResidual": {"learns"},
    "TargetsNotShifted": {"targets_follow_inputs", "honest"},
    "TargetsShiftedTwice": {"honest", "learns"},
    "SoftmaxTwice": {"honest"},
    "GradientsKept": {"forgets"},
    "EmptyRows": {"padding"},
    "CausalFromTheTop": {"decoding"},
    "NewestForgotten": {"decoding"},
}


@pytest.mark.parametrize("name", EXPECTED)
def test_these_tests_find_it_and_no_others(name: str) -> None:
    assert set(verdict(WRONG[name])) == EXPECTED[name]


def test_every_mistake_has_its_verdict() -> None:
    assert set(EXPECTED) == set(WRONG)


@pytest.mark.parametrize("name", FLAWLESS)
def test_what_is_right_passes_all(name: str) -> None:
    assert verdict(FLAWLESS[name]) == {}


def test_the_right_model_and_training_pass_all() -> None:
    assert find_in_whole(whole_of(FLAWLESS["RightAttention"])) == {}


def test_the_example_is_of_a_leak() -> None:
    assert LEAK < set(verdicts.example())
