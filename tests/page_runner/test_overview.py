r"""The page that tells how a page runs tells what is so."""

import re
from pathlib import Path

import page_runner
from literate import settings

ROOT = Path(__file__).resolve().parents[2]


def test_what_is_quoted_stands_in_the_sources() -> None:
    for language, file in (("js", "assets/interpreter.js"), ("python", "exporter.py")):
        (code,) = re.findall(
            rf"```{language}\n(.*?)```", page_runner.__doc__ or "", flags=re.DOTALL
        )
        source = (ROOT / "page_runner" / file).read_text("utf-8")
        assert [line for line in code.splitlines() if line not in source] == []


def test_each_attention_runs_or_is_listed_with_the_reason() -> None:
    runs = {page for pages in settings.load(ROOT).page_models["models"].values() for page in pages}
    listed = set(re.findall(r"\]\(\.\./(labml_nn/[\w/]+\.py)\)", page_runner.__doc__ or ""))
    folders = ("positions", "memory", "variants", "ways")
    pages = {
        path.relative_to(ROOT).as_posix()
        for folder in folders
        for path in (ROOT / "labml_nn" / "transformers" / folder).glob("[!_]*.py")
    }
    told = {page.replace("flash_backward", "flash") for page in pages - runs}
    assert told <= listed
    assert runs.isdisjoint(listed - {"labml_nn/transformers/kv_cache.py"})
