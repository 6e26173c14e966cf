"""What all tests share: their order, Hypothesis without clocks, and Kafka's own directories."""

import os
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

from support import vectors
from support.ordering import dealt

# No test asserts a duration, so Hypothesis does not either: the machine may be busy.
settings.register_profile("odradek", deadline=None, suppress_health_check=[HealthCheck.too_slow], print_blob=True)
settings.load_profile("odradek")


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    items[:] = dealt(
        items,
        int(os.environ.get("PYTEST_XDIST_WORKER_COUNT", "1")),
        file_of=lambda item: item.nodeid.partition("::")[0],
        is_slow=lambda item: item.get_closest_marker("slow") is not None,
        is_first=lambda name: "/system/" in name,
    )


@pytest.fixture
def clean_data(tmp_path: Path) -> Path:
    """A copy of the data directory that Apache Kafka left after a clean stop."""
    return vectors.unpack(vectors.CLEAN, tmp_path)


@pytest.fixture
def unclean_data(tmp_path: Path) -> Path:
    """A copy of the data directory as it stood while Apache Kafka was running."""
    return vectors.unpack(vectors.UNCLEAN, tmp_path)
