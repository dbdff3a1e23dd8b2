"""Rejects unknown query parameters, so that a mistyped filter is not silently ignored."""

from fastapi import Request
from fastapi.exceptions import RequestValidationError
from fastapi.routing import APIRoute

from api import limits


async def refuse_unknown(request: Request) -> None:
    """Reject a request that has an undeclared query parameter.

    Routes use this function as a FastAPI dependency.

    Raises:
        RequestValidationError: the request has an unknown query parameter.
    """
    route = request.scope["route"]
    assert isinstance(route, APIRoute)
    known = {parameter.alias for parameter in route.dependant.query_params}
    unknown = next((name for name in request.query_params if name not in known), None)
    if unknown is not None:
        place = unknown[: limits.SHOWN_CHARACTERS_MAX]
        takes = ", ".join(sorted(known)) or "none"
        raise RequestValidationError(
            [{"loc": ("query", place), "msg": f"is not a parameter here; there are: {takes}"}]
        )
