"""`key=value` and lists of ids as arguments."""

from collections.abc import Sequence

from odradek.common.failures import InputError


def parse_pairs(texts: Sequence[str], option: str, example: str = "retention.ms=1000") -> dict[str, str]:
    """Parse settings; of several with the same key the last one counts. Raises InputError with the example."""
    return dict(split_pair(text, option, "setting", example) for text in texts)


def split_pair(text: str, option: str, name: str, example: str) -> tuple[str, str]:
    """Split a pair at its first `=`. Raises InputError with the example."""
    key, equals, value = text.partition("=")
    if not equals or not key.strip():
        raise InputError(f'{option}: "{text}" is not a valid {name}. Expected key=value, for example {example}.')
    return key.strip(), value


def parse_ids(text: str, option: str) -> list[int]:
    """Parse a list such as `1,2,3`; each id is returned once."""
    parts = [part.strip() for part in text.split(",")]
    if not all(part.isdecimal() for part in parts):
        raise InputError(f'{option}: "{text}" is not a list of ids. Expected numbers separated by commas: 1,2,3.')
    return list(dict.fromkeys(map(int, parts)))
