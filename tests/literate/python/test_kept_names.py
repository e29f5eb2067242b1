r"""The names that are kept are those that sources have now."""

from pathlib import Path

import pytest

from literate.python.kept_names import taken_by_all
from literate.python.names_in_notes import taken
from literate.reading.source import Source, read
from tests.literate.projects import write

PAGES = {
    "pkg/a.py": "import torch.nn as nn\nfrom os import path\n\nx = nn.Linear(1, bias='one')\n",
    "pkg/b.py": "def f(argument: int) -> None: ...\n",
}


def test_only_a_source_whose_text_has_changed_is_parsed_again(tmp_path: Path) -> None:
    write(tmp_path, PAGES)
    kept, parsed = tmp_path / "store/names.json", []

    def parse(path: str) -> Source:
        parsed.append(path)
        return read(tmp_path / path, path)

    def now() -> list[str]:
        parsed.clear()
        has = taken_by_all({path: (tmp_path / path).read_bytes() for path in PAGES}, parse, kept)
        again = list(parsed)
        assert has == {path: taken(parse(path)) for path in PAGES}
        return again

    assert now() == ["pkg/a.py", "pkg/b.py"]
    assert now() == []
    write(tmp_path, {"pkg/b.py": "y = 1\n"})
    assert now() == ["pkg/b.py"]
    for spoilt in ("", "[1]", '{"tool": "another", "files": {}}'):
        kept.write_text(spoilt)
        assert now() == ["pkg/a.py", "pkg/b.py"]


@pytest.mark.parametrize("name", ["nn", "Linear", "bias", "one", "path"])
def test_what_is_kept_has_the_names_of_the_code(tmp_path: Path, name: str) -> None:
    write(tmp_path, PAGES)
    (has,) = taken_by_all(
        {"a": b""}, lambda path: read(tmp_path / "pkg/a.py"), tmp_path / "kept"
    ).values()
    assert name in has.identifiers | has.modules | {*has.origins["torch"], *has.origins["os"]}
