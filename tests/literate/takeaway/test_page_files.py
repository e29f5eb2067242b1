r"""Snippets name packages as pip does: one that is installed later makes them anew."""

from pathlib import Path

import pytest

from literate.takeaway.page_files import packages_here


def test_a_package_of_another_version_is_another(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.syspath_prepend(tmp_path)
    before = {*packages_here()}
    assert any(name.startswith("torch-") for name in before)
    (tmp_path / "torch-0.1.dist-info").mkdir()
    assert {*packages_here()} - before == {"torch-0.1.dist-info"}
