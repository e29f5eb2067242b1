r"""To build pages takes the extra “site” alone, and what takes more says which extra it is."""

import os
from importlib.metadata import PackageNotFoundError
from pathlib import Path

import pytest

from literate import settings, site
from literate.engines import zensical
from literate.problems import LiterateError
from tests.literate.projects import KATEX, ROOT, contents, run, succeed, write

# What the other extras install, and what NumPy comes with.
MORE = (
    *("IPython", "PIL", "einops", "ipykernel", "jupytext", "matplotlib", "nbclient", "nbformat"),
    *("numpy", "resvg_py", "safetensors", "tokenizers", "torch", "tqdm", "zensical"),
)
LENIENT = f'[tool.literate]\nsources = {{ pkg = "" }}\nstrict = false\nkatex = "{KATEX}"\n'
MKDOCS = "site_name: x\ntheme: { name: material, font: false }\nplugins: [literate]\n"
INSTALL = 'pip install "annotated-transformers[{}]"'


@pytest.fixture
def project(tmp_path: Path) -> Path:
    files = {
        "pyproject.toml": LENIENT,
        "mkdocs.yml": MKDOCS,
        "docs/.keep": "",
        "pkg/__init__.py": '"""# The package\n\nOf $x$.\n"""\n',
        "pkg/six.py": '"""# Six"""\n\n\ndef example():\n    """## Six"""\n    return 6\n',
    }
    write(tmp_path / "project", files)
    # Python runs this at its start, in child processes, too.
    hidden = f"import sys; sys.modules |= dict.fromkeys({MORE})\n"
    write(tmp_path, {"hidden/sitecustomize.py": hidden})
    return tmp_path / "project"


def python_path(project: Path) -> str:
    return os.pathsep.join([str(project.parent / "hidden"), str(ROOT)])


def test_pages_need_the_extra_site_alone(project: Path) -> None:
    alone = {"PYTHONPATH": python_path(project)}
    succeed(project, "mkdocs", "build", "--strict", **alone)
    assert "Six" in (project / "site/six/index.html").read_text(encoding="utf-8")
    assert "no problems" in succeed(project, "literate", "check", **alone)


def test_what_needs_another_extra_names_it_and_the_rest_is_there(project: Path) -> None:
    alone = {"PYTHONPATH": python_path(project)}
    address = "site_url: https://example.org/\n"
    write(
        project,
        {"pyproject.toml": LENIENT + 'examples = ["pkg/*"]\n', "mkdocs.yml": MKDOCS + address},
    )
    failed = run(project, "literate", "notebooks", **alone)
    assert failed.returncode == 1 and INSTALL.format("notebooks") in failed.stderr
    said = succeed(project, "mkdocs", "build", **alone)
    assert said.count(INSTALL.format("notebooks")) == said.count(INSTALL.format("imaging")) == 1
    page = (project / "site/six/index.html").read_text(encoding="utf-8")
    assert "og:title" in page and "og:image" not in page and ".ipynb" not in page
    # Where they are asked for strictly, nothing is built, and the site stays as it was.
    before = contents(project / "site")
    write(project, {"pyproject.toml": (LENIENT + 'examples = ["*"]\n').replace("false", "true")})
    failed = run(project, "mkdocs", "build", **alone)
    assert failed.returncode == 1 and INSTALL.format("imaging") in failed.stderr
    assert contents(project / "site") == before


def test_a_site_of_zensical_that_is_not_installed_is_left(
    project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def version(name: str) -> str:
        raise PackageNotFoundError(name)

    monkeypatch.setattr(zensical, "version", version)
    write(project, {"site/index.html": "mine"})
    with pytest.raises(LiterateError) as raised:
        zensical.build(site.load(settings.load(project)), project / "site", print)
    assert INSTALL.format("zensical") in str(raised.value)
    assert contents(project / "site").keys() == {"index.html"}
