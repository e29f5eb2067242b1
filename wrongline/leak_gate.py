r"""
---
title: The Leak Gate
summary: One file for a repository, so that every pull request is told whether its model cheats.
---

A loss that is too good to be true is often not true. [Three ways to
train](https://github.com/karpathy/nanochat/issues/844) reached 0.0018 to 0.077 bits for each byte,
because the model saw what it should predict. A competition has [an issue that collects
such](https://github.com/openai/parameter-golf/issues/677) submissions, many of them written by
agents that were told to make one number small. The loss doesn't show it, and nobody reads every
line of every pull request.

So let a machine ask, before anything is trained. This prints a workflow for GitHub:

```sh
python -m wrongline.leak_gate train.py:GPT > .github/workflows/leak_gate.yml
```

**In:** the name of a model, as for [the command](command.py), and, if pip doesn't know it, from
where this package is installed. **Out:** a file. Each pull request
then gets a comment with all verdicts: what is wrong, and also what couldn't be tried, so that
nobody takes silence for a pass. The code of the pull request runs in a job that can't write
anything; the comment is made by another.

Two of the three leaks hide from a short text. [Their
page](../labml_nn/transformers/mistakes/published_leaks.py) shows how, and that all are found.
"""

import json
import sys
from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path

# What stands between double at signs is filled in.
WORKFLOW = """\
# The leak gate: each pull request gets a comment that says what is wrong with the model, and what
# couldn't be tried.
name: leak gate

on: pull_request

permissions:
  contents: read

env:
  # A file and a class, or a function that makes a model.
  MODEL: @@MODEL@@
  # Its arguments, if they can't be guessed: dict(n_vocab=64, d_model=32)
  ARGUMENTS: ""
  # A train.py trains when it is imported. So only its imports, functions, classes and plain
  # values are run; for a file that can be imported as it is, leave this empty.
  DEFINITIONS: --definitions
  WRONGLINE: @@INSTALLED@@

jobs:
  # The code of the pull request runs here, with no right to write anything.
  test:
    runs-on: ubuntu-latest
    timeout-minutes: 20
    outputs:
      status: ${{ steps.gate.outputs.status }}
    steps:
      - uses: actions/checkout@v6
        with:
          persist-credentials: false
      - uses: actions/setup-python@v6
        with:
          python-version: "3.12"
      - run: pip install torch numpy --extra-index-url https://download.pytorch.org/whl/cpu
      - run: if [ -f requirements.txt ]; then pip install -r requirements.txt; fi
      - run: pip install "$WRONGLINE"
      - id: gate
        run: |
          status=0
          wrongline "$MODEL" $DEFINITIONS ${ARGUMENTS:+--arguments "$ARGUMENTS"} \\
            --markdown verdicts.md || status=$?
          cat verdicts.md >> "$GITHUB_STEP_SUMMARY"
          echo "status=$status" >> "$GITHUB_OUTPUT"
      - uses: actions/upload-artifact@v5
        with:
          name: verdicts
          path: verdicts.md

  # A pull request from a fork can't be commented on: its verdicts are in the summary of the first
  # job.
  comment:
    needs: test
    if: github.event.pull_request.head.repo.full_name == github.repository
    runs-on: ubuntu-latest
    permissions:
      pull-requests: write
    steps:
      - uses: actions/download-artifact@v6
        with:
          name: verdicts
      - run: gh pr comment "$PULL" --edit-last --create-if-none --body-file verdicts.md
        env:
          GH_TOKEN: ${{ github.token }}
          GH_REPO: ${{ github.repository }}
          PULL: ${{ github.event.pull_request.number }}

  # 0: nothing is wrong; 1: something is; 2: the model couldn't be run.
  gate:
    needs: test
    if: always()
    runs-on: ubuntu-latest
    steps:
      # A job that didn't get so far hasn't passed.
      - run: exit "${STATUS:-2}"
        env:
          STATUS: ${{ needs.test.outputs.status }}
"""


CALL = "python -m wrongline.leak_gate train.py:GPT"
HELP = f"""\
{CALL} [REQUIREMENT] > .github/workflows/leak_gate.yml

Prints a workflow of GitHub that tests the model of each pull request. Run it in the repository's
root. REQUIREMENT is what pip is told there, if pip doesn't know here where wrongline came from."""


def requirement() -> str:
    r"""
    ## What pip is to install there

    The same as here: pip has written down where it came from. Empty if that is a folder of this
    machine, or if it came with something else.
    """
    try:
        known = distribution("wrongline")
    except PackageNotFoundError:
        return ""
    told = known.read_text("direct_url.json")
    # From an index: there the version is enough.
    if told is None:
        return f"wrongline=={known.version}"
    origin = json.loads(told)
    if "vcs_info" not in origin:
        return ""
    commit = origin["vcs_info"]["commit_id"]
    folder = origin.get("subdirectory", "")
    place = f"#subdirectory={folder}" if folder else ""
    return f"wrongline @ git+{origin['url']}@{commit}{place}"


def workflow(model: str, installed: str) -> str:
    r"""
    ## The workflow

    `model` is a file and a class, and `installed` is what pip is told.
    """
    # JSON's quotes are YAML's: a colon, a space or a quote within is no end.
    told = WORKFLOW.replace("@@MODEL@@", json.dumps(model))
    return told.replace("@@INSTALLED@@", json.dumps(installed))


def main(arguments: list[str] | None = None) -> int:
    r"""
    ## Print it
    """
    said = sys.argv[1:] if arguments is None else arguments
    if {"-h", "--help"} & {*said}:
        print(HELP)
        return 0
    if not 1 <= len(said) <= 2 or ":" not in said[0]:
        print(f"say the model: {CALL}", file=sys.stderr)
        return 2
    place = said[0].rpartition(":")[0]
    if place.endswith(".py") and not Path(place).is_file():
        print(f"there is no file {place} here: name it from the repository's root", file=sys.stderr)
        return 2
    installed = said[1] if len(said) == 2 else requirement()
    # A name alone would be looked up at PyPI, where it may be somebody else's.
    if not installed:
        sentence = (
            "say where it is installed from, too, since pip doesn't know it here: "
            f"python -m wrongline.leak_gate {said[0]} "
            '"wrongline @ git+ADDRESS#subdirectory=wrongline"'
        )
        print(sentence, file=sys.stderr)
        return 2
    print(workflow(said[0], installed), end="")
    return 0


if __name__ == "__main__":
    sys.exit(main())
