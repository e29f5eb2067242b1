r"""Packages as other people write them: what can't be read or run stops nothing, and is said."""

import re
from pathlib import Path

import pytest

from tests.literate.projects import KATEX, run, succeed, write
from tests.literate.shown import Shown

LENIENT = f'[tool.literate]\nsources = {{ pkg = "" }}\nstrict = false\nkatex = "{KATEX}"\n'
SITE = "site_name: x\ntheme: { name: material, font: false }\nplugins: [literate]\n"


def page_of(project: Path, name: str) -> Shown:
    return Shown((project / "site" / name / "index.html").read_text(encoding="utf-8"))


RUN = '''"""# M"""
import pathlib

pathlib.Path("IMPORTED").write_text("x")


class A:
    def example(self):
        return 1


def example(n=4, *, flag=True):
    pathlib.Path("RUN").write_text("x")
    raise ConnectionError(n)


def notebook(path: str = "a.wav"):
    return open(path)
'''
FAILS = '"""# F"""\n\n\ndef example(n=3):\n    raise ConnectionError("nobody is there")\n'


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, str]:
    r"""A package that is hard to read, and what its build has said."""
    folder = tmp_path_factory.mktemp("authors")
    files = {
        "pyproject.toml": LENIENT + 'examples = ["pkg/fails.py"]\n',
        "mkdocs.yml": SITE,
        "docs/.keep": "",
        "pkg/__init__.py": '"""# pkg"""\n',
        "pkg/m.py": RUN,
        "pkg/fails.py": FAILS,
        "pkg/old.py": '# <old>\nprint "hello"\n',
        "pkg/templates/t.py": "class {{ cookiecutter.name }}: pass\n",
        "pkg/open.py": 'x = """\n',
    }
    write(folder, files)
    (folder / "pkg/latin.py").write_bytes(b"# caf\xe9\nx = 1\n")
    return folder, succeed(folder, "mkdocs", "build")


def test_a_function_called_example_is_run_only_if_the_settings_name_it(
    built: tuple[Path, str],
) -> None:
    folder, said = built
    assert not (folder / "RUN").exists() and not (folder / "IMPORTED").exists()
    assert "pkg/m.py" not in said
    page = page_of(folder, "m")
    lines = [line for line in RUN.splitlines()[1:] if line]
    assert [text for _, text in page.lines] == lines
    assert not [link for link in page.values("href") if link.endswith("ipynb")]


@pytest.mark.parametrize(
    ("name", "place", "why", "shown"),
    [
        ("old", "pkg/old.py:2", "Missing parentheses", ["# <old>", 'print "hello"']),
        ("templates/t", "pkg/templates/t.py:1", "invalid", ["class {{ cookiecutter.name }}: pass"]),
        ("open", "pkg/open.py:1", "unterminated triple-quoted string", ['x = """']),
        (
            "latin",
            "pkg/latin.py:1",
            "encoding declaration",
            ["# caf\N{REPLACEMENT CHARACTER}", "x = 1"],
        ),
        ("fails", "pkg/fails.py:5", "nobody is there", FAILS.splitlines()[3:]),
    ],
)
def test_what_python_cannot_read_or_run_is_a_page_that_says_so(
    built: tuple[Path, str], name: str, place: str, why: str, shown: list[str]
) -> None:
    folder, said = built
    page = page_of(folder, name)
    assert [text for _, text in page.lines] == shown
    (missing,) = page.texts(".//p[@class='missing']")
    assert why in missing and f"line {place.rpartition(':')[2]}" in missing
    assert re.search(rf"{re.escape(place)}: .*{why}", said)
    # A strict project stops, and names the same place.
    settings = folder / "pyproject.toml"
    before = settings.read_text()
    settings.write_text(before.replace("strict = false", ""))
    failed = run(folder, "literate", "check")
    settings.write_text(before)
    assert failed.returncode == 1 and "Traceback" not in failed.stderr
    if name != "fails":
        assert re.search(rf"{re.escape(place)}: .*{why}", failed.stderr)


def test_the_modules_of_a_root_folder_are_pages_and_nothing_else_there_is(tmp_path: Path) -> None:
    files = {
        "pyproject.toml": LENIENT.replace('pkg = ""', '"." = ""'),
        "mkdocs.yml": SITE,
        "docs/.keep": "",
        "model.py": '"""# Model"""\n\n\ndef made():\n    return 1\n',
        "train.py": '"""# Train"""\n# Of [a model](model.py).\nfrom model import made\n\nmade()\n',
        ".venv/pyvenv.cfg": "home = /usr/bin\n",
        ".venv/lib/old.py": 'print "old"\n',
        "venv/lib/foo/a.py": "y = 2\n",
        "build/lib/model.py": "z = 1\n",
    }
    write(tmp_path, files)
    for _ in range(2):
        # The second time, the site of the first one lies there.
        said = succeed(tmp_path, "mkdocs", "build")
        assert "old" not in said
        pages = {path.parent.name for path in (tmp_path / "site").rglob("index.html")}
        assert pages == {"site", "model", "train"}
    assert "2 pages checked" in succeed(tmp_path, "literate", "check", ".")
    assert {"../model/#made", "../model/"} <= set(page_of(tmp_path, "train").values("href"))


