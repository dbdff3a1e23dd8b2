"""The FastAPI application with its middleware and its OpenAPI description.

If a background task of the application ends unexpectedly, the server stops.
"""

import asyncio
from typing import Any, cast

from fastapi import FastAPI
from starlette.middleware.gzip import GZipMiddleware
from starlette.types import ASGIApp

from api import limits
from api.models.actions import Given
from api.problems import ProblemDetail
from api.serving.accepting import RefusedGzip
from api.serving.conditional import ConditionalGet
from api.serving.shielding import Shield


class Application(FastAPI):
    """FastAPI application with its middleware.

    The outermost layer, `Shield`, adds security headers to all responses, including FastAPI's own
    error responses. The next layer compresses responses.
    """

    hosts: tuple[str, ...]
    takes_tokens: bool
    stop: asyncio.Event
    """Event that stops the server when it is set."""
    fault: BaseException | None = None
    """Exception that ended a background task, or None."""

    def note_end(self, task: "asyncio.Task[None]") -> None:
        """Stop the server if a background task has ended without being cancelled.

        The exception that ended the task is stored in the attribute `fault`.
        """
        if not task.cancelled():
            self.fault = task.exception() or RuntimeError(f"{task.get_coro()} has ended")
            self.stop.set()

    def build_middleware_stack(self) -> ASGIApp:
        compressed = GZipMiddleware(
            ConditionalGet(super().build_middleware_stack()),
            minimum_size=limits.COMPRESSED_FROM_BYTES,
        )
        return Shield(RefusedGzip(compressed), hosts=self.hosts)

    def openapi(self) -> dict[str, Any]:
        """Return the OpenAPI description.

        Creating the description is slow, so it is created only at the first call and then stored.
        """
        if self.openapi_schema is None:
            description = super().openapi()
            _describe_problems(description)
            if self.takes_tokens:
                _describe_tokens(description)
        return super().openapi()


def _describe_tokens(description: dict[str, Any]) -> None:
    """Declare in the OpenAPI description that all routes under ``/api/`` require a token.

    The health probes do not require one.
    """
    description["components"]["securitySchemes"] = {"token": {"type": "http", "scheme": "bearer"}}
    for path, operations in description["paths"].items():
        for operation in operations.values():
            operation["security"] = [{"token": []}] if path.startswith("/api/") else []


def _describe_problems(description: dict[str, Any]) -> None:
    """Add the schemas of problem details and of request bodies to the OpenAPI description.

    FastAPI itself adds only the schemas of response models.
    """
    schemas = cast("dict[str, Any]", description["components"]["schemas"])
    for unused in ("HTTPValidationError", "ValidationError"):
        schemas.pop(unused, None)
    schemas["ProblemDetail"] = ProblemDetail.model_json_schema()
    bodies = {each.__name__: each for each in Given.__subclasses__()}
    for operations in description["paths"].values():
        for operation in operations.values():
            for content in operation.get("requestBody", {}).get("content", {}).values():
                name = content["schema"]["$ref"].rpartition("/")[2]
                schemas[name] = bodies[name].model_json_schema()
