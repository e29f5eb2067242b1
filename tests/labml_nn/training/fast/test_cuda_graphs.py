r"""A tape replays what a graph replays, so what is said of graphs is tested without a GPU."""

from collections.abc import Callable
from functools import partial
from typing import Any

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor, nn

from labml_nn.training import loop
from labml_nn.training.engine.mixed_precision import MixedPrecision
from labml_nn.training.fast import cuda_graphs as page
from labml_nn.training.fast.cuda_graphs import NotRecorded, Recorded, Tape, new_graph
from labml_nn.transformers.modern.model import ModernTransformer
from tests.labml_nn.transformers.seam import equals
from tests.oracles.compare import largest

CPU = torch.device("cpu")
N_VOCAB, SEQ_LEN, BATCH_SIZE = 13, 7, 6


def make_model() -> nn.Module:
    r"""Every kind of operation: views, changes in place, attention, dropout; none is zero."""
    torch.manual_seed(1)
    model = ModernTransformer(N_VOCAB, 12, 3, 2, 11, SEQ_LEN, dropout_prob=0.2)
    for parameter in model.parameters():
        nn.init.normal_(parameter, std=0.3)
    return model


def batches(n: int) -> list[tuple[Tensor, Tensor]]:
    generator = torch.Generator().manual_seed(2)
    return [
        tuple(torch.randint(N_VOCAB, (2, SEQ_LEN, BATCH_SIZE), generator=generator))
        for _ in range(n)
    ]


def trained(gradients: Callable[..., Tensor]) -> list[Tensor]:
    r"""The losses of a few steps, the weights, and the random state after them."""
    model = make_model()
    losses: list[Tensor] = []
    given = batches(5)
    torch.manual_seed(3)
    loop.train(
        model,
        given.__getitem__,
        [torch.optim.SGD(model.parameters(), 0.1)],
        len(given),
        gradients=gradients,
        after_step=lambda step, loss: losses.append(loss),
    )
    weights = [one.detach() for one in model.parameters()]
    return [*losses, *weights, torch.get_rng_state().double()]


def from_plain(dtype: torch.dtype, micro_batches: int) -> float:
    r"""How far training with a graph is from training without one."""
    gradients = MixedPrecision([], CPU, dtype, micro_batches).gradients
    return largest(trained(Recorded(gradients)), trained(gradients))


ORACLES = {
    f"the loop without a graph, {name}, {n} micro-batches": partial(from_plain, dtype, n)
    for name, dtype in (("float32", torch.float32), ("bfloat16", torch.bfloat16))
    for n in (1, 3)
}
test_training_with_a_graph_is_training_without = equals(ORACLES)


def test_it_is_so_to_the_last_bit() -> None:
    assert from_plain(torch.bfloat16, 3) == 0


def test_python_runs_twice_and_the_tape_from_then_on() -> None:
    calls = []

    def gradients(*given: Any) -> Tensor:
        calls.append(given)
        return loop.gradients(*given)

    recorded = Recorded(gradients)
    model = make_model()
    for batch in batches(4):
        model.zero_grad()
        recorded(model, *batch)
    assert len(calls) == 2
    assert len(recorded.graph.calls) > 100


def test_a_loss_stays_what_it_was() -> None:
    recorded = Recorded(loop.gradients)
    model = make_model()
    first, second = (recorded(model, *batch) for batch in batches(2))
    assert first != second


def test_the_first_batch_stays_what_it_was() -> None:
    recorded = Recorded(loop.gradients)
    given = batches(2)
    for batch in given:
        recorded(make_model(), *batch)
    torch.testing.assert_close(given, batches(2), rtol=0, atol=0)


def test_a_batch_of_another_shape_is_refused() -> None:
    recorded = Recorded(loop.gradients)
    ((inputs, targets),) = batches(1)
    recorded(make_model(), inputs, targets)
    with pytest.raises(ValueError, match=r"recorded with batches \[7, 6\], got \[7, 1\]"):
        recorded(make_model(), inputs[:, :1], targets[:, :1])


def test_what_reads_a_number_is_not_recorded() -> None:
    def gradients(model: nn.Module, inputs: Tensor, targets: Tensor) -> Tensor:
        loss = F.cross_entropy(model(inputs).flatten(0, 1), targets.flatten())
        (loss if loss.item() < 1e9 else 0 * loss).backward()
        return loss.detach()

    with pytest.raises(NotRecorded, match="can't be recorded: Python reads a number"):
        Recorded(gradients)(make_model(), *batches(1)[0])


def test_a_rate_that_is_a_number_stays_and_adamw_reads_how_many_steps_it_has_made() -> None:
    weight = nn.Parameter(torch.zeros(1))
    weight.grad = torch.ones(1)
    optimizer = torch.optim.SGD([weight], lr=0.5)
    tape = Tape()
    with tape:
        optimizer.step()
    optimizer.param_groups[0]["lr"] = 0.0
    tape.replay()
    assert weight.item() == -1.0
    with pytest.raises(RuntimeError, match="Python reads a number"), Tape():
        torch.optim.AdamW([weight]).step()


def test_the_first_reason_is_told_as_cuda_fails_once_more_at_the_end_of_the_block(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    class Fails(Tape):
        def __exit__(self, *error: object) -> None:
            super().__exit__(*error)
            raise RuntimeError("a previous error")

    monkeypatch.setattr(page, "Tape", Fails)

    warm_up = iter([torch.zeros(())])

    def gradients(*_: object) -> Tensor:
        for loss in warm_up:
            return loss
        raise RuntimeError("no kernel for this\nand its trace")

    with pytest.raises(NotRecorded, match="recorded: no kernel for this$"):
        Recorded(gradients)(make_model(), *batches(1)[0])


def test_on_a_gpu_the_graph_is_that_of_cuda(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("torch.cuda.CUDAGraph", lambda: "a graph")
    monkeypatch.setattr("torch.cuda.graph", lambda graph: f"the block of {graph}")
    assert new_graph(torch.device("cuda")) == ("a graph", "the block of a graph")
