"""`ConsumerRecord` as type checkers see it: with the types of key and value.

The class itself (`odradek.client.consumer.record`) is compiled in a form that cannot be generic: at run time there is
only that one.

Key and value may be None as well. That is written as `Any`, so that a program whose topic has no nulls need not check
every record, and that a consumer without typed deserializers has records of any type.
"""

from typing import TYPE_CHECKING, Any, Generic

from odradek.client.consumer import record
from odradek.client.types import Key, Value

__all__ = ["ConsumerRecord"]

if TYPE_CHECKING:

    class ConsumerRecord(record.ConsumerRecord, Generic[Key, Value]):
        key: Key | Any
        value: Value | Any

else:
    ConsumerRecord = record.ConsumerRecord
