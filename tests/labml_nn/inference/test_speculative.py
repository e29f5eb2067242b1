r"""Speculative decoding: the text is that of the target, in probability and letter for letter."""

import itertools
from math import prod
from unittest.mock import patch

import pytest
import torch
from torch import Tensor, nn
from transformers import GPT2Config, GPT2LMHeadModel
from transformers.generation import utils

from labml_nn.inference.speculative import Draft, accept, distribution, next_logits, speculate
from tests.labml_nn.inference.chance import exactly
from tests.labml_nn.transformers.seam import equals
from tests.oracles.hugging_face import randomise

N_VOCAB, PROMPT = 3, torch.tensor([2, 0])


class Table(nn.Module):
    r"""The next token depends on the present one, and on how many there were before."""

    def __init__(self, seed: int, n_vocab: int = N_VOCAB) -> None:
        super().__init__()
        generator = torch.Generator().manual_seed(seed)
        self.rows = torch.randn(n_vocab, n_vocab, generator=generator, dtype=torch.float64)

    def forward(self, tokens: Tensor) -> Tensor:
        return self.rows[tokens] + torch.arange(len(tokens))[:, None, None] * self.rows[0] / 5


def from_target(n_draft: int, n_tokens: int, of_draft: float, of_target: float) -> float:
    r"""How far the probability of any text is from that which the target gives it."""
    worst = 0.0
    target, propose = Table(1), Draft(next_logits(Table(2)), of_draft)
    found = exactly(lambda: speculate(target, propose, PROMPT, n_tokens, n_draft, of_target)[0])
    for new in itertools.product(range(N_VOCAB), repeat=n_tokens):
        text = (*PROMPT.tolist(), *new)
        logits = target(torch.tensor(text)[:, None])[:, 0].tolist()
        # Zero is the limit of temperatures that fall.
        steps = [
            torch.tensor(logits[at - 1], dtype=torch.float64).div(of_target or 1e-6).softmax(0)
            for at in range(len(PROMPT), len(text))
        ]
        expected = prod(step[token].item() for step, token in zip(steps, new, strict=True))
        worst = max(worst, abs(found.pop(text, 0.0) - expected))
    assert not found
    return worst


# Guesses, tokens, and the temperatures of the draft and of the target.
CASES = [(2, 2, 1.0, 1.0), (1, 3, 1.0, 1.0), (2, 2, 0.5, 1.5), (2, 2, 0.0, 1.0), (2, 3, 1.0, 0.0)]
ORACLES = {
    "the probabilities that the target gives to all texts": lambda: max(
        from_target(*case) for case in CASES
    )
}
test_each_text_has_exactly_the_probability_that_the_target_gives_it = equals(ORACLES)


@pytest.mark.parametrize("random", [0.0, 0.2, 0.5, 0.999])
def test_what_is_kept_and_what_is_drawn_from_then_is_that_of_transformers(random: float) -> None:
    torch.manual_seed(1)
    n_vocab, n_draft = 7, 5
    draft_logits = torch.randn(n_draft, n_vocab, dtype=torch.float64)
    logits = draft_logits[[0, 1, 2, 3, 4, 4]] + 0.5 * torch.randn(6, n_vocab).double()
    draft = torch.randint(n_vocab, (n_draft,))
    drawn: list[Tensor] = []

    def multinomial(p: Tensor, *_: object, num_samples: int = 1, **__: object) -> Tensor:
        drawn.append(p.flatten())
        return torch.tensor([3]).expand(*p.shape[:-1], 1)

    with (
        patch.object(torch, "multinomial", multinomial),
        patch.object(torch, "rand_like", lambda p: torch.full_like(p, random)),
        patch.object(torch, "bernoulli", lambda p, generator: p >= random),
    ):
        found = accept(draft, distribution(draft_logits, 1.0), distribution(logits, 1.0))
        theirs, _ = utils._speculative_sampling(
            draft[None], draft_logits[None], n_draft, logits[None]
        )
    assert found.tolist() == theirs[0].tolist()
    torch.testing.assert_close(drawn[0], drawn[1], rtol=0, atol=1e-10)


def test_greedy_text_is_that_of_transformers_with_an_assistant() -> None:
    config = GPT2Config(
        vocab_size=13, n_embd=10, n_layer=2, n_head=5, bos_token_id=None, eos_token_id=None
    )
    theirs, assistant = (randomise(GPT2LMHeadModel(config), seed=4) for _ in range(2))
    torch.manual_seed(1)
    for parameter in assistant.parameters():
        parameter.data += 0.1 * torch.randn_like(parameter)
    text = torch.tensor([3, 1, 4, 1, 5])
    expected = theirs.generate(
        text[None], assistant_model=assistant, do_sample=False, max_new_tokens=29, pad_token_id=0
    )
    target, draft = (
        lambda tokens, model=model: model(tokens.t()).logits.transpose(0, 1)
        for model in (theirs, assistant)
    )
    found, added = speculate(target, Draft(next_logits(draft), 0.0), text, 29, 4, 0.0)
    assert found.tolist() == expected[0].tolist()
    assert set(added.tolist()) == {1, 2, 3, 4, 5}


def test_one_seed_gives_one_text_and_distributions_are_in_double_precision() -> None:
    def run(seed: int) -> list[int]:
        generator = torch.Generator().manual_seed(seed)
        propose = Draft(next_logits(Table(2, 11)), 1.0, generator)
        return speculate(Table(1, 11), propose, PROMPT, 40, 3, 1.0, generator)[0].tolist()

    first = run(1)
    torch.rand(7)
    assert first == run(1) != run(2)
    assert {distribution(torch.randn(5, 7), t).dtype for t in (0.0, 0.7)} == {torch.float64}


def test_a_cache_that_has_read_the_guesses_already_must_be_cleared_first() -> None:
    class OnlyThree(Table):
        def forward(self, tokens: Tensor) -> Tensor:
            return super().forward(tokens)[-3:]

    target = OnlyThree(1)
    with pytest.raises(ValueError, match="3 logits for 3 guesses: clear the cache first"):
        speculate(target, Draft(next_logits(target)), PROMPT, 7, 3)
    assert len(speculate(target, Draft(next_logits(target)), PROMPT, 7, 2)[0]) == 9


def test_no_guess_is_lost_when_the_draft_is_the_target_or_makes_none() -> None:
    target = Table(1, 11)
    _, added = speculate(target, Draft(next_logits(target)), PROMPT, 20, 4)
    assert added.tolist() == [5, 5, 5, 5]
    _, added = speculate(target, lambda text, n: (text[:0], torch.zeros(0, 11)), PROMPT, 7)
    assert added.tolist() == [1] * 7
    # Four guesses a pass, unless told otherwise, and drawing, not greedy.
    assert speculate(target, Draft(next_logits(target)), PROMPT, 5)[1].tolist() == [5]
