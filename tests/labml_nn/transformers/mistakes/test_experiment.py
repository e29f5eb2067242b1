r"""The experiment trains each mistake alike, and its two losses are what they are called."""

import math

import pytest
import torch
import torch.nn.functional as F

from labml_nn.training.data import prepare
from labml_nn.transformers.mistakes import experiment
from labml_nn.transformers.mistakes.experiment import (
    MISTAKES,
    RIGHT,
    SequenceFirst,
    Setup,
    Sizes,
    looks_better,
    printed_loss,
    train_mistake,
)
from labml_nn.transformers.mistakes.right_model import RightModel, RightTraining

SIZES = Sizes(8, 4, 1, 5, 3, n_steps=4, n_places=3)
TEXT = "".join(chr(97 + index * index % 11) for index in range(400))


def test_there_are_22_mistakes_each_with_one_thing_wrong() -> None:
    assert len(MISTAKES) == 22
    for name, setup in MISTAKES.items():
        changed = [
            part.__name__
            for part, right in zip(
                (setup.attention, setup.model, setup.training),
                (Setup.attention, Setup.model, Setup.training),
                strict=True,
            )
            if part is not right
        ]
        assert changed == [name]


def test_the_printed_loss_is_the_mean_over_all_windows() -> None:
    torch.manual_seed(1)
    training = RightTraining(RightModel(11, 8, 2, 1, 5), 1)
    windows = torch.randint(11, (7, 6))
    logits = training.model(windows[:, :-1])
    expected = F.cross_entropy(logits.transpose(1, 2), windows[:, 1:]).item()
    assert printed_loss(training, windows, 3) == pytest.approx(expected, rel=1e-5)


def test_the_right_model_has_no_gap_and_the_same_seed_gives_the_same() -> None:
    losses = train_mistake(RIGHT["RightAttention"], TEXT, SIZES)
    assert abs(losses["gap"]) < 1e-5
    assert losses == train_mistake(RIGHT["RightAttention"], TEXT, SIZES)
    assert losses != train_mistake(RIGHT["RightAttention"], TEXT, SIZES, seed=2)


def test_the_losses_are_those_of_the_validation_text() -> None:
    class Kept(RightTraining):
        trained = []

        def __init__(self, *arguments: object, **options: object) -> None:
            super().__init__(*arguments, **options)
            self.trained.append(self)

    losses = train_mistake(Setup(training=Kept), TEXT, SIZES)
    _, _, validation = prepare(TEXT, SIZES.seq_len)
    n_windows = (len(validation) - 1) // SIZES.seq_len
    total = []
    for window in range(n_windows):
        tokens = validation[window * SIZES.seq_len :][: SIZES.seq_len + 1]
        logits = Kept.trained[0].model(tokens[None, :-1])[0]
        total.append(F.cross_entropy(logits, tokens[1:]).item())
    assert losses["printed"] == pytest.approx(sum(total) / n_windows, rel=1e-5)
    chosen = [total[0], total[(n_windows - 1) // 2], total[-1]]
    assert n_windows == 7
    assert losses["honest"] == pytest.approx(sum(chosen) / 3, rel=1e-5)


@pytest.mark.parametrize("name", ["MaskUnused", "TargetsNotShifted", "SoftmaxTwice"])
def test_a_mistake_has_a_gap(name: str) -> None:
    assert abs(train_mistake(MISTAKES[name], TEXT, SIZES)["gap"]) > 1e-4


def test_a_strict_mask_trains_to_nan() -> None:
    losses = train_mistake(MISTAKES["StrictMask"], TEXT, SIZES)
    assert all(math.isnan(loss) for loss in losses.values())


def test_all_mistakes_train() -> None:
    short = Sizes(8, 4, 1, 5, 3, n_steps=1, n_places=1)
    found = {name: train_mistake(setup, TEXT, short) for name, setup in MISTAKES.items()}
    finite = {name for name, one in found.items() if math.isfinite(one["printed"])}
    assert finite == set(MISTAKES) - {"StrictMask"}


def test_what_looks_better_is_compared_with_its_like() -> None:
    losses = {name: {"printed": 2.0} for name in MISTAKES | RIGHT}
    losses["RightAttention with dropout"] = {"printed": 3.0}
    losses["StrictMask"] = {"printed": math.nan}
    losses["Unscaled"] = {"printed": 1.95}
    losses["ViewForSplit"] = {"printed": 1.2}
    assert looks_better(losses) == ["ViewForSplit", "DropoutInEvaluation"]


def test_sequence_first_is_the_other_order() -> None:
    model = RightModel(11, 8, 2, 1, 5)
    tokens = torch.randint(11, (5, 3))
    assert SequenceFirst(model)(tokens).equal(model(tokens.t()).transpose(0, 1))


def test_the_example_leaks() -> None:
    assert set(experiment.example()) == {"printed", "honest", "gap"}
