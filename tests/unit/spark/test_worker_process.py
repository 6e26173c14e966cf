"""What makes later tasks of a worker cheap."""

import gc
import subprocess
import sys

from odradek.spark.worker_process import spare_modules

_READ = """
import sys
from odradek.common.ids import TopicPartition
from odradek.records.builder import BatchBuilder
from odradek.records.columns.record_columns import read_columns
from odradek.spark.source.schema import to_arrow
builder = BatchBuilder()
builder.append(1, None, b"one")
builder.append(2, b"key", None)
rows = to_arrow(TopicPartition("topic", 3), read_columns(builder.build()), with_headers=False)
assert rows.num_rows == 2
print("pandas" in sys.modules)
"""


def test_what_is_there_after_the_first_task_is_not_looked_at_again() -> None:
    try:
        spare_modules("a test")
        spared = gc.get_freeze_count()
        assert spared > 10_000
        kept = [[] for _ in range(1_000)]
        spare_modules("a test")
        assert gc.get_freeze_count() <= spared and len(kept) == 1_000
    finally:
        gc.unfreeze()
        spare_modules.cache_clear()


def test_reading_does_not_load_pandas() -> None:
    done = subprocess.run([sys.executable, "-c", _READ], capture_output=True, text=True, check=False)
    assert (done.stdout.strip(), done.stderr) == ("False", "")
