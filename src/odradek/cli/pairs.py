"""`key=value` and lists of ids on the command line."""

from collections.abc import Sequence

from odradek.common.failures import InputError


def parse_pairs(texts: Sequence[str], option: str) -> dict[str, str]:
    values: dict[str, str] = {}
    for text in texts:
        key, equals, value = text.partition("=")
        if not equals or not key.strip():
            raise InputError(
                f'{option}: "{text}" is no setting. Right would be key=value, for example retention.ms=1000.'
            )
        values[key.strip()] = value
    return values


def parse_ids(text: str, option: str) -> list[int]:
    """`1,2,3`, each once."""
    parts = [part.strip() for part in text.split(",")]
    if not all(part.isdecimal() for part in parts):
        raise InputError(f'{option}: "{text}" is no list of ids. Right would be numbers separated by commas: 1,2,3.')
    return list(dict.fromkeys(map(int, parts)))
