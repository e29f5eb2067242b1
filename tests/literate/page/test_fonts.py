r"""The fonts have the letters of the pages, weigh little, and are the same in each build."""

from io import BytesIO
from pathlib import Path

import pytest
from fontTools.ttLib import TTFont

from literate.page import fonts
from literate.page.fonts import FACES, LETTERS
from literate.problems import LiterateError
from literate.settings import Settings
from tests.literate.projects import KATEX

HERE = Settings(KATEX.parents[1], {}, katex="node_modules/katex")


def test_each_face_has_the_letters_of_pages_and_all_weigh_at_most_60_kilobytes() -> None:
    files = dict(fonts.files(HERE))
    made = {face.name: TTFont(BytesIO(files[face.name])) for face in FACES}
    assert sum(len(files[name]) for name in made) <= 60_000
    for name, font in made.items():
        missing = set(LETTERS) - set(map(chr, font.getBestCmap()))
        # A thin space is as wide as any other in a face whose letters all are.
        assert missing <= ({"\u2009"} if "mono" in name else set())
        assert len(font.getBestCmap()) <= len(LETTERS)
    licences = [content for name, content in files.items() if name not in made]
    assert len(licences) == 2 and all(b"SIL Open Font License" in one for one in licences)
    mono = made["jetbrains-mono-400-normal.woff2"]
    widths = {mono["hmtx"][name][0] for name in mono.getBestCmap().values()}
    assert widths == {600}


def test_a_face_is_cut_alike_each_time_and_kept_until_it_changes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    packages = tmp_path / "node_modules"
    packages.mkdir()
    (packages / "@fontsource").symlink_to(KATEX.parent / "@fontsource")
    settings = Settings(tmp_path, {}, katex="node_modules/katex")
    assert dict(fonts.files(settings)) == dict(fonts.files(HERE))
    monkeypatch.setattr(fonts, "cut", lambda whole, face: b"cut anew")
    assert dict(fonts.files(settings)) == dict(fonts.files(HERE))
    monkeypatch.setattr(fonts, "LETTERS", "abc")
    assert dict(fonts.files(settings))[FACES[0].name] == b"cut anew"


def test_a_font_that_is_not_installed_is_named(tmp_path: Path) -> None:
    with pytest.raises(LiterateError, match=r"source-serif-4.*`npm ci` brings it"):
        list(fonts.files(Settings(tmp_path, {}, katex="node_modules/katex")))
