from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace

import pytest
import torch

from labml_nn.training import run_file as page
from labml_nn.training.data import RandomWindows
from labml_nn.transformers.basic.autoregressive_model import AutoregressiveTransformer

# What a file asks of a run that is new.
RUN = SimpleNamespace(
    model=torch.nn.Linear(2, 3), batch_at=lambda step: (torch.zeros(1), torch.zeros(1))
)


def test_marks_differ_with_any_bit_and_not_with_the_order_in_memory() -> None:
    one = torch.randn(3, 5)
    assert page.mark([one]) == page.mark([one.t().contiguous().t()])
    other = one.clone()
    other[2, 4] += 1e-3
    assert page.mark([one]) != page.mark([other])
    assert page.mark([torch.tensor(258)]) == [1 + 2]


def test_random_numbers_go_on_where_they_were() -> None:
    device = torch.device("cpu")
    state = page.random_state(device)
    drawn = torch.rand(3)
    # A GPU that was there had a state as well.
    page.set_random_state([*state, torch.tensor([1], dtype=torch.uint8)], device)
    assert torch.equal(torch.rand(3), drawn)


def test_a_write_that_breaks_off_leaves_the_file_of_the_time_before(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    model = torch.nn.Linear(2, 3)
    run = SimpleNamespace(
        model=model, optimizers=[], device=torch.device("cpu"), before=0, done=1, planned=2,
        losses=[1.0], seen={}, random=[], batch_at=lambda step: (torch.zeros(1), torch.zeros(1)),
    )  # fmt: skip
    file = page.RunFile("kept", "")
    assert file.take(run) is False
    file.keep(run)
    before = Path("kept/model.pt").read_bytes()

    def breaks_off(what: object, where: Path) -> None:
        where.write_bytes(b"half of it")
        raise OSError

    monkeypatch.setattr(torch, "save", breaks_off)
    with pytest.raises(OSError, match="kept/model.pt can't be written .*: make room there"):
        file.keep(run)
    assert Path("kept/model.pt").read_bytes() == before


def written(what: object) -> bytes:
    torch.save(what, "what.pt")
    return Path("what.pt").read_bytes()


@pytest.mark.parametrize(
    "content",
    [
        lambda: written({"marks": print}),
        lambda: written({"weights": torch.zeros(2)}),
        lambda: written({"marks": []})[:300],
        lambda: b"",
    ],
    ids=["code", "weights", "half", "empty"],
)
def test_what_is_no_file_of_a_run_is_refused_and_stays(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, content: Callable[[], bytes]
) -> None:
    monkeypatch.chdir(tmp_path)
    file = page.RunFile(".", "")
    before = content()
    Path("model.pt").write_bytes(before)
    with pytest.raises(ValueError, match="model.pt isn't the file of a run, or not all of it"):
        file.take(RUN)
    assert Path("model.pt").read_bytes() == before


def test_texts_that_differ_outside_of_the_first_batch_have_the_same_marks() -> None:
    text = torch.arange(101) % 5
    batches = RandomWindows(text, 3, 2, seed=1)
    first = page.mark(batches.at(0))
    seen = RandomWindows(torch.arange(101), 3, 2, seed=1).at(0)
    for place, same in (
        (min(set(range(101)) - {*torch.cat(seen).flatten().tolist()}), True),
        (seen[0][0, 0].item(), False),
    ):
        other = text.clone()
        other[place] += 1
        assert (page.mark(RandomWindows(other, 3, 2, seed=1).at(0)) == first) is same


def test_a_model_with_other_heads_has_the_same_marks_and_a_larger_one_others() -> None:
    def marks(d_model: int, heads: int) -> list[int]:
        torch.manual_seed(1)
        model = AutoregressiveTransformer(7, d_model, heads, 1, 8, 5)
        return page.mark([*model.state_dict().values()])

    assert marks(8, 2) == marks(8, 4) != marks(16, 4)
