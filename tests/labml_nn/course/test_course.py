import pytest
import torch

from labml_nn.course.one_attention import MeanOfThePast
from labml_nn.course.steps import fit, steps_of_course
from labml_nn.training.data import RandomWindows
from labml_nn.training.loop import evaluate
from labml_nn.transformers.mha import causal_mask
from tests.labml_nn.models import sees_only_the_past

N_VOCAB, SEQ_LEN = 13, 7
STEPS = steps_of_course(N_VOCAB, 16, 2, SEQ_LEN)


def test_the_mean_of_the_past_is_that_of_each_beginning() -> None:
    x = torch.randn(SEQ_LEN, 3, 5, dtype=torch.double)
    found = MeanOfThePast()(query=x, key=x, value=x, mask=causal_mask(SEQ_LEN))
    expected = torch.stack([x[: end + 1].mean(dim=0) for end in range(SEQ_LEN)])
    torch.testing.assert_close(found, expected)


def test_the_mean_keeps_the_masks_of_a_batch_apart() -> None:
    # The second sequence sees one letter, whatever the first one sees.
    x = torch.randn(SEQ_LEN, 2, 5, dtype=torch.double)
    mask = causal_mask(SEQ_LEN).repeat(1, 1, 2)
    mask[:, 1:, 1] = False
    found = MeanOfThePast()(query=x, key=x, value=x, mask=mask)
    first = torch.stack([x[: end + 1, 0].mean(dim=0) for end in range(SEQ_LEN)])
    torch.testing.assert_close(found[:, 0], first)
    torch.testing.assert_close(found[:, 1], x[:1, 1].expand(SEQ_LEN, -1))


@pytest.mark.parametrize("name", STEPS)
def test_each_model_learns_and_sees_no_future(name: str) -> None:
    make, recipe = STEPS[name]
    text = torch.arange(20 * N_VOCAB) % N_VOCAB
    torch.manual_seed(1)
    model = make()
    start = evaluate(model, text, SEQ_LEN)
    fit(model, RandomWindows(text, SEQ_LEN, 3, seed=1), 30, recipe)
    assert evaluate(model, text, SEQ_LEN) < start
    model.eval()
    tokens = text[: 3 * SEQ_LEN].view(SEQ_LEN, 3)
    sees_only_the_past(model.double(), tokens, lambda token: (token + 5) % N_VOCAB)


def test_positions_are_what_tells_one_order_from_another() -> None:
    # The last letter stays, two before it change places.
    tokens = torch.tensor([[1], [2], [3]])
    swapped = tokens[[1, 0, 2]]
    same = {}
    for name, (make, _) in STEPS.items():
        # Its head starts at zero.
        if name == "The modern parts":
            continue
        torch.manual_seed(1)
        model = make().eval()
        same[name] = bool((model(tokens)[-1] - model(swapped)[-1]).abs().max() < 1e-5)
    found = [name for name, one in same.items() if one]
    assert found == ["A learned table of pairs", "The mean of the past", "One head"]


def test_a_step_that_adds_no_weights_starts_with_those_of_the_one_before() -> None:
    def start(name: str) -> dict[str, torch.Tensor]:
        torch.manual_seed(1)
        return STEPS[name][0]().state_dict()

    names = list(STEPS)
    same = [
        after
        for before, after in zip(names, names[1:], strict=False)
        if (old := start(before)).keys() == (new := start(after)).keys()
        and all(torch.equal(old[key], new[key]) for key in old)
    ]
    assert same == ["One head, with positions", "Many heads", "The classic recipe"]

    # With a head after it, the embedding has other numbers, from the same seed.
    embedding = "embed.tokens.embedding.weight"
    assert not torch.equal(start("The mean of the past")[embedding], start("One head")[embedding])
