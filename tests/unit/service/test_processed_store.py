"""Stores of what was done."""

import sqlite3
import threading
from pathlib import Path

import pytest

from odradek.common.failures import InputError
from odradek.service.processed_store import MemoryDone, SqliteDone


def test_memory_is_bounded() -> None:
    done = MemoryDone(remembered=2)
    for key in ("a", "b", "a", "c"):
        done.mark(key)
    assert [done.seen(key) for key in ("a", "b", "c")] == [True, False, True]


def test_sqlite_outlives_the_process(tmp_path: Path) -> None:
    path = str(tmp_path / "done.db")
    first = SqliteDone(path)
    first.mark("a")
    first.mark("a")
    first.close()
    second = SqliteDone(path)
    assert second.seen("a") and not second.seen("b")
    second.close()


def test_sqlite_is_bounded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("odradek.service.processed_store._TRIM_EVERY", 10)
    done = SqliteDone(str(tmp_path / "done.db"), remembered=20)
    for number in range(100):
        done.mark(f"key-{number}")
    remembered = [number for number in range(100) if done.seen(f"key-{number}")]
    assert remembered == list(range(80, 100))
    done.close()


def test_effects_and_their_mark_are_one(tmp_path: Path) -> None:
    path = str(tmp_path / "done.db")
    done = SqliteDone(path)
    with done.effects("a") as connection:
        connection.execute("CREATE TABLE orders (id INTEGER)")
        connection.execute("INSERT INTO orders VALUES (1)")
    with pytest.raises(ZeroDivisionError), done.effects("b") as connection:
        connection.execute("INSERT INTO orders VALUES (2)")
        raise ZeroDivisionError
    assert done.seen("a") and not done.seen("b")
    done.close()
    other = sqlite3.connect(path)
    assert other.execute("SELECT id FROM orders").fetchall() == [(1,)]
    other.close()


def test_threads_take_turns(tmp_path: Path) -> None:
    done = SqliteDone(str(tmp_path / "done.db"))
    with done.effects("table") as connection:
        connection.execute("CREATE TABLE counter (value INTEGER)")
        connection.execute("INSERT INTO counter VALUES (0)")

    def work(thread: int) -> None:
        for number in range(50):
            with done.effects(f"{thread}-{number}") as connection:
                (value,) = connection.execute("SELECT value FROM counter").fetchone()
                connection.execute("UPDATE counter SET value = ?", (value + 1,))

    threads = [threading.Thread(target=work, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    with done.effects("look") as connection:
        assert connection.execute("SELECT value FROM counter").fetchone() == (200,)
    done.close()


def test_an_await_inside_effects_is_told_and_does_not_hang(tmp_path: Path) -> None:
    done = SqliteDone(str(tmp_path / "done.db"))
    with done.effects("a"), pytest.raises(InputError, match="await"):
        done.seen("b")
    assert done.seen("a")
    done.close()


def test_a_path_that_cannot_be(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"no/done\.db"):
        SqliteDone(str(tmp_path / "no" / "done.db"))
