r"""Does the loop learn what there is to learn, and nothing that there is not?

The source is a Markov chain: what comes next depends on the token before it, with known
probabilities. Gibbs' inequality is exact: whatever a model that sees only the past predicts, its
*expected* cross entropy is at least the entropy rate of the chain. With few symbols and short
windows the expectation can be computed, over every window there is, so no sampling error has to
be allowed for.
"""

import itertools
import math
from dataclasses import replace

import pytest
import torch
from torch import Tensor, nn

from labml_nn.training.leaks import honest_loss
from labml_nn.training.loop import Trainer
from labml_nn.transformers.basic.autoregressive_experiment import AutoregressiveTransformer, Config
from tests.labml_nn.careless import with_mask

# The probabilities of the next symbol, after each one.
CHAIN = torch.tensor([[0.7, 0.2, 0.1], [0.1, 0.1, 0.8], [0.3, 0.6, 0.1]], dtype=torch.float64)
SEQ_LEN = 5
CONFIG = Config(
    steps=300,
    batch_size=64,
    seq_len=SEQ_LEN,
    learning_rate=0.01,
    final=0.0,
    device="cpu",
    precision="float32",
    evaluate_every=300,
    d_model=16,
    heads=2,
    n_layers=1,
    d_ff=32,
)


def stationary() -> Tensor:
    r"""How often each symbol comes, in the long run."""
    return torch.linalg.matrix_power(CHAIN, 200)[0]


def entropy_rate() -> float:
    return -(stationary().unsqueeze(1) * CHAIN * CHAIN.log()).sum().item()


def chain_text(length: int, seed: int) -> Tensor:
    generator = torch.Generator().manual_seed(seed)
    uniform = torch.rand(length, generator=generator, dtype=torch.float64)
    thresholds = CHAIN.cumsum(1).tolist()
    symbols = [0]
    for value in uniform.tolist():
        row = thresholds[symbols[-1]]
        symbols.append(sum(value >= threshold for threshold in row[:-1]))
    return torch.tensor(symbols)


def expected_loss(model: nn.Module) -> float:
    r"""Over every window of the chain, each with its probability."""
    windows = torch.tensor(list(itertools.product(range(3), repeat=SEQ_LEN + 1))).t()
    probability = stationary()[windows[0]]
    for before, after in itertools.pairwise(windows):
        probability = probability * CHAIN[before, after]
    model.eval()
    with torch.no_grad():
        scores = model(windows[:-1]).double().log_softmax(-1)
    losses = -scores.gather(-1, windows[1:].unsqueeze(-1)).squeeze(-1).mean(0)
    assert probability.sum().item() == pytest.approx(1, abs=1e-9)
    return (probability * losses).sum().item()


def make_model(config: Config = CONFIG) -> AutoregressiveTransformer:
    torch.manual_seed(config.seed)
    return AutoregressiveTransformer(
        3, config.d_model, config.heads, config.n_layers, config.d_ff, config.seq_len, 0.0
    )


def train(model: nn.Module, text: Tensor, config: Config = CONFIG) -> float:
    validation: list[float] = []
    Trainer(model, text, chain_text(999, seed=2), config).run(
        lambda step, values: validation.append(values.get("loss.validation", math.nan))
    )
    return validation[-1]


class Oracle(nn.Module):
    r"""Knows the chain."""

    def forward(self, tokens: Tensor) -> Tensor:
        return CHAIN.log()[tokens]


def test_whoever_knows_the_chain_has_its_entropy_rate_as_loss() -> None:
    assert expected_loss(Oracle()) == pytest.approx(entropy_rate(), abs=1e-9)


def test_the_entropy_rate_of_a_chain_is_learned_to_one_percent_and_never_beaten() -> None:
    model = make_model()
    assert expected_loss(model) > 1.2 * entropy_rate()
    train(model, chain_text(40_000, seed=1))
    assert entropy_rate() <= expected_loss(model) < 1.01 * entropy_rate()


def test_a_model_that_sees_the_future_beats_the_entropy_and_is_not_honest() -> None:
    model = make_model()
    with_mask(model, torch.ones_like(model.mask))
    train(model, chain_text(40_000, seed=1))
    assert expected_loss(model) < 0.9 * entropy_rate()
    assert honest_loss(model, chain_text(999, seed=2), SEQ_LEN).leaks


def test_one_batch_is_learned_by_heart() -> None:
    config = replace(CONFIG, batch_size=1, seq_len=29, steps=200, evaluate_every=200)
    text = chain_text(29, seed=3)
    trainer = Trainer(make_model(config), text, text, config)
    losses: list[float] = []
    trainer.run(lambda step, values: losses.append(values["loss.train"]))
    assert losses[-1] < 0.02 < losses[0] / 10
