import pytest
import torch
from torch import Tensor, nn

from labml_nn.training.data import CharTokenizer, InputError
from labml_nn.training.sampling import complete, draw, evaluating, generate


class Table(nn.Module):
    r"""The next token depends on the present one alone; it remembers what it was asked."""

    def __init__(self, n_vocab: int) -> None:
        super().__init__()
        torch.manual_seed(3)
        self.logits = nn.Embedding(n_vocab, n_vocab)
        self.dropout = nn.Dropout(0.5)
        self.lengths: list[int] = []
        self.training_seen: set[bool] = set()

    def forward(self, tokens: Tensor) -> Tensor:
        self.lengths.append(len(tokens))
        self.training_seen.add(self.training)
        return self.dropout(self.logits(tokens))


def shares(drawn: Tensor, n_vocab: int) -> Tensor:
    return drawn.bincount(minlength=n_vocab) / len(drawn)


@pytest.mark.parametrize("temperature", [0.5, 1.0, 2.0])
def test_draws_follow_the_softmax_at_the_temperature(temperature: float) -> None:
    logits = torch.tensor([1.0, -2.0, 0.5, 0.0, 2.0])
    generator = torch.Generator().manual_seed(1)
    drawn = draw(logits.expand(100_000, 5), temperature, None, generator)
    weights = (logits.double() / temperature).exp()
    # The standard deviation of a share is at most 0.5 / sqrt(100,000), 0.0016.
    torch.testing.assert_close(
        shares(drawn, 5).double(), weights / weights.sum(), rtol=0, atol=0.007
    )


def test_top_k_keeps_the_likeliest_and_their_proportions() -> None:
    logits = torch.tensor([1.0, -2.0, 0.5, 0.0, 2.0])
    drawn = draw(logits.expand(100_000, 5), 1.0, 2, torch.Generator().manual_seed(1))
    found = shares(drawn, 5)
    assert found[[1, 2, 3]].tolist() == [0, 0, 0]
    assert float(found[4] / found[0]) == pytest.approx(torch.e, rel=0.03)


def test_rows_of_a_batch_are_drawn_from_their_own_logits() -> None:
    logits = torch.full((3, 7), -20.0)
    logits[0, 5] = logits[1, 0] = logits[2, 6] = 20.0
    assert draw(logits).tolist() == [5, 0, 6]


def test_a_top_k_above_the_vocabulary_takes_all() -> None:
    logits = torch.randn(11, 5)
    one, other = (
        draw(logits, 1.0, top_k, torch.Generator().manual_seed(1)) for top_k in (99, None)
    )
    assert one.equal(other)


@pytest.mark.parametrize("temperature", [0.0, -1.0])
def test_a_temperature_that_is_not_positive_is_refused(temperature: float) -> None:
    with pytest.raises(InputError, match=f"temperature must be above 0, got {temperature:g}"):
        draw(torch.zeros(1, 3), temperature)


def test_a_top_k_of_zero_is_refused() -> None:
    with pytest.raises(InputError, match="top_k must be at least 1, got 0"):
        draw(torch.zeros(1, 3), top_k=0)


def test_with_top_k_one_each_token_is_the_likeliest_after_the_one_before() -> None:
    model = Table(7)
    prompts = torch.tensor([[1, 4, 2], [3, 0, 6]])
    tokens = generate(model, prompts, 5, seq_len=3, top_k=1)
    assert tokens.shape == (7, 3)
    for column in range(3):
        expected = prompts[:, column].tolist()
        for _ in range(5):
            expected.append(int(model.logits.weight[expected[-1]].argmax()))
        assert tokens[:, column].tolist() == expected


def test_the_model_never_sees_more_than_its_context() -> None:
    model = Table(7)
    generate(model, torch.zeros(2, 1, dtype=torch.long), 5, seq_len=4)
    assert model.lengths == [2, 3, 4, 4, 4]


def test_it_sees_the_latest_tokens() -> None:
    class Latest(nn.Module):
        def forward(self, tokens: Tensor) -> Tensor:
            # The sum of the window, modulo 5, is certain to be next.
            return nn.functional.one_hot(tokens.sum(0, keepdim=True) % 5, 5) * 100.0

    tokens = generate(Latest(), torch.tensor([[1], [2], [4]]), 3, seq_len=2)
    assert tokens[:, 0].tolist() == [1, 2, 4, 1, 0, 1]


def test_the_same_seed_draws_the_same_text() -> None:
    model, tokenizer = Table(5), CharTokenizer("abcde")

    def text(seed: int) -> str:
        generator = torch.Generator().manual_seed(seed)
        return complete(model, tokenizer, "cab", 40, 4, generator=generator)

    assert text(1) == text(1) != text(2)
    assert text(1).startswith("cab")
    assert len(text(1)) == 43


def test_sampling_neither_drops_out_nor_tracks_gradients_and_changes_no_mode() -> None:
    model = Table(5)
    model.dropout.eval()
    tokens = generate(model, torch.zeros(1, 2, dtype=torch.long), 3, seq_len=4)
    assert model.training_seen == {False}
    assert not tokens.requires_grad
    assert model.training
    assert not model.dropout.training


def test_modes_come_back_after_an_error() -> None:
    model = nn.Sequential(nn.Dropout(), nn.Dropout().eval()).train()
    model[1].eval()
    with pytest.raises(RuntimeError, match="inside"), evaluating(model):
        assert not torch.is_grad_enabled()
        assert not model[0].training
        raise RuntimeError("inside")
    assert [model.training, model[0].training, model[1].training] == [True, True, False]
    assert torch.is_grad_enabled()


def test_an_unknown_character_in_the_prompt_is_named() -> None:
    with pytest.raises(InputError, match="'z' at position 1"):
        complete(Table(3), CharTokenizer("abc"), "az", 1, 4)


def test_an_empty_prompt_is_refused() -> None:
    with pytest.raises(InputError, match="the prompt is empty"):
        complete(Table(3), CharTokenizer("abc"), "", 1, 4)
