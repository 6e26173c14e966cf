"""Which orders fail, for the services that handle them and for the tests that look what became of them."""


def always_fails(number: int) -> bool:
    """1 %."""
    return number % 100 == 99


def fails_once(number: int) -> bool:
    """5 %."""
    return number % 20 == 7
