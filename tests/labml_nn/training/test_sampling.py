import pytest
import torch
from torch import Tensor, nn

from labml_nn.training.data import CharTokenizer
from labml_nn.training.sampling import generate, greedy, with_temperature, write


class Table(nn.Module):
    r"""The next token depends on the present one alone; it remembers what it was asked."""

    def __init__(self, n_vocab: int) -> None:
        super().__init__()
        torch.manual_seed(3)
        self.logits = nn.Embedding(n_vocab, n_vocab)
        self.lengths: list[int] = []
        self.modes: set[bool] = set()

    def forward(self, tokens: Tensor) -> Tensor:
        self.lengths.append(len(tokens))
        self.modes.add(self.training)
        return self.logits(tokens)


def test_greedy_tokens_are_the_likeliest_after_the_one_before() -> None:
    model = Table(7)
    prompts = torch.tensor([[1, 4, 2], [3, 0, 6]])
    tokens = generate(model, prompts, 5, seq_len=3, choose=greedy)
    assert tokens.shape == (7, 3)
    for column in range(3):
        expected = prompts[:, column].tolist()
        for _ in range(5):
            expected.append(int(model.logits.weight[expected[-1]].argmax()))
        assert tokens[:, column].tolist() == expected


def test_the_model_sees_the_latest_tokens_and_never_more_than_its_context() -> None:
    class Sum(Table):
        def forward(self, tokens: Tensor) -> Tensor:
            super().forward(tokens)
            # The sum of the window, modulo 5, is certain to be next.
            return nn.functional.one_hot(tokens.sum(0, keepdim=True) % 5, 5) * 100.0

    model = Sum(5)
    tokens = generate(model, torch.tensor([[1], [2], [4]]), 3, seq_len=2)
    assert tokens[:, 0].tolist() == [1, 2, 4, 1, 0, 1]
    generate(model, torch.tensor([[1]]), 3, seq_len=2)
    assert model.lengths == [2, 2, 2, 1, 2, 2]


@pytest.mark.parametrize("temperature", [0.5, 1.0, 2.0])
def test_tokens_are_drawn_as_often_as_their_probability_says(temperature: float) -> None:
    n_draws = 100_000
    weights = torch.tensor([0.5, 0.25, 0.125, 0.125, 0.0])
    expected = weights ** (1 / temperature) / (weights ** (1 / temperature)).sum()
    generator = torch.Generator().manual_seed(1)
    logits = weights.log().expand(n_draws, -1)
    found = with_temperature(temperature)(logits, generator).bincount(minlength=5) / n_draws

    # Five standard deviations, and never a token that has no probability.
    assert ((found - expected).abs() <= 5 * (expected * (1 - expected) / n_draws).sqrt()).all()


def test_a_temperature_below_zero_and_an_empty_prompt_are_refused() -> None:
    with pytest.raises(ValueError, match="at least 0, got -0.5"):
        with_temperature(-0.5)
    with pytest.raises(ValueError, match="the prompt is empty"):
        write(Table(3), CharTokenizer("ab"), "", 1, 4)


def test_the_same_seed_writes_the_same_text() -> None:
    model = Table(6)

    def text(seed: int, **options: float) -> str:
        generator = torch.Generator().manual_seed(seed)
        return write(model, CharTokenizer("abcde"), "cab", 40, 4, generator=generator, **options)

    assert text(1) == text(1) != text(2)
    assert text(1, temperature=0.0) == text(2, temperature=0.0)
    assert text(1) == text(1, temperature=1.0) != text(1, temperature=2.0)
    assert text(1).startswith("cab")
    assert len(text(1)) == 43


def test_writing_neither_drops_out_nor_tracks_gradients() -> None:
    model = Table(5)
    tokens = torch.zeros(1, 2, dtype=torch.long)
    assert not generate(model, tokens, 3, seq_len=4).requires_grad
    assert model.training
    generate(model.eval(), tokens, 3, seq_len=4)
    assert not model.training
    assert model.modes == {False}
