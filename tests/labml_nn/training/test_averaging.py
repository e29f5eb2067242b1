import pytest
import torch
import torch.nn.functional as F
from torch import Tensor, nn

from labml_nn.training.averaging import Reader, average, sliding
from labml_nn.training.counting import BackOff
from labml_nn.training.rules import broken_rules

TEXT = "the cat sat on the mat, and the rat ate that; then the cat ate the rat."
SYMBOLS = "".join(sorted(set(TEXT)))
TOKENS = torch.tensor([SYMBOLS.index(letter) for letter in TEXT])


class Recurrent(nn.Module):
    r"""Causal by construction, and each step depends on all that it has read."""

    def __init__(self, n_vocab: int) -> None:
        super().__init__()
        self.table = nn.Embedding(n_vocab, 5)
        self.recurrent = nn.GRU(5, 7)
        self.head = nn.Linear(7, n_vocab)

    def forward(self, tokens: Tensor) -> Tensor:
        assert tokens.dim() == 2  # of this site's models: the sequence, then the batch
        return self.head(self.recurrent(self.table(tokens))[0])


@pytest.mark.parametrize(("seq_len", "stride"), [(11, 3), (11, 11), (100, 7)])
def test_each_prediction_has_the_context_that_is_promised(seq_len: int, stride: int) -> None:
    torch.manual_seed(1)
    model = Recurrent(len(SYMBOLS))
    rows = sliding(model, TOKENS, seq_len, stride)
    assert rows.shape == (len(TOKENS) - 1, len(SYMBOLS))
    for place, row in enumerate(rows):
        end = place // stride * stride + stride
        prefix = TOKENS[max(0, end - seq_len) : place + 1]
        alone = model(prefix.unsqueeze(1))[-1, 0].log_softmax(-1)
        torch.testing.assert_close(row, alone, atol=1e-5, rtol=0)


def test_dropout_is_for_training() -> None:
    torch.manual_seed(1)
    model = Recurrent(len(SYMBOLS))
    expected = sliding(model, TOKENS, 11, 5)
    model.head = nn.Sequential(nn.Dropout(0.5), model.head)
    torch.testing.assert_close(sliding(model.train(), TOKENS, 11, 5), expected)


def test_what_was_read_is_counted_as_if_it_had_been_there_at_first() -> None:
    reader = Reader("", 3, SYMBOLS)
    for place, letter in enumerate(TEXT):
        reader.read(TEXT[max(0, place - 3) : place], letter)
    whole = BackOff(TEXT, 3, SYMBOLS)
    assert reader.count == whole.count
    assert reader.total == whole.total
    assert reader.different == whole.different


def test_a_reader_predicts_before_it_learns() -> None:
    learned = Reader("the rat", 2, SYMBOLS).log_probabilities(TEXT, learns=True).exp()
    fixed = Reader("the rat", 2, SYMBOLS).log_probabilities(TEXT, learns=False).exp()
    table = BackOff("the rat", 2, SYMBOLS)
    # No longer contexts than promised are remembered: two letters, and the one that followed.
    reader = Reader("", 2, SYMBOLS)
    reader.log_probabilities(TEXT, learns=True)
    assert max(map(len, reader.count)) == 3
    for place in (1, 2, 30):
        expected = [table.probability(one, TEXT[max(0, place - 2) : place]) for one in SYMBOLS]
        assert fixed[place - 1].tolist() == pytest.approx(expected)
    assert learned[0].tolist() == pytest.approx(fixed[0].tolist())
    # What comes over and over is no surprise any more.
    again = Reader("the rat", 2, "abc").log_probabilities("abc" * 20, learns=True).exp()
    assert again[1, 2] < 0.4 < 0.9 < again[58, 2]


def test_the_weights_go_down_the_gradient_of_the_loss() -> None:
    torch.manual_seed(1)
    n_models, n, n_vocab, rate = 3, 5, 7, 0.3
    logs = torch.randn(n_models, n, n_vocab).log_softmax(-1)
    targets = torch.randint(n_vocab, (n,))
    predicted, history = average(logs, targets, rate)
    assert history.shape == (n, n_models)
    # The rate of the recorded results.
    torch.testing.assert_close(average(logs, targets), average(logs, targets, rate=0.002))
    weights = torch.tensor([1.0, 0.0, 0.0])
    for at in range(n):
        weights.requires_grad_()
        logits = weights @ logs[:, at]
        torch.testing.assert_close(predicted[at], logits.detach().softmax(-1))
        (gradient,) = torch.autograd.grad(F.cross_entropy(logits, targets[at]), weights)
        weights = weights.detach() - rate * gradient
        torch.testing.assert_close(history[at], weights)


def test_the_whole_measurement_breaks_no_rule() -> None:
    torch.manual_seed(1)
    model = Recurrent(len(SYMBOLS))

    def measure(tokens: Tensor) -> Tensor:
        text = "".join(SYMBOLS[token] for token in tokens)
        counted = Reader("the rat", 2, SYMBOLS).log_probabilities(text, learns=True)
        logs = torch.stack([sliding(model, tokens, 11, 4), counted])
        return average(logs, tokens[1:], rate=0.1)[0]

    assert broken_rules(measure, TOKENS, len(SYMBOLS)) == []
