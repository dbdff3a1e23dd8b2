"""A small control socket server that responds as the contract defines, or misbehaves.

It listens on a real Unix socket, and no code of the API is replaced.
"""

from collections.abc import Callable
from pathlib import Path
from typing import Any

from tests.api import recorded, recorded_topics
from tests.api.recorded_configuration import CONFIGURATION
from tests.peers.control_server import ControlServer, refusal, result

_EXCHANGE = {"client_id": "phone", "session": 4, "packet_id": 7, "message": 812}
_CONTENTS = {"topic": "house/light", "qos": 2, "retain": False, "payload_bytes": 2}
EVENTS: list[dict[str, object]] = [
    {"sequence": 42, "time": recorded.NOW_MS, "event": "message_released", **_EXCHANGE},
    {"sequence": 41, "time": recorded.NOW_MS, "event": "message_held", **_EXCHANGE, **_CONTENTS},
    {"sequence": 40, "time": recorded.NOW_MS, "event": "broker_started", "version": "0.1.0"},
]
Answer = Callable[[dict[str, Any]], bytes]


class ContractBroker(ControlServer):
    """Responds from `status`, `reports` and `sessions`, which a test may change.

    With `instead` that function responds in place of the contract. With `silent` there is no
    response at all.
    """

    def __init__(self, path: Path) -> None:
        super().__init__(path)
        self.status = recorded.status()
        self.reports = recorded.reports()
        self.reports["bridge"]["status"]["home_assistant"] = recorded_topics.discovery()
        self.sessions = recorded.sessions()
        self.topics = recorded_topics.topics()
        self.topic_states = recorded_topics.topic_states()
        self.users: dict[str, tuple[str, str]] = {}
        """Password of each user, and the password's version."""
        self.groups: dict[str, list[str]] = {}
        self.seconds: float | None = None
        """Validity of a login in seconds, or None if it is not limited."""
        self.instead: Answer | None = None
        self.silent = False
        self.alarms: dict[str, Any] = {}
        """The latest alarms that the page handed over for the bridge."""

    def count_of(self, command: str) -> int:
        return len(self.of(command))

    def answer_of(self, request: dict[str, Any]) -> bytes:
        if self.silent:
            return b""
        return (self.instead or self.contract_answer_of)(request)

    def contract_answer_of(self, request: dict[str, Any]) -> bytes:
        match request:
            case {
                "command": "status"
                | "reports"
                | "bans"
                | "configuration"
                | "events"
                | "topics" as command
            }:
                answers = {
                    "topics": {"topics": self.topics, "next": None},
                    "status": self.status,
                    "reports": self.reports,
                    "bans": {"bans": [recorded.ban()], "next": None},
                    "events": {"events": EVENTS, "next": None},
                    "configuration": CONFIGURATION,
                }
                return result(answers[command])
            case {"command": "topic_states", "topics": topics}:
                nothing = recorded_topics.topic_state(None, clients=())
                states = [
                    {"topic": each, **self.topic_states.get(each, nothing)} for each in topics
                ]
                return result({"topics": states})
            case {"command": "sessions"}:
                return result(self._page(request))
            case {"command": "session", "client_id": client_id}:
                return self._session_of(client_id)
            case {"command": "authenticate" | "user" | "alarms" as command}:
                return result({"alarms": self._take}.get(command, self._about_user)(request))
        return refusal("unknown_command", f"unknown command {request!r}")

    def _session_of(self, client_id: str) -> bytes:
        if any(session["client_id"] == client_id for session in self.sessions):
            return result(recorded.session_detail(client_id))
        return refusal("not_found", f"no session for client id {client_id!r}")

    def _states_of(self, topics: list[str]) -> dict[str, Any]:
        nothing = recorded_topics.topic_state(None, clients=())
        states = [{"topic": each, **self.topic_states.get(each, nothing)} for each in topics]
        return {"topics": states}

    def _take(self, request: dict[str, Any]) -> dict[str, Any]:
        self.alarms = request["alarms"]
        return {}

    def _about_user(self, request: dict[str, Any]) -> dict[str, Any]:
        known, version = self.users.get(request["username"], (None, None))
        if request["command"] == "user":
            return {"version": version}
        assert request["address"]
        if request["password"] != known:
            return {"ok": False, "username": None, "version": None}
        return {
            "ok": True,
            "username": request["username"],
            "source": "password_file",
            "version": version,
            "groups": self.groups.get(request["username"], []),
            "seconds": self.seconds,
        }

    def _page(self, request: dict[str, Any]) -> dict[str, Any]:
        after, limit = request.get("after"), request.get("limit", 100)
        search, state = request.get("search", "").casefold(), request.get("state", "all")
        later = [
            one
            for one in self.sessions
            if (after is None or one["client_id"] > after)
            and search in one["client_id"]
            and (
                state == "all"
                or {
                    "connected": one["connected"],
                    "away": not one["connected"],
                    "drops": one["dropped_messages"] > 0,
                }[state]
            )
        ]
        page = later[:limit]
        return {"sessions": page, "next": page[-1]["client_id"] if len(later) > limit else None}
