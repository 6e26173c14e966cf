"""What all tests share: Hypothesis without clocks, and Kafka's own directories."""

from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

from helpers import vectors

# No test asserts a duration, so Hypothesis does not either: the machine may be busy.
settings.register_profile("odradek", deadline=None, suppress_health_check=[HealthCheck.too_slow], print_blob=True)
settings.load_profile("odradek")


@pytest.fixture
def clean_data(tmp_path: Path) -> Path:
    """A copy of the data directory that Apache Kafka left after a clean stop."""
    return vectors.unpack(vectors.CLEAN, tmp_path)


@pytest.fixture
def unclean_data(tmp_path: Path) -> Path:
    """A copy of the data directory as it stood while Apache Kafka was running."""
    return vectors.unpack(vectors.UNCLEAN, tmp_path)
