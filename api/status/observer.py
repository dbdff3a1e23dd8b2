"""Queries the broker on behalf of all visitors, and caches the latest responses.

The same query is sent to the broker at most once in ``ANSWER_REUSE_SECONDS``, even if there are
many visitors. All requests within this time get the same response, or the same failure. Responses
are returned as types from ``models``. If a response is invalid, ``BrokerProblem`` is raised.
"""

import asyncio
import json
import socket
import time
from collections.abc import Awaitable, Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, TypeVar, cast

from pydantic import ValidationError

from api import limits
from api.mistakes import sentence_of
from api.models.actions import BanPage
from api.models.bridge import BridgeStatus
from api.models.broker import BrokerStatus
from api.models.configuration import ShownConfiguration
from api.models.events import EventPage
from api.models.home_assistant import TopicStates
from api.models.reports import KeptReport, Report, Reports, SerialReport, UplinkReport, UploadReport
from api.models.sessions import SessionDetail, SessionPage
from api.models.topics import TopicPage
from api.models.uplink import UplinkStatus
from api.models.uploader import UploaderStatus
from api.models.values import Reported
from api.status.control_socket import BrokerProblem, ControlSocket

_Answer = TypeVar("_Answer")
_Model = TypeVar("_Model", bound=Reported)
_Report = TypeVar("_Report", bound=Report)


@dataclass(frozen=True, kw_only=True)
class Overview:
    """State of the whole gateway at one moment.

    ``answered_at`` is the monotonic time, in seconds, at which the broker responded.
    """

    broker: BrokerStatus
    serial: SerialReport
    upload: UploadReport
    uplink: UplinkReport
    """The uplink's report.

    Its time is None if no uplink has reported; most gateways have no uplink.
    """
    answered_at: float

    def age_seconds(self) -> float:
        """Return the seconds since the broker responded."""
        return time.monotonic() - self.answered_at


@dataclass(frozen=True)
class _Question:
    task: "asyncio.Task[Any]"
    asked_at: float


