"""The pages for adding, changing and removing sensors, and for undoing a change.

The pages work without JavaScript. Pages with a form do not reload automatically, so that no input
is lost.
"""

from collections.abc import Awaitable
from typing import Annotated, Final, TypeVar
from urllib.parse import urlencode

from fastapi import APIRouter, Depends, Query, Request
from fastapi.responses import HTMLResponse, RedirectResponse, Response

from api import limits
from api.drawing.sensor_form import SensorForm, form_in, form_of_table
from api.forms import form_of
from api.login.admission import OPERATORS
from api.models.bridge import Port
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
from api.pages.actions import FORM_FAILURES, refuse_stale, shown_of
from api.pages.page import down_page, rendered
from api.rest.sensors import ask_bridge
from api.rest.status import observer_of
from api.status.control_socket import BrokerProblem
from gateway.process.control.messages import Refused

_PortText = Annotated[str, Query(min_length=1, max_length=limits.PORT_CHARACTERS_MAX)]
_Name = Annotated[str, Query(min_length=1, max_length=limits.SENSOR_NAME_CHARACTERS_MAX)]
_Answer = TypeVar("_Answer")
_FAILURES: Final = (BrokerProblem, Refused)
_CHANGES: Final = {"remove": "serial_remove", "undo": "serial_undo"}

ports_page = APIRouter(include_in_schema=False, default_response_class=HTMLResponse)


@ports_page.get("/ports", dependencies=[Depends(OPERATORS)])
async def ports(request: Request) -> Response:
    """Show the connected serial ports and the configured sensors."""
    return await _ports(request)


@ports_page.get("/ports/other", dependencies=[Depends(OPERATORS)])
async def other(request: Request) -> Response:
    """Show a form for entering the path of a serial port that is not in the list."""
    return _other(request, "")


@ports_page.get("/ports/frames", dependencies=[Depends(OPERATORS)])
async def frames(request: Request, name: _Name) -> Response:
    """Show the latest frames of a sensor's port."""
    given = AskedSensor(name=name)
    found, problem, status_code = await _tried(
        ask_bridge(request, "serial_frames", given, LineFrames)
    )
    shown = [] if found is None else found.frames
    return rendered(
        request,
        "frames.html",
        status_code=status_code,
        name=name,
        frames=shown,
        problem=problem,
        now_ms=max((each.time_ms for each in shown), default=0),
    )


@ports_page.post("/ports/detect", dependencies=[Depends(OPERATORS)])
async def begin(request: Request) -> Response:
    """Start detecting the protocol on a port, and redirect to the page with the progress."""
    port = ""
    try:
        fields = await form_of(request, request.app.state.hosts)
        port = fields.get("port", "").strip()
        refuse_stale(request, fields)
        given = DetectPort(port=port, ask=fields.get("ask") == "yes")
        await ask_bridge(request, "serial_detect", given, Detection)
    except FORM_FAILURES as failure:
        return _other(request, port, *shown_of(failure))
    return RedirectResponse(f"/ports/detect?{urlencode({'port': port})}", 303)


@ports_page.get("/ports/detect", dependencies=[Depends(OPERATORS)])
async def progress(request: Request, port: _PortText) -> Response:
    """Show the progress of a protocol detection, and the values as they arrive."""
    detection, problem, status_code = await _detection_on(request, port)
    return rendered(
        request,
        "detect.html",
        status_code=status_code,
        port=port,
        detection=detection,
        problem=problem,
    )


@ports_page.get("/ports/new", dependencies=[Depends(OPERATORS)])
async def new(
    request: Request, port: Annotated[str, Query(max_length=limits.PORT_CHARACTERS_MAX)] = ""
) -> Response:
    """Show the form for a new sensor, filled in from a protocol detection on `port`, if any."""
    # Without a detection the user fills in the form.
    detection = (await _detection_on(request, port))[0] if port else None
    if detection is None or detection.found is None:
        return await _form(request, SensorForm(port=port))
    return await _form(request, form_of_table("", None, detection.found.table))


@ports_page.get("/ports/change", dependencies=[Depends(OPERATORS)])
async def change(request: Request, name: _Name) -> Response:
    """Show the form for changing a sensor."""
    try:
        file = await ask_bridge(request, "serial_port", AskedSensor(name=name), SensorFile)
    except _FAILURES as failure:
        return await _ports(request, *shown_of(failure))
    return await _form(request, form_of_table(file.name, file.version, file.table))


