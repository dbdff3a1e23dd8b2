"""REST routes for alarms: list alarms and, for operators, acknowledge them."""

from typing import Annotated

from fastapi import APIRouter, Depends, HTTPException, Query, Request

from api import limits
from api.alarms.alarm import Alarm, Key
from api.alarms.conditions.condition import Level
from api.alarms.kinds import kind_of
from api.alarms.watch import AlarmWatch
from api.login.admission import OPERATORS, VIEWERS
from api.models.alarms import Accepted, Acknowledge, AlarmPage, AlarmReport, LevelWord, State
from api.problems import described
from api.rest.actions import caller_of, carried_out, given_in, takes
from api.rest.query_parameters import refuse_unknown

alarms_rest = APIRouter(prefix="/api/v1", tags=["alarms"])


def watch_of(request: Request) -> AlarmWatch:
    """Return this process's `AlarmWatch`, which holds the table of alarms."""
    watch = request.app.state.alarms
    assert isinstance(watch, AlarmWatch)
    return watch


def report_of(alarm: Alarm) -> AlarmReport:
    """Convert an alarm to the form that the REST interface returns."""
    values = {**vars(alarm), "level": alarm.level.word}
    state: State = "active" if alarm.cleared_ms is None else "cleared"
    return AlarmReport(title=kind_of(alarm.id).title, state=state, **values)


async def acknowledged(request: Request, given: Acknowledge) -> Alarm | None:
    """Acknowledge an alarm on behalf of the caller of a request.

    The broker checks the caller's role, and records the caller's name in the session log. Return
    the changed alarm, or None if the alarm is not active.
    """
    watch, key = watch_of(request), Key(given.id, given.subject)
    if all(alarm.key != key for alarm in watch.active()):
        return None
    await carried_out(request, "acknowledge_alarm", given, Accepted)
    return await watch.acknowledge(key, by=caller_of(request).name)


@alarms_rest.get(
    "/alarms",
    dependencies=[Depends(VIEWERS), Depends(refuse_unknown)],
    responses=described(401, 403, 422),
    summary="Alarms: active ones, or the history",
)
async def alarms(
    request: Request,
    state: Annotated[State, Query(description="Active alarms, or those that were cleared.")] = (
        "active"
    ),
    level: Annotated[LevelWord | None, Query(description="Only alarms of this level.")] = None,
    after: Annotated[
        int | None, Query(ge=0, le=2**62, description="The `next` of the page before.")
    ] = None,
    limit: Annotated[
        int, Query(ge=1, le=limits.ALARMS_PER_REQUEST_MAX, description="Alarms on a page.")
    ] = limits.ALARMS_PER_REQUEST_MAX,
) -> AlarmPage:
    """List active alarms by importance, or cleared alarms from the latest to the earliest."""
    watch = watch_of(request)
    if state == "active":
        found = [each for each in watch.active() if level in (None, each.level.word)]
        first = after or 0
        listed, more = found[first : first + limit], first + limit
        following = str(more) if more < len(found) else None
    else:
        chosen = next((each for each in Level if each.word == level), None)
        rows = await watch.cleared(before=after, limit=limit, level=chosen)
        listed = [alarm for _, alarm in rows]
        following = str(rows[-1][0]) if len(rows) == limit else None
    return AlarmPage(
        alarms=[report_of(each) for each in listed],
        next=following,
        not_listed=watch.not_listed,
        problem=watch.problem,
    )


@alarms_rest.post(
    "/alarms/acknowledge", summary="Acknowledge an alarm", **takes(OPERATORS, Acknowledge, 404)
)
async def acknowledge(request: Request) -> AlarmReport:
    """Acknowledge an active alarm. Requires the role `operator` or `administrator`.

    An alarm about lost messages or readings stays active until it is acknowledged. If its condition
    has already ended, the acknowledgement clears the alarm.
    """
    alarm = await acknowledged(request, await given_in(request, Acknowledge))
    if alarm is None:
        raise HTTPException(404, "No such alarm is active.")
    return report_of(alarm)
