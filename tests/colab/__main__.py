r"""Execute the notebooks as Colab does: its Python, its torch, its kernel. `make colab` runs this.

The environment is made from `requirements.txt` beside this file. One notebook after the other runs
from top to bottom with short settings, on a CPU, without this repository. A line for each says how
long it took; the program ends with 1 if one of them failed.
"""

import argparse
import platform
import sys
import tempfile
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from importlib.metadata import version
from pathlib import Path

from tests.kernels import FORM, ROOT, Kernels, fill_in

# Ten that differ: no training, training, drawing, holes to fill, downloads, compiled code.
SAMPLE = (
    "basics/byte_pairs", "images/vit", "inference/speculative", "inside/patching",
    "optimizers/muon", "pretrained/gpt2_experiment", "training/data", "training/fast/compiled",
    "transformers/basic/autoregressive_experiment", "transformers/mha",
)  # fmt: skip
# Characters of the text that models train on.
CHARACTERS = 12_000


def main(arguments: Sequence[str] | None = None) -> int:
    r"""The exit status: 1 if a notebook failed."""
    parser = argparse.ArgumentParser(prog="python -m tests.colab", description=__doc__)
    parser.add_argument("names", nargs="*", help="such as transformers/mha; all, if none is given")
    parser.add_argument("--sample", action="store_true", help="ten notebooks, instead of all")
    parser.add_argument("--processes", type=int, default=2, help="how many run at a time")
    options = parser.parse_args(arguments)
    folder = ROOT / "notebooks"
    everything = [one.relative_to(folder).with_suffix("") for one in folder.rglob("*.ipynb")]
    names = options.names or SAMPLE if options.sample or options.names else sorted(everything)

    packages = ("torch", "ipython", "ipykernel", "numpy", "matplotlib")
    found = ", ".join(f"{name} {version(name)}" for name in packages)
    print(f"Python {platform.python_version()}, {found}", flush=True)
    with tempfile.TemporaryDirectory() as temporary:
        text = Path(temporary, "short.txt")
        whole = (ROOT / "labml_nn/training/tiny_shakespeare.txt").read_text(encoding="utf-8")
        text.write_text(whole[:CHARACTERS], encoding="utf-8")

        def run(name: Path | str) -> list[str]:
            began = time.monotonic()
            # As in the tests: twenty steps are a point of the comparison's curve.
            few = {} if str(name).endswith("comparison_experiment") else {"steps": 3}
            form = {**FORM, "corpus": str(text), **few}
            path = folder / f"{name}.ipynb"
            notebook = fill_in(path.read_text(encoding="utf-8"), form)
            with Kernels(Path(temporary)) as kernels:
                kernels.run(notebook)
            wrong = problems(notebook)
            print(f"{name}: {time.monotonic() - began:.0f} s", *wrong, sep="\n  ", flush=True)
            return wrong

        with ThreadPoolExecutor(options.processes) as pool:
            failed = sum(bool(wrong) for wrong in pool.map(run, names))
    print(f"{failed} of {len(names)} failed")
    return int(failed > 0)


def problems(notebook: object) -> list[str]:
    r"""What a cell has raised, and what it has written as a warning."""
    return [
        f"{one.ename}: {one.evalue}" if one.output_type == "error" else one.text.strip()
        for cell in notebook.cells
        for one in cell.get("outputs", [])
        if one.output_type == "error" or one.get("name") == "stderr"
    ]


if __name__ == "__main__":
    sys.exit(main())
