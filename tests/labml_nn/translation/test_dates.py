from datetime import date, datetime

import torch

from labml_nn.translation import dates as page
from labml_nn.translation.dates import DatePairs, decode, encode, spell, split

# What Python's own parser makes of each form.
PARSED = ["%d %B %Y", "%B %d, %Y", "%A, %d %B %Y", "%d.%m.%Y", "%m/%d/%Y"]


def test_python_reads_the_same_date_in_each_form() -> None:
    days = torch.randperm(page.N_DAYS, generator=torch.Generator().manual_seed(2))[:500].tolist()
    for day in [0, *days, page.N_DAYS - 1]:
        for form, parsed in enumerate(PARSED):
            source, target = spell(day, form)
            read = datetime.strptime(source, parsed)
            assert read.date() == date.fromisoformat(target)
            # Not only is the day of the week left out by the parser: it is the right one.
            assert form != 2 or read.strftime("%A") == source.split(",")[0]


def test_one_day_in_five_forms() -> None:
    (day,) = (date(1987, 3, 5) - page.FIRST,)
    assert [spell(day.days, form) for form in range(5)] == [
        (source, "1987-03-05")
        for source in (
            "5 March 1987", "March 5, 1987", "Thursday, 5 March 1987", "5.3.1987", "3/5/1987",
        )
    ]  # fmt: skip
    assert [spell(at, 3)[0] for at in (0, page.N_DAYS - 1)] == ["1.1.1900", "31.12.2099"]


def test_texts_become_columns_and_come_back() -> None:
    tokens = encode(["3/5/1987", "5 May 1987"])
    assert tokens.shape == (12, 2)
    assert tokens[0].tolist() == [page.START] * 2
    assert tokens[-1].tolist() == [page.PAD, page.END]
    assert tokens[-3:, 0].tolist() == [page.END, page.PAD, page.PAD]
    assert [decode(column) for column in tokens.t()] == ["3/5/1987", "5 May 1987"]
    assert decode(tokens[:4, 0]) == "3/5"
    assert [page.SYMBOLS[at] for at in (page.PAD, page.START, page.END)] == ["_", "<", ">"]
    assert len(set(page.SYMBOLS)) == len(page.SYMBOLS) == 70


def test_no_day_is_in_both_parts_and_the_parts_are_always_the_same() -> None:
    days, held_out = split()
    assert (len(days), len(held_out)) == (65_744, 7_305)
    assert torch.cat([days, held_out]).sort().values.tolist() == list(range(page.N_DAYS))
    assert held_out[:3].tolist() == [45_458, 71_772, 46_385]


def test_a_batch_depends_on_the_seed_and_the_step_and_has_all_days_and_forms() -> None:
    days = torch.tensor([3, 5, 8])
    source, target = DatePairs(days, 500, seed=1).at(0)
    found = {(decode(a), decode(b)) for a, b in zip(source.t(), target.t(), strict=True)}
    assert found == {spell(day, form) for day in (3, 5, 8) for form in range(5)}
    # Seed and step don't make up for each other.
    pairs, step = DatePairs(days, 7, 2), 2 * 1_000_003 + 3
    assert all(map(torch.equal, pairs.at(3), DatePairs(days, 7, 0).at(step)))