def test_a_home_page_of_one_s_own_stays_and_that_of_the_package_is_beside_it(
    tmp_path: Path,
) -> None:
    files = {
        "pyproject.toml": LENIENT,
        "mkdocs.yml": SITE,
        "docs/index.md": "# Welcome\n\nTo [the package](../pkg/__init__.py).\n",
        "docs/objects.inv": "of another tool",
        "pkg/__init__.py": '"""# The package"""\n',
        "pkg/index.py": '"""# An index"""\n',
        "pkg/pkg.py": '"""# Its module"""\n',
    }
    write(tmp_path, files)
    said = succeed(tmp_path, "mkdocs", "build")
    assert "DeprecationWarning" not in said
    assert "docs/index.md:1: would be the page `index.md`" in said
    assert 'give the package its folder: `sources = { "pkg" = "pkg" }`' in said
    places = ("", "pkg_py", "index_py")
    heads = {name: page_of(tmp_path, name).texts(".//h1")[0].rstrip("¶") for name in places}
    assert heads == {"": "Welcome", "pkg_py": "The package", "index_py": "An index"}
    assert "pkg_py/" in page_of(tmp_path, "").values("href")
    # With its folder, all is well.
    (tmp_path / "pkg/index.py").unlink()
    settings = LENIENT.replace('pkg = ""', 'pkg = "pkg"').replace("strict = false", "")
    write(tmp_path, {"pyproject.toml": settings})
    succeed(tmp_path, "mkdocs", "build", "--strict")
    assert page_of(tmp_path, "pkg").texts(".//h1") == ["The package¶"]


def test_problems_are_warnings_that_strict_builds_of_mkdocs_count(tmp_path: Path) -> None:
    names = [f"m{number}" for number in range(5)]
    files = {
        "pyproject.toml": LENIENT,
        "mkdocs.yml": SITE,
        "docs/.keep": "",
        "pkg/__init__.py": '"""# pkg\n\nTo [nothing](nothing.py).\n"""\n',
        **{f"pkg/{name}.py": f"{name} = 1\n" for name in names},
    }
    write(tmp_path, files)
    link = "pkg/__init__.py:3: the link to `nothing.py` leads to nothing"
    untitled = "5 modules have no title, as pkg/m0.py:1 and pkg/m1.py:1"
    for options in ([], ["--strict"]):
        built = run(tmp_path, "mkdocs", "build", *options)
        warned = [line for line in built.stderr.splitlines() if line.startswith("WARNING")]
        assert [link in warned[0], len(warned)] == [True, 1]
        assert f"INFO    -  {untitled}" in built.stderr
        assert built.returncode == ("--strict" in options)
    first, second = run(tmp_path, "literate", "check").stderr.splitlines()
    assert link in first and second.startswith(untitled)
    alone = run(tmp_path, "literate", "check", "pkg/m3.py")
    assert alone.stderr.startswith(
        "pkg/m3.py:1: the module has no title of its own, so its page is called “m3”."
    )
    # The name of a file is a title, too.
    codes = [alone.returncode, run(tmp_path, "literate", "check").returncode]
    write(tmp_path, {"pkg/__init__.py": '"""# pkg"""\n'})
    checked = run(tmp_path, "literate", "check")
    assert [*codes, checked.returncode] == [0, 1, 0]
    assert checked.stderr.startswith(untitled) and "no other problems" in checked.stdout
    succeed(tmp_path, "mkdocs", "build", "--strict")


def test_a_page_of_a_large_package_has_its_own_part_of_the_navigation(tmp_path: Path) -> None:
    folders = [f"part{number}" for number in range(6)]
    modules = {
        f"pkg/{folder}/m{number}.py": f'"""# M {number}"""\n\n\nx = """\n    {number}"""\n'
        for folder in folders
        for number in range(10)
    }
    files = {"pyproject.toml": LENIENT, "mkdocs.yml": SITE, "docs/.keep": ""}
    write(tmp_path, files | modules)
    succeed(tmp_path, "mkdocs", "build")
    page = page_of(tmp_path, "part3/m7")
    listed = {link for link in page.values("href") if re.search(r"/$", link)}
    assert {"../m6/", "../m0/"} <= listed
    assert "../../part1/m0/" in listed and "../../part1/m1/" not in listed
    # The theme's own indentation is left out, that of the code stays.
    assert [text for _, text in page.lines] == ['x = """', '    7"""']
    whole = (tmp_path / "site/part3/m7/index.html").read_text(encoding="utf-8")
    before, article = whole.split("<article", 1)
    assert not re.search(r"\n\s", before) and "\n" in before
    # It can be chosen that all of it is unfolded.
    expanded = SITE.replace("font: false", "font: false, features: [navigation.expand]")
    write(tmp_path, {"mkdocs.yml": expanded})
    succeed(tmp_path, "mkdocs", "build")
    assert "../../part1/m1/" in page_of(tmp_path, "part3/m7").values("href")


