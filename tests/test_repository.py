r"""What the repository promises a reader holds together: commands, versions, pins."""

import json
import re
import shutil
import socket
import subprocess
import sys
from importlib import metadata
from pathlib import Path

import pytest
import yaml
from hypothesis.internal.conjecture.providers import HypothesisProvider
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from tests.setup_py import facts, requirements
from tests.slices import SLICES

ROOT = Path(__file__).resolve().parents[1]


def text_of(path: str) -> str:
    r"""The text of a file, named by its path in the repository."""
    return (ROOT / path).read_text(encoding="utf-8")


def files() -> list[Path]:
    r"""The files that git tracks or would track, as paths relative to the repository."""
    listed = subprocess.run(
        # A folder that belongs to another user, as in a container, is fine here.
        ["git", "-c", "safe.directory=*", "ls-files", "-z", "-co", "--exclude-standard"],
        cwd=ROOT,
        check=True,
        capture_output=True,
    ).stdout.decode()
    found = {Path(name) for name in listed.split("\0") if name}
    assert Path("setup.py") in found
    return sorted(path for path in found if (ROOT / path).is_file())


def copied(folder: Path) -> None:
    r"""Copy those files to another folder."""
    for path in files():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(ROOT / path, folder / path)


def targets() -> dict[str, str]:
    r"""The targets of the Makefile that have a description, with the description."""
    return dict(re.findall(r"^([a-z-]+):.*## (.+)$", text_of("Makefile"), re.MULTILINE))


def commands(markdown: str) -> list[str]:
    r"""The lines of the code blocks for a shell, without their comments."""
    blocks = re.findall(r"^```sh\n(.*?)^```", markdown, re.MULTILINE | re.DOTALL)
    lines = [line.partition(" #")[0].strip() for block in blocks for line in block.splitlines()]
    return [line for line in lines if line]


def pins() -> dict[str, str]:
    r"""The version that constraints.txt gives each package."""
    lines = text_of("constraints.txt").splitlines()
    split = [line.split("==") for line in lines if line and not line.startswith("#")]
    return {canonicalize_name(name): version for name, version in split}


def every_requirement() -> list[Requirement]:
    r"""What the library requires, and the extras that the tests have."""
    return [one for extra in facts()["extras_require"] for one in requirements(extra)]


def test_no_file_but_the_text_and_weights_is_large() -> None:
    text = Path("labml_nn/training/tiny_shakespeare.txt")
    sizes = {path: (ROOT / path).stat().st_size for path in files()}
    weights = {path for path in sizes if path.match("results/weights/*.safetensors")}
    assert {path for path, size in sizes.items() if size > 600_000} - weights == {text}
    assert weights and max(sizes[path] for path in weights) <= 1_000_000


def test_no_file_names_a_place_on_somebodys_machine() -> None:
    place = re.compile(rb"(?<![\w.])/(home|Users|root|tmp|private|work|mnt)/[A-Za-z]")
    named = [
        f"{path}:{number}"
        for path in files()
        for number, line in enumerate((ROOT / path).read_bytes().splitlines(), start=1)
        if place.search(line)
    ]
    assert named == []


def test_no_lock_file_names_a_server() -> None:
    locks = [text_of(str(path)) for path in files() if path.name == "package-lock.json"]
    assert len(locks) == 4
    assert all('"integrity"' in lock and '"resolved"' not in lock for lock in locks)


def test_every_link_of_the_documents_within_the_repository_leads_to_a_file() -> None:
    kept = set(files())
    links = [
        (document, target)
        for document in ["README.md", "CONTRIBUTING.md", "RULES.md", "CHANGELOG.md"]
        for target in re.findall(r"(?<!`)\[[^]]*\]\(([^)#:]+)\)", text_of(document))
    ]
    assert links
    assert [link for link in links if Path(link[1]) not in kept] == []


def test_every_make_command_that_the_readme_or_a_workflow_names_exists_and_is_explained() -> None:
    (phony,) = re.findall(r"^\.PHONY: (.+)$", text_of("Makefile"), re.MULTILINE)
    assert set(phony.split()) == set(targets())
    text = text_of("README.md")
    typed = [*commands(text), *re.findall(r"`([^`\n]+)`", text)]
    named = {line.split()[1] for line in typed if line.startswith("make ")}
    assert {"site", "test"} <= named <= set(targets())
    for workflow in ("test", "pages", "release", "whole"):
        jobs = yaml.safe_load(text_of(f".github/workflows/{workflow}.yml"))["jobs"]
        # A job that is a workflow has no steps of its own.
        every = [step for job in jobs.values() for step in job.get("steps", ())]
        steps = {step["run"] for step in every if "run" in step}
        assert steps
        assert steps <= {f"make {target}" for target in targets()}


