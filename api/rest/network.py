"""REST routes with which administrators change the gateway's host name and network settings.

The broker writes each request to a file, and the card's system executes it. A change takes effect
immediately, but it is undone after five minutes unless an administrator keeps it.
"""

from typing import Final

from fastapi import APIRouter, Depends, Request

from api.login.admission import ADMINISTRATORS
from api.models.network import Answered, ChangeNetwork, Network, Requested
from api.problems import described
from api.rest.actions import carried_out, given_in, takes
from api.rest.query_parameters import refuse_unknown
from api.status.network import NetworkReader
from gateway.process.control.messages import Refused

NOT_A_CARD: Final = "name and network are set here only where the gateway runs from the SD card"

network_rest = APIRouter(prefix="/api/v1", tags=["card"])


def network_of(request: Request) -> Network | None:
    """Return the gateway's host name and network settings.

    Return None if this machine does not run from an SD card.
    """
    reader = request.app.state.network
    assert isinstance(reader, NetworkReader)
    return reader.read()


@network_rest.get(
    "/network",
    dependencies=[Depends(ADMINISTRATORS), Depends(refuse_unknown)],
    responses=described(401, 403, 404, 422),
    summary="Name and network of the SD card",
)
async def network(request: Request) -> Network:
    """Return the gateway's host name, network interfaces and network settings.

    Requires the role `administrator`. The field `change` describes the last change of the host name
    or the network settings. Status 404 means that the gateway does not run from the SD card.
    """
    found = network_of(request)
    if found is None:
        raise Refused("not_a_card", NOT_A_CARD)
    return found


@network_rest.post(
    "/network/change",
    summary="Change name and network",
    **takes(ADMINISTRATORS, ChangeNetwork, 404, 409),
)
async def change_network(request: Request) -> Requested:
    """Change the gateway's host name, Wi-Fi network or Ethernet address.

    The caller must be an administrator who is logged in. A program's token is not accepted. The
    change is undone after five minutes unless someone sends `POST /api/v1/network/keep`, which
    shows that the new address works. `GET /api/v1/network` returns the state of the change in
    `change`. Status 404 means that the gateway does not run from the SD card.
    """
    given = await given_in(request, ChangeNetwork)
    return await carried_out(request, "change_network", given, Requested)


@network_rest.post(
    "/network/keep",
    summary="Keep a change of name and network",
    **takes(ADMINISTRATORS, Answered, 404, 409),
)
async def keep_network(request: Request) -> Requested:
    """Keep the network change, so that it is not undone after five minutes.

    Requires the role `administrator`.
    """
    given = await given_in(request, Answered)
    return await carried_out(request, "keep_network", given, Requested)


@network_rest.post(
    "/network/undo",
    summary="Undo a change of name and network",
    **takes(ADMINISTRATORS, Answered, 404, 409),
)
async def undo_network(request: Request) -> Requested:
    """Undo the network change that is not confirmed yet. Requires the role `administrator`."""
    given = await given_in(request, Answered)
    return await carried_out(request, "undo_network", given, Requested)
