r"""New pages: what is written builds, and nothing else is touched."""

from pathlib import Path

import pytest

from literate import settings
from literate.engines import new
from literate.problems import LiterateError
from tests.literate.projects import MKDOCS, SETTINGS, contents, run, succeed, write

NAV = "[index.md, layers/index.md, layers/one.md, other/index.md]"


@pytest.fixture
def project(tmp_path: Path) -> Path:
    r"""Two packages with a folder each, tests for one of them."""
    section = 'r"""\n---\ntitle: A\nsummary: B\n---\n"""\n'
    files = {
        "pyproject.toml": SETTINGS.replace('pkg = ""', 'lib = "", tool = "other"').replace(
            "pkg/*", "lib/*"
        ),
        "mkdocs.yml": MKDOCS.replace("[index.md]", NAV),
        "lib/__init__.py": section,
        "lib/layers/__init__.py": section,
        "lib/layers/one.py": section,
        "tool/__init__.py": section,
        "tests/lib/test_x.py": "",
        "docs/.keep": "",
    }
    write(tmp_path, files)
    return tmp_path


def test_a_new_page_has_no_problems_and_is_still_to_be_listed(project: Path) -> None:
    wrote = succeed(project, "literate", "new", "lib/layers/my_idea")
    assert wrote.splitlines()[:3] == [
        "wrote lib/layers/my_idea.py",
        "wrote tests/lib/layers/test_my_idea.py",
        "TO DO: add the line `- layers/my_idea.md` to `nav` in mkdocs.yml, at its place",
    ]
    listed = run(project, "literate", "check", "lib/layers/my_idea.py")
    assert listed.stderr.endswith(
        "mkdocs.yml:8: `nav` lacks a page: add the line `- layers/my_idea.md` where it should be "
        "read.\n"
    )
    file = project / "mkdocs.yml"
    file.write_text(file.read_text().replace("layers/one.md", "layers/one.md, layers/my_idea.md"))
    # That it builds, and its test and its style pass, is seen in tests/test_contributing.py.
    checked = succeed(project, "literate", "check")
    assert checked == "5 pages checked, no problems.\n"


@pytest.mark.parametrize(
    ("wanted", "sentence"),
    [
        ("lib/layers/one", "`lib/layers/one.py` is there already; nothing was changed."),
        ("lib/layers", "`lib/layers` is there already; nothing was changed."),
        ("lib/layers/my-idea", "`my-idea` can't be the name of a module; `my_idea` would do."),
        ("lib/layers/class", "`class` can't be the name of a module."),
        ("lib/layers/none", "`None` can't be the name of a class; name the page otherwise."),
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


def test_a_page_that_cannot_be_written_leaves_everything_as_it_was(
    project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(self: Path, target: Path) -> Path:
        raise OSError(28, "No space left on device", str(target))

    files, _ = new.plan(settings.load(project), "lib/layers/two")
    before = contents(project)
    with monkeypatch.context() as patch:
        patch.setattr(Path, "replace", full)
        with pytest.raises(LiterateError, match=r"No space left on device, at two\.py"):
            new.write(project, files)
    assert contents(project) == before
    # Somebody else is writing the test.
    write(project, {"tests/lib/layers/test_two.py.part": "of somebody else"})
    before = contents(project)
    with pytest.raises(LiterateError, match="Nothing was changed"):
        new.write(project, files)
    assert contents(project) == before


def test_a_stranger_s_settings_get_the_example_and_nothing_is_said_of_what_they_lack(
    tmp_path: Path,
) -> None:
    own = '# Ours.\n[tool.literate] # mine\nsources = { lib = "" }\nstrict = false\n'
    write(tmp_path, {"pyproject.toml": own, "lib/__init__.py": '"""\n# Lib\n"""\n'})
    said = succeed(tmp_path, "literate", "new", "lib/idea")
    added = own.replace("# mine\n", '# mine\nexamples = ["lib/idea.py"]\n')
    assert (tmp_path / "pyproject.toml").read_text() == added
    assert "wrote pyproject.toml" in said and "nav" not in said and "`mkdocs serve`" in said
    # What an author has chosen is left to them.
    said = succeed(tmp_path, "literate", "new", "lib/other")
    assert (tmp_path / "pyproject.toml").read_text() == added
    assert 'TO DO: add "lib/other.py" to `examples`' in said
    # The page is measured as soon as it is there.
    assert "idea.py:" in succeed(tmp_path, "literate", "measure", "lib/idea.py")


def test_modules_of_a_root_folder_are_in_no_package(tmp_path: Path) -> None:
    text = SETTINGS.replace('pkg = ""', '"." = ""').replace("pkg/*", "*")
    write(tmp_path, {"pyproject.toml": text, "mkdocs.yml": MKDOCS, "docs/.keep": "", "one.py": ""})
    # Nothing to make a page of is said, and nothing else happens.
    failed = run(tmp_path, "literate", "check")
    assert failed.returncode == 1
    assert "names `.`, where no Python file has a text" in failed.stderr
    for wanted, written in (("my_idea", "my_idea.py"), ("./parts/other.py", "parts/other.py")):
        assert succeed(tmp_path, "literate", "new", wanted).splitlines()[0] == f"wrote {written}"
        assert (tmp_path / written).is_file()
