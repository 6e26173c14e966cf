"""A short tour of what works: a quorum of processes, Apache Kafka in it, and a disk that both read. `make tour`."""

import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).parents[1]
sys.path[:0] = [str(ROOT / "tests"), str(ROOT / "tools")]

import peers  # noqa: E402
import tour_cluster  # noqa: E402
import tour_log  # noqa: E402


def main() -> int:
    with tempfile.TemporaryDirectory(prefix="odradek-tour-") as scratch:
        home = Path(scratch)
        try:
            peers.kafka_classpath()
            tour_cluster.tour(home)
            tour_log.tour(home)
        except peers.PeerMissing as error:
            print(f"tour: Apache Kafka is needed for comparison, and is not there: {error}", file=sys.stderr)
            return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
