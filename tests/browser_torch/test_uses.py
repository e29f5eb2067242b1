r"""What people type is found in their sources, and what of it runs is said truly."""

from collections import Counter
from pathlib import Path

from tests.browser_torch.uses import ROOT, counted, files_of, judged, uses_of

PAGE = """
import torch
from torch import nn
import torch.nn.functional as F

layer = nn.Linear(2, 3, bias=False)
torch.fx.symbolic_trace(layer)
torch.ones(2, softly=True)
F.softmax(scores.masked_fill(mask, 0), dim=-1)
"a b".split(" ")
options.dropout
"""

BOOK = """
```{.python .input}
%%tab pytorch
import torch
x.argmax(dim=1)
```

```{.python .input}
%%tab tensorflow
x.softmax()
```
"""


def test_uses_are_found_and_judged(tmp_path: Path) -> None:
    page, book = tmp_path / "page.py", tmp_path / "book.md"
    page.write_text(PAGE)
    book.write_text(BOOK)
    found = Counter(use for path in (page, book) for use in uses_of(path))
    assert found == {
        ("torch.nn.Linear", ("bias",)): 1,
        ("torch.fx.symbolic_trace", ()): 1,
        ("torch.ones", ("softly",)): 1,
        ("torch.nn.functional.softmax", ("dim",)): 1,
        (".masked_fill", ()): 1,
        (".argmax", ("dim",)): 1,
    }
    runs = judged(found)
    # No PyTorch takes `softly`, and a graph of operations is nothing that a page has.
    assert {use for use in found if use not in runs} == {("torch.ones", ("softly",))}
    assert [use for use, ran in runs.items() if not ran] == [("torch.fx.symbolic_trace", ())]
    assert counted(found, runs) == {"uses": 5, "run": 4, "here": 4, "here_run": 4}


def test_what_a_gallery_has_built_of_a_source_is_not_counted_again(tmp_path: Path) -> None:
    for name in ("tutorial.py", "docs/_downloads/1f/tutorial.py", "docs/_downloads/2e/t.ipynb"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(PAGE)
    assert files_of(tmp_path) == [tmp_path / "tutorial.py"]


def test_nearly_all_uses_of_the_lessons_run() -> None:
    paths = sorted((ROOT / "labml_nn").rglob("*.py"))
    found = Counter(use for path in paths for use in uses_of(path))
    row = counted(found, judged(found))
    assert row["uses"] > 3000
    assert row["run"] >= 0.98 * row["uses"]
