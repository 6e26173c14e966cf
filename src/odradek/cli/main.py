"""The entry point of the `odradek` command.

`--version` is answered before anything else is imported; everything else goes to `odradek.cli.app`. Nothing here or
there imports a room of the house: a subcommand does, when it is called.
"""

import sys

from odradek import __version__


def main() -> int:
    arguments = sys.argv[1:]
    if arguments == ["--version"]:
        print(f"odradek {__version__}")
        return 0
    from odradek.cli.app import run

    return run(arguments)


if __name__ == "__main__":
    sys.exit(main())
