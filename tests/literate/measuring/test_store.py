r"""When a measurement is kept and when it is not: the key, and the files."""

import importlib.metadata
import os
from pathlib import Path

import pytest

from literate.measuring.store import Store
from literate.problems import LiterateError
from tests.literate.projects import write

MODULES = {
    "package/__init__.py": "",
    "package/page.py": "import package.deep.one\n",
    "package/deep/__init__.py": "from . import from_init\n",
    "package/deep/from_init.py": "",
    "package/deep/one.py": "def later():\n    from . import two\n    from ..three import x as y\n",
    "package/deep/two.py": "from package.deep.four import *\n",
    "package/deep/four.py": "import single, torch, package.page\n",
    "package/three.py": "from . import nothing_of_this_name, nor_of_this\n",
    "single.py": "syntax error\n",
    "package/unused.py": "",
    "package/deep/three.py": "",
    "three.py": "",
}


@pytest.fixture
def root(tmp_path: Path) -> Path:
    write(tmp_path, MODULES)
    return tmp_path


def store(root: Path, *tools: Path) -> Store:
    return Store(root / "store", root, tools)


def key(root: Path, text: str = "text") -> str:
    return store(root).key("package.page", text)


def test_the_same_files_give_the_same_key_anywhere(
    root: Path, tmp_path_factory: pytest.TempPathFactory
) -> None:
    other = tmp_path_factory.mktemp("other")
    write(other, dict(reversed(MODULES.items())))
    assert key(other) == key(root)


@pytest.mark.parametrize("path", MODULES)
def test_a_change_in_what_is_imported_changes_the_key_and_no_other_does(
    root: Path, path: str
) -> None:
    before = key(root)
    with (root / path).open("a") as file:
        file.write("# changed\n")
    unrelated = path in ("package/unused.py", "package/deep/three.py", "three.py")
    assert (key(root) == before) == unrelated


def test_a_module_that_appears_or_has_another_name_changes_the_key(root: Path) -> None:
    keys = {key(root)}
    there = root / "package/nothing_of_this_name.py"
    there.write_text("", encoding="utf-8")
    keys.add(key(root))
    there.rename(root / "package/nor_of_this.py")
    assert len(keys | {key(root)}) == 3


def test_importing_a_module_runs_the_packages_around_it(root: Path) -> None:
    before = store(root).key("package.unused", "")
    write(root, {"package/__init__.py": "changed = 1\n"})
    assert store(root).key("package.unused", "") != before


def test_text_module_torch_and_tool_change_the_key(
    root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tool = root / "tool"
    tool.write_bytes(b"1")
    keys = {key(root), key(root, "other"), store(root).key("three", "text")}
    keys.add(store(root, tool).key("package.page", "text"))
    tool.write_bytes(b"2")
    keys.add(store(root, tool).key("package.page", "text"))
    monkeypatch.setattr(importlib.metadata, "version", lambda name: f"{name} 0")
    keys.add(key(root))
    assert len(keys) == 6

    # Without torch there is still one.
    def missing(name: str) -> str:
        raise importlib.metadata.PackageNotFoundError(name)

    monkeypatch.setattr(importlib.metadata, "version", missing)
    assert len(key(root)) == 64


def test_what_was_saved_is_loaded_under_its_key_only(root: Path) -> None:
    kept = store(root)
    kept.save("a.b", "old", 1)
    kept.save("a.b", "new", [1, None])
    kept.save("three", "new", 3)
    assert store(root).load("a.b", "new") == [1, None]
    assert kept.load("a.b", "old") is kept.load("package.three", "new") is None
    # A module has one file, and nothing lies beside it.
    assert {path.name for path in (root / "store").iterdir()} == {"a.b.json", "three.json"}


@pytest.mark.parametrize(
    "garbage",
    [b"", b"{", b"\xff\xfe", b"[]", b"3", b"null", b"{}", b'{"key": "key"}', b"[" * 100_000],
)
def test_a_file_that_can_t_be_read_is_nothing(root: Path, garbage: bytes) -> None:
    kept = store(root)
    kept.save("three", "key", 1)
    (root / "store" / "three.json").write_bytes(garbage)
    assert kept.load("three", "key") is None


def test_saving_that_fails_leaves_the_old_file_and_one_sentence(
    root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    kept = store(root)
    kept.save("three", "old", 1)

    def full(*_: object) -> None:
        raise OSError(28, os.strerror(28))

    monkeypatch.setattr(Path, "replace", full)
    with pytest.raises(LiterateError) as caught:
        kept.save("three", "new", 2)
    assert str(caught.value).endswith(
        "three.json:1: can't keep what was measured: No space left on device."
    )
    assert kept.load("three", "old") == 1
    assert [path.name for path in (root / "store").iterdir()] == ["three.json"]


def test_a_store_looks_at_a_file_once_until_it_is_told_to_look_again(root: Path) -> None:
    kept = store(root)
    before = kept.key("package.page", "text")
    (root / "package/three.py").write_text("import package.unused\n", encoding="utf-8")
    assert kept.key("package.page", "text") == before
    kept.look_again()
    assert kept.key("package.page", "text") == store(root).key("package.page", "text") != before
    # What is imported is known of the new text, too.
    (root / "package/unused.py").write_text("pass\n", encoding="utf-8")
    kept.look_again()
    assert kept.key("package.page", "text") == store(root).key("package.page", "text")
