r"""Whoever has the package of the same import name, too, is told so."""

import subprocess
import sys
from importlib.metadata import distribution
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]


def said_at_import(*folders: Path) -> str:
    r"""What is said when the lessons are imported by a program that looks into these folders."""
    program = f"import sys; sys.path += {[str(one) for one in folders]}; import labml_nn"
    asked = [sys.executable, "-c", program]
    done = subprocess.run(asked, cwd=ROOT, capture_output=True, text=True, check=True)
    assert done.stdout == ""
    return done.stderr


def test_the_package_of_the_same_import_name_is_told_of_at_import(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # An archive and a folder that isn't there are looked into, too.
    assert said_at_import(tmp_path, tmp_path / "library.zip") == ""
    about = tmp_path / "labml_nn-0.5.1.dist-info"
    about.mkdir()
    (about / "METADATA").write_text("Metadata-Version: 2.1\nName: labml-nn\nVersion: 0.5.1\n")
    monkeypatch.syspath_prepend(tmp_path)
    assert distribution("labml_nn").version == "0.5.1"
    assert "UserWarning: labml-nn of PyPI is installed" in said_at_import(tmp_path)
