r"""Pages that follow their sources: which are written again, in which order, and what is kept."""

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from literate.live import Live, notice, state
from literate.problems import LiterateError
from literate.settings import load

KATEX = Path(__file__).parents[2] / "node_modules" / "katex"
ONE = '''r"""
---
title: One
summary: The first.
---

A note.
"""

ONE = 1
'''
TWO = '''r"""
---
title: Two
summary: The second.
---

See [one](one.py#first).
"""

from pkg.one import first
'''
FIRST = '\n\ndef first() -> int:\n    r"""\n    ## First\n    """\n    return ONE\n'


@pytest.fixture
def live(tmp_path: Path) -> Iterator[Live]:
    files = {
        "pyproject.toml": f'[tool.literate]\nsources = {{ pkg = "" }}\nkatex = "{KATEX}"\n',
        "pkg/one.py": ONE + FIRST,
        "pkg/two.py": TWO,
        "pkg/zero.py": ONE,
    }
    (tmp_path / "pkg").mkdir()
    for name, text in files.items():
        (tmp_path / name).write_text(text)
    live = Live(load(tmp_path), print)
    live.build()
    yield live
    live.close()


def save(live: Live, path: str, text: str) -> None:
    (live.settings.root / path).write_text(text)
    live.read([path])


def written(live: Live) -> list[str]:
    return [page.uri for page in live.write() if page is not None]


def test_the_saved_page_is_written_first_and_pages_that_stay_the_same_are_not(live: Live) -> None:
    save(live, "pkg/two.py", TWO.replace("See", "Look at"))
    assert live.waiting == ["pkg/two.py", "pkg/one.py", "pkg/zero.py"]
    pages = live.write()
    assert next(pages) == live.pages["pkg/two.py"]
    assert "Look at" in live.pages["pkg/two.py"].markdown
    assert live.waiting == ["pkg/one.py", "pkg/zero.py"]
    assert not any(pages)
    assert live.waiting == []


def test_what_follows_from_a_source_is_kept_until_its_text_changes(live: Live) -> None:
    before = live.site.sources
    save(live, "pkg/two.py", TWO + "\nTWO = 2\n")
    live.build()
    after = live.site.sources
    assert after["pkg/one.py"] is before["pkg/one.py"]
    assert after["pkg/two.py"] is not before["pkg/two.py"]


def test_a_page_that_becomes_wrong_through_another_stays_until_it_is_right(live: Live) -> None:
    page = live.pages["pkg/two.py"]
    save(live, "pkg/one.py", ONE)
    assert written(live) == ["one.md"]
    assert [(one.path, one.line) for one in live.problems] == [("pkg/two.py", 7)]
    assert live.pages["pkg/two.py"] == page
    save(live, "pkg/one.py", ONE + FIRST)
    assert written(live) == ["one.md"]
    assert live.problems == []


def test_a_source_that_is_not_python_leaves_its_page_and_the_others_alone(live: Live) -> None:
    pages = dict(live.pages)
    save(live, "pkg/one.py", "def\n")
    assert [(one.path, one.line) for one in live.problems] == [("pkg/one.py", 1)]
    assert live.waiting == []
    assert live.pages == pages
    save(live, "pkg/one.py", ONE + FIRST)
    assert written(live) == []
    assert live.problems == []


def test_a_problem_stays_until_its_page_has_been_written_again(live: Live) -> None:
    save(live, "pkg/one.py", ONE.replace("A note", r"$\nothing$") + FIRST)
    assert written(live) == []
    assert len(live.problems) == 1
    save(live, "pkg/one.py", ONE.replace("A note", "A new note") + FIRST)
    assert len(live.problems) == 1
    assert written(live) == ["one.md"]
    assert live.problems == []


def test_a_source_that_is_not_python_is_named_until_it_is_mended(live: Live) -> None:
    save(live, "pkg/one.py", "def\n")
    save(live, "pkg/two.py", TWO.replace("See", "Look at"))
    assert written(live) == ["two.md"]
    assert [one.path for one in live.problems] == ["pkg/one.py"]


