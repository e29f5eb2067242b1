r"""`python -m browser_torch`: build the kernels, pack what a page loads, list what is missing."""

import argparse
import sys
from pathlib import Path

from browser_torch.kernels import build
from browser_torch.missing import missing_names
from browser_torch.packing import pack

CACHE = Path(".cache/browser_torch")


def main() -> None:
    r"""Reads the command line."""
    parser = argparse.ArgumentParser(prog="python -m browser_torch", description=__doc__)
    commands = parser.add_subparsers(dest="command", required=True)
    commands.add_parser("build", help="build kernels.wasm, which is checked in, by zig")
    packing = commands.add_parser("pack", help="write the files that a page loads")
    packing.add_argument("target", type=Path, help="the folder to write to")
    missing = commands.add_parser("missing", help="list names of PyTorch that the stand-in lacks")
    missing.add_argument("folder", type=Path, nargs="?", default=Path("labml_nn"))
    # A program, models that are exported, and a page for a GPU: none of them has an editor.
    others = ["training/engine/", "page_models/", "training/fast/cuda_graphs.py"]
    missing.add_argument("--without", nargs="*", default=others, metavar="PATH")
    arguments = parser.parse_args()
    try:
        if arguments.command == "build":
            build.wasm(build.WASM)
            print(f"{build.WASM}: {build.WASM.stat().st_size} bytes")
        elif arguments.command == "pack":
            files = pack(arguments.target)
            total = sum(path.stat().st_size for path in files)
            print(f"{arguments.target}: {len(files)} files, {total} bytes")
        else:
            kernels = build.native(CACHE)
            found = missing_names(arguments.folder, kernels, tuple(arguments.without))
            for name, places in found.items():
                print(f"{name}  {', '.join(places)}")
            print(f"{len(found)} names are missing.")
    except build.NoCompiler as error:
        sys.exit(str(error))


if __name__ == "__main__":
    main()
