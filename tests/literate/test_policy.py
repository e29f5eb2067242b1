r"""The policy names what a site holds, and nothing more."""

from pathlib import Path

import pytest

from literate.policy import policy
from literate.problems import LiterateError

# Each by `openssl dgst -sha256 -binary | base64`.
GO = "'sha256-5KYv+PUboo5h+0+YAtGRPbwv5d/QxzHslP4YGnUaxRw='"  # go()
LESS = "'sha256-p7l+ikItAf/VZhlMoFfZmUdvA1Q74WK46CCLz/f2fCU='"  # a < "</b>"
SHEET = "'sha256-8EJL2E40VnnGherz8izbHnhSLNfS7seXQ/iH7JDUNko='"  # p{top:0}
ATTRIBUTE = "'sha256-MpEfRfxr4wfpP3KWopSPvl7QRmAseHH8eK1lrnDfWTs='"  # top: 0


def written(folder: Path, **pages: str) -> Path:
    for name, text in pages.items():
        (folder / f"{name}.html").write_text(text)
    return folder


def test_a_site_of_files_needs_the_host_alone(tmp_path: Path) -> None:
    page = (
        '<p class="a">x</p><script src="a.js"></script><script type="application/json">{}</script>'
    )
    assert policy(written(tmp_path, index=page)) == "default-src 'self'"


def test_inline_scripts_of_all_pages_are_named_once(tmp_path: Path) -> None:
    one = '<script>go()</script><script type="module">a < "</b>"</script>'
    two = "<p>go()</p><script>go()</script>"
    named = policy(written(tmp_path, index=one, other=two))
    assert named == f"default-src 'self'; script-src 'self' {GO} {LESS}"


def test_inline_styles_are_named(tmp_path: Path) -> None:
    sheet = policy(written(tmp_path, index="<style>p{top:0}</style>"))
    assert sheet == f"default-src 'self'; style-src 'self' {SHEET}"
    both = policy(written(tmp_path, other='<p style="top: 0">x</p>'))
    assert both == f"default-src 'self'; style-src 'self' 'unsafe-hashes' {SHEET} {ATTRIBUTE}"


def test_icons_in_a_style_sheet_are_admitted(tmp_path: Path) -> None:
    (tmp_path / "a.css").write_text("p{background:url('data:image/svg+xml,<svg/>')}")
    assert policy(written(tmp_path, index="<p>x</p>")) == "default-src 'self'; img-src 'self' data:"


def test_a_handler_in_a_page_is_an_error(tmp_path: Path) -> None:
    folder = written(tmp_path, index='<p>x</p>\n<p onclick="go()">x</p>')
    with pytest.raises(LiterateError, match=r"index\.html:2: `onclick` holds a script; let"):
        policy(folder)


def test_a_folder_without_pages_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(LiterateError, match="holds no page; build the site first"):
        policy(tmp_path)
