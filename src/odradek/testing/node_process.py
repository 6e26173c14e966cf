"""The process of a node in a test's cluster: `python -m odradek.testing.node_process CONFIG`.

Each line on its standard input is a command, answered by a line on its standard output: `ok`, or what went wrong. It
lives for as long as its input does, so that it never outlives the test, however that ends.
"""

import logging
import os
import sys
from typing import NoReturn

from odradek.common.failures import Fault, InputError
from odradek.common.files import OsFileSystem
from odradek.common.log_format import EscapingFormatter
from odradek.server.config.server_config import load_server_config
from odradek.server.host.layout import LocalNode
from odradek.testing.embedded_node import EmbeddedNode
from odradek.testing.process_node import OK


def main() -> NoReturn:
    handler = logging.StreamHandler()
    handler.setFormatter(EscapingFormatter("%(asctime)s %(levelname)s %(name)s: %(message)s"))
    logging.basicConfig(level=logging.INFO, handlers=[handler])
    path = sys.argv[1]
    config = load_server_config(OsFileSystem(), path)
    node = EmbeddedNode(LocalNode(config.node_id, 0, config.log_dirs[0], "", config), on_broken=lambda: os._exit(1))
    for line in sys.stdin:
        sys.stdout.write(f"{_answer(node, *line.split())}\n")
        sys.stdout.flush()
    os._exit(0)


def _answer(node: EmbeddedNode, command: str, argument: str = "") -> str:
    try:
        match command:
            case "start":
                node.start()
            case "stop":
                node.stop()
            case "cut_off":
                node.cut_off()
            case "heal":
                node.heal()
            case "slow_disk":
                node.slow_disk(float(argument))
    except (InputError, Fault, OSError) as error:
        return " ".join(str(error).splitlines())
    return OK


if __name__ == "__main__":
    main()
