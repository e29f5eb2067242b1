r"""The licence of a package, and what its files say of their rights, go with what is copied."""

from pathlib import Path

import pytest

from literate.reading.source import parse
from literate.takeaway.licence import of_file, of_project
from literate.takeaway.snippet import snippets
from tests.literate.packages import package, run
from tests.literate.projects import write

CLASSIFIER = "License :: OSI Approved :: BSD License"


@pytest.mark.parametrize(
    ("files", "expected"),
    [
        ({"pyproject.toml": '[project]\nlicense = "GPL-3.0-only"\n'}, "GPL-3.0-only"),
        (
            {"pyproject.toml": '[project]\nlicense = { text = "MIT License\\n\\nCopy" }\n'},
            "MIT License",
        ),
        (
            {"pyproject.toml": '[project]\nlicense = { file = "L" }\n', "L": "\n# Zlib\n\nText\n"},
            "Zlib",
        ),
        ({"pyproject.toml": f'[project]\nclassifiers = ["{CLASSIFIER}"]\n'}, "BSD License"),
        ({"setup.cfg": "[metadata]\nlicense = ISC\n"}, "ISC"),
        ({"setup.cfg": f"[metadata]\nclassifiers =\n    {CLASSIFIER}\n"}, "BSD License"),
        ({"setup.py": "setup(name=name, license='Apache-2.0')\n"}, "Apache-2.0"),
        ({"setup.py": f"setup(classifiers=['{CLASSIFIER}'])\n"}, "BSD License"),
        ({"pyproject.toml": "[tool.x]\n", "LICENSE": "\nMIT License\n\nText\n"}, "MIT License"),
        # What can't be read says nothing.
        ({"pyproject.toml": "[", "setup.cfg": "[", "setup.py": "(", "LICENSE": "\n"}, ""),
        ({}, ""),
    ],
)
def test_a_project_says_its_licence_in_many_places(
    tmp_path: Path, files: dict[str, str], expected: str
) -> None:
    write(tmp_path, files)
    assert of_project(tmp_path) == expected


RIGHTS = "# Copyright 2017 A. Body\n#\n# Licensed under the Apache License.\n"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (f'{RIGHTS}r"""Doc."""\nx = 1\n', RIGHTS),
        (f'r"""Doc."""\n\n{RIGHTS}\nx = 1\n', RIGHTS),
        (
            "# A remark.\n\n# SPDX-License-Identifier: MIT\nx = 1\n",
            "# SPDX-License-Identifier: MIT\n",
        ),
        # Elsewhere a comment is about the code.
        (f"x = 1\n{RIGHTS}y = 2\n", ""),
        ("# Only a remark.\nx = 1\n", ""),
    ],
)
def test_the_comments_of_a_file_about_its_rights(text: str, expected: str) -> None:
    assert "".join(f"{line}\n" for line in of_file(parse(text))) == expected


def test_a_snippet_keeps_both_for_each_file_once() -> None:
    sources = package(
        {
            "p/a.py": f"{RIGHTS}\n\ndef half(x):\n    return x / 2\n",
            "p/b.py": f"{RIGHTS}from p.a import half\n\ndef quarter(x):\n    return half(half(x))",
            "p/c.py": "# (c) C\nfrom p.b import quarter\n\ndef eighth(x): return quarter(x) / 2",
        }
    )
    for text in snippets(sources, "p.c", "eighth", "BSD"):
        # The first lines are for `uv run`.
        assert text.partition("# ///\n\n")[2].startswith(
            "# eighth from p/c.py\n# with code from p/a.py, where its notes are\n"
            "# with code from p/b.py, where its notes are\n# Licence: BSD\n"
            f"#\n# (c) C\n#\n{RIGHTS}\n"
        )
        assert text.count("Copyright") == 1 and run(text)["eighth"](8) == 1
    # Nothing is claimed of a package that says nothing.
    assert "icence" not in snippets(sources, "p.c", "eighth")[0].replace("Licensed", "")
