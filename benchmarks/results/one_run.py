r"""One training as a process of its own, kept by what it depends on."""

import hashlib
import json
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

# All recipes, with all that they import.
import labml_nn.training.engine.command_line
import labml_nn.transformers.modern.experiment  # noqa: F401
from labml_nn.training.engine.history import History, read_history
from literate.fingerprints import fingerprint

ROOT = Path(__file__).resolve().parents[2]


@dataclass(frozen=True)
class Run:
    r"""What a run ended with, its curves, and the seconds of the whole command."""

    result: dict[str, Any]
    history: History
    wall: float

    def curve(self, against: str = "steps") -> list[list[float]]:
        r"""The validation losses against steps, or against the seconds of training."""
        points, seconds, before = [], 0.0, 0
        n_tokens = self.result["tokens_per_second"] * self.result["seconds"] / self.result["steps"]
        for step, values in self.history:
            seconds += (step - before) * n_tokens / values["tokens_per_second"]
            before = step
            if "loss.validation" in values:
                points.append([step if against == "steps" else seconds, values["loss.validation"]])
        return points


def code() -> str:
    r"""A fingerprint of all pages that have to do with training; their notes don't count."""
    names = sorted(name for name in sys.modules if name.startswith("labml_nn."))
    paths = [Path(str(sys.modules[name].__file__)) for name in names]
    return "\n".join(f"{name} {fingerprint(path)}" for name, path in zip(names, paths, strict=True))


def key_of(kind: str, what: list[str], *contents: bytes) -> str:
    r"""A name for a run: what it is told, and what it reads."""
    digest = hashlib.sha256(json.dumps([kind, what]).encode())
    for content in contents:
        digest.update(hashlib.sha256(content).digest())
    return f"{kind}-{digest.hexdigest()[:16]}"


def options_of(changes: dict[str, Any]) -> list[str]:
    r"""Settings as options: `{"d_ff": 336, "rms": True}` is `--d-ff=336 --rms`."""
    given = []
    for name, value in changes.items():
        option = f"--{name.replace('_', '-')}"
        given.append(f"{option}={value}")
        if isinstance(value, bool):
            given[-1] = option if value else f"--no-{option[2:]}"
    return given


def keep(folder: Path, key: str, document: dict[str, Any]) -> dict[str, Any]:
    r"""Write what came out, beside and renamed."""
    folder.mkdir(parents=True, exist_ok=True)
    beside = folder / f".{key}.part"
    beside.write_text(json.dumps(document, indent=1) + "\n", encoding="utf-8")
    beside.replace(folder / f"{key}.json")
    return document


def kept(folder: Path, key: str) -> dict[str, Any] | None:
    r"""What came out when this was run before."""
    path = folder / f"{key}.json"
    return json.loads(path.read_text(encoding="utf-8")) if path.is_file() else None


def train(preset: str, changes: dict[str, Any], text: Path, folder: Path) -> Run:
    r"""A run of a preset with some settings, now or before."""
    options = [f"--preset={preset}", *options_of(changes)]
    key = key_of(preset, options, text.read_bytes(), code().encode())
    document = kept(folder, key)
    known = document is not None
    if document is None:
        start = time.perf_counter()
        done = subprocess.run(
            [
                *[sys.executable, "-m", "labml_nn.training.engine", *options, f"--text={text}"],
                *["--json", f"--runs={folder / 'runs'}"],
            ],
            cwd=ROOT,
            stdout=subprocess.PIPE,
            text=True,
            check=False,
        )
        if done.returncode:
            sys.exit(f"error: a run failed: {' '.join(options)}")
        wall = time.perf_counter() - start
        result = json.loads(done.stdout.splitlines()[-1])
        history = read_history(Path(result["run"]))
        document = {"options": options, "result": result, "history": history, "wall": wall}
        keep(folder, key, document)
    result = document["result"]
    print(
        f"  {' '.join(options)}\n    loss {result['val_loss']:.4f}, {result['seconds']:.1f} s of "
        f"training, {document['wall']:.1f} s in all, {result['tokens_per_second']:,.0f} tokens/s"
        + (", kept from before" if known else ""),
        flush=True,
    )
    return Run(result, [(step, values) for step, values in document["history"]], document["wall"])
