"""Client that asks the broker to execute the actions of operators and administrators.

Each action is sent once, over a separate connection to the broker's socket for operators. Actions
are never repeated automatically. The broker logs who has requested an action, with the caller's
role and address.
"""

import asyncio
from pathlib import Path
from typing import Final, TypeVar

from pydantic import BaseModel, ValidationError

from api import limits
from api.login.admission import Caller
from api.status.control_socket import BrokerProblem, problem_of
from gateway.process.control.client import ControlClient
from gateway.process.control.messages import UnusableAnswer

_Model = TypeVar("_Model", bound=BaseModel)


class Operator:
    """Client that sends the actions of people and programs to the broker.

    Only one action is sent at a time. All methods must be called from one event loop.
    """

    def __init__(self, path: Path) -> None:
        self._path: Final = path
        self._turn: Final = asyncio.Lock()
        self._waiting = 0

    async def carry_out(
        self, command: str, given: BaseModel, caller: Caller, host: str, answer: type[_Model]
    ) -> _Model:
        """Execute a command on behalf of a caller, and return the broker's result.

        `given` contains the arguments of the command, `host` is the caller's IP address, and
        `answer` is the type of the result.

        Raises:
            BrokerProblem: the broker gave no usable response, or too many actions are waiting.
            Refused: the broker refused the command.
        """
        if self._waiting >= limits.ACTIONS_WAITING_MAX:
            raise BrokerProblem("Other actions are being carried out.", "Try again in a moment.")
        request = {
            **given.model_dump(exclude_none=True),
            "command": command,
            "by": caller.name,
            "program": caller.login is None,
            "role": caller.role.word,
            "from": host,
        }
        self._waiting += 1
        try:
            async with self._turn:
                result = await self._sent(request)
        finally:
            self._waiting -= 1
        try:
            return answer.model_validate(result)
        except ValidationError as error:
            raise BrokerProblem(
                f"The broker's answer to {command!r} is not what this page expects.",
                "It was probably carried out: look at the log. Restart broker and page after an "
                "update.",
                status_code=502,
            ) from error

    async def _sent(self, request: dict[str, object]) -> dict[str, object]:
        client = ControlClient(self._path, limits.ACTION_SECONDS_MAX)
        try:
            return await client.request(request)
        except (OSError, EOFError, UnusableAnswer) as error:
            raise _problem_of(error, self._path) from error
        finally:
            client.close()


def _problem_of(error: OSError | EOFError | UnusableAnswer, path: Path) -> BrokerProblem:
    match error:
        case FileNotFoundError():
            return BrokerProblem(
                f"The broker takes no actions from this page: there is no socket {path}.",
                "It is there while the broker runs and `[api] operators` or `administrators`, or "
                "groups of them, are in its configuration: `oncegate ctl reload`.",
            )
        case PermissionError():
            return BrokerProblem(
                f"This page may not open the broker's operating socket {path}.",
                "Set `[gateway] operate_group` to a group that only the page's user is in, and "
                "restart the gateway.",
            )
        case TimeoutError():
            return BrokerProblem(
                f"The broker did not answer within {limits.ACTION_SECONDS_MAX:g} seconds.",
                "A change may have been carried out: check before you repeat it.",
            )
    return problem_of(error, path, limits.ACTION_SECONDS_MAX)
