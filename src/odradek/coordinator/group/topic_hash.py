"""The hash by which a consumer group notices that its topics have changed, byte for byte Kafka's.

It is kept in the group's record, so that a group whose coordinator moves between brokers of the two kinds is not
assigned anew. XXH3 over a stream of little-endian numbers and of texts, each text as UTF-16 with its length behind it;
a group's hash is that of its topics' hashes, sorted by name.
"""

from collections.abc import Iterable
from struct import pack

import xxhash

from odradek.metadata.image.image import MetadataImage
from odradek.metadata.image.topics import TopicImage

#: Names this way of hashing; another one would be another byte.
_MAGIC = b"\x00"


def group_hash(image: MetadataImage, names: Iterable[str]) -> int:
    """Return the hash of the topics that exist; 0 if there is none."""
    topics = [image.topics.by_name[name] for name in sorted(set(names)) if name in image.topics.by_name]
    return _xxh3(b"".join(pack("<q", topic_hash(image, topic)) for topic in topics)) if topics else 0


def topic_hash(image: MetadataImage, topic: TopicImage) -> int:
    most, least = topic.id[:8], topic.id[8:]
    stream = [_MAGIC, most[::-1], least[::-1], _text(topic.name), pack("<i", len(topic.partitions))]
    for number in range(len(topic.partitions)):
        stream.append(pack("<i", number))
        for rack in sorted(_racks(image, topic.partitions[number].replicas)):
            stream += (pack("<i", _length(rack)), _text(rack))
    return _xxh3(b"".join(stream))


def _racks(image: MetadataImage, replicas: Iterable[int]) -> list[str]:
    brokers = (image.cluster.brokers.get(broker_id) for broker_id in replicas)
    return [broker.rack for broker in brokers if broker is not None and broker.rack is not None]


def _text(text: str) -> bytes:
    return text.encode("utf-16-le") + pack("<i", _length(text))


def _length(text: str) -> int:
    """Return the length in UTF-16 units, as Java counts."""
    return len(text.encode("utf-16-le")) // 2


def _xxh3(data: bytes) -> int:
    digest = xxhash.xxh3_64_intdigest(data)
    return digest - (1 << 64) if digest >> 63 else digest
