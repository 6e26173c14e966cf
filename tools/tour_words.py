"""How the tour speaks: titles, and commands with the first lines of what they say."""

import subprocess
import sys
from pathlib import Path

COMMAND = Path(sys.executable).with_name("odradek")

_WIDTH = 150


def title(text: str) -> None:
    print(f"\n\033[1m{text}\033[0m" if sys.stdout.isatty() else f"\n{text}", flush=True)


def say(text: str) -> None:
    print(f"  {text}", flush=True)


def shell(*arguments: str, lines: int, cwd: Path) -> None:
    """Run the command as a user would, and show the first lines of what it says."""
    print(f"$ odradek {' '.join(arguments)}")
    done = subprocess.run([COMMAND, *arguments], cwd=cwd, capture_output=True, text=True, check=True)
    said = done.stdout.splitlines()
    for line in said[:lines]:
        say(line[:_WIDTH])
    if len(said) > lines:
        say(f"… and {len(said) - lines} lines more")
    sys.stdout.flush()
