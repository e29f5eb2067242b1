r"""The folder that a package is imported from, and so the names of its modules."""

from pathlib import Path

import pytest

from literate.reading.import_folders import import_folders, module_name
from tests.literate.projects import write

PACKAGE = {"src/pkg/__init__.py": "", "src/pkg/part/b.py": "import json\n"}
RESEARCH = {"src/models/net.py": "", "src/train.py": "from {} import net\n"}


@pytest.mark.parametrize(
    ("named", "files", "modules"),
    [
        # Folders around a package are no part of its name, whichever is named.
        ("src/pkg", PACKAGE, "pkg pkg.part.b"),
        ("src", PACKAGE, "pkg pkg.part.b"),
        ("src/pkg/part", PACKAGE, "pkg.part.b"),
        ("lib/python", {"lib/python/a/__init__.py": "", "lib/python/b/__init__.py": ""}, "a b"),
        # A package is imported from where the outermost one lies, whatever else is imported.
        ("pkg", {"pkg/__init__.py": "import b\n", "pkg/b.py": ""}, "pkg pkg.b"),
        # Imports say what no path tells, also in doctests and in the files beside.
        (
            "src",
            PACKAGE | {"src/pkg/c.py": "import src.pkg.c\n"},
            "src.pkg src.pkg.c src.pkg.part.b",
        ),
        (
            "src",
            {key: text.format("src.models") for key, text in RESEARCH.items()},
            "src.models.net src.train",
        ),
        ("src", {key: text.format("models") for key, text in RESEARCH.items()}, "models.net train"),
        (
            "src/models",
            {"src/models/__init__.py": "", "train.py": "from src import models\n"},
            "src.models",
        ),
        (
            "names",
            {"names/pkg/__init__.py": '"""\n>>> from names.pkg import a\n"""\n'},
            "names.pkg",
        ),
        # Where they don't, a folder with modules of its own is like a package.
        ("src", PACKAGE | {"src/a.py": ""}, "src.a src.pkg src.pkg.part.b"),
        ("src", {"src/models/net.py": ""}, "src.models.net"),
        (".", PACKAGE, "src.pkg src.pkg.part.b"),
        # Two modules have two names.
        (
            "a/pkg b/pkg",
            {f"{one}.py": "" for one in ("a/pkg/__init__", "a/pkg/c", "b/pkg/__init__")},
            "a.pkg a.pkg.c b.pkg",
        ),
    ],
)
def test_modules_are_called_as_they_are_imported(
    named: str, files: dict[str, str], modules: str, tmp_path: Path
) -> None:
    write(tmp_path, files)
    paths = [
        path for path in sorted(files) if path.startswith(tuple(named.split())) or named == "."
    ]
    folders = import_folders(tmp_path, named.split(), paths)
    assert sorted(module_name(*one) for one in folders.items()) == modules.split()
