r"""New pages: what is written builds, and nothing else is touched."""

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from literate import settings
from literate.engines import new
from literate.problems import LiterateError

ROOT = Path(__file__).resolve().parents[3]
CONFIGURATION = """\
# A comment.
site_name: x   # and another
site_url: !ENV [SITE_URL, ""]
markdown_extensions: [md_in_html, footnotes, pymdownx.superfences]
plugins: [literate]
theme: {name: mkdocs}
validation: {omitted_files: warn}

nav:
  - Home: index.md
  # The parts.
  - Layers:
      - layers/index.md
      - "The first": layers/one.md  # why

  - Other: other/index.md
extra: {}
"""


@pytest.fixture
def project(tmp_path: Path) -> Path:
    r"""Two packages with a folder each, tests for one of them."""
    section = 'r"""\n---\ntitle: A\nsummary: B\n---\n"""\n'
    files = {
        "pyproject.toml": '[tool.literate]\nsources = { lib = "", tool = "other" }\n'
        f'katex = "{ROOT}/node_modules/katex"\n',
        "mkdocs.yml": CONFIGURATION,
        "lib/__init__.py": section,
        "lib/layers/__init__.py": section,
        "lib/layers/one.py": section,
        "tool/__init__.py": section,
        "tests/lib/test_x.py": "",
        "docs/.keep": "",
    }
    for name, text in files.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text, encoding="utf-8")
    (tmp_path / "node_modules").symlink_to(ROOT / "node_modules")
    return tmp_path


def contents(folder: Path) -> dict[str, str]:
    return {
        path.relative_to(folder).as_posix(): path.read_text(encoding="utf-8")
        for path in sorted(folder.rglob("*"))
        if path.is_file() and "node_modules" not in path.parts
    }


