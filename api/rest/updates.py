"""REST routes with which administrators update the system on the SD card.

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
    """Install a signed update in the inactive slot.

    The caller must be an administrator who is logged in. A program's token is not accepted. The
    gateway keeps running during the installation. `GET /api/v1/card` returns the progress.
    Afterwards, `POST /api/v1/reboot` starts the new version. Status 404 means that the gateway does
    not run from the SD card.
    """
    given = await given_in(request, InstallUpdate)
    return await carried_out(request, "install_update", given, Requested)


@updates_rest.post(
    "/card/back", summary="Go back to the other version", **takes(ADMINISTRATORS, GoBack, 404, 409)
)
async def go_back(request: Request) -> Requested:
    """Go back to the version in the inactive slot at the next restart.

    The caller must be an administrator who is logged in. A program's token is not accepted. If
    going back to this version is impossible, `GET /api/v1/card` returns the reason in
    `no_way_back`.
    """
    given = await given_in(request, GoBack)
    return await carried_out(request, "go_back", given, Requested)
