"""What a suite tells of one line measured beside Apache Kafka."""

from typing import NotRequired, TypedDict


class Row(TypedDict):
    operation: str
    ours: float
    peer: float
    unit: str
    #: Whether more is better.
    is_rate: bool
    note: str
    #: The part of the chart that shows this line, if any does.
    chart: NotRequired[str]
    #: The heading of the column beside ours, where that is not Apache Kafka's.
    beside: NotRequired[str]


def times_better(row: Row) -> float | None:
    """Above 1 we are ahead, below 1 behind. None where nothing was measured on one side."""
    above, below = (row["ours"], row["peer"]) if row["is_rate"] else (row["peer"], row["ours"])
    return above / below if above and below else None
