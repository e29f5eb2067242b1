r"""New pages: what is written builds, and nothing else is touched."""

from pathlib import Path

import pytest

from literate import settings
from literate.engines import new
from literate.problems import LiterateError
from tests.literate.projects import KATEX, MKDOCS, ROOT, contents, succeed, write

CONFIGURATION = MKDOCS.replace(
    "index.md", "index.md, layers/index.md, layers/one.md, other/index.md"
)


@pytest.fixture
def project(tmp_path: Path) -> Path:
    r"""Two packages with a folder each, tests for one of them."""
    section = 'r"""\n---\ntitle: A\nsummary: B\n---\n"""\n'
    files = {
        "pyproject.toml": '[tool.literate]\nsources = { lib = "", tool = "other" }\n'
        f'katex = "{KATEX}"\n',
        "mkdocs.yml": CONFIGURATION,
        "lib/__init__.py": section,
        "lib/layers/__init__.py": section,
        "lib/layers/one.py": section,
        "tool/__init__.py": section,
        "tests/lib/test_x.py": "",
        "docs/.keep": "",
    }
    write(tmp_path, files)
    (tmp_path / "node_modules").symlink_to(ROOT / "node_modules")
    return tmp_path


def test_a_new_page_passes_every_check_at_once(project: Path) -> None:
    wrote = succeed(project, "literate", "new", "lib/layers/my_idea")
    assert wrote.splitlines()[:3] == [
        "wrote lib/layers/my_idea.py",
        "wrote tests/lib/layers/test_my_idea.py",
        "TO DO: add the line `- layers/my_idea.md` to `nav` in mkdocs.yml, at its place",
    ]
    listed = CONFIGURATION.replace("one.md", "one.md, layers/my_idea.md")
    (project / "mkdocs.yml").write_text(listed, encoding="utf-8")
    checked = succeed(project, "literate", "check")
    assert checked.startswith("5 pages checked, no problems.\nmeasured lib/layers/my_idea.py in ")
    assert succeed(project, "mkdocs", "build", "--strict", "--quiet") == ""
    shown = (project / "site/layers/my_idea/index.html").read_text(encoding="utf-8")
    assert 'class="claim"' in shown
    assert (project / "site/snippets/layers/my_idea/MyIdea.py").is_file()
    assert "1 passed" in succeed(project, "pytest", "-q", "-p", "no:cacheprovider", "tests")
    succeed(project, "ruff", "check", f"--config={ROOT}/pyproject.toml", "--no-cache")
    # Of what was written; the built site beside it has a notebook, whose style is its own.
    options = ("--line-length=100", "--check", "--no-cache")
    succeed(project, "ruff", "format", *options, "lib", "tests")


@pytest.mark.parametrize(
    ("wanted", "sentence"),
    [
        ("lib/layers/one", "`lib/layers/one.py` is there already; nothing was changed."),
        ("lib/layers", "`lib/layers` is there already; nothing was changed."),
        ("lib/layers/my-idea", "`my-idea` can't be the name of a module; `my_idea` would do."),
        ("lib/layers/class", "`class` can't be the name of a module."),
        ("lib/__init__", "`__init__` can't be the name of a module; `init` would do."),
        ("../outside", "`..` can't be the name of a module."),
        ("/outside", "`` can't be the name of a module."),
        (
            "lib/far/two",
            "`lib/far` is no section yet; write the page of it, `lib/far/__init__.py`.",
        ),
        ("lib/leads_out/two", "`lib/leads_out` leads out of this project."),
        ("lib", "is no page in a package; write `lib/…` or `tool/…`."),
        ("layers/two", "is no page in a package; write `lib/…` or `tool/…`."),
        ("lib/layers/x", "`tests/lib/layers/test_x.py` is there already; nothing was changed."),
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


def test_a_file_that_is_being_written_stays(project: Path) -> None:
    files, _ = new.plan(settings.load(project), "lib/layers/two")
    test = project / "tests/lib/layers/test_two.py.part"
    test.parent.mkdir()
    test.write_text("of somebody else", encoding="utf-8")
    before = contents(project)
    with pytest.raises(LiterateError, match="Nothing was changed"):
        new.write(project, files)
    assert contents(project) == before


def test_a_last_step_that_fails_leaves_no_part_behind(
    project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(self: Path, target: Path) -> Path:
        raise OSError(28, "No space left on device", str(target))

    monkeypatch.setattr(Path, "replace", full)
    before = contents(project)
    with pytest.raises(LiterateError, match=r"No space left on device, at two\.py"):
        new.write(project, new.plan(settings.load(project), "lib/layers/two")[0])
    assert contents(project) == before
