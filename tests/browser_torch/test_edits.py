r"""A sample of edited pages fails, or doesn't, as with PyTorch; `edits.py` runs 2,000 of them."""

from tests.browser_torch.edits import edits_of, outcomes, pages, verdict
from tests.browser_torch.worlds import PYTORCH, STAND_IN


def test_edited_pages_give_the_same_values_or_errors() -> None:
    edits = [one for path in pages(13) for one in edits_of(path, 5, seed=1)]
    both = zip(edits, outcomes(STAND_IN, edits), outcomes(PYTORCH, edits), strict=True)
    said = [(edit.module, edit.what, verdict(one, other)) for edit, one, other in both]
    assert [one for one in said if one[2] != "same"] == []
    assert len(said) == 65
