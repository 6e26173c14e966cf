"""`key=value` and lists of ids on the command line."""

from collections.abc import Sequence

from odradek.common.failures import InputError


def parse_pairs(texts: Sequence[str], option: str, example: str = "retention.ms=1000") -> dict[str, str]:
    """Settings: of those with the same key the last counts."""
    return dict(split_pair(text, option, "setting", example) for text in texts)


def split_pair(text: str, option: str, kind: str, example: str) -> tuple[str, str]:
    """Raises InputError that shows `example`."""
    key, equals, value = text.partition("=")
    if not equals or not key.strip():
        raise InputError(f'{option}: "{text}" is no {kind}. Right would be key=value, for example {example}.')
    return key.strip(), value


def parse_ids(text: str, option: str) -> list[int]:
    """`1,2,3`, each once."""
    parts = [part.strip() for part in text.split(",")]
    if not all(part.isdecimal() for part in parts):
        raise InputError(f'{option}: "{text}" is no list of ids. Right would be numbers separated by commas: 1,2,3.')
    return list(dict.fromkeys(map(int, parts)))
