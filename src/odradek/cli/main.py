"""The entry point of the `odradek` command.

`--version` is answered before anything large is imported; everything else goes to `odradek.cli.app`. Nothing here or
there imports a room of the house: a subcommand does, when it is called.

Ctrl-C ends the command with the status that shells expect, and without a word. While it starts and while it ends there
is nothing to tidy up, so it leaves at once; in between, `run` is told by a KeyboardInterrupt.
"""

import sys

from odradek import __version__

INTERRUPTED = 130  # what shells report for a program that Ctrl-C ended

#: What is imported stays: to look for garbage in it every 700 containers, as Python does, takes a tenth of the start.
_YOUNG_CONTAINERS = 50_000


def main() -> int:
    try:
        return _main(sys.argv[1:])
    except KeyboardInterrupt:
        return INTERRUPTED


def _main(arguments: list[str]) -> int:
    if arguments == ["--version"] and sys.stdout is not None:
        print(f"odradek {version_text()}")
        return 0
    import gc
    import signal

    gc.set_threshold(_YOUNG_CONTAINERS)
    if signal.getsignal(signal.SIGINT) is not signal.default_int_handler:  # ignored, for example under nohup
        return _run(arguments)
    signal.signal(signal.SIGINT, _leave)
    try:
        import odradek.cli.app  # noqa: F401  the slow part of the start

        signal.signal(signal.SIGINT, signal.default_int_handler)
        return _run(arguments)
    finally:
        signal.signal(signal.SIGINT, _leave)


def version_text() -> str:
    """Return the version, and whether the hot modules are compiled: both decide how fast this installation is."""
    from odradek.common.hot_modules import describe, plain_modules

    return f"{__version__} ({describe(plain_modules())})"


def _run(arguments: list[str]) -> int:
    from odradek.cli.app import run

    return run(arguments)


def _leave(signum: int, frame: object) -> None:
    import os

    os._exit(INTERRUPTED)


if __name__ == "__main__":
    sys.exit(main())