UNHEADED = '''"""Gets and puts."""


def get(url):
    """Gets it."""


class Session:
    """Keeps it."""

    def put(self, url):
        """Puts it."""

    def _hidden(self):
        """Hides it."""


def without(url):
    return url
'''


def test_on_this_page_lists_what_has_no_heading_of_its_own(tmp_path: Path) -> None:
    headed = UNHEADED.replace("Gets it.", "\n    ## To get\n    ")
    headed_class = headed.replace("Keeps it.", "\n    ## To keep\n    ")
    headed_method = UNHEADED.replace("Hides it.", "\n        ### To hide\n        ")
    files = {
        "pyproject.toml": LENIENT,
        "mkdocs.yml": SITE,
        "docs/.keep": "",
        "pkg/plain.py": UNHEADED,
        "pkg/headed.py": headed,
        "pkg/headed_class.py": headed_class,
        "pkg/headed_method.py": headed_method,
    }
    write(tmp_path, files)
    succeed(tmp_path, "mkdocs", "build")
    for name, anchors in (
        ("plain", ["get", "Session", "Session.put", "without"]),
        # Without a docstring it would have no words beside it.
        ("headed", ["get", "Session", "Session.put"]),
        ("headed_class", ["get", "Session"]),
        ("headed_method", ["get", "Session"]),
    ):
        page = page_of(tmp_path, name)
        contents = page.all.iterfind(".//nav[@class='md-nav md-nav--secondary']")
        links = [link.get("href") for nav in contents for link in nav.iter("a")]
        # Material writes them twice, for narrow screens too.
        assert list(dict.fromkeys(links)) == [f"#{anchor}" for anchor in anchors]
        ids = page.values("id")
        assert all(ids.count(one) == 1 for one in ("get", "Session", "Session.put", "without"))


EXTENDED = '''r"""# M

!!! note "Look"
    Inside the note, `x`.

/// note | New style
text
///

- [x] task

Term
:   Definition

=== "Tab"
    tab text

Footnote[^1].

[^1]: The note.

~~strike~~ ==mark== H~2~O
"""
x = 1
'''
EXTENSIONS = (
    "[admonition, def_list, pymdownx.tabbed, pymdownx.tasklist, pymdownx.tilde, pymdownx.mark, "
    "pymdownx.blocks.admonition]"
)


def test_extensions_that_an_author_has_chosen_work_in_notes(tmp_path: Path) -> None:
    files = {
        "pyproject.toml": LENIENT,
        "mkdocs.yml": f"{SITE}markdown_extensions: {EXTENSIONS}\n",
        "docs/.keep": "",
        "pkg/m.py": EXTENDED,
    }
    write(tmp_path, files)
    assert "WARNING" not in succeed(tmp_path, "mkdocs", "build")
    page = page_of(tmp_path, "m")
    assert page.texts(".//p[@class='admonition-title']") == ["Look", "New style"]
    shown = {"dt": "Term", "dd": "Definition", "del": "strike", "mark": "mark", "sub": "2"}
    assert {name: page.text(f".//{name}") for name in shown} == shown
    assert page.text(".//div[@class='tabbed-content']").strip() == "tab text"
    assert page.values("type", ".//li[@class='task-list-item']/input") == ["checkbox"]
    assert page.texts(".//div[@class='footnote']//p")[0].startswith("The note.")


def test_another_folder_for_documents_is_named_in_both_settings(tmp_path: Path) -> None:
    files = {
        "pyproject.toml": LENIENT,
        "mkdocs.yml": f"{SITE}docs_dir: pages\n",
        "pages/index.md": "# Home\n\nTo [it](../pkg/__init__.py).\n",
        "pkg/__init__.py": '"""# A"""\n',
    }
    write(tmp_path, files)
    failed = run(tmp_path, "mkdocs", "build")
    assert failed.returncode == 1 and 'write `docs = "pages"`' in failed.stderr
    settings = LENIENT.replace('pkg = ""', 'pkg = "api"')
    write(tmp_path, {"pyproject.toml": f'{settings}docs = "pages"\n'})
    succeed(tmp_path, "mkdocs", "build", "--strict")
    assert "api/" in page_of(tmp_path, "").values("href")
