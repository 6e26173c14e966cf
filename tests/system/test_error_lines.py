"""What a person meets who has something wrong, on the way to a running node and to a cluster: clear lines with what to
do about it, status 1, and no traceback. Each row is one mistake."""

import shutil
import socket
import subprocess
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

import pytest

from odradek.cli.app import run
from odradek.common.locks import lock_dir
from support.processes.nodes import HOST, ODRADEK
from support.processes.ports import free_ports

TIMEOUT_S = 120
CLUSTER_ID = "4L6g3nShT-eMCtK--X86sw"


class Place(NamedTuple):
    """Where a row makes its mistake: a formatted directory of a node that could start."""

    file: Path
    data: Path
    port: int
    controller_port: int

    def properties(self, **changes: str) -> str:
        values = {
            "process.roles": "broker,controller",
            "node.id": "1",
            "listeners": f"PLAINTEXT://{HOST}:{self.port},CONTROLLER://{HOST}:{self.controller_port}",
            "controller.listener.names": "CONTROLLER",
            "listener.security.protocol.map": "PLAINTEXT:PLAINTEXT,CONTROLLER:PLAINTEXT",
            "controller.quorum.voters": f"1@{HOST}:{self.controller_port}",
            "log.dirs": str(self.data),
        }
        values |= {key.replace("_", "."): value for key, value in changes.items()}
        return "".join(f"{key}={value}\n" for key, value in values.items())

    def broken(self, **changes: str) -> None:
        self.file.write_text(self.properties(**changes))


