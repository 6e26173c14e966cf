"""Everything that is wrong with a configuration, told at once and not one thing a run."""

from odradek.common.failures import InputError


class Problems:
    """Errors refuse the file; warnings are for whoever starts the node to read."""

    def __init__(self) -> None:
        self.errors: list[str] = []
        self.warnings: list[str] = []

    def error(self, where: str, what: str, right: str = "") -> None:
        """`where`: file, line and key. `right`: what would be, on a line of its own."""
        self.errors.append(f"{where}: {what}" + (f"\n  {right}" if right else ""))

    def warning(self, where: str, what: str, right: str = "") -> None:
        """A warning is one line."""
        self.warnings.append(f"{where}: {what} {right}".rstrip())

    def raise_if_any(self) -> None:
        if self.errors:
            raise InputError("\n".join(self.errors))
