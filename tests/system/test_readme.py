"""What the README shows works as it is shown."""

import re
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

import pytest

from helpers.cli import free_port

ROOT = Path(__file__).parents[2]
README = (ROOT / "README.md").read_text()


def blocks(language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```$", README, re.MULTILINE | re.DOTALL)


def test_the_python_example(tmp_path: Path) -> None:
    (example,) = blocks("python")
    script = example.replace("/tmp/orders-0", str(tmp_path / "orders-0"))
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines() == ["0", "0 b'key' b'value' (Header(key='source', value=b'readme'),)"]


ODRADEK = str(Path(sys.executable).with_name("odradek"))


def run_each(block: str, words: Mapping[str, str]) -> None:
    for line in block.splitlines():
        command = line
        for written, meant in {".venv/bin/odradek": ODRADEK, ".venv/bin/python": sys.executable, **words}.items():
            command = command.replace(written, meant)
        done = subprocess.run(["bash", "-c", command], capture_output=True, text=True, check=False)
        assert done.returncode == 0 and done.stdout, f"{line}: {done.stderr}"


def test_the_commands_on_files(clean_data: Path) -> None:
    (commands,) = [block for block in blocks("") if "odradek log" in block]
    run_each(
        commands,
        {
            "/path/to/a/kafka/data/directory/topic-0": str(clean_data / "plain-0"),
            "/path/to/a/kafka/data/directory": str(clean_data),
        },
    )


@pytest.mark.slow
def test_the_commands_on_a_cluster(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (start,) = [block for block in blocks("") if "odradek up" in block]
    (commands,) = [block for block in blocks("") if "odradek topics" in block]
    port = free_port(6)
    command = start.splitlines()[-1].replace(".venv/bin/odradek", ODRADEK)
    monkeypatch.setenv("ODRADEK_BOOTSTRAP", f"localhost:{port}")
    with subprocess.Popen(
        [*command.split(), "--port", port], cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as up:
        assert up.stdout is not None
        try:
            assert any(line.startswith("ready") for line in up.stdout)
            run_each(commands, {"localhost:9092": f"localhost:{port}"})
        finally:
            up.terminate()
    assert up.returncode == 0


def test_the_links() -> None:
    links = re.findall(r"\]\(([^)]+)\)", README)
    assert links
    assert [link for link in links if not (ROOT / link).exists()] == []
