import math
from collections.abc import Callable
from itertools import product

import pytest
import torch
from torch import Tensor, nn

from labml_nn.training import leaks
from labml_nn.training.data import fixed_windows
from labml_nn.training.leaks import LooksAhead, honest_loss, spread
from labml_nn.transformers.basic.autoregressive_experiment import AutoregressiveTransformer

N_VOCAB, SEQ_LEN = 5, 11
TEXT = torch.randint(N_VOCAB, (20 * SEQ_LEN + 4,), generator=torch.Generator().manual_seed(2))


def transformer() -> AutoregressiveTransformer:
    torch.manual_seed(1)
    model = AutoregressiveTransformer(N_VOCAB, 16, 2, 2, 32, SEQ_LEN, 0.5)
    # Weights of some size, so that what leaks is large.
    for weight in model.parameters():
        nn.init.normal_(weight, std=0.5)
    return model


# A text shorter than the context will do.
@pytest.mark.parametrize("text", [TEXT, TEXT[:4]], ids=len)
def test_a_right_model_is_honest_and_nothing_is_random_or_left_changed(text: Tensor) -> None:
    model, state = transformer(), torch.get_rng_state()
    result = honest_loss(model, text, SEQ_LEN)
    assert not result.leaks
    assert result.difference < 1e-4
    assert result.honest == pytest.approx(result.forced, abs=1e-5)
    assert honest_loss(model, text, SEQ_LEN) == result
    assert torch.get_rng_state().equal(state)
    assert model.training


def test_it_is_the_loss_of_a_loop_over_prefixes() -> None:
    model = transformer().eval()
    total = []
    for place, n in product(spread(20, 4), range(1, SEQ_LEN + 1)):
        text = TEXT[place * SEQ_LEN :][: n + 1].tolist()
        with torch.no_grad():
            scores = model(torch.tensor(text[:-1]).unsqueeze(1))[-1, 0].tolist()
        total.append(math.log(sum(map(math.exp, scores))) - scores[text[-1]])
    result = honest_loss(model, TEXT, SEQ_LEN, n_places=4)
    assert result.honest == pytest.approx(sum(total) / len(total), rel=1e-5)


class Mixing(nn.Module):
    def __init__(self, mix: Callable[[Tensor], Tensor]) -> None:
        super().__init__()
        self.model, self.mix = transformer(), mix

    def forward(self, tokens: Tensor) -> Tensor:
        return self.mix(self.model(tokens))


ALL = torch.ones(SEQ_LEN, SEQ_LEN, dtype=torch.bool)


def with_mask(mask: Tensor) -> AutoregressiveTransformer:
    model = transformer()
    model.mask = mask.view_as(model.mask)
    return model


LEAKS = {
    "no mask": lambda: with_mask(ALL),
    "off by one": lambda: with_mask(ALL.tril(1)),
    "upside down": lambda: with_mask(ALL.triu()),
    "a view for a transpose": lambda: Mixing(lambda z: z.transpose(0, 1).reshape(z.shape)),
    "mixed sequences": lambda: Mixing(lambda z: z + z.roll(1, dims=1)),
    "length": lambda: Mixing(lambda z: z * torch.tensor(len(z)) / SEQ_LEN),
    "mean over positions": lambda: Mixing(lambda z: z - z.mean(0)),
}


@pytest.mark.parametrize("leak", LEAKS)
def test_a_model_that_sees_something_else_is_found_out(leak: str) -> None:
    result = honest_loss(LEAKS[leak](), TEXT, SEQ_LEN)
    assert result.leaks
    assert result.difference > 0.01
    assert "its losses mean nothing" in str(result)


def test_a_model_that_looks_ahead_has_a_low_loss_and_a_high_honest_one() -> None:
    result = honest_loss(LooksAhead(N_VOCAB), TEXT, SEQ_LEN)
    assert result.forced < math.log(N_VOCAB) < result.honest


def test_targets_that_were_not_moved_are_found_out(monkeypatch: pytest.MonkeyPatch) -> None:
    def same(tokens: Tensor, seq_len: int) -> list[tuple[Tensor, Tensor]]:
        return [(x, x) for x, _ in fixed_windows(tokens, seq_len)]

    monkeypatch.setattr(leaks, "fixed_windows", same)
    echo = nn.Embedding.from_pretrained(9 * torch.eye(N_VOCAB))
    result = honest_loss(echo, TEXT, SEQ_LEN)
    assert result.forced < 0.01 < result.honest
    assert result.leaks


def test_a_loss_that_is_no_number_is_a_leak() -> None:
    result = honest_loss(Mixing(lambda z: z / float(len(z) != 3)), TEXT, SEQ_LEN)
    assert result.length == 3
    assert result.leaks
