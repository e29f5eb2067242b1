r"""Scripts of a live page, run by Node."""

import json
import subprocess
from pathlib import Path
from typing import Any

from literate.page.katex import program

ASSETS = Path(__file__).resolve().parents[2] / "page_runner" / "assets"
EDITOR = ASSETS.parent / "edit" / "scripts"
PAGE = ASSETS.parents[1] / "literate" / "page" / "assets"


def in_node(module: str, script: str, given: Any, folder: Path = ASSETS) -> Any:
    r"""What an expression with a module's functions is, as JSON; its input is `given`."""
    code = (
        f'import * as {module} from "{(folder / module).as_uri()}.js";\n'
        f"const given = {json.dumps(given)};\n"
        f"console.log(JSON.stringify({script}));"
    )
    command = [program("node"), "--input-type=module", "--eval", code]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)
