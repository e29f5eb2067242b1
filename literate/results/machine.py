r"""
---
title: Machine
summary: The name of the processor, and the cores that a process may use.
---
"""

import os
import platform
import subprocess
from pathlib import Path


def cores() -> int:
    r"""
    ## The cores that this process may use
    """
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def processor(information: Path = Path("/proc/cpuinfo")) -> str:
    r"""
    ## The name of the processor

    As its maker gives it, where that can be found.
    """
    if information.is_file():
        for line in information.read_text(encoding="utf-8", errors="replace").splitlines():
            key, _, value = line.partition(":")
            if key.strip() == "model name" and value.strip():
                return " ".join(value.split())
    if platform.system() == "Darwin":
        asked = ["sysctl", "-n", "machdep.cpu.brand_string"]
        named = subprocess.run(asked, capture_output=True, text=True, check=False).stdout.strip()
        if named:
            return named
    return platform.processor() or platform.machine() or "unknown"