@pytest.mark.parametrize(("workflow", "last"), [("pages", "deploy"), ("release", "publish")])
def test_nothing_is_published_before_all_tests_have_passed(workflow: str, last: str) -> None:
    jobs = yaml.safe_load(text_of(f".github/workflows/{workflow}.yml"))["jobs"]
    assert jobs[last]["needs"] == "build"
    needed = jobs["build"]["needs"]
    assert "test" in ([needed] if isinstance(needed, str) else needed)
    assert jobs["test"]["uses"] == "./.github/workflows/test.yml"
    # `on` is read as a truth.
    assert "workflow_call" in yaml.safe_load(text_of(".github/workflows/test.yml"))[True]


def test_one_job_may_write_and_runs_no_notebook_and_the_site_leads_to_what_it_has_pushed() -> None:
    workflow = yaml.safe_load(text_of(".github/workflows/pages.yml"))
    jobs = workflow["jobs"]
    assert workflow["permissions"] == {"contents": "read"}
    writers = [name for name, job in jobs.items() if "write" in str(job.get("permissions", ""))]
    assert writers == ["push", "deploy"]
    assert jobs["push"]["permissions"] == {"contents": "write"}
    assert [step["run"] for step in jobs["push"]["steps"] if "run" in step] == ["make push"]
    assert jobs["push"]["needs"] == ["test", "run"]
    # Whatever becomes of the notebooks, a site that has passed is published.
    for name, needed in (("build", "test"), ("deploy", "build")):
        asked = f"${{{{ !cancelled() && needs.{needed}.result == 'success' }}}}"
        assert jobs[name]["if"] == asked
    told = {
        (name, step["run"]): step["env"]["NOTEBOOKS_BRANCH"]
        for name, job in jobs.items()
        for step in job.get("steps", ())
        if "run" in step and "NOTEBOOKS_BRANCH" in step.get("env", {})
    }
    pushed = "${{ needs.push.result == 'success' && 'notebooks' || '' }}"
    assert told == {("run", "make published"): "notebooks", ("build", "make site"): pushed}
    made = [step for step in jobs["run"]["steps"] if step.get("with", {}).get("ref")]
    assert [step["with"]["ref"] for step in made] == ["notebooks"]


