"""The page with the configuration in force: each key, its value, and where it was set."""

from itertools import groupby
from typing import Annotated, Literal

from fastapi import APIRouter, Depends, Query, Request
from fastapi.responses import HTMLResponse, Response

from api.login.admission import VIEWERS
from api.pages.page import down_page, rendered
from api.rest.status import observer_of
from api.status.control_socket import BrokerProblem

configuration_page = APIRouter(include_in_schema=False, default_response_class=HTMLResponse)


@configuration_page.get("/configuration", dependencies=[Depends(VIEWERS)])
async def configuration(
    request: Request, show: Annotated[Literal["all", "set"], Query()] = "set"
) -> Response:
    """Show the configuration in force: the keys that are set, or all keys if `show` is `all`."""
    try:
        found = await observer_of(request).configuration()
    except BrokerProblem as problem:
        return down_page(request, problem)
    keys = [each for each in found.keys if show == "all" or each.source is not None]
    sections = groupby(keys, key=lambda each: each.section)
    return rendered(
        request,
        "configuration.html",
        found=found,
        show=show,
        sections=[(section, list(of_section)) for section, of_section in sections],
    )
