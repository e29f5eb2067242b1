r"""Does the loop learn what there is to learn, and nothing that there is not?

The source is a Markov chain: what comes next depends on the token before it, with known
probabilities. Gibbs' inequality is exact: whatever a model that sees only the past predicts, its
*expected* cross entropy is at least the entropy rate of the chain. With few symbols and short
windows the expectation can be computed, over every window there is, so no sampling error has to
be allowed for.
"""

import itertools
import math
import random
import re

import pytest
import torch
from torch import Tensor, nn

import labml_nn.training
from labml_nn.training.data import RandomWindows, prepare, tiny_shakespeare
from labml_nn.training.loop import adamw, evaluate, learning_rate, train
from labml_nn.training.sampling import write
from labml_nn.transformers.basic.autoregressive_experiment import AutoregressiveTransformer

# The probabilities of the next symbol, after each one.
CHAIN = torch.tensor([[0.7, 0.2, 0.1], [0.1, 0.1, 0.8], [0.3, 0.6, 0.1]], dtype=torch.float64)
SEQ_LEN = 5


def stationary() -> Tensor:
    return torch.linalg.matrix_power(CHAIN, 200)[0]


def entropy_rate() -> float:
    return -(stationary().unsqueeze(1) * CHAIN * CHAIN.log()).sum().item()


def chain_text(length: int, seed: int) -> Tensor:
    draw, symbols = random.Random(seed), [0]
    weights = CHAIN.tolist()
    for _ in range(length):
        symbols += draw.choices(range(3), weights[symbols[-1]])
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


def make_model(seq_len: int = SEQ_LEN) -> AutoregressiveTransformer:
    torch.manual_seed(1)
    return AutoregressiveTransformer(3, 16, 2, 1, 32, seq_len)


def learn(model: nn.Module, text: Tensor) -> None:
    batches = RandomWindows(text, SEQ_LEN, 64, seed=1)
    optimizers = [adamw(model, rate=0.01)]
    train(model, batches.at, optimizers, 300, schedule=lambda *at: learning_rate(*at, final=0.0))


def test_the_entropy_rate_of_a_chain_is_learned_to_one_percent_and_never_beaten() -> None:
    model = make_model()
    assert expected_loss(model) > 1.2 * entropy_rate()
    learn(model, chain_text(40_000, seed=1))
    assert entropy_rate() <= expected_loss(model) < 1.01 * entropy_rate()


def test_the_six_lines_of_the_package_train_a_transformer(
    capsys: pytest.CaptureFixture[str],
) -> None:
    (code,) = re.findall(r"```python\n(.*?)```", labml_nn.training.__doc__, re.DOTALL)
    names = [AutoregressiveTransformer, RandomWindows, adamw, evaluate, prepare, train, write]
    known = {one.__name__: one for one in names}
    known["tiny_shakespeare"] = lambda: tiny_shakespeare()[:20_000]
    torch.manual_seed(1)
    exec(code.replace("steps=2000", "steps=5").replace("200", "20"), known)
    loss, sample = capsys.readouterr().out.split("\n", 1)
    assert 2.5 < float(loss) < math.log(66)
    assert sample.startswith("ROMEO:\n")
    assert len(sample) == len("ROMEO:\n") + 20 + 1
