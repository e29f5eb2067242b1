from pathlib import Path

import pytest

from benchmarks import serve

MHA = Path(__file__).resolve().parents[2] / "labml_nn" / "transformers" / "mha.py"


@pytest.mark.parametrize("edited", [serve.NOTE, serve.CODE])
def test_what_the_benchmark_edits_stands_once_in_the_attention_module(edited: str) -> None:
    assert MHA.read_text(encoding="utf-8").count(edited) == 1
