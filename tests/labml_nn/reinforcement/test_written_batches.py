r"""Its gradients are tested where steps are made with them, in test_grpo_experiment.py."""

import torch
from torch import Tensor

from labml_nn.reinforcement.imitation import Sizes
from labml_nn.reinforcement.written_batches import from_rewards
from labml_nn.transformers.basic.autoregressive_model import AutoregressiveTransformer

SIZES = Sizes(n_digits=2, n_questions=3, n_answers=5, d_model=16, heads=2)


def test_the_seed_decides_the_questions_and_each_is_asked_as_often_as_it_is_answered() -> None:
    torch.manual_seed(1)
    model = AutoregressiveTransformer(*SIZES.of_model())

    def asked(seed: int) -> Tensor:
        batch_at, _, history = from_rewards(model, SIZES, seed)
        assert history == []
        return batch_at(0)[0].view(3, 3, 5)

    questions = asked(1)
    assert (questions == questions[..., :1]).all()
    assert torch.equal(questions, asked(1))
    assert not torch.equal(questions, asked(2))


def test_each_gradient_leaves_its_numbers_and_moves_nothing_but_the_gradients() -> None:
    model = AutoregressiveTransformer(*SIZES.of_model())
    before = [one.clone() for one in model.parameters()]
    batch_at, gradients, history = from_rewards(
        model, SIZES, 1, judge=lambda asked, said: (said[0] > 5).float()
    )
    for step in range(2):
        model.zero_grad()
        gradients(model, *batch_at(step))
    assert len(history) == 2
    assert any(one.grad is not None and one.grad.any() for one in model.parameters())
    assert all(map(torch.equal, model.parameters(), before))
