import pytest
import torch
from torch import Tensor, nn

from labml_nn.training.data import CharTokenizer, InputError
from labml_nn.training.sampling import (
    FEW_PRODUCTS,
    complete,
    evaluating,
    generate,
    quick_calls,
)
from labml_nn.training.strategies import Sampling


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


def test_with_top_k_one_each_token_is_the_likeliest_after_the_one_before() -> None:
    model = Table(7)
    prompts = torch.tensor([[1, 4, 2], [3, 0, 6]])
    tokens = generate(model, prompts, 5, seq_len=3, sampling=Sampling(top_k=1))
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


def test_written_tokens_can_be_trained_on() -> None:
    tokens = generate(Table(5), torch.zeros(1, 2, dtype=torch.long), 3, seq_len=4)
    table = nn.Embedding(5, 5)
    table(tokens).sum().backward()
    assert table.weight.grad is not None


def test_a_penalty_counts_the_prompt_and_what_was_written() -> None:
    class Steady(nn.Module):
        def forward(self, tokens: Tensor) -> Tensor:
            # The same scores always.
            scores = torch.tensor([1.0, 0.9, 0.8, 0.7])
            return scores.expand(*tokens.shape, 4)

    prompts = torch.tensor([[0, 3], [1, 1]])
    greedy = Sampling(temperature=0.0, repetition=2.0)
    tokens = generate(Steady(), prompts, 3, seq_len=4, sampling=greedy)
    assert tokens.t().tolist() == [[0, 1, 2, 3, 0], [3, 1, 0, 2, 0]]


@pytest.mark.parametrize("n_products", [FEW_PRODUCTS, FEW_PRODUCTS + 1])
def test_quick_calls_leave_the_settings_as_they_were(n_products: int) -> None:
    enabled, n_threads = torch.backends.mkldnn.enabled, torch.get_num_threads()
    torch.set_num_threads(3)
    try:
        with pytest.raises(RuntimeError, match="inside"), quick_calls(n_products):
            assert not torch.backends.mkldnn.enabled
            assert torch.get_num_threads() == (1 if n_products == FEW_PRODUCTS else 3)
            raise RuntimeError("inside")
        assert torch.get_num_threads() == 3
    finally:
        torch.set_num_threads(n_threads)
    assert torch.backends.mkldnn.enabled == enabled


class Counted:
    r"""A decoder that remembers what it was called with; each token is its own successor."""

    class Cache:
        filled = 0

        def clear(self) -> None:
            self.filled = 0

    def __init__(self) -> None:
        self.cache = self.Cache()
        self.calls: list[list[int]] = []
        self.threads: set[int] = set()

    def __call__(self, tokens: Tensor) -> Tensor:
        self.calls.append(tokens[:, 0].tolist())
        self.threads.add(torch.get_num_threads())
        self.cache.filled += len(tokens)
        return nn.functional.one_hot((tokens + 1) % 11, 11) * 100.0


class Decoded(nn.Module):
    def __init__(self, decoder: Counted | None) -> None:
        super().__init__()
        self.made = decoder

    def decoder(self, batch_size: int) -> Counted | None:
        return self.made

    def forward(self, tokens: Tensor) -> Tensor:
        return nn.functional.one_hot((tokens + 2) % 11, 11) * 100.0


def test_a_decoder_reads_each_token_once_and_half_a_window_when_it_is_full() -> None:
    decoder = Counted()
    tokens = generate(Decoded(decoder), torch.tensor([[0], [1]]), 9, seq_len=4)
    assert tokens[:, 0].tolist() == list(range(11))
    assert decoder.calls == [[0, 1], [2], [3], [3, 4], [5], [6], [6, 7], [8], [9]]


def test_of_a_long_prompt_a_decoder_reads_the_last_window() -> None:
    decoder = Counted()
    generate(Decoded(decoder), torch.arange(7).unsqueeze(1), 2, seq_len=4)
    assert decoder.calls == [[3, 4, 5, 6], [6, 7]]


def test_a_context_of_one_token_is_enough_for_a_decoder() -> None:
    decoder = Counted()
    generate(Decoded(decoder), torch.tensor([[0]]), 3, seq_len=1)
    assert decoder.calls == [[0], [1], [2]]


@pytest.mark.parametrize(("batch_size", "n_threads"), [(2, 1), (3, 3)])
def test_a_small_model_writes_few_texts_with_one_thread(batch_size: int, n_threads: int) -> None:
    decoder, before = Counted(), torch.get_num_threads()
    model = Decoded(decoder)
    model.largest = nn.Parameter(torch.zeros(2, FEW_PRODUCTS // 4))
    model.small = nn.Parameter(torch.zeros(7))
    torch.set_num_threads(3)
    try:
        generate(model, torch.zeros(1, batch_size, dtype=torch.long), 2, seq_len=4)
    finally:
        torch.set_num_threads(before)
    assert decoder.threads == {n_threads}


def test_a_model_without_a_decoder_or_told_so_reads_the_window() -> None:
    prompt = torch.tensor([[0]])
    assert generate(Decoded(None), prompt, 2, seq_len=4)[:, 0].tolist() == [0, 2, 4]
    unused = Counted()
    tokens = generate(Decoded(unused), prompt, 2, seq_len=4, cached=False)
    assert tokens[:, 0].tolist() == [0, 2, 4]
    assert unused.calls == []


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
