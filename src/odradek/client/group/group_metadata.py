"""Identity of a consumer in its group."""

from dataclasses import dataclass

from odradek.client.group.subscription import NO_GENERATION


@dataclass(frozen=True, slots=True)
class GroupMetadata:
    """Identity with which offsets are committed, for `send_offsets_to_transaction`."""

    group_id: str
    #: The generation, or the member epoch; -1 without one.
    generation_id: int = NO_GENERATION
    member_id: str = ""
    group_instance_id: str | None = None