def typed(project: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    environment = {
        **os.environ,
        "PYTHONPATH": str(ROOT),
        "PYTHONDONTWRITEBYTECODE": "1",
        "NO_MKDOCS_2_WARNING": "1",
    }
    command = [sys.executable, "-m", *arguments]
    return subprocess.run(
        command, cwd=project, env=environment, capture_output=True, text=True, check=False
    )


def test_a_new_page_passes_every_check_at_once(project: Path) -> None:
    wrote = typed(project, "literate", "new", "layers/my_idea")
    assert (wrote.returncode, wrote.stderr) == (0, "")
    assert wrote.stdout.splitlines()[:3] == [
        "wrote lib/layers/my_idea.py",
        "wrote tests/lib/layers/test_my_idea.py",
        "listed layers/my_idea.md in mkdocs.yml",
    ]
    checked = typed(project, "literate", "check")
    assert checked.stderr.startswith("measured lib/layers/my_idea.py in ")
    assert (checked.stdout, checked.returncode) == ("5 pages checked, no problems.\n", 0)
    built = typed(project, "mkdocs", "build", "--strict", "--quiet")
    assert (built.stdout + built.stderr, built.returncode) == ("", 0)
    shown = (project / "site/layers/my_idea/index.html").read_text(encoding="utf-8")
    assert 'class="claim"' in shown
    assert (project / "site/snippets/layers/my_idea/MyIdea.py").is_file()
    tested = typed(project, "pytest", "-q", "-p", "no:cacheprovider", "tests")
    assert "1 passed" in tested.stdout
    styled = typed(project, "ruff", "check", f"--config={ROOT}/pyproject.toml", "--no-cache")
    assert styled.stdout == "All checks passed!\n"
    # Of what was written; the built site beside it has a notebook, whose style is its own.
    command = ["ruff", "format", "--line-length=100", "--check", "--no-cache", "lib", "tests"]
    styled = typed(project, *command)
    assert (styled.returncode, styled.stderr) == (0, "")


def test_a_page_in_a_new_folder_passes_too(project: Path) -> None:
    before = contents(project)
    wrote = typed(project, "literate", "new", "lib/ideas/far/tensor.py")
    after = contents(project)
    assert set(after) - set(before) == {
        "lib/ideas/__init__.py",
        "lib/ideas/far/__init__.py",
        "lib/ideas/far/tensor.py",
        "tests/lib/ideas/far/test_tensor.py",
    }
    assert {name: after[name] for name in before} | {"mkdocs.yml": CONFIGURATION} == before
    assert "listed ideas/index.md" in wrote.stdout
    built = typed(project, "mkdocs", "build", "--strict", "--quiet")
    assert (built.stderr.partition("measured")[0], built.returncode) == ("", 0)


def navigation(uris: list[str], text: str = CONFIGURATION) -> str | None:
    return new.with_pages(text, uris, ["other"])


def test_the_navigation_gets_one_line_and_keeps_all_others() -> None:
    old, changed = CONFIGURATION.splitlines(), navigation(["layers/two.md"]).splitlines()
    assert (
        changed.index("      - layers/two.md")
        == old.index('      - "The first": layers/one.md  # why') + 1
    )
    changed.remove("      - layers/two.md")
    assert changed == old


def test_a_folder_of_a_section_comes_behind_the_section() -> None:
    text = navigation(["layers/deep/index.md", "layers/deep/a.md"])
    added = "# why\n      - layers/deep/index.md\n      - layers/deep/a.md\n\n  - Other"
    assert added in text


def test_a_new_section_comes_behind_the_last_of_its_package() -> None:
    text = navigation(["deep_ideas/index.md", "deep_ideas/a.md"])
    added = (
        "# why\n  - Deep ideas:\n      - deep_ideas/index.md\n      - deep_ideas/a.md\n\n  - Oth"
    )
    assert added in text


def test_line_endings_of_the_navigation_are_kept() -> None:
    text = navigation(["layers/two.md"], CONFIGURATION.replace("\n", "\r\n"))
    assert text.count("\r\n") == text.count("\n") == CONFIGURATION.count("\n") + 1


def test_the_last_line_of_a_file_need_not_end() -> None:
    text = "nav:\n  - a/index.md"
    assert navigation(["a/b.md"], text) == "nav:\n  - a/index.md\n  - a/b.md\n"


@pytest.mark.parametrize(
    "text",
    [
        "",
        "site_name: x\n",
        "nav: [index.md, a/index.md]\n",
        "nav:\n  - other/index.md\n",
        # The line would be part of a text.
        "nav:\n  - a: |\n      - a/index.md\n",
    ],
)
def test_a_navigation_without_a_place_is_left_alone(text: str) -> None:
    assert navigation(["a/b.md"], text) is None


def leaves(nav: Any) -> Iterator[str]:
    r"""The pages of a navigation, in order."""
    if isinstance(nav, str):
        yield nav
    else:
        for one in nav.values() if isinstance(nav, dict) else nav:
            yield from leaves(one)


def test_what_is_listed_is_what_the_engine_reads() -> None:
    text = (ROOT / "mkdocs.yml").read_text(encoding="utf-8")
    changed = new.with_pages(text, ["transformers/my_idea.md"], ["literate"])
    old, after = (
        yaml.safe_load("nav:" + one.partition("\nnav:")[2])["nav"] for one in (text, changed)
    )
    pages = list(leaves(after))
    place = pages.index("transformers/my_idea.md")
    assert Path(pages[place - 1]).parent == Path("transformers")
    assert pages[:place] + pages[place + 1 :] == list(leaves(old))


def test_without_a_navigation_the_author_is_told_the_line(project: Path) -> None:
    (project / "mkdocs.yml").unlink()
    wrote = typed(project, "literate", "new", "layers/two")
    assert "TO DO: add the line `- layers/two.md` to `nav` in mkdocs.yml" in wrote.stdout
    assert not (project / "mkdocs.yml").exists()


@pytest.mark.parametrize(
    ("wanted", "sentence"),
    [
        ("layers/one", "`lib/layers/one.py` is there already; nothing was changed."),
        ("lib/layers", "`lib/layers` is there already; nothing was changed."),
        ("layers/my-idea", "`my-idea` can't be the name of a module; `my_idea` would do."),
        ("layers/MyIdea", "`MyIdea` can't be the name of a module; `myidea` would do."),
        ("layers/class", "`class` can't be the name of a module."),
        ("layers/__init__", "`__init__` can't be the name of a module; `init` would do."),
        ("../outside", "`..` can't be the name of a module."),
        ("/outside", "`` can't be the name of a module."),
        ("layers/one/two", "`lib/layers/one.py` is a page, so no page can be below it."),
        ("leads_out/two", "`lib/leads_out` leads out of this project."),
        ("lib", "is a package; name a page in it."),
        ("two", "could be in several packages; write `lib/two` or `tool/two`."),
        (
            "layer/two",
            "could be in several packages (is `layers` meant?); "
            "write `lib/layer/two` or `tool/layer/two`.",
        ),
        ("layers/x", "`tests/lib/layers/test_x.py` is there already; nothing was changed."),
    ],
)
def test_where_no_page_can_be_nothing_is_written(
    wanted: str, sentence: str, project: Path, tmp_path_factory: pytest.TempPathFactory
) -> None:
    (project / "lib/leads_out").symlink_to(tmp_path_factory.mktemp("elsewhere"))
    (project / "tests/lib/layers").mkdir()
    (project / "tests/lib/layers/test_x.py").touch()
    before = contents(project)
    with pytest.raises(LiterateError) as caught:
        new.plan(settings.load(project), wanted)
    assert str(caught.value) == f"{wanted}:1: {sentence}"
    assert contents(project) == before


def refused_and_undone(project: Path, planned: new.Plan) -> None:
    before, folders = contents(project), sorted(project.rglob("*"))
    with pytest.raises(LiterateError, match="Nothing was changed"):
        new.write(settings.load(project), planned)
    assert (contents(project), sorted(project.rglob("*"))) == (before, folders)


def test_a_folder_that_can_t_be_made_leaves_nothing_behind(project: Path) -> None:
    planned = new.plan(settings.load(project), "lib/ideas/two")
    (project / "tests/lib/ideas").touch()
    refused_and_undone(project, planned)


def test_a_file_that_is_being_written_stays(project: Path) -> None:
    planned = new.plan(settings.load(project), "lib/ideas/two")
    (project / "mkdocs.yml.part").write_text("of somebody else", encoding="utf-8")
    refused_and_undone(project, planned)


def test_a_last_step_that_fails_leaves_nothing_behind(
    project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    replace = Path.replace
    full = {"mkdocs.yml": "/no/such/folder/mkdocs.yml"}

    def limited(self: Path, target: Path) -> Path:
        return replace(self, full.get(target.name, target))

    monkeypatch.setattr(Path, "replace", limited)
    refused_and_undone(project, new.plan(settings.load(project), "lib/ideas/two"))
