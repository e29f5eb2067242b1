r"""What is there passes the samples by which PyTorch tests itself."""

import json

import pytest

from tests.browser_torch.samples import RECORD, rows

# One of each kind: elementwise, a reduction, views, products, indices, random numbers, modules.
SAMPLE = (
    "add logsumexp permute chunk mm __getitem__ nn.functional.dropout nn.functional.silu "
    "nn.functional.softmax nn.GELU nn.Linear nn.SiLU"
).split()


def test_some_names_pass_all_samples_of_pytorch() -> None:
    found = {row.name: (row.passed, row.of, row.differences) for row in rows(SAMPLE)}
    assert [one for one in found.items() if one[1][2]] == []
    assert set(found) == set(SAMPLE)
    assert min(of for _, of, _ in found.values()) >= 3


@pytest.mark.whole
def test_each_name_passes_as_many_samples_as_recorded() -> None:
    recorded = {name: passed for name, passed, _ in json.loads(RECORD.read_text())}
    found = {row.name: row for row in rows([])}
    assert set(recorded) <= set(found)
    fewer = {
        name: found[name].differences
        for name, passed in recorded.items()
        if found[name].passed < passed
    }
    assert fewer == {}
