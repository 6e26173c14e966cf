"""`odradek elect-leaders`: elect preferred leaders, or any live replica for partitions without a leader.

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
from odradek.cli.base.outcomes import report_rejected, unknown_topic_advice
from odradek.cli.base.output import print_json
from odradek.cli.base.partitions import find_partitions
from odradek.client.admin.operations import AdminOperations
from odradek.client.admin.outcomes import Outcomes
from odradek.client.admin.partitions import ElectionType
from odradek.client.types import TopicPartition


@click.command("elect-leaders")
@click.argument("names", metavar="[TOPIC[:PARTITION]]...", nargs=-1, shell_complete=complete_topics)
@click.option(
    "--unclean", is_flag=True, help="Elect any live replica where none is in sync; records that it lacks are lost."
)
@click.option("--yes", is_flag=True, help="Do not ask.")
@network_options
@click.pass_obj
def elect_leaders(settings: Settings, names: tuple[str, ...], unclean: bool, yes: bool) -> int:
    """Elect the preferred leaders, which are the first replicas, of these partitions or of all."""
    election_type = ElectionType.UNCLEAN if unclean else ElectionType.PREFERRED
    if unclean:
        partition_names = ", ".join(names) or "all partitions"
        confirm(f"Records of {partition_names} that only unavailable replicas have will be lost.", yes=yes)

    async def work(admin: AdminOperations) -> Outcomes[TopicPartition, bool]:
        partitions, unknown = await find_partitions(admin, names) if names else (None, {})
        elected = await admin.partitions.elect_leaders(election_type, partitions) if partitions != [] else {}
        return Outcomes({**elected, **unknown})

    outcomes = on_cluster(settings, work)
    results = sorted(outcomes.succeeded().items())
    if settings.as_json:
        print_json(
            [
                {"topic": partition.topic, "partition": partition.partition, "elected": is_elected}
                for partition, is_elected in results
            ]
        )
    else:
        for partition, is_elected in results:
            echo(f"{partition}: {'a leader was elected' if is_elected else 'no election needed'}")
        if not results and not outcomes:
            echo("No election needed.")
    return report_rejected(outcomes, "partition", unknown_topic_advice)
