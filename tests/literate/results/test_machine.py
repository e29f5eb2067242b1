r"""What is said of the machine that ran something."""

from pathlib import Path

from literate.results.machine import processor


def test_the_processor_has_the_name_that_its_maker_gives_or_at_least_a_kind(tmp_path: Path) -> None:
    information = tmp_path / "cpuinfo"
    assert processor(information)
    for text in ("", "processor : 0\n", "model name :\n"):
        information.write_text(text)
        assert processor(information)
    information.write_text("processor : 0\nmodel name\t: A  Good\tProcessor \nmodel name: B\n")
    assert processor(information) == "A Good Processor"
