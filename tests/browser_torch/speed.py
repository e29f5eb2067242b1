r"""How long a training step takes here, in PyTorch's time on one thread.

`python -m tests.browser_torch.speed` prints the least time of the processor that a step of a small
transformer took, in turns in both worlds; a machine that does something else, too, changes little
of it. The kernels are those of this machine, with 128 bits at a time as in the page. There the same
steps of Python and the same kernels run as WebAssembly.
"""

import argparse

from browser_torch.kernels import build
from tests.browser_torch.worlds import CACHE, PYTORCH, STAND_IN, run


def main() -> None:
    r"""Prints a row for each width."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--widths", type=int, nargs="*", default=[64, 128])
    parser.add_argument("--rounds", type=int, default=3)
    arguments = parser.parse_args()
    variables = {"BROWSER_TORCH_KERNELS": f"{build.native(CACHE, optimised=True)}"}
    for width in arguments.widths:
        times = {PYTORCH: [], STAND_IN: []}
        for _ in range(arguments.rounds):
            for world, found in times.items():
                done = run(world, "step", "20", f"{width}", variables=variables)
                found.append(done["seconds"])
        one, other = (1000 * min(times[world]) for world in (PYTORCH, STAND_IN))
        print(f"width {width}: PyTorch {one:.1f} ms, here {other:.1f} ms, {other / one:.2f} times")


if __name__ == "__main__":
    main()
