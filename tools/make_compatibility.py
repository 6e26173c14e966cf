"""Write docs/compatibility.md: the APIs and features of our nodes next to Apache Kafka's, and the known differences.

python tools/make_compatibility.py            writes it
python tools/make_compatibility.py --check    fails if it is not what would be written
"""

import sys
from pathlib import Path

from odradek.api.dispatch.registry import Registry
from odradek.metadata.features import metadata_version
from odradek.metadata.features.feature_versions import FEATURES, UNSERVED_FEATURES, default_level, supported_features
from odradek.metadata.features.metadata_version import LATEST_PRODUCTION
from odradek.protocol.api_keys import APIS, Api, Listener
from odradek.protocol.facts import Versions

PATH = Path(__file__).parents[1] / "docs" / "compatibility.md"

HEAD = """# Compatibility

Made by `tools/make_compatibility.py` from the registry of APIs; a test makes it again. Versions are those that a
listener tells in its answer to ApiVersions: ours, and Apache Kafka 4.3.1's where they differ. A request for what is not
served closes the connection, as it does with Apache Kafka for an API that it does not have.

"""

DIFFERENCES = """
## Known differences in behaviour

- **`read_committed` on a replica that was away.** A follower that gets several transactions in one append enters all of
  them before it writes the transaction index (`.txnindex`) in Apache Kafka 4.3.1, so that entries may have the start of
  a later transaction as their last stable offset. When that replica leads, a small fetch ends its search of the index
  too early, and consumers with `isolation.level=read_committed` get aborted records; compaction goes by the same index.
  A Kafka node that misses seven aborted transactions and then leads returns 9 records for 3 committed ones in fetches
  of one batch, 7 in fetches of 13,000 bytes, 3 in one fetch of everything. Odradek writes the offset that was right
  behind each marker, reads the entries that Kafka wrote as if they were right, and corrects the files when it loads a
  log. `odradek log verify` reports such an index.
- **A leader that is cut off.** When no controller has answered a broker for its session time and a follower in the
  ISR no longer fetches from it, the broker refuses records with NOT_LEADER_OR_FOLLOWER. A broker that was told that
  it is fenced refuses records and reads. Apache Kafka's broker accepts them in both cases, and loses those with
  `acks` 0 or 1 when it truncates its log later ([operations.md](operations.md#brokers-that-are-cut-off)).
- **Markers of partitions without a leader.** Apache Kafka 4.3.1 drops the marker of a partition that has no leader,
  and completes the transaction. Odradek waits until the marker is written.
- **Contradicting messages in the quorum.** A BeginQuorumEpoch or EndQuorumEpoch request that names another leader for
  the current epoch is answered with INVALID_REQUEST. The process of Apache Kafka's controller ends.
"""

FEATURES_HEAD = """
## Features

`odradek storage format` finalizes the same levels as Apache Kafka 4.3.1's tool, except for `share.version` and
`streams.version`: no node of ours serves share groups or streams groups, so a new cluster does not have them. A share
consumer gets UnsupportedVersionException with its first poll.

Both levels are supported nevertheless. A node registers in a cluster only if it supports every finalized level, and a
cluster that Apache Kafka has formatted has both at 1: such a cluster, and such a directory, works with our nodes and
keeps its levels. In a cluster whose brokers are all Apache Kafka's, with controllers of ours, share groups work:
finalize the level with `storage format --feature share.version=1` or `kafka-features.sh upgrade`, which also
`kafka-features.sh upgrade --release-version 4.3` does.

| feature | supported | new cluster | Apache Kafka 4.3.1 |
| --- | --- | ---: | ---: |
"""


def features() -> str:
    levels = supported_features()
    version = levels.pop(metadata_version.FEATURE_NAME)
    latest = int(LATEST_PRODUCTION)
    rows = [f"| {metadata_version.FEATURE_NAME} | {version} | {latest} | {latest} |"]
    for name in sorted(levels):
        ours = default_level(name, LATEST_PRODUCTION)
        kafkas = FEATURES[name][-1].level if name in UNSERVED_FEATURES else ours
        rows.append(f"| {name} | {levels[name]} | {ours} | {kafkas} |")
    return FEATURES_HEAD + "\n".join(rows) + "\n"


def table() -> str:
    ours = {listener: Registry(listener).advertised for listener in Listener}
    counts = [
        f"{len(ours[listener])} of {sum(api.advertised(listener) is not None for api in APIS.values())} "
        f"on a {listener.value}'s listener"
        for listener in Listener
    ]
    rows = ["| key | API | broker | controller |", "| ---: | --- | --- | --- |"]
    for key, api in APIS.items():
        cells = (_cell(api, listener, ours[listener].get(int(key))) for listener in Listener)
        rows.append(f"| {int(key)} | {api.name} | {' | '.join(cells)} |")
    return f"Served: {', '.join(counts)}.\n\n" + "\n".join(rows) + "\n"


def _cell(api: Api, listener: Listener, ours: Versions | None) -> str:
    theirs = api.advertised(listener)
    if theirs is None:
        return ""
    if ours is None:
        return f"not yet (Kafka: {theirs})"
    return str(ours) if ours == theirs else f"{ours} (Kafka: {theirs})"


def main(arguments: list[str]) -> int:
    made = HEAD + table() + features() + DIFFERENCES
    if "--check" in arguments:
        return 0 if PATH.read_text() == made else 1
    PATH.write_text(made)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
