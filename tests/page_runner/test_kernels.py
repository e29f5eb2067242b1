r"""The calls from JavaScript to the kernels in C."""

import json
import subprocess
from typing import Any

import pytest

from literate.page.katex import program
from page_runner.build import KERNELS
from tests.browser_torch.test_build import enumeration
from tests.page_runner.scripts import ASSETS, in_node

# Modules by their addresses, as a script finds them.
START = f"""
import {{ readFileSync }} from "node:fs";
import * as kernels from "{(ASSETS / "kernels.js").as_uri()}";
import * as tensors from "{(ASSETS / "tensors.js").as_uri()}";
await kernels.startKernels(readFileSync({json.dumps(str(KERNELS))}));
const tell = (value) => console.log(JSON.stringify(value));
"""


def told(script: str) -> Any:
    r"""What a script tells that has the kernels."""
    command = [program("node"), "--input-type=module", "--eval", START + script]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


@pytest.mark.parametrize(
    ("path", "name"),
    [("kernels.h", "Operation"), ("elementwise.c", "Unary"), ("elementwise.c", "Binary")],
)
def test_javascript_and_c_number_the_operations_alike(path: str, name: str) -> None:
    numbers = in_node("kernels", f"kernels.{name}", None)
    names = enumeration(path, name)
    assert numbers == {one: names.index(one) for one in numbers}
    assert len(numbers) > 10


def test_a_tensor_stays_what_it_is_when_the_memory_grows() -> None:
    script = """
    const data = Float32Array.from({ length: 77 }, (_, i) => i / 7);
    const small = tensors.place({ shape: [7, 11], data, dtype: "float32" });
    const large = tensors.filled([17, 1000, 1000], 3, "float32");
    const back = tensors.read(tensors.transpose(small, 0, 1));
    const last = tensors.read(tensors.slice(large, 0, 16)).data.at(-1);
    tell({ shape: back.shape, data: Array.from(back.data), last });
    """
    found = told(script)
    assert found["shape"] == [11, 7]
    expected = [(column * 11 + row) / 7 for row in range(11) for column in range(7)]
    assert found["data"] == pytest.approx(expected)
    assert found["last"] == 3


def test_memory_is_free_again_after_a_scope_and_after_an_error() -> None:
    script = """
    const address = () => kernels.inScope(() => kernels.empty([5], "float32").address);
    const before = address();
    kernels.inScope(() => kernels.empty([12345], "float64"));
    try {
      kernels.inScope(() => { kernels.empty([54321], "bool"); throw new Error("x"); });
    } catch {}
    tell([before, address()]);
    """
    before, after = told(script)
    assert before == after > 0


def test_what_a_kernel_refuses_is_an_error_that_names_it() -> None:
    script = """
    const [a, b] = [[3, 5], [3, 7]].map((shape) => tensors.filled(shape, 1, "float32"));
    const result = kernels.empty([3, 5], "float32");
    try {
      kernels.call(kernels.Operation.BINARY, [0], result, a, b);
    } catch (error) {
      tell(error.message);
    }
    """
    sentence = "the kernel BINARY refused [[3,5],[3,5],[3,7]]: the shapes or the layouts do not fit"
    assert told(script) == sentence