def odradek(*arguments: str, cwd: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run([*ODRADEK, *arguments], cwd=cwd, capture_output=True, text=True, timeout=TIMEOUT_S)


@pytest.fixture(scope="module")
def formatted(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("formatted")
    place = Place(root / "server.properties", root / "data", 1, 2)
    place.broken()
    assert odradek("storage", "format", "-t", CLUSTER_ID, "-c", "server.properties", cwd=root).returncode == 0
    return place.data


@pytest.fixture
def place(tmp_path: Path, formatted: Path) -> Place:
    shutil.copytree(formatted, tmp_path / "data")
    return Place(tmp_path / "server.properties", tmp_path / "data", *free_ports(2))


# A node that cannot start. Each row breaks the place, and says what is told of it.


def _not_formatted(place: Place) -> list[str]:
    place.broken(log_dirs=f"{place.data}/new")
    return [
        f"{place.data}/new does not exist.",
        "odradek storage format -c server.properties makes directories ready.",
    ]


def _of_two_clusters(place: Place) -> list[str]:
    other = place.data.with_name("other")
    shutil.copytree(place.data, other)
    meta = other / "meta.properties"
    lines = [line for line in meta.read_text().splitlines() if not line.startswith("directory.id")]
    meta.write_text("\n".join([*lines, f"directory.id={'B' * 22}"]).replace(CLUSTER_ID, "A" * 22))
    place.broken(log_dirs=f"{place.data},{other}")
    return [f"The directories belong to different clusters: {CLUSTER_ID}, {'A' * 22}."]


def _of_another_node(place: Place) -> list[str]:
    place.broken(node_id="2", controller_quorum_voters=f"2@{HOST}:{place.controller_port}")
    return [f"{place.data} belongs to the node 1, and node.id is 2."]


def _no_controller(place: Place) -> list[str]:
    place.broken(
        process_roles="broker",
        listeners=f"PLAINTEXT://{HOST}:{place.port}",
        controller_quorum_voters=f"9@{HOST}:{place.controller_port}",
        initial_broker_registration_timeout_ms="1000",
    )
    return [
        "broker 1 did not start: it could not register in 1000 ms: no response. "
        f"{HOST}:{place.controller_port} does not answer: connection refused. "
        "Start the controllers of this cluster, or correct server.properties:6: controller.quorum.voters."
    ]


def _advertised_to_nobody(place: Place) -> list[str]:
    place.broken(advertised_listeners=f"PLAINTEXT://0.0.0.0:{place.port}")
    return [
        f"server.properties:8: advertised.listeners: PLAINTEXT://0.0.0.0:{place.port}: nobody can connect to 0.0.0.0.",
        "  Advertise a name or an address of this machine, for example "
        f"PLAINTEXT://localhost:{place.port}; 0.0.0.0 is for listeners only.",
    ]


def _listening_elsewhere(place: Place) -> list[str]:
    place.broken(listeners=f"PLAINTEXT://192.0.2.7:{place.port},CONTROLLER://{HOST}:{place.controller_port}")
    return [
        f"listeners: PLAINTEXT://192.0.2.7:{place.port}: 192.0.2.7 is no address of this machine. "
        "An empty host listens on all of them."
    ]


def _unknown_setting(place: Place) -> list[str]:
    """Only a warning, as in Kafka; that the directory is another node's ends it."""
    place.broken(nun_partitions="3", node_id="2", controller_quorum_voters=f"2@{HOST}:{place.controller_port}")
    warning = "server.properties:8: nun.partitions: unknown setting, ignored. Did you mean num.partitions?"
    return [warning, f"{place.data} belongs to the node 1, and node.id is 2."]


def _unsupported(place: Place) -> list[str]:
    place.broken(ssl_keystore_location="/x", num_network_threads="3", remote_log_storage_system_enable="true")
    return [
        "server.properties:8: ssl.keystore.location: TLS is not supported.",
        "  Listeners speak PLAINTEXT; protect them by the network. See docs/settings.md.",
        "server.properties:10: remote.log.storage.system.enable: Tiered storage is not supported.",
        "  Give log.dirs the space, and limit it by log.retention.bytes. See docs/settings.md.",
    ]


def _bad_value(place: Place) -> list[str]:
    place.broken(num_partitions="many")
    return [
        'server.properties:8: num.partitions: "many": Not a number of type INT.',
        "  It is a whole number, [1,...]; 1 unless set.",
    ]


def _broken_properties(place: Place) -> list[str]:
    place.file.write_text(place.properties() + "some.path=C:\\users\n")
    return [r'server.properties:8: "\users": \u is followed by four hexadecimal digits.']


def _missing_file(place: Place) -> list[str]:
    return ["server.properties: No such file or directory"]


@pytest.mark.parametrize(
    "broken",
    [
        _not_formatted,
        _of_two_clusters,
        _of_another_node,
        _no_controller,
        _advertised_to_nobody,
        _listening_elsewhere,
        _unknown_setting,
        _unsupported,
        _bad_value,
        _broken_properties,
        _missing_file,
    ],
)
def test_a_node_that_cannot_start(broken: Callable[[Place], list[str]], place: Place) -> None:
    lines = broken(place)
    ended = odradek("server", "start", "server.properties", cwd=place.file.parent)
    told = [line for line in ended.stderr.splitlines() if line.startswith("odradek: ")]
    assert (ended.returncode, ended.stdout, told) == (1, "", [f"odradek: {line}" for line in lines])
    assert "Traceback" not in ended.stderr


def test_a_port_that_is_taken(place: Place) -> None:
    place.broken()
    with socket.create_server((HOST, place.port)):
        ended = odradek("server", "start", "server.properties", cwd=place.file.parent)
    assert ended.returncode == 1 and "Traceback" not in ended.stderr
    assert ended.stderr.splitlines()[-1] == (
        f"odradek: listeners: PLAINTEXT://{HOST}:{place.port}: port {place.port} is taken. "
        "Stop what listens there, or choose another port."
    )


def test_a_directory_in_use(place: Place) -> None:
    place.broken()
    lock = lock_dir(str(place.data))
    try:
        ended = odradek("server", "start", "server.properties", cwd=place.file.parent)
    finally:
        lock.release()
    assert (ended.returncode, ended.stderr) == (
        1,
        f"odradek: {place.data} is in use by another process. "
        "Stop the other process, or set log.dirs to another directory.\n",
    )


# A cluster without configuration; its ports and its directory in use are in `test_cli_up`.


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (
            ["--data", "file"],
            "{here}/file: a part of this path is a file. It must be a directory, or not exist yet. "
            "Use --data for another directory.",
        ),
        (["--port", "65535"], "--port 65535: ports 65535 to 65536 would be needed, and there are 1 to 65535."),
    ],
)
def test_a_cluster_that_cannot_start(options: list[str], said: str, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    ended = odradek("up", *options, cwd=tmp_path)
    assert (ended.returncode, ended.stdout, ended.stderr) == (1, "", f"odradek: {said.format(here=tmp_path)}\n")


# Commands, and what they find at the address that they were given.


@contextmanager
def answering(answer: bytes | None) -> Iterator[int]:
    """A port at which the first request is answered so, and the connection closed; None for no answer at all."""
    with socket.create_server((HOST, 0)) as listener:

        def serve() -> None:
            taken, _ = listener.accept()
            with taken:
                taken.recv(4096)
                if answer is None:
                    taken.recv(1)
                    return
                taken.sendall(answer)

        thread = threading.Thread(target=serve, daemon=True)
        thread.start()
        yield listener.getsockname()[1]
        thread.join(TIMEOUT_S)


MAY_BE = "it may be no Kafka node, or want TLS"


@pytest.mark.parametrize(
    ("answer", "said"),
    [
        (b"HTTP/1.1 400 Bad Request\r\n\r\n", "the peer speaks HTTP, not Kafka's protocol"),
        (b"SSH-2.0-OpenSSH_9.2\r\n", "the peer speaks SSH, not Kafka's protocol"),
        (bytes.fromhex("15030300020246"), "the peer speaks TLS, not Kafka's protocol"),
        (b"", f"the peer closed the connection; {MAY_BE}"),
        (None, f"no answer in 300 ms; {MAY_BE}"),
    ],
)
def test_an_address_of_somebody_else(
    answer: bytes | None, said: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    config = tmp_path / "client.properties"
    # Long enough for any answer but none.
    config.write_text(f"socket.connection.setup.timeout.ms={300 if answer is None else TIMEOUT_S * 1000}\n")
    with answering(answer) as port:
        status = run(["topics", "list", "-b", f"{HOST}:{port}", "--command-config", str(config)])
    out, err = capsys.readouterr()
    assert (status, out, err) == (1, "", f"odradek: no broker answers: {HOST}:{port}: {said}\n")


@pytest.mark.parametrize(
    ("address", "said"),
    [
        ("127.0.0.1:{port}", "no broker answers: 127.0.0.1:{port}: connection refused"),
        ("no such host:9092", '--bootstrap: "no such host:9092" is no address. Right would be host:port'),
        ("localhost", '--bootstrap: "localhost" has no port. Right would be host:port'),
        ("localhost:99999", '--bootstrap: "localhost:99999": 99999 is no port; ports end at 65535.'),
    ],
)
def test_an_address_of_nobody(address: str, said: str, capsys: pytest.CaptureFixture[str]) -> None:
    port = free_ports(1)[0]
    assert run(["topics", "list", "-b", address.format(port=port)]) == 1
    out, err = capsys.readouterr()
    assert out == "" and err.startswith(f"odradek: {said.format(port=port)}") and err.count("\n") == 1
