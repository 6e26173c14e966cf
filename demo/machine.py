"""What the demo ran on."""

import os
import platform
from importlib.metadata import version
from pathlib import Path


def describe_machine() -> dict[str, str]:
    return {
        "machine": f"{os.cpu_count()} cores ({_processor()}), {_memory_gb():.0f} GB, {platform.system()}",
        "versions": ", ".join(
            (
                *(f"Odradek {version('odradek')}", f"Python {platform.python_version()}"),
                *(f"{name} {version(name)}" for name in ("pyspark", "pyarrow", "confluent-kafka")),
            )
        ),
    }


def _processor() -> str:
    lines = Path("/proc/cpuinfo").read_text().splitlines()
    names = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.machine()


def _memory_gb() -> float:
    return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 1e9
