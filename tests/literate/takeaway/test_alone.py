r"""A package that is installed by itself: nobody copies out of it, and what imports it says so."""

from pathlib import Path

from literate.settings import load
from literate.takeaway.alone import copied, installed
from literate.takeaway.snippet import snippets
from tests.literate.packages import package
from tests.literate.projects import run, write

FILES = {
    "pyproject.toml": '[tool.literate]\nsources = { lessons = "", tool = "tool" }\n',
    "lessons/__init__.py": "",
    "lessons/one.py": "from tool.inside import find\n\n\ndef asks() -> int:\n    return find()\n",
    "tool/__init__.py": "",
    "tool/inside.py": 'def find() -> int:\n    r"""\n    # Found\n    """\n    return 1\n',
    "tool/pyproject.toml": '[project]\nname = "the-tool"\n',
}


def test_what_imports_it_keeps_the_import_and_names_what_pip_is_told(tmp_path: Path) -> None:
    write(tmp_path, FILES)
    known = installed(load(tmp_path), "https://example.org/a/b")
    assert known == {"tool": "the-tool @ git+https://example.org/a/b#subdirectory=tool"}
    assert installed(load(tmp_path), None) == {"tool": "the-tool"}
    texts = {path: text for path, text in FILES.items() if path.endswith(".py")}
    sources = copied(package(texts).values(), known)
    noted, bare = snippets(sources, "lessons.one", "asks", installed=known)
    for text in (noted, bare):
        assert f'# dependencies = ["{known["tool"]}"]' in text
        assert "from tool.inside import find\n" in text and "def find" not in text


def test_the_command_refuses_to_copy_and_says_how_it_is_installed(tmp_path: Path) -> None:
    write(tmp_path, FILES)
    done = run(tmp_path, "literate", "snippet", "tool/inside.py:find", REPOSITORY_URL="")
    assert done.returncode == 1
    assert 'is installed, not copied: pip install "./tool"' in done.stderr
