r"""A package in a folder `src`: its modules have the names under which others import them."""

import json
from pathlib import Path

from literate import settings, site
from literate.page import inventories
from page_runner.edit.files import Edit
from tests.literate.projects import ATTENTION, HOME, MKDOCS, SETTINGS, succeed, write
from tests.literate.shown import Shown

SCALE = '''r"""
---
title: Scale
summary: A factor.
---

For `pkg.attention.scores`, which begins with `scaled`.
"""


def scaled(x):
    r"""
    ## Scaled
    """
    return x / 2
'''


LONG = """

def is_called_by_a_long_name():
    '''Something.'''
    return 1
"""


def test_a_package_in_src(tmp_path: Path) -> None:
    attention = ATTENTION.replace(
        "from torch import Tensor", "from pkg.scale import scaled\nfrom torch import Tensor"
    )
    files = {
        "pyproject.toml": SETTINGS.replace("{ pkg", '{ "src/pkg"').replace('"pkg/*', '"src/pkg/*'),
        "mkdocs.yml": MKDOCS.partition("nav:")[0],
        "docs/images/note.txt": "",
        "src/pkg/__init__.py": HOME.replace("#L21", "#L22"),
        "src/pkg/attention.py": attention.replace(
            'einsum("ibd,jbd->ijb", query', 'einsum("ibd,jbd->ijb", scaled(query)'
        ),
        "src/pkg/scale.py": SCALE,
        "src/pkg/small_parts/each.py": SCALE.replace("Scale", "Each") + LONG,
    }
    write(tmp_path, files)
    succeed(tmp_path, "mkdocs", "build", "--strict")
    pages = {
        name: Shown((tmp_path / "site" / name / "index.html").read_text())
        for name in ("attention", "scale")
    }
    # The navigation names folders as they are.
    nav = pages["scale"].texts(".//nav[@data-md-level='0']//label")
    assert "small_parts" in " ".join(nav).split()
    each = (tmp_path / "site" / "small_parts" / "each" / "index.html").read_text()
    assert each.count("long-name") == 1
    # It was measured, and an absolute import leads to its page and back.
    assert "i j b" in [one.get("data-shape") for one in pages["attention"].all.iter("i")]
    assert {"../scale/#scaled", "../scale/"} <= set(pages["attention"].values("href"))
    assert {"../attention/#scores", "../attention/#L22"} <= set(pages["scale"].values("href"))
    names = inventories.read((tmp_path / "site" / inventories.FILE).read_bytes(), "https://a/")
    assert names["pkg.scale.scaled"] == "https://a/scale/#scaled"
    assert "1 pages checked, no problems" in succeed(
        tmp_path, "literate", "check", "src/pkg/scale.py"
    )
    snippet = succeed(tmp_path, "literate", "snippet", "src/pkg/attention.py:scores")
    assert "# with code from pkg/scale.py" in snippet and "def scaled" in snippet
    folders = site.load(settings.load(tmp_path)).import_folders
    first = json.loads(Edit(tmp_path, tmp_path, "", tmp_path, folders).index())["first"]
    assert first["pkg/scale.py"] == ["pkg/__init__.py", "pkg/scale.py"]
