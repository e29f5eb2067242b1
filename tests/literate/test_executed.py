r"""What a notebook has put out is kept, made the same for every run, and put back where it was."""

import json
from base64 import b64encode
from io import BytesIO
from pathlib import Path

import nbformat
import pytest
from nbformat import NotebookNode
from nbformat.v4 import new_output
from PIL import Image

from literate import executed
from literate.executed import Shelf, tidy
from literate.notebook import build
from tests.literate.packages import package

PAGE = '''
    r"""
    ---
    title: A Page
    summary: It counts.
    ---
    """

    import json


    def count(n: int) -> str:
        r"""
        ## Count
        """
        return json.dumps(list(range(n)))


    def notebook(size: str = "large", n: int = 30, text: str = "") -> None:
        r"""
        ## Try it
        """
        # ### The numbers
        print(count(n))

        # ### A picture
        # Of *nothing* at [all](page.py).
        picture = draw(size)

        # ### The end
        print(size, text)


    def draw(size: str) -> None:
        r"""
        ## Draw
        """
'''
VALUES = {"size": "tiny", "n": 3, "steps": 7}


def text_of(page: str = PAGE) -> str:
    r"""The text of the notebook of the page."""
    return build(package({"pkg/__init__.py": "", "pkg/page.py": page}), "pkg.page")


def png(width: int, height: int) -> bytes:
    r"""A picture, as Pillow writes it."""
    written = BytesIO()
    Image.new("RGB", (width, height)).save(written, "PNG")
    return written.getvalue()


def code(notebook: NotebookNode) -> list[NotebookNode]:
    r"""The cells with code."""
    return [cell for cell in notebook.cells if cell.cell_type == "code"]


def run(shelf: Shelf, text: str) -> None:
    r"""Keep what the last three cells would put out."""
    notebook = shelf.fill_in(text)
    numbers, picture, end = code(notebook)[-3:]
    numbers.outputs = [new_output("stream", name="stdout", text="[0, 1, 2]\n")]
    data = {"image/png": b64encode(png(5, 3)).decode(), "text/plain": "a picture"}
    picture.outputs = [new_output("display_data", data=data)]
    end.outputs = [new_output("stream", name="stdout", text="tiny\n")]
    shelf.keep("pkg.page", notebook)


def test_a_form_takes_the_values_that_it_has_and_nothing_else_changes(tmp_path: Path) -> None:
    text = text_of()
    filled = Shelf(tmp_path, VALUES).fill_in(text)
    before = nbformat.reads(text, as_version=4)
    changed = [
        (one.source, two.source)
        for one, two in zip(before.cells, filled.cells, strict=True)
        if one != two
    ]
    assert changed == [
        (
            '#@title Settings\nsize = "large"  #@param {type:"string"}\n'
            'n = 30  #@param {type:"integer"}\ntext = ""  #@param {type:"string"}',
            '#@title Settings\nsize = "tiny"  #@param {type:"string"}\n'
            'n = 3  #@param {type:"integer"}\ntext = ""  #@param {type:"string"}',
        )
    ]


def test_the_kept_outputs_are_put_into_the_cells_as_they_are(tmp_path: Path) -> None:
    shelf, text = Shelf(tmp_path, VALUES), text_of()
    assert not shelf.has("pkg.page", text)
    assert shelf.look_up("pkg.page", text) is None
    run(shelf, text)
    assert shelf.has("pkg.page", text)
    shown, _ = shelf.look_up("pkg.page", text)
    before = nbformat.reads(text, as_version=4)
    after = nbformat.reads(shown, as_version=4)
    nbformat.validate(after)
    assert [(one.id, one.source) for one in code(after)] == [
        (one.id, one.source) for one in code(before)
    ]
    assert [one.execution_count for one in code(after)] == list(range(1, len(code(after)) + 1))
    numbers, picture, end = code(after)[-3:]
    assert numbers.outputs[0].text == "[0, 1, 2]\n"
    assert picture.outputs[0].data["text/plain"] == "a picture"
    assert end.outputs[0].text == "tiny\n"


