"""The FastAPI application: its layers, its OpenAPI description, and what ends it."""

import asyncio
from typing import Any, cast

from fastapi import FastAPI
from starlette.middleware.gzip import GZipMiddleware
from starlette.types import ASGIApp

from api import limits
from api.conditional import ConditionalGet
from api.models.actions import Kick, NewBan, OldBan, Reload
from api.models.alarms import Acknowledge
from api.models.sensors import ChangeSensor, DetectPort, SaveSensor
from api.models.topics import ClearRetained, PublishMessage
from api.models.users import RemoveUser, SetPassword
from api.problems import ProblemDetail
from api.shielding import Shield

_GIVEN = (
    *(Kick, NewBan, OldBan, Reload, Acknowledge, PublishMessage, ClearRetained),
    *(DetectPort, SaveSensor, ChangeSensor, SetPassword, RemoveUser),
)
"""Arguments of actions, whose schemas FastAPI does not add by itself."""


class Application(FastAPI):
    """FastAPI application with the shield as its outermost layer, around its own error responses
    too, and compression below it.
    """

    hosts: tuple[str, ...]
    takes_tokens: bool
    stop: asyncio.Event
    """Set it to stop the server."""
    fault: BaseException | None = None
    """Fault of our own in a background task."""

    def note_end(self, task: "asyncio.Task[None]") -> None:
        """Stop the server because a background task has ended."""
        if not task.cancelled():
            self.fault = task.exception() or RuntimeError(f"{task.get_coro()} has ended")
            self.stop.set()

    def build_middleware_stack(self) -> ASGIApp:
        compressed = GZipMiddleware(
            ConditionalGet(super().build_middleware_stack()),
            minimum_size=limits.COMPRESSED_FROM_BYTES,
        )
        return Shield(compressed, hosts=self.hosts)

    def openapi(self) -> dict[str, Any]:
        """Return the OpenAPI description, created at the first request, because that is slow."""
        if self.openapi_schema is None:
            description = super().openapi()
            _describe_problems(description)
            if self.takes_tokens:
                _describe_tokens(description)
        return super().openapi()


def _describe_tokens(description: dict[str, Any]) -> None:
    """Add to the OpenAPI description that programs need a token, except for the probes."""
    description["components"]["securitySchemes"] = {"token": {"type": "http", "scheme": "bearer"}}
    for path, operations in description["paths"].items():
        for operation in operations.values():
            operation["security"] = [{"token": []}] if path.startswith("/api/") else []


def _describe_problems(description: dict[str, Any]) -> None:
    """Add the schemas of problem details and actions to the OpenAPI description.

    FastAPI itself adds only those of responses.
    """
    schemas = cast("dict[str, Any]", description["components"]["schemas"])
    for unused in ("HTTPValidationError", "ValidationError"):
        schemas.pop(unused, None)
    schemas["ProblemDetail"] = ProblemDetail.model_json_schema()
    for given in _GIVEN:
        schemas[given.__name__] = given.model_json_schema()
