r"""The workflow that the gate prints, and what its steps do in a shell."""

import os
import subprocess
from importlib import metadata
from pathlib import Path
from types import SimpleNamespace

import pytest
import yaml

from wrongline import leak_gate

GATE = """#!/bin/sh
printf '%s\\n' "$@" > told
echo 'a table' > verdicts.md
exit 1
"""


def steps(job: str, text: str) -> list[dict[str, str]]:
    return yaml.safe_load(text)["jobs"][job]["steps"]


def test_the_code_of_a_pull_request_can_write_nothing() -> None:
    told = yaml.safe_load(leak_gate.workflow("train.py:GPT", "wrongline"))
    assert told["permissions"] == {"contents": "read"}
    assert told["env"]["MODEL"] == "train.py:GPT"
    can_write = [name for name, job in told["jobs"].items() if "permissions" in job]
    assert can_write == ["comment"]
    # That job runs nothing of the pull request.
    assert not [one for one in told["jobs"]["comment"]["steps"] if "checkout" in str(one)]
    assert told["jobs"]["gate"]["if"] == "always()"
    assert "@@" not in str(told)


def test_its_steps_keep_the_status_and_the_verdicts(tmp_path: Path) -> None:
    text = leak_gate.workflow("train.py:GPT", "wrongline")
    fake = tmp_path / "bin/wrongline"
    fake.parent.mkdir()
    fake.write_text(GATE)
    fake.chmod(0o755)
    given = {
        "PATH": f"{fake.parent}:{os.environ['PATH']}",
        "GITHUB_STEP_SUMMARY": "summary",
        "GITHUB_OUTPUT": "output",
        **yaml.safe_load(text)["env"],
        "ARGUMENTS": "dict(n_vocab=64, d=32)",
    }
    (run,) = (one["run"] for one in steps("test", text) if one.get("id") == "gate")
    subprocess.run(["bash", "-e", "-c", run], cwd=tmp_path, env=given, check=True)
    assert (tmp_path / "output").read_text() == "status=1\n"
    assert (tmp_path / "summary").read_text() == "a table\n"
    told = (tmp_path / "told").read_text().splitlines()
    expected = ["train.py:GPT", "--definitions", "--arguments", "dict(n_vocab=64, d=32)"]
    assert told == [*expected, "--markdown", "verdicts.md"]
    # A job that ended before hasn't passed.
    (last,) = (one["run"] for one in steps("gate", text))
    for status, expected_code in (("0", 0), ("1", 1), ("", 2)):
        done = subprocess.run(["bash", "-c", last], env=given | {"STATUS": status})
        assert done.returncode == expected_code


@pytest.mark.parametrize(
    ("told", "expected"),
    [
        (None, "wrongline==1.2.3"),
        # Somebody else may own the name at PyPI.
        ('{"url": "file:///a", "dir_info": {}}', ""),
        (
            '{"url": "https://example.org/a/b", "subdirectory": "wrongline", '
            '"vcs_info": {"vcs": "git", "commit_id": "c0ffee"}}',
            "wrongline @ git+https://example.org/a/b@c0ffee#subdirectory=wrongline",
        ),
    ],
)
def test_pip_installs_there_what_is_here(
    told: str | None, expected: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = SimpleNamespace(read_text=lambda name: told, version="1.2.3")
    monkeypatch.setattr(leak_gate, "distribution", lambda name: found)
    assert leak_gate.requirement() == expected


def test_the_command_prints_it_or_says_what_it_needs(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "a.py").touch()

    def unknown(name: str) -> None:
        raise metadata.PackageNotFoundError

    monkeypatch.setattr(leak_gate, "distribution", unknown)
    assert leak_gate.main(["a.py:B", "wrongline @ git+https://example.org/a"]) == 0
    printed = capsys.readouterr().out
    assert 'MODEL: "a.py:B"\n' in printed
    assert 'WRONGLINE: "wrongline @ git+https://example.org/a"\n' in printed
    assert leak_gate.main(["a.py:B"]) == 2
    assert "say where it is installed from" in capsys.readouterr().err
    assert leak_gate.main(["a.py"]) == 2
    assert "say the model" in capsys.readouterr().err
    assert leak_gate.main(["missing.py:B", "wrongline==1"]) == 2
    assert "there is no file missing.py here" in capsys.readouterr().err
    assert leak_gate.main(["--help"]) == 0
    assert "[REQUIREMENT] > .github/workflows/leak_gate.yml" in capsys.readouterr().out


def test_what_is_said_stays_a_text_in_the_workflow() -> None:
    said = 'a "b" #c: d.py:E'
    told = yaml.safe_load(leak_gate.workflow(said, 'w @ git+https://h/"x"'))["env"]
    assert told["MODEL"] == said
    assert told["WRONGLINE"] == 'w @ git+https://h/"x"'
