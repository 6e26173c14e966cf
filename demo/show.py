"""What a person sees while the demo runs: phases, a line every few seconds, and faults.

Plain lines, in colour only on a terminal, so that a log reads the same.
"""

import sys
import time

_BOLD, _RED, _GREEN, _DIM = "1", "31", "32", "2"
_HEADS = f"{'time':>6}  {'produced':>9}  {'in/s':>6}  {'read/s':>6}  {'lag':>7}  pipeline"


class Show:
    def __init__(self) -> None:
        self._started_s = time.monotonic()
        self._has_heads = False

    def phase(self, text: str) -> None:
        self._print(f"\n{text}", _BOLD)
        self._has_heads = False

    def say(self, text: str) -> None:
        self._print(f"{self._clock()}  {text}")

    def fault(self, text: str) -> None:
        self._print(f"{self._clock()}  ✗ {text}", _RED)

    def recovered(self, text: str) -> None:
        self._print(f"{self._clock()}  ✓ {text}", _GREEN)

    def progress(self, produced: int, in_rate: float, read_rate: float, lag: int, pipeline: str) -> None:
        if not self._has_heads:
            self._print(_HEADS, _DIM)
            self._has_heads = True
        figures = f"{produced:>9,}  {in_rate:>6,.0f}  {read_rate:>6,.0f}  {lag:>7,}"
        self._print(f"{self._clock()}  {figures}  {pipeline}")

    def _clock(self) -> str:
        seconds = int(time.monotonic() - self._started_s)
        return f"{seconds // 60:>3}:{seconds % 60:02}"

    def _print(self, text: str, style: str = "") -> None:
        print(f"\033[{style}m{text}\033[0m" if style and sys.stdout.isatty() else text, flush=True)
