r"""In no precision is a right model accused, and in each a mistake has its name."""

from collections.abc import Iterator
from contextlib import contextmanager

import pytest
import torch

from benchmarks import gpu_museum
from benchmarks.gpu_museum import CASES, main
from wrongline import language_model

CPU = torch.device("cpu")


@pytest.fixture(autouse=True)
def sizes(monkeypatch: pytest.MonkeyPatch) -> None:
    small = {"D_MODEL": 24, "HEADS": 3, "N_LAYERS": 1, "SEQ_LEN": 17}
    # Half of the precisions: on a CPU, TF32 is nothing else than 32 bits.
    small |= {"LEARNING_RATE": 1e-2, "PRECISIONS": ("autocast", "bfloat16")}
    for name, value in small.items():
        monkeypatch.setattr(gpu_museum, name, value)


def test_all_are_told_as_they_should_be(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--device", "cpu"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines == [
        f"{one}, {name}: as expected" for one in gpu_museum.PRECISIONS for name in CASES
    ]


def test_without_the_block_a_right_model_is_told_to_be_unusual(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    @contextmanager
    def disturbed(model: torch.nn.Module) -> Iterator[torch.device]:
        yield CPU

    def told() -> str:
        model = gpu_museum.model(gpu_museum.FusedAttention, gpu_museum.N_LAYERS)
        with torch.autocast("cpu", torch.bfloat16):
            found = language_model.find_in_language_model(model, gpu_museum.batch()[:, :-1])
        return " ".join(map(str, found.unusual.values()))

    assert "depend on the length" not in told()
    monkeypatch.setattr(language_model, "undisturbed", disturbed)
    assert "depend on the length" in told()


def test_without_a_gpu_it_says_so(capsys: pytest.CaptureFixture[str]) -> None:
    assert main([]) == 1
    assert capsys.readouterr().err.startswith("there is no CUDA GPU here")
