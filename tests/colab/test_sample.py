r"""Ten notebooks run as in Colab, wherever `make colab` has made the environment for it."""

import os
import subprocess
from pathlib import Path

import pytest


def test_ten_notebooks_run_with_the_packages_of_colab(repository: Path) -> None:
    if not (repository / ".colab/made").exists():
        pytest.skip("`make colab` makes the environment, of half a gigabyte, once")
    done = subprocess.run(
        [".colab/bin/python", "-W", "ignore", "-m", "tests.colab", "--sample", "--processes", "1"],
        cwd=repository,
        env={**os.environ, "PYDEVD_DISABLE_FILE_VALIDATION": "1"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.endswith("0 of 10 failed\n")
