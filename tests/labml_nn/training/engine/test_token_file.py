import json
from pathlib import Path

import pytest
import torch

from labml_nn.training.data import RandomWindows
from labml_nn.training.engine import token_file
from labml_nn.training.engine.command_line import main as train
from labml_nn.training.engine.errors import InputError
from labml_nn.training.engine.text import chunks, prepare_text, python_sources
from labml_nn.training.engine.token_file import description, first_part, main, open_tokens
from labml_nn.training.engine.train import peak_memory
from tests.forks import forked

TEXT = python_sources(60_000) + "and some more: Größe, 🎉\n" * 20


@pytest.fixture
def text(tmp_path: Path) -> Path:
    path = tmp_path / "text"
    path.write_text(TEXT, encoding="utf-8", newline="")
    return path


@pytest.mark.parametrize("n_vocab", [None, 300])
def test_tokens_in_a_file_are_those_in_memory_and_so_are_batches(
    text: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, n_vocab: int | None
) -> None:
    # Many chunks also of a short text.
    monkeypatch.setattr(token_file, "chunks", lambda path: chunks(path, 1009))
    token_file.write_tokens(text, tmp_path / "tokens", n_vocab)
    found, known = open_tokens(tmp_path / "tokens"), prepare_text(TEXT, 8, n_vocab)
    assert found.tokenizer.symbols == known.tokenizer.symbols
    assert found.train.dtype == torch.int16
    assert found.train.long().equal(known.train)
    assert found.validation.long().equal(known.validation)
    assert found.n_characters == known.n_characters
    batches = [RandomWindows(one.train, 7, 5, seed=1).at(3000) for one in (found, known)]
    assert all(one.long().equal(other) for one, other in zip(*batches, strict=True))


def growth(path: Path) -> int:
    r"""Opens a file of tokens, takes batches, and tells by how many bytes its peak has grown."""
    before = peak_memory(torch.device("cpu"))
    batches = RandomWindows(open_tokens(path).train, 1024, 8, seed=1)
    for step in range(50):
        batches.at(step)
    return peak_memory(torch.device("cpu")) - before


def test_memory_does_not_grow_with_the_file(text: Path, tmp_path: Path) -> None:
    path = tmp_path / "tokens"
    token_file.write_tokens(text, path)
    # The same file, but two billion bytes long. What was never written takes no room on the disk.
    document = json.loads(description(path).read_text())
    description(path).write_text(json.dumps(document | {"train": 10**9 - document["validation"]}))
    with path.open("r+b") as file:
        file.truncate(2 * 10**9)
    assert 0 < forked(growth, path) < 200 * 10**6


def test_a_million_characters_are_enough_to_measure_with() -> None:
    assert first_part(1_115_394) == 1_003_854
    assert first_part(10_000_000) == 9_000_000
    assert first_part(10**10) == 10**10 - 10**6


def test_a_model_is_trained_from_a_file_as_from_memory(
    text: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([str(text), str(tmp_path / "tokens")]) == 0
    small = [
        "--preset=classic", "--steps=4", "--device=cpu", "--precision=float32", "--d-model=8",
        "--heads=2", "--n-layers=1", "--d-ff=8", "--seq-len=8", "--sample-length=5", "--json",
        f"--runs={tmp_path / 'runs'}",
    ]  # fmt: skip
    results = []
    for source in (f"--text={text}", f"--tokens={tmp_path / 'tokens'}"):
        assert train([*small, source]) == 0
        results.append(json.loads(capsys.readouterr().out.splitlines()[-1]))
    losses = [(one["val_loss"], one["honest_loss"]) for one in results]
    assert losses[0] == losses[1]

    # The run knows where its tokens are, and that they are the same.
    assert train([f"--resume={results[1]['run']}"]) == 0
    (tmp_path / "text").write_text(TEXT[::-1])
    main([str(text), str(tmp_path / "tokens")])
    assert train([f"--resume={results[1]['run']}"]) == 2
    assert "was trained on another text" in capsys.readouterr().err


def test_a_file_that_is_not_whole_is_refused(text: Path, tmp_path: Path) -> None:
    path = tmp_path / "tokens"
    token_file.write_tokens(text, path)
    document = json.loads(description(path).read_text())
    cases = {
        json.dumps(document | {"byteorder": "middle"}): "another order of bytes",
        "{": "tokens.json is damaged",
        "[]": "tokens.json is not that of a file of tokens",
        '{"format": "another"}': "tokens.json is not that of a file of tokens",
    }
    for content, sentence in cases.items():
        description(path).write_text(content)
        with pytest.raises(InputError, match=sentence):
            open_tokens(path)
    description(path).unlink()
    with pytest.raises(InputError, match=r"cannot read .*tokens.json: No such file"):
        open_tokens(path)
    description(path).write_text(json.dumps(document))
    path.write_bytes(path.read_bytes()[:-2])
    with pytest.raises(InputError, match=r"tokens has 1\d\d,\d\d\d bytes, and 1.* were written"):
        open_tokens(path)


def test_a_mistake_is_told_in_one_sentence(
    text: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "empty").touch()
    mistakes = {
        "missing tokens": "error: cannot read missing: No such file or directory",
        "empty tokens": "error: empty is too short: it has 0 characters",
        "text text/tokens": "error: cannot write text/tokens: ",
        "text tokens --n-vocab=30": "error: n_vocab must be between 256",
        "text": "error: the following arguments are required: tokens",
    }
    for arguments, sentence in mistakes.items():
        assert main(arguments.split()) == 2
        assert capsys.readouterr().err.startswith(sentence)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["empty", "text"]
