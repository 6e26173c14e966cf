"""Look-up of schemas by id and by subject, over the REST interface of a schema registry.

The schema of an id never changes, so each process requests it once and caches it. An unknown id is an error of the
record that contains it (`UnknownSchema`). An unreachable registry is not: the caller should retry
(`RegistryUnreachable`).
"""

import base64
import json
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from odradek.common.failures import InputError

_TIMEOUT_S = 30
_NOT_FOUND = 404
#: Schemas that one process caches: a topic has few, and forged records could name many.
_CACHED_MAX = 10_000
_ACCEPT = "application/vnd.schemaregistry.v1+json, application/json"


class UnknownSchema(ValueError):
    """The registry has no schema with this id."""


class RegistryUnreachable(Exception):
    """The registry sent no response, or an invalid one."""


@dataclass(frozen=True, slots=True)
class SchemaReference:
    """Reference of a schema to another one that it imports."""

    name: str
    subject: str
    version: int


@dataclass(frozen=True, slots=True)
class RegisteredSchema:
    """A schema as it is registered."""

    text: str
    references: tuple[SchemaReference, ...]
    #: None if it was looked up by its id.
    schema_id: int | None = None


@dataclass(frozen=True, slots=True)
class SchemaRegistry:
    """A registry at `url`, such as http://localhost:8081; user and password are for basic authentication."""

    url: str
    user: str | None = None
    password: str | None = None

    def __repr__(self) -> str:
        return f"SchemaRegistry({self.url})"

    def by_id(self, schema_id: int, form: str = "") -> RegisteredSchema:
        """Return the schema of an id. Raise UnknownSchema, RegistryUnreachable."""
        return _by_id(self, schema_id, form)

    def latest(self, subject: str, form: str = "") -> RegisteredSchema:
        """Return the latest schema of a subject. Raise InputError if there is none."""
        return self._version(subject, "latest", form)

    def referred(self, reference: SchemaReference, form: str = "") -> RegisteredSchema:
        return self._version(reference.subject, str(reference.version), form)

    def id_of(self, subject: str, schema: str) -> int:
        """Return the id of a schema that is registered under the subject. Raise InputError if it is not."""
        document = self.request(f"/subjects/{_quoted(subject)}", json.dumps({"schema": schema}).encode())
        if document is None:
            raise InputError(
                f"{self.url} has no such schema under subject {subject}; register it first, or omit the schema to use "
                "the latest one of the subject"
            )
        return int(document["id"])

    def _version(self, subject: str, version: str, form: str) -> RegisteredSchema:
        document = self.request(f"/subjects/{_quoted(subject)}/versions/{version}{_form(form)}")
        if document is None:
            raise InputError(f"{self.url} has no subject {subject} with a version {version}")
        return _registered(document)

    def request(self, path: str, body: bytes | None = None) -> dict[str, Any] | None:
        """Send a request, and return the JSON object of the response, or None if nothing was found."""
        request = urllib.request.Request(self.url.rstrip("/") + path, body, self._headers())
        try:
            with urllib.request.urlopen(request, timeout=_TIMEOUT_S) as response:
                document = json.load(response)
        except urllib.error.HTTPError as error:
            if error.code == _NOT_FOUND:
                return None
            raise RegistryUnreachable(f"{self.url}{path}: {error.code} {error.reason}") from None
        except (OSError, ValueError) as error:
            raise RegistryUnreachable(f"{self.url}{path}: {error}") from None
        return document if isinstance(document, dict) else None

    def _headers(self) -> dict[str, str]:
        headers = {"Accept": _ACCEPT, "Content-Type": "application/vnd.schemaregistry.v1+json"}
        if self.user is not None:
            pair = base64.b64encode(f"{self.user}:{self.password or ''}".encode()).decode()
            headers["Authorization"] = f"Basic {pair}"
        return headers


def registry_at(url: str | None, user: str | None, password: str | None) -> SchemaRegistry | None:
    """Return the registry at an address, which may contain user and password. Raise InputError for an invalid one."""
    if url is None:
        return None
    parts = urllib.parse.urlsplit(url)
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise InputError(f"registry: {url!r} is not an address such as http://localhost:8081")
    if parts.username is not None:
        user, password = urllib.parse.unquote(parts.username), urllib.parse.unquote(parts.password or "")
    bare = parts._replace(netloc=parts.netloc.rpartition("@")[2])
    return SchemaRegistry(urllib.parse.urlunsplit(bare).rstrip("/"), user, password)


@lru_cache(_CACHED_MAX)
def _by_id(registry: SchemaRegistry, schema_id: int, form: str) -> RegisteredSchema:
    document = registry.request(f"/schemas/ids/{schema_id}{_form(form)}")
    if document is None:
        raise UnknownSchema(f"{registry.url} has no schema with id {schema_id}")
    return _registered(document)


def _registered(document: Mapping[str, Any]) -> RegisteredSchema:
    references = (
        SchemaReference(entry["name"], entry["subject"], entry["version"]) for entry in document.get("references") or ()
    )
    return RegisteredSchema(document["schema"], tuple(references), document.get("id"))


def _form(form: str) -> str:
    return f"?format={form}" if form else ""


def _quoted(name: str) -> str:
    return urllib.parse.quote(name, safe="")