class Observer:
    """Client that queries the broker for all visitors of the page. Use it from one event loop."""

    def __init__(self, control_socket: ControlSocket) -> None:
        self._control_socket: Final = control_socket
        self._questions: Final[dict[Hashable, _Question]] = {}
        self.last_overview: Overview | None = None

    async def overview(self) -> Overview:
        """Return the broker's status and all reports, at most ``ANSWER_REUSE_SECONDS`` old."""
        return await self._asked_once("overview", self._ask_overview)

    @property
    def gateway(self) -> str:
        """The gateway's identifier, or the machine's host name until the broker has responded."""
        if self.last_overview is None:
            return socket.gethostname()
        return self.last_overview.broker.gateway

    async def sessions(
        self, *, after: str | None, limit: int, chosen: Mapping[str, str] | None = None
    ) -> SessionPage:
        """Return a page of sessions.

        Args:
            after: the value of `next` in the previous page, or None for the first page.
            limit: the maximum number of sessions on the page.
            chosen: JSON members for the broker's command `sessions`, such as filters.
        """
        wanted: dict[str, object] = {"limit": limit, **(chosen or {})}
        if after is not None:
            wanted["after"] = after
        return await self._page_of("sessions", wanted, SessionPage)

    async def session(self, client_id: str) -> SessionDetail:
        """Return one session. Raises Refused if the session does not exist."""
        command: dict[str, object] = {"command": "session", "client_id": client_id}
        return await self._asked_once(
            ("session", client_id), lambda: self._ask(command, SessionDetail)
        )

    async def bans(self, first: int) -> BanPage:
        """Return a page of bans, starting with the ban at index `first`."""
        command: dict[str, object] = {"command": "bans", "first": first}
        return await self._asked_once(("bans", first), lambda: self._ask(command, BanPage))

    async def events(self, wanted: Mapping[str, object]) -> EventPage:
        """Return events. `wanted` contains JSON members for the broker's command `events`.

        Raises:
            BrokerProblem: the broker gave no usable response.
            Refused: the broker refused the request.
        """
        return await self._page_of("events", wanted, EventPage)

    async def topics(self, wanted: Mapping[str, object]) -> TopicPage:
        """Return topics. `wanted` contains JSON members for the broker's command `topics`.

        Raises:
            BrokerProblem: the broker gave no usable response.
            Refused: the broker refused the request.
        """
        return await self._page_of("topics", wanted, TopicPage)

    async def topic_states(self, topics: Sequence[str]) -> TopicStates:
        """Return the retained payloads and the receivers of at most eight topics.

        Raises:
            BrokerProblem: the broker gave no usable response.
            Refused: the broker refused the request.
        """
        return await self._page_of("topic_states", {"topics": [*topics]}, TopicStates)

    async def configuration(self) -> ShownConfiguration:
        """Return the configuration that the broker currently uses."""
        return await self._asked_once(
            "configuration", lambda: self._ask({"command": "configuration"}, ShownConfiguration)
        )

    async def publish_alarms(self, kinds: Mapping[str, object]) -> None:
        """Send the active alarms to the broker, so that the bridge can publish them.

        `kinds` contains one MQTT payload for each kind of alarm.

        Raises:
            BrokerProblem: the broker gave no usable response.
            Refused: the broker refused the alarms.
        """
        await self._control_socket.request({"command": "alarms", "alarms": kinds})

    async def close(self) -> None:
        """Cancel running queries, and close the connection to the broker."""
        tasks = [question.task for question in self._questions.values()]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        self._control_socket.close()

    async def _ask_overview(self) -> Overview:
        broker = await self._ask({"command": "status"}, BrokerStatus)
        reports = await self._ask({"command": "reports"}, Reports)
        self.last_overview = Overview(
            broker=broker,
            serial=_report_of(reports.bridge, SerialReport, BridgeStatus, who="bridge"),
            upload=_report_of(reports.uploader, UploadReport, UploaderStatus, who="uploader"),
            uplink=_report_of(reports.uplink, UplinkReport, UplinkStatus, who="uplink"),
            answered_at=time.monotonic(),
        )
        return self.last_overview

    async def _page_of(
        self, command: str, wanted: Mapping[str, object], model: type[_Model]
    ) -> _Model:
        """Request a page of results from the broker, unless a recent response can be used again.

        `wanted` contains JSON members for the command, and `model` is the type of the page.
        """
        request = {"command": command, **wanted}
        key = (command, json.dumps(request, sort_keys=True))
        return await self._asked_once(key, lambda: self._ask(request, model))

    async def _ask(self, command: dict[str, object], model: type[_Model]) -> _Model:
        result = await self._control_socket.request(command)
        try:
            return model.model_validate(result)
        except ValidationError as error:
            raise BrokerProblem(
                f"The broker's answer to {command['command']!r} is not what this page expects: "
                f"{_first_fault_of(error)}.",
                "The broker and this page are probably of different versions: restart both after "
                "an update.",
                status_code=502,
            ) from error

    async def _asked_once(self, key: Hashable, ask: Callable[[], Awaitable[_Answer]]) -> _Answer:
        self._forget_old_answers()
        question = self._questions.get(key)
        if question is None:
            self._make_room()
            task = asyncio.ensure_future(ask())
            task.add_done_callback(_retrieve_exception)
            question = _Question(cast("asyncio.Task[Any]", task), time.monotonic())
            self._questions[key] = question
        # The first visitor may disconnect while others wait for the same response.
        return cast(_Answer, await asyncio.shield(question.task))

    def _make_room(self) -> None:
        """Forget the oldest answer if the maximum number of queries is stored.

        Raises BrokerProblem if none of them has an answer yet.
        """
        if len(self._questions) < limits.QUESTIONS_MAX:
            return
        for key, question in self._questions.items():
            if question.task.done():
                del self._questions[key]
                return
        raise BrokerProblem(
            f"{limits.QUESTIONS_MAX} different questions to the broker are open already.",
            "Ask again in a moment, and less often.",
        )

    def _forget_old_answers(self) -> None:
        reusable_from = time.monotonic() - limits.ANSWER_REUSE_SECONDS
        for key, question in list(self._questions.items()):
            if question.task.done() and question.asked_at < reusable_from:
                del self._questions[key]


def _retrieve_exception(task: "asyncio.Future[Any]") -> None:
    """Retrieve the exception of a failed query.

    Otherwise, asyncio would log that the exception was never retrieved. This can happen if all
    visitors that waited for the query have disconnected.
    """
    if not task.cancelled():
        task.exception()


def _report_of(
    kept: KeptReport | None,
    report: Callable[..., _Report],
    model: type[Reported],
    *,
    who: str,
) -> _Report:
    """Validate a process's report with `model`, and convert it to the type `report`.

    `kept` is the report as stored by the broker. It is None if the process has not sent a report
    yet. All values in the result are then None. The keyword argument `who` is the name of the
    process in error messages.
    """
    if kept is None:
        return report(time_ms=None, age_seconds=None, problem=None, status=None)
    status, problem = _understood(kept.status, model, who=who)
    return report(
        time_ms=kept.time_ms, age_seconds=kept.age_seconds, problem=problem, status=status
    )


def _understood(
    report: dict[str, object], model: type[_Model], *, who: str
) -> tuple[_Model | None, str | None]:
    """Validate a process's report, which the broker has stored without validation.

    Return the validated report and None, or None and an error message if the report is invalid. The
    keyword argument `who` is the name of the process in the error message.
    """
    try:
        return model.model_validate(report), None
    except ValidationError as error:
        return None, f"The {who}'s report cannot be read: {_first_fault_of(error)}."


def _first_fault_of(error: ValidationError) -> str:
    return sentence_of(error)[: limits.SENTENCE_CHARACTERS_MAX]