@ports_page.post("/ports/save", dependencies=[Depends(OPERATORS)])
async def save(request: Request) -> Response:
    """Save a sensor from a submitted form, and redirect to the page with its first reading."""
    form = SensorForm()
    try:
        fields = await form_of(request, request.app.state.hosts)
        form = form_in(fields)
        refuse_stale(request, fields)
        given = SaveSensor(name=form.name, table=form.table, version=form.version or None)
        await ask_bridge(request, "serial_save", given, ChangedSensors)
    except FORM_FAILURES as failure:
        return await _form(request, form, *shown_of(failure))
    return RedirectResponse(f"/ports/sensor?{urlencode({'name': form.name})}", 303)


@ports_page.get("/ports/sensor", dependencies=[Depends(OPERATORS)])
async def sensor(request: Request, name: _Name) -> Response:
    """Show whether the gateway receives data from a sensor, and the sensor's first reading."""
    try:
        overview = await observer_of(request).overview()
    except BrokerProblem as problem:
        return down_page(request, problem)
    bridge = overview.serial.status
    found: list[Port] = [] if bridge is None else [p for p in bridge.ports if p.name == name]
    return rendered(
        request,
        "added.html",
        overview=overview,
        name=name,
        port=found[0] if found else None,
        now_ms=overview.broker.time_ms,
    )


@ports_page.get("/ports/remove", dependencies=[Depends(OPERATORS)])
async def ask_remove(request: Request, name: _Name) -> Response:
    """Show the confirmation page for removing a sensor."""
    return await _asked(request, "remove", name)


@ports_page.get("/ports/undo", dependencies=[Depends(OPERATORS)])
async def ask_undo(request: Request, name: _Name) -> Response:
    """Show the confirmation page for undoing the last change of a sensor."""
    return await _asked(request, "undo", name)


@ports_page.post("/ports/remove", dependencies=[Depends(OPERATORS)])
async def remove(request: Request) -> Response:
    """Remove the sensor named in a submitted form."""
    return await _changed(request, "remove")


@ports_page.post("/ports/undo", dependencies=[Depends(OPERATORS)])
async def undo(request: Request) -> Response:
    """Undo the last change of the sensor named in a submitted form."""
    return await _changed(request, "undo")


async def _ports(request: Request, problem: str | None = None, status_code: int = 200) -> Response:
    found, list_problem, list_status = await _listed(request)
    return rendered(
        request,
        "ports.html",
        status_code=status_code if problem is not None else list_status,
        found=found,
        problem=problem or list_problem,
    )


def _other(
    request: Request, port: str, problem: str | None = None, status_code: int = 200
) -> Response:
    return rendered(
        request, "port_choice.html", status_code=status_code, port=port, problem=problem
    )


async def _listed(request: Request) -> tuple[SensorPorts | None, str | None, int]:
    """Request the ports and sensors from the bridge.

    Return the ports and sensors, an error message, and the HTTP status code. If the request
    succeeded, the message is None. Otherwise, the ports and sensors are None.
    """
    return await _tried(ask_bridge(request, "serial_ports", ListPorts(), SensorPorts))


async def _detection_on(request: Request, port: str) -> tuple[Detection | None, str | None, int]:
    """Ask the bridge how far the detection on a port has progressed.

    Return a tuple of the progress, an error message and an HTTP status code. The message is None if
    the request succeeded, and the progress is None if it failed.
    """
    given = AskedPort(port=port)
    return await _tried(ask_bridge(request, "serial_progress", given, Detection))


async def _tried(asked: Awaitable[_Answer]) -> tuple[_Answer | None, str | None, int]:
    try:
        return await asked, None, 200
    except _FAILURES as failure:
        return None, *shown_of(failure)


async def _form(
    request: Request, form: SensorForm, problem: str | None = None, status_code: int = 200
) -> Response:
    found, list_problem, _ = await _listed(request)
    return rendered(
        request,
        "sensor_form.html",
        status_code=status_code,
        form=form,
        protocols=[] if found is None else found.protocols,
        problem=problem or list_problem,
    )


async def _asked(
    request: Request,
    command: str,
    name: str,
    problem: str | None = None,
    status_code: int = 200,
) -> Response:
    found, list_problem, _ = await _listed(request)
    sensors = [] if found is None else [each for each in found.sensors if each.name == name]
    return rendered(
        request,
        "sensor_change.html",
        status_code=status_code,
        command=command,
        name=name,
        sensor=sensors[0] if sensors else None,
        problem=problem or list_problem,
    )


async def _changed(request: Request, command: str) -> Response:
    name = ""
    try:
        fields = await form_of(request, request.app.state.hosts)
        name = fields.get("name", "")
        refuse_stale(request, fields)
        given = ChangeSensor(name=name, version=fields.get("version") or None)
        await ask_bridge(request, _CHANGES[command], given, ChangedSensors)
    except FORM_FAILURES as failure:
        return await _asked(request, command, name, *shown_of(failure))
    return RedirectResponse("/ports", 303)
