"""A schema registry of a few lines: what the formats ask of one, over HTTP."""

import base64
import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import unquote, urlsplit


@dataclass
class RegistryStub:
    """Schemas by id and by subject. What was asked is written down."""

    user: str | None = None
    password: str | None = None
    url: str = ""
    asked: list[str] = field(default_factory=list)
    _by_id: dict[int, dict[str, Any]] = field(default_factory=dict)
    _subjects: dict[str, list[int]] = field(default_factory=dict)

    def register(self, subject: str, schema: str, references: tuple[dict[str, Any], ...] = ()) -> int:
        """What it has already keeps its id."""
        for known in self._subjects.get(subject, []):
            if self._by_id[known] == {"schema": schema, "references": list(references)}:
                return known
        schema_id = len(self._by_id) + 1
        self._by_id[schema_id] = {"schema": schema, "references": list(references)}
        self._subjects.setdefault(subject, []).append(schema_id)
        return schema_id

    def answer(self, path: str, body: bytes) -> dict[str, Any] | None:
        parts = [unquote(part) for part in urlsplit(path).path.strip("/").split("/")]
        if parts[:2] == ["schemas", "ids"]:
            return self._by_id.get(int(parts[2]))
        if body and parts[2:] == ["versions"]:
            return {"id": self.register(parts[1], json.loads(body)["schema"])}
        ids = self._subjects.get(parts[1], [])
        if len(parts) == 2:
            wanted = json.loads(json.loads(body)["schema"])
            found = [each for each in ids if json.loads(self._by_id[each]["schema"]) == wanted]
        else:
            found = ids[-1:] if parts[3] == "latest" else ids[int(parts[3]) - 1 : int(parts[3])]
        return {"id": found[0], "subject": parts[1], **self._by_id[found[0]]} if found else None

    def allows(self, authorization: str) -> bool:
        pair = base64.b64encode(f"{self.user}:{self.password}".encode()).decode()
        return self.user is None or authorization == f"Basic {pair}"


@contextmanager
def registry_stub(user: str | None = None, password: str | None = None) -> Iterator[RegistryStub]:
    stub = RegistryStub(user, password)

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
            stub.asked.append(self.path)
            if not stub.allows(self.headers.get("Authorization", "")):
                return self._reply(401, {"message": "who are you?"})
            found = stub.answer(self.path, body)
            return self._reply(200, found) if found is not None else self._reply(404, {"message": "not found"})

        do_POST = do_GET  # noqa: N815

        def _reply(self, status: int, body: dict[str, Any]) -> None:
            self.send_response(status)
            self.end_headers()
            self.wfile.write(json.dumps(body).encode())

        def log_message(self, format: str, *args: Any) -> None:
            """The tests' output is not for it."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    stub.url = f"http://127.0.0.1:{server.server_port}"
    try:
        yield stub
    finally:
        server.shutdown()
        thread.join()
        server.server_close()