def test_pages_that_waited_still_wait_when_another_source_is_not_python(live: Live) -> None:
    save(live, "pkg/one.py", ONE.replace("A note", "A new note") + FIRST)
    save(live, "pkg/two.py", "def\n")
    assert live.waiting == ["pkg/one.py", "pkg/zero.py"]
    assert written(live) == ["one.md"]


# An example that says that it runs, and then waits to be allowed to end.
SLOW = '''r"""
---
title: Slow
summary: It takes as long as it is told to.
---

A note.
"""

import time
from pathlib import Path

import torch

from pkg.one import first


def example(seq_len: int = 7) -> torch.Tensor:
    r"""
    ## An example
    """
    Path("runs").touch()
    while not Path("ends").exists():
        time.sleep(0.01)
    return torch.zeros(seq_len, first())
'''


def test_a_measurement_behind_the_saved_page_is_left_and_made_later(live: Live) -> None:
    root = live.settings.root
    (root / "ends").touch()
    (root / "pkg/slow.py").write_text(SLOW)
    live.build()
    (root / "runs").unlink()
    (root / "ends").unlink()

    save(live, "pkg/one.py", ONE.replace("ONE = 1", "ONE = 3") + FIRST)
    pages = live.write((root / "runs").exists)
    assert next(pages) == live.pages["pkg/one.py"]
    assert next(pages) is None
    assert live.waiting == ["pkg/slow.py", "pkg/two.py", "pkg/zero.py"]
    # It runs still, and is not waited for when another page is saved.
    save(live, "pkg/zero.py", ONE.replace("A note", "A new note"))
    assert next(live.write()) == live.pages["pkg/zero.py"]
    assert "A new note" in live.pages["pkg/zero.py"].markdown

    (root / "ends").touch()
    assert written(live) == ["slow.md"]
    assert any("[7,3]" in text for text in live.pages["pkg/slow.py"].files.values())
    assert live.waiting == []


def test_a_saved_page_whose_example_fails_says_so_before_others_are_written(live: Live) -> None:
    root = live.settings.root
    (root / "ends").touch()
    (root / "pkg/slow.py").write_text(SLOW)
    live.build()
    save(live, "pkg/slow.py", SLOW.replace("seq_len, first()", "seq_len, -first()"))
    assert next(live.write()) is None
    assert [(one.path, one.line) for one in live.problems] == [("pkg/slow.py", 25)]
    assert live.waiting == ["pkg/one.py", "pkg/two.py", "pkg/zero.py"]


def test_a_build_with_a_problem_changes_nothing(live: Live) -> None:
    pages, sources = dict(live.pages), live.site
    (live.settings.root / "pkg/three.py").write_text(TWO.replace("one.py", "nothing.py"))
    with pytest.raises(LiterateError, match=r"pkg/three\.py:7"):
        live.build()
    assert live.pages == pages
    assert live.site is sources


def test_a_notice_shows_problems_as_text_and_comes_before_waiting() -> None:
    assert notice([], False) == ""
    assert "checked again" in notice([], True)
    shown = notice(["a.py:1: <b> & more."], True)
    assert "a.py:1: &lt;b&gt; &amp; more." in shown
    assert "checked again" not in shown


def test_the_state_of_a_folder_changes_with_its_files_and_not_with_private_ones(
    tmp_path: Path,
) -> None:
    (tmp_path / "deep").mkdir()
    (tmp_path / "deep" / "one.py").write_text("1")
    (tmp_path / "alone.yml").write_text("1")
    places = [str(tmp_path / "deep"), str(tmp_path / "alone.yml"), str(tmp_path / "nothing")]
    before = state(places)
    assert list(before) == [places[1], os.path.join(places[0], "one.py")]
    (tmp_path / "deep" / "__pycache__").mkdir()
    for name in [".one.py.swp", "one.py~", "__pycache__/one.pyc"]:
        (tmp_path / "deep" / name).write_text("2")
    assert state(places) == before
    (tmp_path / "deep" / "one.py").write_text("12")
    (tmp_path / "deep" / "two.py").symlink_to(tmp_path / "missing")
    after = state(places)
    assert {path for path in after if before.get(path) != after[path]} == {
        os.path.join(places[0], "one.py")
    }
