from pathlib import Path

import pytest

from labml_nn.training.engine.errors import InputError
from labml_nn.training.engine.files import replacing, writing


def test_the_new_file_takes_the_place_of_the_old(tmp_path: Path) -> None:
    path = tmp_path / "folder" / "file"
    with replacing(path) as temporary:
        temporary.write_text("old")
    # A program that reads the old file meanwhile reads it to the end.
    with path.open() as reader:
        with replacing(path) as temporary:
            temporary.write_text("new")
        assert reader.read() == "old"
    assert path.read_text() == "new"
    assert list(path.parent.iterdir()) == [path]


def test_what_goes_wrong_while_writing_leaves_the_old_file_alone(tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_text("old")
    for error in (KeyboardInterrupt, RuntimeError):
        with pytest.raises(error), replacing(path) as temporary:
            temporary.write_text("half of the n")
            assert path.read_text() == "old"
            raise error
        assert path.read_text() == "old"
        assert list(tmp_path.iterdir()) == [path]


def test_a_file_that_cannot_be_written_is_named_with_what_is_known(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("kept")
    path = tmp_path / "file" / "inside"
    with pytest.raises(InputError, match=f"^cannot write {path}: "), replacing(path) as temporary:
        temporary.write_text("never")
    assert (tmp_path / "file").read_text() == "kept"
    with pytest.raises(InputError, match="cannot write .*: the disk is gone"), writing(tmp_path):
        raise OSError("the disk is gone")
