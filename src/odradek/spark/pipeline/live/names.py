"""Names of tables as SQL and as paths take them."""


def quoted(name: str) -> str:
    """Return a qualified name with each part in backquotes."""
    return ".".join(f"`{part.replace('`', '``')}`" for part in name.split("."))


def checkpoint_directory(target: str, flow: str) -> str:
    """Return where the checkpoints of a flow lie below `_checkpoints` of the storage, as Spark's own engine has it: the
    parts of the target's name, then the last part of the flow's."""
    return "/".join((*target.split("."), flow.rpartition(".")[2]))
