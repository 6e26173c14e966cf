"""A short tour of what works: a quorum of processes, Apache Kafka in it, and a disk that both read. `make demo`."""

import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).parents[1]
sys.path[:0] = [str(ROOT / "tests"), str(ROOT / "tools")]

import demo_cluster  # noqa: E402
import demo_log  # noqa: E402
import peers  # noqa: E402


def main() -> int:
    with tempfile.TemporaryDirectory(prefix="odradek-demo-") as scratch:
        home = Path(scratch)
        try:
            peers.kafka_classpath()
            demo_cluster.tour(home)
            demo_log.tour(home)
        except peers.PeerMissing as error:
            print(f"demo: Apache Kafka is needed for comparison, and is not there: {error}", file=sys.stderr)
            return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
