"""Write docs/compatibility.md from the registry of APIs and the features: ours, and Apache Kafka's.

python tools/make_compatibility.py            writes it
python tools/make_compatibility.py --check    fails if it is not what would be written
"""

import sys
from pathlib import Path

from odradek.api.registry import Registry
from odradek.metadata import metadata_version
from odradek.metadata.feature_versions import FEATURES, UNSERVED_FEATURES, default_level, supported_features
from odradek.metadata.metadata_version import LATEST_PRODUCTION
from odradek.protocol.api_keys import APIS, Api, Listener
from odradek.protocol.facts import Versions

PATH = Path(__file__).parents[1] / "docs" / "compatibility.md"

HEAD = """# Compatibility

Made by `tools/make_compatibility.py` from the registry of APIs; a test makes it again. Versions are those that a
listener tells in its answer to ApiVersions: ours, and Apache Kafka 4.3.1's where they differ. A request for what is not
served closes the connection, as it does with Apache Kafka for an API that it does not have.

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
    made = HEAD + table() + features()
    if "--check" in arguments:
        return 0 if PATH.read_text() == made else 1
    PATH.write_text(made)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
