"""What the README shows works as it is shown."""

import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]
README = (ROOT / "README.md").read_text()


def blocks(language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```$", README, re.MULTILINE | re.DOTALL)


def test_the_python_example(tmp_path: Path) -> None:
    (example,) = blocks("python")
    script = example.replace("/tmp/orders-0", str(tmp_path / "orders-0"))
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines() == ["0", "0 b'key' b'value' (Header(key='source', value=b'readme'),)"]


def test_the_commands(clean_data: Path) -> None:
    (commands,) = [block for block in blocks("") if block.startswith("make setup")]
    for line in commands.splitlines():
        if line == "make setup":
            continue
        command = line.replace(".venv/bin/odradek", str(Path(sys.executable).with_name("odradek")))
        command = command.replace("/path/to/a/kafka/data/directory/topic-0", str(clean_data / "plain-0"))
        command = command.replace("/path/to/a/kafka/data/directory", str(clean_data))
        done = subprocess.run(["bash", "-c", command], capture_output=True, text=True, check=False)
        assert done.returncode == 0 and done.stdout, f"{line}: {done.stderr}"


def test_the_links() -> None:
    links = re.findall(r"\]\(([^)]+)\)", README)
    assert links
    assert [link for link in links if not (ROOT / link).exists()] == []
