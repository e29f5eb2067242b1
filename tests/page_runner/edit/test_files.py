r"""Libraries of others lie beside the sources, each with its licence."""

import json
from pathlib import Path

import pytest

from page_runner.edit.files import Edit, EditError


def edit(tmp_path: Path, *libraries: str) -> Edit:
    return Edit(tmp_path, tmp_path, "node", tmp_path, {}, libraries=libraries)


def test_a_library_has_its_modules_and_its_licence_and_not_its_tests(tmp_path: Path) -> None:
    found = edit(tmp_path, "click").of_others
    assert {"click/__init__.py", "click/core.py"} <= found.keys()
    assert [one for one in found if one.rpartition("/")[2].upper().startswith("LICENSE")]
    assert not [one for one in found if "tests" in one or one.endswith(".pyc")]
    assert all(file.is_file() for file in found.values())
    # A browser knows that they are there, and fetches none of them before it is imported.
    index = json.loads(edit(tmp_path, "click").index())
    assert index["files"] == [*found]
    assert index["packages"] == [] and index["first"] == {}
    # What they need of Python is there, too.
    assert {"textwrap", "inspect"} <= edit(tmp_path, "click").library()


def test_one_that_is_not_installed_is_named_with_the_remedy(tmp_path: Path) -> None:
    with pytest.raises(EditError, match="`no-such-library` isn't installed.*pip install no-such"):
        _ = edit(tmp_path, "no-such-library").of_others


PACKAGE = {
    "src/pkg/__init__.py": "from pkg._version import number\n",
    "src/pkg/_version.py": "number = 1\n",
    "src/pkg/sort.py": "from pkg.hidden import least\n",
    "src/pkg/hidden.py": "least = min\n",
    "src/pkg/other.py": "",
}


def test_a_page_has_no_editor_if_a_file_of_its_package_was_left_out(tmp_path: Path) -> None:
    for path, text in PACKAGE.items():
        (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / path).write_text(text)
    every = Edit(tmp_path, tmp_path, "node", tmp_path, dict.fromkeys(PACKAGE, "src"))
    assert every.foreign("pkg/sort.py") == set()
    known = [one for one in PACKAGE if "_version" not in one]
    without = Edit(tmp_path, tmp_path, "node", tmp_path, dict.fromkeys(known, "src"))
    assert without.foreign("pkg/sort.py") == {"pkg._version"}


def test_pages_take_along_what_they_import_and_nothing_else(tmp_path: Path) -> None:
    for path, text in PACKAGE.items():
        (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / path).write_text(text)
    every = Edit(tmp_path, tmp_path, "node", tmp_path, dict.fromkeys(PACKAGE, "src"))
    assert {*PACKAGE} - {*every.of_pages({"src/pkg/sort.py"}).modules} == {"src/pkg/other.py"}
