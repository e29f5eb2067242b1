from pathlib import Path

import pytest

from labml_nn.training.engine.errors import InputError
from labml_nn.training.engine.history import read_history, recording

POINTS = [(step, {"loss.train": 1 / step, "seconds": 0.1 * step}) for step in (3, 6, 9, 12)]


def write(run: Path, points: list[tuple[int, dict[str, float]]], step: int = 99) -> None:
    with recording(run, step) as record:
        for point in points:
            record(*point)


def test_a_point_is_on_the_disk_when_it_is_recorded_with_the_same_bits(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(InputError, match="cannot write .*history.jsonl: "):
        write(tmp_path / "file", POINTS)
    for number, point in enumerate(POINTS):
        assert read_history(tmp_path) == POINTS[:number]
        with recording(tmp_path, 99) as record:
            record(*point)
            assert read_history(tmp_path) == POINTS[: number + 1]


@pytest.mark.parametrize(("step", "left"), [(0, 0), (2, 0), (3, 1), (8, 2), (9, 3), (99, 4)])
def test_what_came_later_goes_when_a_run_goes_on(tmp_path: Path, step: int, left: int) -> None:
    write(tmp_path, POINTS)
    write(tmp_path, [], step)
    assert read_history(tmp_path) == POINTS[:left]
    write(tmp_path, POINTS[left:])
    assert read_history(tmp_path) == POINTS


@pytest.mark.parametrize("cut", [1, 5, 30])
def test_half_a_line_is_none(tmp_path: Path, cut: int) -> None:
    write(tmp_path, POINTS)
    path = tmp_path / "history.jsonl"
    path.write_bytes(path.read_bytes()[:-cut])
    assert read_history(tmp_path) == POINTS[:3]
    write(tmp_path, POINTS[3:], 12)
    assert read_history(tmp_path) == POINTS
