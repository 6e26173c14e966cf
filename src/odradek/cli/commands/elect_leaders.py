"""`odradek elect-leaders`: let the preferred replicas lead again, or somebody where nobody can.

odradek elect-leaders
odradek elect-leaders orders:0 payments
odradek elect-leaders --unclean orders:0 --yes
"""

import click

from odradek.cli.base.complete import complete_topics
from odradek.cli.base.confirm import confirm
from odradek.cli.base.connection import on_cluster
from odradek.cli.base.errors import echo
from odradek.cli.base.options import Settings, network_options
from odradek.cli.base.outcomes import accepted, status_of, unknown_topic
from odradek.cli.base.output import print_json
from odradek.cli.base.partitions import find_partitions
from odradek.client.admin.cluster_router import ClusterRouter
from odradek.client.admin.outcomes import Outcomes, TopicPartition
from odradek.client.admin.reassignments import ElectionType
from odradek.client.admin.reassignments import elect_leaders as elect


@click.command("elect-leaders")
@click.argument("names", metavar="[TOPIC[:PARTITION]]...", nargs=-1, shell_complete=complete_topics)
@click.option("--unclean", is_flag=True, help="Where nobody in sync is left: any replica, and lose the rest.")
@click.option("--yes", is_flag=True, help="Do not ask.")
@network_options
@click.pass_obj
def elect_leaders(settings: Settings, names: tuple[str, ...], unclean: bool, yes: bool) -> int:
    """Elect the preferred leader, the first replica, of these partitions, or of all."""
    kind = ElectionType.UNCLEAN if unclean else ElectionType.PREFERRED
    if unclean:
        which = ", ".join(names) or "all partitions"
        confirm(f"Records of {which} that only replicas out of reach have will be lost.", yes=yes)

    async def ask(cluster: ClusterRouter) -> Outcomes[TopicPartition, bool]:
        partitions, missing = await find_partitions(cluster, names) if names else (None, {})
        return {**await elect(cluster, kind, partitions), **missing} if partitions != [] else missing

    outcomes = on_cluster(settings, ask)
    found = sorted(accepted(outcomes).items())
    if settings.as_json:
        print_json([{"topic": each.topic, "partition": each.partition, "elected": changed} for each, changed in found])
    else:
        for each, changed in found:
            echo(f"{each}: {'a leader was elected' if changed else 'nothing to do'}")
        if not found and not outcomes:
            echo("Nothing to do.")
    return status_of(outcomes, "partition", unknown_topic)
