"""REST routes for serial ports and sensors: detect protocols, change sensors, undo changes.

The broker checks the caller's role, and forwards each request to the bridge. The bridge validates
and executes the request. The broker records each change in the session log, with the name of the
caller.
"""

from typing import Annotated, Final, TypeAlias, TypeVar

from fastapi import APIRouter, Depends, Query, Request
from pydantic import BaseModel

from api import limits
from api.login.admission import OPERATORS
from api.models.sensors import (
    AskedPort,
    AskedSensor,
    ChangedSensors,
    ChangeSensor,
    Detection,
    DetectPort,
    LineFrames,
    ListPorts,
    SaveSensor,
    SensorFile,
    SensorPorts,
)
from api.problems import described
from api.rest.actions import carried_out_by, given_in, takes
from api.rest.operator import Operator
from api.rest.query_parameters import refuse_unknown

_Answer = TypeVar("_Answer", bound=BaseModel)
_ASKED: Final = described(400, 401, 403, 404, 409, 422, 502, 503)

_Name: TypeAlias = Annotated[
    str,
    Query(
        min_length=1,
        max_length=limits.SENSOR_NAME_CHARACTERS_MAX,
        description="The sensor's name.",
    ),
]

sensors_rest = APIRouter(prefix="/api/v1/serial", tags=["sensors"])


async def ask_bridge(
    request: Request, command: str, given: BaseModel, answer: type[_Answer]
) -> _Answer:
    """Send a command to the bridge for the caller of a request, and return the bridge's response.

    `given` contains the arguments of the command, and `answer` is the type of the response.
    """
    operator = request.app.state.sensor_operator
    assert isinstance(operator, Operator)
    return await carried_out_by(operator, request, command, given, answer)


@sensors_rest.get(
    "/ports",
    dependencies=[Depends(OPERATORS), Depends(refuse_unknown)],
    responses=_ASKED,
    summary="Serial ports that are plugged in, and configured sensors",
)
async def ports(request: Request) -> SensorPorts:
    """List the serial ports of this machine and the configured sensors.

    Requires the role `operator` or `administrator`.
    """
    return await ask_bridge(request, "serial_ports", ListPorts(), SensorPorts)


@sensors_rest.post("/detect", summary="Begin a detection", **takes(OPERATORS, DetectPort, 404, 409))
async def begin(request: Request) -> Detection:
    """Detect the protocol on a port, or return the progress of a detection that is running there.

    Requires the role `operator` or `administrator`. Some boards restart when the port is opened.
    Status 409 means that a configured sensor uses the port.
    """
    return await ask_bridge(
        request, "serial_detect", await given_in(request, DetectPort), Detection
    )


@sensors_rest.get(
    "/progress",
    dependencies=[Depends(OPERATORS), Depends(refuse_unknown)],
    responses=_ASKED,
    summary="Progress of a detection, with the values as they arrive",
)
async def progress(
    request: Request,
    port: Annotated[
        str,
        Query(
            min_length=1,
            max_length=limits.PORT_CHARACTERS_MAX,
            description="The port, as the detection was begun with.",
        ),
    ],
) -> Detection:
    """Return the progress of a detection. Requires the role `operator` or `administrator`."""
    return await ask_bridge(request, "serial_progress", AskedPort(port=port), Detection)


@sensors_rest.get(
    "/sensor",
    dependencies=[Depends(OPERATORS), Depends(refuse_unknown)],
    responses=_ASKED,
    summary="The file of a sensor",
)
async def sensor(
    request: Request,
    name: _Name,
) -> SensorFile:
    """Return the `[[serial]]` table of a sensor, and the version of its file.

    Requires the role `operator` or `administrator`.
    """
    return await ask_bridge(request, "serial_port", AskedSensor(name=name), SensorFile)


@sensors_rest.get(
    "/frames",
    dependencies=[Depends(OPERATORS), Depends(refuse_unknown)],
    responses=_ASKED,
    summary="The latest frames of a sensor's port",
)
async def frames(
    request: Request,
    name: _Name,
) -> LineFrames:
    """Return the latest 20 frames of a port: their bytes, their values, and errors in them.

    Requires the role `operator` or `administrator`. The frames may contain the identity of a meter.
    Two frames that arrive together are listed as one frame.
    """
    return await ask_bridge(request, "serial_frames", AskedSensor(name=name), LineFrames)


@sensors_rest.post(
    "/save", summary="Add or change a sensor", **takes(OPERATORS, SaveSensor, 404, 409)
)
async def save(request: Request) -> ChangedSensors:
    """Add or change a sensor: write its configuration file, and start reading the sensor.

    Requires the role `operator` or `administrator`. The file is written only if it passes
    the checks of the command `oncegate check-config`. Status 409 means that the file exists
    already, or that another operator has changed it.
    """
    return await ask_bridge(
        request, "serial_save", await given_in(request, SaveSensor), ChangedSensors
    )


@sensors_rest.post("/remove", summary="Remove a sensor", **takes(OPERATORS, ChangeSensor, 404, 409))
async def remove(request: Request) -> ChangedSensors:
    """Remove a sensor's file and close its port.

    Requires the role `operator` or `administrator`.
    """
    return await ask_bridge(
        request, "serial_remove", await given_in(request, ChangeSensor), ChangedSensors
    )


@sensors_rest.post(
    "/undo", summary="Undo the last change of a sensor", **takes(OPERATORS, ChangeSensor, 404, 409)
)
async def undo(request: Request) -> ChangedSensors:
    """Undo a sensor's last change: swap its file with the previous version.

    Requires the role `operator` or `administrator`.
    """
    return await ask_bridge(
        request, "serial_undo", await given_in(request, ChangeSensor), ChangedSensors
    )
