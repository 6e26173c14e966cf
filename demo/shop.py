"""The run itself: cluster, pipeline and generator are started, two of them suffer, and in the end all is read.

    nodes up → all flows of the pipeline run → the shop opens → a broker dies, and comes back → Spark's driver dies,
    and is started again by `odradek pipeline run` → the shop closes → the pipeline reads what is left → it is stopped

The broker that dies is the one that leads the first partition of the orders. Whatever happens, nothing is left running:
nodes, generator and pipeline end with their blocks here, and with this process.
"""

import shutil
import threading
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

from demo.cluster import EVENT_TOPICS, PARTITIONS, create_topics, start_cluster
from demo.plan import Plan, Story
from demo.processes import GeneratorProcess, PipelineProcess
from demo.show import Show
from demo.watch import LagWatch
from odradek.client import blocking
from odradek.testing import Cluster

_PROJECT = Path(__file__).parent / "pipeline"
#: For a few minutes on few cores: what the second compiler and the parallel collectors cost, they would not bring in.
#: The code of all flows does not fit into the 48 MB that the first compiler has by itself: it would stop compiling.
_SPARK = {
    "spark.driver.extraJavaOptions": "-XX:TieredStopAtLevel=1 -XX:ReservedCodeCacheSize=256m -XX:+UseSerialGC",
    "spark.driver.memory": "1g",
    # Flows report soon that they have read everything.
    "spark.sql.streaming.noDataProgressEventInterval": "2s",
    # Its workers may have to wait for a core.
    "spark.python.authenticate.socketTimeout": "60s",
}

#: Limits for what takes seconds, on a machine that has much else to do.
_PATIENCE_S = 600.0
_SAY_EACH_S = 5.0

#: That mirrors how far the pipeline has read.
_GROUP = "shop"

BROKER_KILL, DRIVER_KILL = "broker killed", "Spark driver killed"


@contextmanager
def open_shop(plan: Plan, show: Show) -> Iterator[tuple[Cluster, Story]]:
    """When the block begins the run is over, and the cluster is still up to be read."""
    story = Story()
    show.phase("Three nodes, five topics with three replicas each")
    with start_cluster(plan.work / "cluster") as cluster:
        create_topics(cluster)
        show.say(f"ready: {cluster.bootstrap}")
        show.phase("Spark starts, and the pipeline with it")
        with closing(_start_pipeline(plan, cluster.bootstrap)) as pipeline:
            pipeline.wait_until_running(_PATIENCE_S)
            show.say("all flows run, and their tables are there")
            pipeline.wait_for_standby(_PATIENCE_S)
            show.say("a second driver is ready to take over")
            _business(plan, show, cluster, pipeline, story)
        story.batches, story.sessions = pipeline.batches, pipeline.sessions
        yield cluster, story


def tables_of(plan: Plan) -> Path:
    return _project(plan) / "storage" / "warehouse"


def _project(plan: Plan) -> Path:
    """A copy: what the pipeline keeps is in it."""
    return plan.work / "pipeline"


def _start_pipeline(plan: Plan, bootstrap: str) -> PipelineProcess:
    project = _project(plan)
    shutil.copytree(_PROJECT, project)
    confs = [f"--conf={name}={value}" for name, value in {"spark.shop.bootstrap": bootstrap, **_SPARK}.items()]
    return PipelineProcess(project, plan.work / "pipeline.log", "--continuous", "--standby", *confs)


def _business(plan: Plan, show: Show, cluster: Cluster, pipeline: PipelineProcess, story: Story) -> None:
    show.phase(f"The shop opens: {plan.rate:,.0f} events a second for {plan.seconds} s")
    ledger, log = plan.work / "ledger.jsonl", plan.work / "generator.log"
    with (
        LagWatch(cluster.bootstrap, _GROUP, EVENT_TOPICS, PARTITIONS) as watch,
        closing(GeneratorProcess(cluster.bootstrap, ledger, plan.seed, plan.rate, log)) as generator,
        _progress_lines(show, watch, generator, pipeline),
    ):
        story.opened_ms = _now_ms()
        opened_s = time.monotonic()
        if plan.kills:
            _sleep_until(opened_s + plan.broker_kill_s, generator, pipeline)
            _kill_broker(plan, show, cluster, story)
            _sleep_until(opened_s + plan.driver_kill_s, generator, pipeline)
            _kill_driver(show, pipeline, story)
        _sleep_until(opened_s + plan.seconds, generator, pipeline)
        generator.end(_PATIENCE_S)
        story.closed_ms, story.failed_sends = _now_ms(), generator.failed
        show.phase(f"The shop is closed after {generator.acked:,} events; the pipeline reads what is left")
        story.drained_ms = pipeline.wait_until_drained(story.closed_ms, _PATIENCE_S)
        pipeline.stop()
        story.samples = [*watch.samples, watch.look()]
    show.say("the pipeline has read everything, and is stopped")


def _kill_broker(plan: Plan, show: Show, cluster: Cluster, story: Story) -> None:
    broker = _leader(cluster.bootstrap, "orders")
    start_ms = _now_ms()
    cluster.kill(broker)
    show.fault(f"broker {broker} killed with -9; it led orders-0")
    time.sleep(plan.broker_down_s)
    cluster.start(broker)
    cluster.wait_until_in_sync()
    story.add_fault(BROKER_KILL, start_ms, _now_ms())
    show.recovered(f"broker {broker} is back, and in sync")


def _kill_driver(show: Show, pipeline: PipelineProcess, story: Story) -> None:
    pipeline.wait_until_running(_PATIENCE_S)
    start_ms = _now_ms()
    pipeline.kill_driver()
    show.fault("Spark's driver and its JVM killed with -9, in the middle of its batches")
    end_ms = pipeline.wait_for_batch(start_ms, _PATIENCE_S)
    story.add_fault(DRIVER_KILL, start_ms, end_ms)
    show.recovered(f"the pipeline goes on, {(end_ms - start_ms) / 1_000:.1f} s later, where it was")


def _leader(bootstrap: str, topic: str) -> int:
    with blocking.Admin(bootstrap_servers=bootstrap) as admin:
        leader = admin.describe_topics([topic])[topic].partitions[0].leader_id
    assert leader is not None
    return leader


def _sleep_until(deadline_s: float, generator: GeneratorProcess, pipeline: PipelineProcess) -> None:
    """While those that ought to run do."""
    while (left_s := deadline_s - time.monotonic()) > 0:
        generator.check_alive()
        pipeline.check_alive()
        time.sleep(min(left_s, 0.2))


@contextmanager
def _progress_lines(
    show: Show, watch: LagWatch, generator: GeneratorProcess, pipeline: PipelineProcess
) -> Iterator[None]:
    ended = threading.Event()

    def say() -> None:
        acked = read = 0
        while not ended.wait(_SAY_EACH_S):
            if not watch.samples:
                continue
            last, now = watch.samples[-1], generator.acked
            done = last.records - last.lag
            rates = (now - acked) / _SAY_EACH_S, (done - read) / _SAY_EACH_S
            show.progress(now, *rates, last.lag, f"{pipeline.state}, {pipeline.batches} batches")
            acked, read = now, done

    saying = threading.Thread(target=say, name="progress", daemon=True)
    saying.start()
    try:
        yield
    finally:
        ended.set()
        saying.join()


def _now_ms() -> int:
    return time.time_ns() // 1_000_000
