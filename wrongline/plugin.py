r"""
---
title: With Pytest
summary: A model is one more test of pytest, and what couldn't be tried is listed at the end.
---

```sh
pytest --wrongline model.py:GPT
```

Or for every run, in the settings of pytest, such as “pyproject.toml”:

```toml
[tool.pytest.ini_options]
wrongline = ["model.py:GPT", "transformers:RoFormerForCausalLM"]
```

Each is one test, named as [the command](command.py) names it. It fails if something is wrong, with
[all verdicts](verdicts.py). What wasn't tried is no failure, and it isn't silent either: it is
listed below the tests. `--wrongline-strict` makes it a failure.

pytest finds this page by itself, once the package is installed. If it came with the whole
repository, say `-p wrongline.plugin` as well.
"""

from pathlib import Path
from typing import Any

import pytest

from wrongline.verdicts import NOT_TRIED, complain

# What a report carries, also from another process.
CARRIED = "wrongline: not tried"


def pytest_addoption(parser: pytest.Parser) -> None:
    r"""
    ## The options
    """
    group = parser.getgroup("wrongline", "test models before they are trained")
    name = {"action": "append", "default": [], "metavar": "FILE:NAME"}
    group.addoption("--wrongline", help="a model or an attention; also MODULE:NAME", **name)
    strict = "what couldn't be tried fails, too"
    group.addoption("--wrongline-strict", action="store_true", help=strict)
    parser.addini("wrongline", "what every run tests, as by --wrongline", type="linelist")


class NotRunError(Exception):
    r"""
    ## The model can't be made
    """


def beside_settings(wanted: str, config: pytest.Config) -> str:
    r"""
    ## A file that the settings name

    It is found from where the settings are, wherever pytest is started. A name that Python imports
    stays as it is.
    """
    place, _, name = wanted.rpartition(":")
    if config.inipath is None or not place.endswith(".py"):
        return wanted
    folder = config.inipath.parent
    return wanted if folder == Path.cwd() else f"{folder / place}:{name}"


class ModelTest(pytest.Item):
    r"""
    ## One model
    """

    def __init__(self, *, wanted: str, **others: Any) -> None:
        r"""
        `wanted` is its name, and the other arguments are those of pytest.
        """
        super().__init__(**others)
        self.wanted = wanted

    def runtest(self) -> None:
        r"""
        ### Test it
        """
        # Every pytest of this environment reads this page, so PyTorch is imported here only.
        import torch

        from wrongline.command import judge, why_not

        # Other tests keep their random numbers.
        with torch.random.fork_rng(devices=[]):
            # The command would print this sentence, and nothing was tested.
            try:
                found, _ = judge(self.wanted)
            except Exception as error:
                raise NotRunError(why_not(error)) from error
        left = [one for one in found.verdicts if one.kind == NOT_TRIED]
        self.user_properties.append((CARRIED, [one.line() for one in left]))
        complain(found)
        if left and self.config.getoption("--wrongline-strict"):
            pytest.fail(f"{len(left)} of the tests weren't tried:\n{found.table}", pytrace=False)

    def repr_failure(self, excinfo: pytest.ExceptionInfo[BaseException], style: Any = None) -> Any:
        r"""
        ### What is told if it fails

        The verdicts alone: the lines on the way there are those of this package.
        """
        if isinstance(excinfo.value, AssertionError | NotRunError):
            return str(excinfo.value)
        return super().repr_failure(excinfo, style)

    def reportinfo(self) -> tuple[str, int | None, str]:
        r"""
        ### What it is called
        """
        return self.wanted.rpartition(":")[0], None, f"wrongline: {self.wanted}"


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(
    session: pytest.Session, config: pytest.Config, items: list[pytest.Item]
) -> None:
    r"""
    ## Add the models to the tests

    Before others choose among them, by `-k` for instance.
    """
    set_so = [beside_settings(one, config) for one in config.getini("wrongline")]
    named = [*set_so, *config.getoption("--wrongline")]
    for wanted in dict.fromkeys(named):
        items.append(ModelTest.from_parent(session, name=f"wrongline[{wanted}]", wanted=wanted))


def pytest_terminal_summary(terminalreporter: Any) -> None:
    r"""
    ## List what wasn't tried
    """
    told = [
        (one.nodeid, line)
        for reports in terminalreporter.stats.values()
        for one in reports
        if getattr(one, "when", "") == "call"
        for name, lines in one.user_properties
        if name == CARRIED
        for line in lines
    ]
    if told:
        terminalreporter.section("wrongline: not tried")
    for name in dict.fromkeys(name for name, _ in told):
        terminalreporter.line(name)
        for other, line in told:
            if other == name:
                terminalreporter.line(f"  {line}")
