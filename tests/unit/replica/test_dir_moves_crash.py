"""A broker that stops after any operation on its disks while a replica moves has everything when it starts again."""

from random import Random

from odradek.sim.world.disk import SimulatedDisk
from support.builders.logs import stored_values
from support.builders.replica import TP, Broker, Cluster, change_record, directory_of
from support.figures import report

TARGET, TARGET_ID = "/data1", directory_of(0, 1)
VALUES = [b"value %d" % number for number in range(20)]


def test_nothing_is_lost_wherever_the_broker_stops() -> None:
    cluster = Cluster(dirs=2)
    cluster.create_topic()
    [broker] = cluster.brokers
    for value in VALUES:
        broker.produce(value.decode(), acks=1)
    broker.log.flusher.flush()
    broker.disk.settle()
    image_before = cluster.image
    broker.replicas.log_dir_moves.start(TP, TARGET)
    broker.move()
    agreed_after = len(broker.disk.journal)
    cluster.replay(change_record(directories=[TARGET_ID]))
    broker.replicas.log_dir_moves.assignment_accepted(TP, TARGET_ID)
    broker.move()
    assert broker.log.log_dir == TARGET
    image_after, crashes = cluster.image, 0
    for operations, disk in enumerate(broker.disk.states()):
        images = [image_before] * (operations <= agreed_after) + [image_after] * (operations >= agreed_after)
        for number, keep in enumerate(("all", "none", Random(operations), Random(-operations))):
            for cluster.image in images:
                check(cluster, broker, disk.crash(keep), f"after {operations} operations, crash {number}")
                crashes += 1
    report("crash at every operation of a move between directories", crashes=crashes, lost=0)


def check(cluster: Cluster, broker: Broker, disk: SimulatedDisk, what: str) -> None:
    """It goes on where it stopped, and ends where the metadata says."""
    broker.disk = disk
    broker.start()
    cluster.tell(broker)
    assert stored_values(broker.log) == VALUES, what
    moves = broker.replicas.log_dir_moves
    broker.move()
    if TP in moves.moves:
        moves.assignment_accepted(TP, TARGET_ID)
        broker.move()
    assert stored_values(broker.log) == VALUES and not moves.moves, what
    assert broker.produce("on we go", acks=1)[0][0].error_code == 0, what
