r"""What the head of a notebook says of packages, minutes and memory."""

from pathlib import Path

from literate.settings import Settings
from literate.takeaway.requirements import said


def test_the_head_says_what_was_counted_and_nothing_else(tmp_path: Path) -> None:
    (tmp_path / "takes.toml").write_text(
        '"p/a.py" = { cores = 2.1, gpu = 0.2, memory = 0.84 }\n"p/b.py" = { cores = 7.6 }\n'
        '"p/d.py" = { cores = 3.2, timed = true }\n'
        '"p/e.py" = { cores = 3.2, gpu = 1.5, memory = 0.1, timed = true }\n'
        '"p/f.py" = { cores = 1, gpu = 2, memory = 0.1, larger = "a.json#values.loss" }\n'
        '"p/g.py" = { cores = 1, gpu = 2, memory = 0.1, larger = "" }\n',
        encoding="utf-8",
    )
    settings = Settings(tmp_path, {}, takes="takes.toml")
    assert said(settings, "p/a.py", ["torch", "matplotlib"]) == (
        "Needs matplotlib and torch. Takes about 2.1 minutes on two cores, or 10 seconds on a "
        "Tesla T4 with 0.8 GiB of its memory, by a count of the operations. In Colab, choose one "
        "under Runtime, Change runtime type."
    )
    assert said(settings, "p/b.py", []) == (
        "Takes about 7.6 minutes on two cores, by a count of the operations."
    )
    assert said(settings, "p/d.py", []) == "Takes about 3.2 minutes on two cores, by a timed run."
    assert said(settings, "p/e.py", []).startswith(
        "Takes about 3.2 minutes on two cores, by a timed run, or 1.5 minutes on a Tesla T4 with "
        "0.1 GiB of its memory, if all but the training takes as long as on the cores."
    )
    # Two minutes in the place of one are no slower GPU.
    choose = "In Colab, choose one under Runtime, Change runtime type."
    larger = said(settings, "p/f.py", [], number=lambda place: f"[1.50]({place})")
    reached = "to a loss of about [1.50](a.json#values.loss)"
    assert larger.endswith(f". On a GPU it trains a larger model, {reached}. {choose}")
    unknown = "On a GPU it trains a larger model, whose loss isn't recorded."
    assert said(settings, "p/g.py", []).endswith(f". {unknown} {choose}")
    # What doesn't train isn't counted.
    runs = f"It runs on a GPU, if there is one. {choose}"
    assert said(settings, "p/c.py", ["torch"], on_gpu=True) == f"Needs torch. {runs}"
    assert said(settings, "p/c.py", ["torch"]) == "Needs torch."
    assert said(Settings(tmp_path, {}), "p/a.py", []) == ""
