r"""The card of a page: a small picture, the same for the same words, whatever the words are."""

from io import BytesIO
from pathlib import Path

import pytest
from PIL import Image, ImageChops

from literate import card

BACKGROUND = (22, 26, 36)


def opened(title: str, summary: str, site_name: str = "Site") -> Image.Image:
    return Image.open(BytesIO(card.draw(title, summary, site_name))).convert("RGB")


def inked(image: Image.Image) -> tuple[int, int, int, int]:
    r"""The box of all that is not background above the columns: left, top, right, bottom."""
    text = image.crop((0, 0, card.WIDTH, 520))
    box = ImageChops.difference(text, Image.new("RGB", text.size, BACKGROUND)).getbbox()
    assert box is not None
    return box


def test_the_same_words_give_the_same_bytes_and_others_others() -> None:
    first = card.draw("Title", "Summary.", "Site")
    assert first == card.draw("Title", "Summary.", "Site")
    others = [("Titles", "Summary.", "Site"), ("Title", "Summary", "Site")]
    others.append(("Title", "Summary.", ""))
    assert len({first, *(card.draw(*words) for words in others)}) == 4


@pytest.mark.parametrize(
    ("title", "summary"),
    [
        ("Attention", "Scores."),
        ("", ""),
        ("W" * 400, "w" * 4000),
        ("many words " * 60, "many words " * 600),
        ('<script>alert(1)</script> & "$x$" {{ braces }}', "a\nline\tand\x00more"),
        ("Łódź, 東京 and 🙂", "שלום — “naïve” café…"),
    ],
    ids=["usual", "empty", "letters", "words", "marks", "scripts"],
)
def test_whatever_the_words_the_card_is_whole_and_small(title: str, summary: str) -> None:
    written = card.draw(title, summary, "Site")
    assert len(written) < 40_000
    with Image.open(BytesIO(written)) as image:
        assert (image.format, image.size, image.mode) == ("PNG", (1200, 630), "P")
    left, top, right, bottom = inked(opened(title, summary))
    assert (left, top) >= (60, 60)
    assert (right, bottom) <= (1140, 515)


def test_a_long_title_takes_two_lines_and_moves_the_summary_down() -> None:
    short, long = opened("Attention", "Scores."), opened("Attention " * 9, "Scores.")
    assert inked(long)[3] - inked(short)[3] == 90


def test_letters_that_the_font_lacks_are_left_out() -> None:
    assert card.draw("Café – 東京", "", "") == card.draw("Cafe - ", "", "")


def test_a_card_is_drawn_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    first = card.kept("Title", "Summary.", "Site", tmp_path / "cards")
    assert first.read_bytes() == card.draw("Title", "Summary.", "Site")
    drawn: list[tuple[str, ...]] = []

    def draw(*words: str) -> bytes:
        drawn.append(words)
        return b"drawn"

    monkeypatch.setattr(card, "draw", draw)
    assert card.kept("Title", "Summary.", "Site", tmp_path / "cards") == first
    assert drawn == []
    assert card.kept("Title", "Another.", "Site", tmp_path / "cards").read_bytes() == b"drawn"
    assert sorted(path.suffix for path in (tmp_path / "cards").iterdir()) == [".png", ".png"]