def test_the_notebook_says_with_which_values_it_was_run(tmp_path: Path) -> None:
    shelf, text = Shelf(tmp_path, VALUES), text_of()
    run(shelf, text)
    shown, outcome = shelf.look_up("pkg.page", text)
    first, *_ = nbformat.reads(shown, as_version=4).cells
    assert first.source.endswith(
        '\n\nThe outputs are those of a run when this site was built, with `size = "tiny"`, '
        "`n = 3`."
    )
    assert outcome.form == ('size = "tiny"', "n = 3")


def test_a_page_gets_the_parts_from_the_first_picture_on(tmp_path: Path) -> None:
    shelf, text = Shelf(tmp_path, VALUES), text_of()
    run(shelf, text)
    _, outcome = shelf.look_up("pkg.page", text)
    picture, end = outcome.parts
    assert (picture.title, picture.note) == ("A picture", "Of nothing at all.")
    assert (picture.text, picture.pictures) == ("", (png(5, 3),))
    assert (end.title, end.note, end.text, end.pictures) == ("The end", "", "tiny", ())


def test_the_notes_may_change_and_the_code_may_not(tmp_path: Path) -> None:
    shelf = Shelf(tmp_path, VALUES)
    run(shelf, text_of())
    assert shelf.has("pkg.page", text_of(PAGE.replace("It counts.", "It counts on.")))
    assert not shelf.has("pkg.page", text_of(PAGE.replace("range(n)", "range(n + 1)")))


def test_other_values_are_another_run(tmp_path: Path) -> None:
    run(Shelf(tmp_path, VALUES), text_of())
    assert not Shelf(tmp_path, VALUES | {"n": 4}).has("pkg.page", text_of())
    assert Shelf(tmp_path, VALUES | {"another": 4}).has("pkg.page", text_of())


@pytest.mark.parametrize("what", ["python", "package", "tool"])
def test_with_another_version_it_is_another_run(
    what: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    page = PAGE.replace("import json", "import json\nimport numpy".replace("\n", "\n    "))
    page = page.replace("json.dumps(", "str(numpy.ones(1)) + json.dumps(")
    shelf, text = Shelf(tmp_path, VALUES), text_of(page)
    run(shelf, text)
    assert shelf.has("pkg.page", text)
    another = tmp_path / "tool.py"
    another.write_text("another")
    change = {
        "python": (executed.platform, "python_version", lambda: "4.0.0"),
        "package": (executed, "_installed", {"numpy": "99"}.get),
        "tool": (executed, "TOOLS", [another]),
    }[what]
    monkeypatch.setattr(*change)
    assert not shelf.has("pkg.page", text)


@pytest.mark.parametrize("kept", ["", "{}", '{"key": 1, "measured": []}', "[[]]"])
def test_what_can_t_be_read_is_not_there(kept: str, tmp_path: Path) -> None:
    shelf, text = Shelf(tmp_path, VALUES), text_of()
    run(shelf, text)
    (file,) = (tmp_path / "executed").iterdir()
    file.write_text(kept)
    assert shelf.look_up("pkg.page", text) is None


def test_outputs_of_another_number_of_cells_are_not_there(tmp_path: Path) -> None:
    shelf, text = Shelf(tmp_path, VALUES), text_of()
    run(shelf, text)
    (file,) = (tmp_path / "executed").iterdir()
    kept = json.loads(file.read_text())
    file.write_text(json.dumps(kept | {"measured": kept["measured"][1:]}))
    assert shelf.look_up("pkg.page", text) is None


def test_what_differs_between_two_runs_is_left_out() -> None:
    outputs = [
        new_output("stream", name="stdout", text="step 1: 12,345 tok"),
        new_output("stream", name="stderr", text="10%|#   | 1/10"),
        new_output("stream", name="stdout", text="ens a second, loss 2.5\n3.1 it/s\n"),
        new_output("execute_result", data={"text/plain": "<Legend at 0x7f00ab>"}),
        new_output("display_data", data={"text/html": "<b>1</b>"}),
        new_output("stream", name="stdout", text="8 tokens, 2 a second time\n"),
    ]
    assert list(tidy(outputs)) == [
        {
            "output_type": "stream",
            "name": "stdout",
            "text": "step 1: … tokens a second, loss 2.5\n… it/s\n",
        },
        {"output_type": "display_data", "data": {"text/plain": "<Legend>"}, "metadata": {}},
        {"output_type": "stream", "name": "stdout", "text": "8 tokens, 2 a second time\n"},
    ]
