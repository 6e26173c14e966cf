"""A schema registry: schemas by their ids and by their subjects, over its REST interface.

Schemas with an id never change, so every process asks for each once and remembers it. That a registry does not know an
id is the fault of the record that names it; that it cannot be reached is nobody's, and the task fails and is tried
again by Spark.
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
#: Of schemas that one process remembers: a topic has few, and an intruder could name many.
_REMEMBERED_MAX = 10_000
_ACCEPT = "application/vnd.schemaregistry.v1+json, application/json"


class UnknownSchema(ValueError):
    """The registry has no schema by this id."""


class RegistryUnreachable(Exception):
    """It gave no answer, or one that says nothing about schemas."""


@dataclass(frozen=True, slots=True)
class Reference:
    """To a schema that another one imports."""

    name: str
    subject: str
    version: int


@dataclass(frozen=True, slots=True)
class Registered:
    """A schema as the registry has it."""

    text: str
    references: tuple[Reference, ...]
    #: None where it was asked for by its id.
    schema_id: int | None = None


@dataclass(frozen=True, slots=True)
class Registry:
    """`url` as in http://localhost:8081; the user and password are for basic authentication."""

    url: str
    user: str | None = None
    password: str | None = None

    def __repr__(self) -> str:
        return f"Registry({self.url})"

    def by_id(self, schema_id: int, form: str = "") -> Registered:
        """Raises UnknownSchema, RegistryUnreachable."""
        return _by_id(self, schema_id, form)

    def latest(self, subject: str, form: str = "") -> Registered:
        """Raises InputError where there is none."""
        return self._version(subject, "latest", form)

    def referred(self, reference: Reference, form: str = "") -> Registered:
        return self._version(reference.subject, str(reference.version), form)

    def id_of(self, subject: str, schema: str) -> int:
        """Of a schema that is registered under the subject already. Raises InputError where it is not."""
        found = self._ask(f"/subjects/{_quoted(subject)}", json.dumps({"schema": schema}).encode())
        if found is None:
            raise InputError(
                f"{self.url} has not this schema under subject {subject}; register it first, or leave the schema out "
                "and the newest of the subject is used"
            )
        return int(found["id"])

    def _version(self, subject: str, version: str, form: str) -> Registered:
        found = self._ask(f"/subjects/{_quoted(subject)}/versions/{version}{_form(form)}")
        if found is None:
            raise InputError(f"{self.url} has no subject {subject} with a version {version}")
        return _registered(found)

    def _ask(self, path: str, body: bytes | None = None) -> dict[str, Any] | None:
        """None where it is not found."""
        request = urllib.request.Request(self.url.rstrip("/") + path, body, self._headers())
        try:
            with urllib.request.urlopen(request, timeout=_TIMEOUT_S) as answer:
                found = json.load(answer)
        except urllib.error.HTTPError as error:
            if error.code == _NOT_FOUND:
                return None
            raise RegistryUnreachable(f"{self.url}{path}: {error.code} {error.reason}") from None
        except (OSError, ValueError) as error:
            raise RegistryUnreachable(f"{self.url}{path}: {error}") from None
        return found if isinstance(found, dict) else None

    def _headers(self) -> dict[str, str]:
        headers = {"Accept": _ACCEPT, "Content-Type": "application/vnd.schemaregistry.v1+json"}
        if self.user is not None:
            pair = base64.b64encode(f"{self.user}:{self.password or ''}".encode()).decode()
            headers["Authorization"] = f"Basic {pair}"
        return headers


def registry_at(url: str | None, user: str | None, password: str | None) -> Registry | None:
    """Raises InputError for what is no address. User and password may stand in the address too."""
    if url is None:
        return None
    parts = urllib.parse.urlsplit(url)
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise InputError(f"registry: {url!r} is no address such as http://localhost:8081")
    if parts.username is not None:
        user, password = urllib.parse.unquote(parts.username), urllib.parse.unquote(parts.password or "")
    bare = parts._replace(netloc=parts.netloc.rpartition("@")[2])
    return Registry(urllib.parse.urlunsplit(bare).rstrip("/"), user, password)


@lru_cache(_REMEMBERED_MAX)
def _by_id(registry: Registry, schema_id: int, form: str) -> Registered:
    found = registry._ask(f"/schemas/ids/{schema_id}{_form(form)}")
    if found is None:
        raise UnknownSchema(f"{registry.url} has no schema with id {schema_id}")
    return _registered(found)


def _registered(found: Mapping[str, Any]) -> Registered:
    references = (Reference(each["name"], each["subject"], each["version"]) for each in found.get("references") or ())
    return Registered(found["schema"], tuple(references), found.get("id"))


def _form(form: str) -> str:
    return f"?format={form}" if form else ""


def _quoted(name: str) -> str:
    return urllib.parse.quote(name, safe="")
