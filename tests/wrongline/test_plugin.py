r"""Models as tests of pytest, run in a process of its own."""

import subprocess
from pathlib import Path

from tests.literate.projects import run

MODELS = """
import torch
from torch import nn

class Right(nn.Module):
    def __init__(self, n_vocab):
        super().__init__()
        self.table = nn.Embedding(n_vocab, n_vocab)
        self.drawn = torch.rand(1)

    def forward(self, tokens):
        return self.table(tokens)

class Leaks(Right):
    def forward(self, tokens):
        return self.table(tokens) + self.table(tokens).mean(1, keepdim=True)

class Fails(Right):
    def forward(self, tokens):
        raise RuntimeError("no GPU here")
"""
TEST = "import torch\n\ndef test_it():\n    torch.manual_seed(7)\n    assert 1\n"


def pytest_on(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    command = ["pytest", "-p", "wrongline.plugin", "-p", "no:cacheprovider", *arguments]
    return run(folder, *command, PYTEST_DISABLE_PLUGIN_AUTOLOAD="1")


def test_a_model_is_a_test_and_what_was_not_tried_is_listed(tmp_path: Path) -> None:
    (tmp_path / "models.py").write_text(MODELS)
    (tmp_path / "test_other.py").write_text(TEST)
    (tmp_path / "pytest.ini").write_text("[pytest]\nwrongline =\n    models.py:Right\n")
    done = pytest_on(tmp_path, "--junit-xml=told.xml")
    assert done.returncode == 0, done.stdout + done.stderr
    assert "2 passed" in done.stdout
    assert "wrongline[models.py:Right]\n  - not tried: padding_is_hidden: " in done.stdout
    assert "wrongline: not tried" in (tmp_path / "told.xml").read_text()
    # Nothing is right as long as something wasn't tried, for who wants it so.
    strict = pytest_on(tmp_path, "--wrongline-strict")
    assert strict.returncode == 1
    assert "of the tests weren't tried" in strict.stdout
    # They can be chosen as others are.
    assert "1 passed, 1 deselected" in pytest_on(tmp_path, "-k", "Right").stdout


def test_what_is_wrong_fails_with_its_sentence_and_no_lines_of_ours(tmp_path: Path) -> None:
    (tmp_path / "models.py").write_text(MODELS)
    named = [f"--wrongline=models.py:{name}" for name in ("Leaks", "Fails", "Leaks")]
    done = pytest_on(tmp_path, *named)
    assert done.returncode == 1
    assert "2 failed" in done.stdout
    assert "* wrong: model_prefix: " in done.stdout
    assert "* error: runs: RuntimeError: no GPU here" in done.stdout
    assert "complain(" not in done.stdout


def test_what_can_not_be_made_is_told_as_by_the_command(tmp_path: Path) -> None:
    (tmp_path / "models.py").write_text(
        MODELS.replace("self, n_vocab):", "self, n_vocab, colour):"), encoding="utf-8"
    )
    done = pytest_on(tmp_path, "--wrongline=models.py:Right", "--wrongline=none.py:Right")
    assert done.returncode == 1
    assert "Right wants colour, and nobody can guess it: say --arguments" in done.stdout
    assert "No such file or directory" in done.stdout
    assert "Traceback" not in done.stdout
    assert "command.py" not in done.stdout


def test_a_file_of_the_settings_is_found_from_any_folder(tmp_path: Path) -> None:
    (tmp_path / "models.py").write_text(MODELS, encoding="utf-8")
    (tmp_path / "pytest.ini").write_text("[pytest]\nwrongline =\n    models.py:Right\n")
    (tmp_path / "inner").mkdir()
    done = pytest_on(tmp_path / "inner", "-c", "../pytest.ini")
    assert done.returncode == 0, done.stdout + done.stderr
    assert "1 passed" in done.stdout
