r"""A start by imitation: what is trained on, what is written, and what is measured."""

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor, nn

from labml_nn.reinforcement import imitation as page
from labml_nn.reinforcement.verifier import draw_questions, show, solve, verify
from labml_nn.training.loop import train
from labml_nn.training.sampling import greedy
from labml_nn.transformers.basic.autoregressive_model import AutoregressiveTransformer
from tests.oracles.compare import largest

SMALL = page.Sizes(n_digits=3, n_solved=5, d_model=16, heads=2)


def model(sizes: page.Sizes = SMALL) -> AutoregressiveTransformer:
    torch.manual_seed(1)
    return AutoregressiveTransformer(*sizes.of_model())


def test_the_sizes_are_those_that_the_page_tells() -> None:
    sizes = page.Sizes()
    assert sizes.of_model() == (12, 64, 4, 2, 256, 15)
    assert sum(one.numel() for one in model(sizes).parameters()) == 101_644
    assert (sizes.n_digits, sizes.n_solved, sizes.n_questions, sizes.n_answers) == (6, 50, 16, 8)


def test_batches_have_few_questions_with_their_answers_and_a_seed_decides_which() -> None:
    at, again, other = (page.solved_batches(SMALL, seed) for seed in (1, 1, 2))
    seen = set()
    for step in range(20):
        questions, answers = at(step)
        assert questions.shape == (4, 32) and torch.equal(answers, solve(questions))
        assert torch.equal(again(step)[0], questions)
        seen |= {show(column) for column in questions.t()}
    assert len(seen) == 5
    assert not {show(column) for column in other(0)[0].t()} <= seen


def test_imitation_is_cross_entropy_of_the_answers_alone() -> None:
    questions, answers = page.solved_batches(SMALL, seed=1)(0)
    mine, theirs = model(), model()
    page.imitate(mine, lambda step: (questions, answers), 3)

    def gradients(module: nn.Module, inputs: Tensor, targets: Tensor) -> Tensor:
        logits = module(inputs)[3:].flatten(0, 1)
        loss = F.cross_entropy(logits, targets[3:].flatten())
        loss.backward()
        return loss

    tokens = torch.cat([questions, answers])
    adam = torch.optim.AdamW(theirs.parameters(), 3e-3, betas=(0.9, 0.99), weight_decay=0.0)
    train(theirs, lambda step: (tokens[:-1], tokens[1:]), [adam], 3, gradients=gradients)
    assert largest(list(mine.parameters()), list(theirs.parameters())) < 1e-5


def test_an_answer_has_one_token_more_than_a_right_one() -> None:
    questions = draw_questions(3, 7, torch.Generator().manual_seed(1))
    module = model()
    found = page.answer(module, questions, greedy)
    assert found.shape == (5, 7)
    text = questions
    for _ in range(5):
        text = torch.cat([text, module(text)[-1:].argmax(dim=-1)])
    assert torch.equal(found, text[4:])
    generators = [torch.Generator().manual_seed(2) for _ in "12"]
    twice = [page.answer(module, questions, generator=one) for one in generators]
    assert torch.equal(*twice) and not torch.equal(twice[0], found)


def test_what_is_measured_is_counted_question_by_question() -> None:
    sizes = page.Sizes(n_digits=1, n_solved=10, n_answers=5, d_model=16, heads=2)
    module = model(sizes)
    page.imitate(module, page.solved_batches(sizes, seed=1), 40)
    found = page.measure(module, sizes, 20)
    generator = torch.Generator().manual_seed(0)
    questions = draw_questions(1, 20, generator)
    best = page.answer(module, questions, greedy)
    groups = questions.repeat_interleave(5, dim=1)
    right = verify(groups, page.answer(module, groups, generator=generator)).tolist()
    rows = [right[5 * at : 5 * at + 5] for at in range(20)]
    assert found["greedy"] == pytest.approx(sum(verify(questions, best).tolist()) / 20)
    assert found["drawn"] == pytest.approx(sum(right) / 100)
    assert found["any"] == pytest.approx(sum(max(row) for row in rows) / 20)
    assert 0 < found["drawn"] < found["any"] <= 1
    logits = module(torch.cat([questions, solve(questions)])[:-1])[1:].flatten(0, 1)
    loss = F.cross_entropy(logits, solve(questions).flatten())
    assert found["loss"] == pytest.approx(loss.item(), abs=1e-5)
    assert page.measure(module, sizes, 20) == found
    assert page.measure(module, sizes) == page.measure(module, sizes, 500)


def test_imitation_that_goes_on_makes_the_model_sure_of_one_answer_to_a_question() -> None:
    trained = model()
    groups = draw_questions(3, 50, torch.Generator().manual_seed(0)).repeat_interleave(8, dim=1)
    different = []
    for steps in (60, 120):
        page.imitate(trained, page.solved_batches(SMALL, 1), steps)
        said = page.answer(trained, groups, generator=torch.Generator().manual_seed(1))
        texts = [show(column).partition(";")[0] for column in said.t()]
        different.append(sum(len(set(texts[at : at + 8])) for at in range(0, 400, 8)))
    assert different[1] < different[0] / 2
