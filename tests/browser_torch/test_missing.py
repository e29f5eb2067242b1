r"""What the stand-in lacks says so in a sentence, and names what can be used."""

import subprocess
import sys

import pytest

from tests.browser_torch.worlds import STAND_IN, environment

LINES = {
    "torch.fft": "use einsum with a matrix of sines and cosines.",
    "torch.nn.SyncBatchNorm": "use nn.BatchNorm1d, nn.BatchNorm2d or nn.BatchNorm3d.",
    "torch.cuda.Event(enable_timing=True)": ("use time.perf_counter: there is no GPU to wait for."),
    "torch.profiler.profile()": "use time.perf_counter, or utils.benchmark.Timer.",
    "torch.masked": "use masked_fill and where.",
    "torch.nn.functional.softmux": "use softmax.",
    "torch.ones(2).nanmedian": "use median.",
    "torch.optim.LBFGS": "use other functions that are there: dir() lists them.",
    "torch.nn.init.orthogonal": "use orthogonal_.",
    "torch.lstm": "use nn.LSTM.",
    "torch.stft": "use unfold, and einsum with a matrix of sines and cosines.",
}


@pytest.mark.parametrize("line", LINES)
def test_what_is_missing_says_so(line: str) -> None:
    program = f"import torch\ntry:\n    {line}\nexcept Exception as error:\n    print(error)"
    said = subprocess.run(
        [sys.executable, "-c", program],
        env=environment(STAND_IN),
        capture_output=True,
        text=True,
        check=True,
    ).stdout.strip()
    name = line.split("(")[0].rpartition(".")[2] if "ones" not in line[:10] else "nanmedian"
    assert name in said
    assert said.endswith(LINES[line])
    assert "\n" not in said
