"""REST routes for updates of the SD card's system, for administrators.

The broker writes each request to a file, and the card's system executes it. `GET /api/v1/card`
returns the progress.
"""

from fastapi import APIRouter, Request

from api.login.admission import ADMINISTRATORS
from api.models.network import Requested
from api.models.updates import GoBack, InstallUpdate
from api.rest.actions import carried_out, given_in, takes

updates_rest = APIRouter(prefix="/api/v1", tags=["card"])


@updates_rest.post(
    "/card/update", summary="Install an update", **takes(ADMINISTRATORS, InstallUpdate, 404, 409)
)
async def install_update(request: Request) -> Requested:
    """Install a signed bundle in the slot that does not run. For administrators who are logged in.

    A program's token is not accepted. The gateway keeps running meanwhile. `GET /api/v1/card` has
    the progress, and `POST /api/v1/reboot` then tries the new version. Status 404 means that the
    gateway does not run from the SD card.
    """
    given = await given_in(request, InstallUpdate)
    return await carried_out(request, "install_update", given, Requested)


@updates_rest.post(
    "/card/back", summary="Go back to the other version", **takes(ADMINISTRATORS, GoBack, 404, 409)
)
async def go_back(request: Request) -> Requested:
    """Select the version in the other slot for the next start. For administrators.

    A program's token is not accepted. `no_way_back` in `GET /api/v1/card` has the reason if this is
    impossible.
    """
    given = await given_in(request, GoBack)
    return await carried_out(request, "go_back", given, Requested)