def test_what_is_pushed_is_one_commit_of_the_published_notebooks_alone(tmp_path: Path) -> None:
    def git(*arguments: str, folder: Path = tmp_path / "clone") -> str:
        done = subprocess.run(["git", *arguments], cwd=folder, capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
        return done.stdout.strip()

    remote, clone = tmp_path / "remote.git", tmp_path / "clone"
    git("init", "--quiet", "--bare", str(remote), folder=tmp_path)
    git("clone", "--quiet", str(remote), str(clone), folder=tmp_path)
    for name in ("a", "b"):
        (clone / "published/notebooks").mkdir(parents=True, exist_ok=True)
        (clone / f"published/notebooks/{name}.ipynb").write_text(name, encoding="utf-8")
        shutil.copy(ROOT / "Makefile", clone)
        subprocess.run(["make", "push"], cwd=clone, check=True, capture_output=True)
    tree = git("ls-tree", "-r", "--name-only", "notebooks", folder=remote)
    assert tree.splitlines() == ["notebooks/a.ipynb", "notebooks/b.ipynb"]
    assert git("rev-list", "--count", "notebooks", folder=remote) == "1"
    # What is there to be committed is as it was.
    assert git("status", "--porcelain").splitlines() == ["?? Makefile", "?? published/"]


def test_the_readme_says_in_ten_lines_how_to_publish() -> None:
    (section,) = re.findall(r"(?ms)^## Publish\n(.*?)^## ", text_of("README.md"))
    assert len([line for line in section.splitlines() if line.strip()]) <= 10
    named = [name for name in re.findall(r"`([\w.]+\.(?:yml|py|cff))`", section)]
    assert {"pages.yml", "release.yml", "setup.py", "CITATION.cff"} <= set(named)
    known = {path.name for path in files()}
    assert set(named) <= known


def test_a_citation_is_of_the_version_that_is_published() -> None:
    cited = yaml.safe_load(text_of("CITATION.cff"))
    own = facts()
    assert (cited["version"], cited["license"]) == (own["version"], own["license"])
    assert [one["name"] for one in cited["authors"]] == [own["author"]]
    assert f"Copyright (c) 2026 {own['author']}\n" in text_of("LICENSE")
    # And so is what Zenodo says of it beside its DOI.
    deposited = json.loads(text_of(".zenodo.json"))
    assert deposited["creators"] == cited["authors"]
    assert {deposited[key] == cited[key] for key in ("title", "version", "license")} == {True}
    assert deposited["description"] == cited["abstract"]


def test_forms_for_issues_and_dependabot_can_be_read() -> None:
    for path in sorted((ROOT / ".github/ISSUE_TEMPLATE").glob("[!c]*.yml")):
        form = yaml.safe_load(path.read_text(encoding="utf-8"))
        assert form["name"] and form["description"], path
        assert [one["attributes"]["label"] for one in form["body"]], path
    watched = yaml.safe_load(text_of(".github/dependabot.yml"))["updates"]
    folders = [place for one in watched for place in one.get("directories", [])]
    locks = {path.parent.as_posix() for path in files() if path.name == "package-lock.json"}
    assert {place.strip("/") or "." for place in folders} == locks


def test_continuous_integration_types_the_command_for_tests_that_the_readme_gives() -> None:
    lines = [line.partition("#")[0].strip() for line in text_of(".ci/run").splitlines()]
    typed = [line for line in lines if line and not line.startswith(("set ", "cd "))]
    first, slow = [line.removesuffix(" < /dev/null") for line in typed]
    assert first == "make test"
    assert "make test" in commands(text_of("README.md"))
    # Then the slice of the day, or the next one if this machine lacks what it needs.
    assert slow == 'make whole SLICE="${SLICE:-today}" ARGS=--else-next'
    weekly = yaml.safe_load(text_of(".github/workflows/whole.yml"))["jobs"]["whole"]
    assert weekly["strategy"]["matrix"]["slice"] == SLICES
    assert weekly["env"] == {"SLICE": "${{ matrix.slice }}"}


def test_the_versions_that_are_tried_and_told_are_those_of_setup_py() -> None:
    (torch,) = requirements("torch")
    (tried,) = re.findall(r"(?m)^OLDEST_TORCH := (.*)\.0$", text_of("Makefile"))
    assert str(torch.specifier) == f">={tried}"
    job = yaml.safe_load(text_of(".github/workflows/test.yml"))["jobs"]["oldest"]
    (python,) = [step["with"]["python-version"] for step in job["steps"] if "setup" in str(step)]
    assert facts()["python_requires"] == f">={python}"
    # Colab's, too.
    job = yaml.safe_load(text_of(".github/workflows/test.yml"))["jobs"]["colab"]
    (python,) = [step["with"]["python-version"] for step in job["steps"] if "setup" in str(step)]
    assert f"COLAB_PYTHON ?= python{python}\n" in text_of("Makefile")
    newest, *_ = re.findall(r"^## \[(\d[^]]*)\]", text_of("CHANGELOG.md"), re.MULTILINE)
    assert facts()["version"] == newest


def test_all_that_is_required_or_brought_along_is_pinned_to_a_version_that_is_admitted() -> None:
    pinned = pins()
    for one in every_requirement():
        assert pinned.get(canonicalize_name(one.name)) in one.specifier, one
    # What torch brings along depends on its build: the one for CUDA has libraries of its own.
    waiting = [one.name for one in every_requirement() if one.name != "torch"]
    reached: set[str] = set()
    while waiting:
        name = canonicalize_name(waiting.pop())
        brought = [Requirement(text) for text in metadata.requires(name) or []]
        needed = {one.name for one in brought if not one.marker or one.marker.evaluate()}
        reached.add(name)
        waiting += [one for one in needed - {"torch"} if canonicalize_name(one) not in reached]
    assert "markupsafe" in reached
    assert reached - set(pinned) == set()


def test_lessons_require_torch_alone_and_not_the_package_of_the_same_import_name() -> None:
    assert [one.name for one in requirements("torch")] == ["torch"]
    # Who makes pages of a package needs none.
    assert "install_requires" not in facts()
    assert "torch" not in {one.name for one in requirements("site")}
    names = {canonicalize_name(one.name) for one in every_requirement()} | set(pins())
    assert "labml-nn" not in names | {facts()["name"]}


def test_a_test_cannot_reach_another_machine() -> None:
    with socket.socket() as connection, pytest.raises(AssertionError, match="loopback only"):
        connection.connect(("192.0.2.1", 9))


def test_generated_examples_do_not_depend_on_the_modules_that_are_loaded() -> None:
    # An upgrade may give another name to what the configuration sets.
    provider = HypothesisProvider(None)
    assert "tests.conftest" in sys.modules
    assert [*provider._local_constants.set_for_type("string")] == []
