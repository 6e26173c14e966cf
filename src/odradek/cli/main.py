"""The entry point of the `odradek` command.

`--version` is handled before anything large is imported; everything else goes to `odradek.cli.app`. Neither imports
other packages of Odradek: a subcommand does so when it is called.

Ctrl-C ends the command with the status that shells expect, and without output. During start-up and exit there is
nothing to clean up, so the process exits at once; in between, `run` gets a KeyboardInterrupt.
"""

import sys

from odradek import __version__

INTERRUPTED = 130  # what shells report for a program that Ctrl-C ended

#: Imported modules stay: Python's garbage collection every 700 containers takes a tenth of the start-up time.
_GC_THRESHOLD = 50_000


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

    gc.set_threshold(_GC_THRESHOLD)
    if signal.getsignal(signal.SIGINT) is not signal.default_int_handler:  # ignored, for example under nohup
        return _run(arguments)
    signal.signal(signal.SIGINT, _exit_at_once)
    try:
        import odradek.cli.app  # noqa: F401  the slow part of start-up

        signal.signal(signal.SIGINT, signal.default_int_handler)
        return _run(arguments)
    finally:
        signal.signal(signal.SIGINT, _exit_at_once)


def version_text() -> str:
    """Return the version, and whether the hot modules are compiled, which determines the speed of this installation."""
    from odradek.common.hot_modules import describe, plain_modules

    return f"{__version__} ({describe(plain_modules())})"


def _run(arguments: list[str]) -> int:
    from odradek.cli.app import run

    return run(arguments)


def _exit_at_once(signum: int, frame: object) -> None:
    import os

    os._exit(INTERRUPTED)


if __name__ == "__main__":
    sys.exit(main())
