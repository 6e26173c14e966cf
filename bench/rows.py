"""What a suite tells of one line measured beside Apache Kafka."""

from typing import TypedDict


class Row(TypedDict):
    operation: str
    ours: float
    peer: float
    unit: str
    #: Whether more is better.
    is_rate: bool
    note: str
