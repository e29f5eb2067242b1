r"""The long test says at once what is missing."""

import sys

import pytest

from labml_nn.training.data import InputError
from tests import soak


def test_a_missing_text_is_said_in_one_line_before_anything_runs(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def missing() -> None:
        raise InputError("cannot download it: use --text FILE")

    started: list[object] = []
    monkeypatch.setattr(soak, "corpus", missing)
    monkeypatch.setattr(soak, "kills", lambda *told: started.append(told))
    monkeypatch.setattr(sys, "argv", ["soak"])
    assert soak.main() == 2
    assert capsys.readouterr().err == "error: cannot download it: use --text FILE\n"
    assert started == []
