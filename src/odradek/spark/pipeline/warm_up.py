"""A query like those of pipelines, over a few rows of its own, for a session that waits to be used.

It reads files as a stream, drops duplicates, which takes a state store, and writes Parquet files. The catalog of tables
is not touched: the driver that runs has it open.
"""

import tempfile
from pathlib import Path
from typing import Any

_ROWS = 50
_BATCHES = 3


def warm_up(session: Any) -> None:
    """Run a few micro-batches, to their end."""
    from pyspark.sql.connect import functions as F  # noqa: N812 - the name that Spark's own documentation uses

    with tempfile.TemporaryDirectory(prefix="odradek-warm-up-") as directory:
        source, target, checkpoint = (Path(directory) / name for name in ("in", "out", "checkpoint"))
        source.mkdir()
        for batch in range(_BATCHES):
            lines = (f'{{"id":"{batch}-{row}","size":{row}}}' for row in range(_ROWS))
            (source / f"{batch}.json").write_text("\n".join(lines))
        rows = session.readStream.option("maxFilesPerTrigger", 1).text(f"file://{source}")
        parsed = rows.select(
            F.from_json("value", "id STRING, size INT").alias("row"), F.current_timestamp().alias("at")
        )
        once = parsed.select("row.*", "at").withWatermark("at", "1 minute").dropDuplicatesWithinWatermark(["id"])
        query = (
            once.writeStream.format("parquet")
            .option("path", f"file://{target}")
            .option("checkpointLocation", f"file://{checkpoint}")
            .trigger(availableNow=True)
            .start()
        )
        query.awaitTermination()
