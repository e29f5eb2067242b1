r"""What holds for every test: the repository's folder, no network, no traces in the home folder."""

import gc
import os
import socket
from collections.abc import Iterator
from pathlib import Path

import hypothesis
import pytest
from filelock import FileLock
from hypothesis.configuration import set_hypothesis_home_dir
from hypothesis.internal.conjecture import providers

from tests.literate.projects import ROOT, purge, succeed
from tests.slices import SLICES, slice_of

# One thread for the sums of a process, and of those that it starts: on tensors as small as those
# of the tests a second one costs more than it gives, and the other core has tests of its own.
os.environ.setdefault("OMP_NUM_THREADS", "1")

# The same examples in every run, none kept on the disk, and no limit of time for one: a slow
# machine is no defect.
hypothesis.settings.register_profile("repository", derandomize=True, database=None, deadline=None)
hypothesis.settings.load_profile("repository")
# Hypothesis also takes strings and numbers from those modules of ours that are loaded. They depend
# on the tests that ran before in the same process: CI saw an example that nobody else had seen.
providers._get_local_constants = lambda: providers._local_constants
# What it does keep goes to the other caches. It is written before the first fixture runs.
set_hypothesis_home_dir(ROOT / ".cache" / "hypothesis")


# It takes longer than any other, in one test: at the end, one process would wait for the other.
LONGEST = "test_contributing.py"


def pytest_addoption(parser: pytest.Parser) -> None:
    r"""For `tests/slices.py`."""
    parser.addoption("--slice", choices=SLICES, help="of the slow tests, those of this slice alone")


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    r"""Files that need the built site come first: one process builds it, and the other has other
    tests meanwhile, instead of waiting for it. The longest test is the first of these."""
    wanted = config.getoption("slice")
    if wanted:
        items[:] = [one for one in items if slice_of(one.nodeid) == wanted]
    waiting = {one.path for one in items if "site" in getattr(one, "fixturenames", ())}
    items.sort(key=lambda one: (one.path not in waiting, one.path.name != LONGEST))


def pytest_sessionfinish(session: pytest.Session) -> None:
    r"""A slice of which this machine lacks everything has run nothing."""
    reporter = session.config.pluginmanager.get_plugin("terminalreporter")
    if session.config.getoption("slice") and reporter and not reporter.stats.get("passed"):
        if session.exitstatus == pytest.ExitCode.OK:
            session.exitstatus = pytest.ExitCode.NO_TESTS_COLLECTED


def pytest_collection_finish() -> None:
    r"""What was imported stays to the end. To look through it for garbage, each time that a test
    has made many objects, is up to a fifth of the work of tests that make many."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(20_000, 20, 20)


@pytest.fixture(scope="session")
def repository() -> Path:
    r"""The folder that holds setup.py."""
    return ROOT


@pytest.fixture(scope="session", autouse=True)
def home_of_its_own(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    r"""Give what the tests run (kernels, plots, browsers) an empty home folder, and no display."""
    home = tmp_path_factory.mktemp("home")
    with pytest.MonkeyPatch.context() as patch:
        for name in [name for name in os.environ if name.startswith("XDG_")]:
            patch.delenv(name)
        patch.setenv("HOME", str(home))
        patch.setenv("MPLCONFIGDIR", str(home / "matplotlib"))
        patch.setenv("MPLBACKEND", "agg")
        yield


@pytest.fixture(autouse=True)
def loopback_only(monkeypatch: pytest.MonkeyPatch) -> None:
    r"""Refuse every connection of this process that leaves the machine."""
    connect = socket.socket.connect

    def guarded(self: socket.socket, address: tuple[str, int] | str | bytes) -> None:
        here = ("127.0.0.1", "::1", "localhost")
        local = self.family not in (socket.AF_INET, socket.AF_INET6) or address[0] in here
        assert local, f"a test connects to {address}: tests use the loopback only"
        connect(self, address)

    monkeypatch.setattr(socket.socket, "connect", guarded)


# Below the root of its host, as a project's pages are at GitHub.
SITE_URL = "https://example.org/sub/"


@pytest.fixture(scope="session")
def site(repository: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    r"""The website, built once for all processes, strictly, as `make site` builds it."""
    shared = tmp_path_factory.getbasetemp()
    if "PYTEST_XDIST_WORKER" in os.environ:
        shared = shared.parent
    folder = shared / "built" / "site"
    with FileLock(shared / "built.lock"):
        if not folder.exists():
            # It is there only when it is complete.
            beside = folder.with_name("unfinished")
            command = ("mkdocs", "build", "--strict", "--site-dir", str(beside))
            succeed(repository, *command, SITE_URL=SITE_URL)
            purge(beside)
            beside.rename(folder)
    return folder
