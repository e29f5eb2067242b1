r"""Files come from a server of the test, some of them wrong."""

import io
from collections.abc import Iterator
from contextlib import contextmanager
from hashlib import sha256
from pathlib import Path
from types import SimpleNamespace

import pytest
import torch

from labml_nn.pretrained import download as page

ADDRESS = "https://example.org/revision/"
CONTENT = {"a": b"0123456789", "b": b"x" * 7}
FILES = {name: (len(one), sha256(one).hexdigest()) for name, one in CONTENT.items()}


def served(monkeypatch: pytest.MonkeyPatch, content: dict[str, bytes]) -> list[str]:
    r"""The addresses that were asked for. The answers come in blocks of five bytes."""
    asked: list[str] = []

    @contextmanager
    def urlopen(address: str, timeout: float) -> Iterator[SimpleNamespace]:
        assert timeout == 60
        asked.append(address)
        stream = io.BytesIO(content[address.removeprefix(ADDRESS)])
        yield SimpleNamespace(read=lambda size: stream.read({2**25: 5}[size]))
        rest = stream.read()
        assert len(rest) < 10, "most of a long answer isn't read"

    monkeypatch.setattr(page, "urlopen", urlopen)
    return asked


def test_files_are_downloaded_once_and_what_is_there_is_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    asked = served(monkeypatch, CONTENT)
    page.fetch(tmp_path, ADDRESS, FILES)
    assert {path.name: path.read_bytes() for path in tmp_path.iterdir()} == CONTENT
    assert "a: 5 of 10 bytes\na: 10 of 10 bytes\n" in capsys.readouterr().out
    (tmp_path / "b").unlink()
    said: list[str] = []
    page.fetch(tmp_path, ADDRESS, FILES, said.append)
    assert asked == [ADDRESS + name for name in "abb"]
    assert said == ["b: 5 of 7 bytes", "b: 7 of 7 bytes"]


WRONG = [b"012345678", b"0123456788", b"0123456789x", b"", b"0123456789" * 2 + b"012"]


@pytest.mark.parametrize("wrong", WRONG)
def test_another_file_than_the_expected_one_is_refused_and_not_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, wrong: bytes
) -> None:
    served(monkeypatch, CONTENT | {"a": wrong})
    said: list[str] = []
    with pytest.raises(ValueError, match="https.*/a is not the file that was expected"):
        page.fetch(tmp_path, ADDRESS, FILES, said.append)
    assert not list(tmp_path.iterdir())
    # An answer without end is not read to its end.
    assert "a: 20 of 10 bytes" not in said


def test_a_download_that_breaks_off_leaves_nothing_with_the_right_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = served(monkeypatch, CONTENT)

    def stop(said: str) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        page.fetch(tmp_path, ADDRESS, FILES, stop)
    assert [path.name for path in tmp_path.iterdir()] == ["a.part"]
    page.fetch(tmp_path, ADDRESS, FILES, lambda said: None)
    assert {path.name: path.read_bytes() for path in tmp_path.iterdir()} == CONTENT
    assert asked == [ADDRESS + name for name in "aab"]


def test_one_wrong_bit_of_the_example_is_read_without_a_word() -> None:
    right, wrong = page.example()
    assert torch.equal(right.flatten()[:-1], wrong.flatten()[:-1])
    assert (right[-1, -1].item(), wrong[-1, -1].item()) == (0.5, 2.0**127)
