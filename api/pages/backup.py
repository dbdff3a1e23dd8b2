"""Download of a backup, for administrators. Backups are restored by a command, not on the page."""

import asyncio
import datetime
import logging
import re
from typing import Final

from fastapi import APIRouter, Depends, Request
from fastapi.responses import HTMLResponse, Response

from api.forms import FormRefused, form_of
from api.login.accounts import TooManyLogins
from api.login.admission import ADMINISTRATORS, gate_of, host_of
from api.models.actions import BackupDownload, Recorded
from api.pages.actions import FORM_FAILURES, refuse_stale, shown_of
from api.pages.page import rendered
from api.rest.actions import caller_of, carried_out
from api.rest.status import observer_of
from api.status.backup import BackupCommand, BackupFailed

logger = logging.getLogger(__name__)

_WRONG: Final = "Your own password is wrong."
_BUSY: Final = "Other passwords are being checked. Try again in a moment."
_PEOPLE: Final = "Only people can download a backup, with their own password."
_NOT_HERE: Final = "The page may not read the files. On the gateway: sudo oncegate backup FILE"
_ANOTHER: Final = "Another backup is being made. Try again in a moment."

backup_page = APIRouter(include_in_schema=False, default_response_class=HTMLResponse)


def backup_of(request: Request) -> BackupCommand | None:
    """Return the command that creates backups.

    Return None if backups are not configured, or if this process does not have permission to read
    the files that a backup contains.
    """
    command = request.app.state.backup
    assert command is None or isinstance(command, BackupCommand)
    return command if command is not None and command.is_possible else None


@backup_page.get("/system/backup", dependencies=[Depends(ADMINISTRATORS)])
async def ask_backup(request: Request) -> Response:
    """Show the form for downloading a backup. It asks for the administrator's own password."""
    return _form(request)


@backup_page.post("/system/backup", dependencies=[Depends(ADMINISTRATORS)])
async def do_backup(request: Request) -> Response:
    """Create a backup and send it. If this fails, show the form again with the reason."""
    turn = request.app.state.backup_turn
    assert isinstance(turn, asyncio.Lock)
    try:
        fields = await form_of(request, request.app.state.hosts)
        refuse_stale(request, fields)
        await _check_password(request, fields.get("own_password", ""))
        command = backup_of(request)
        if command is None:
            raise FormRefused(_NOT_HERE, 409)
        if turn.locked():
            raise FormRefused(_ANOTHER, 503)
        async with turn:
            content = await command.run()
        # No backup leaves the gateway without an event of the session log.
        given = BackupDownload(data=command.has_data, bytes=len(content))
        await carried_out(request, "backup_downloaded", given, Recorded)
    except FORM_FAILURES as failure:
        return _form(request, *shown_of(failure))
    except BackupFailed as failure:
        return _form(request, str(failure), 500)
    logger.warning("%a downloaded a backup from %s", caller_of(request).name, host_of(request))
    disposition = f'attachment; filename="{_name_of(request)}"'
    headers = {"Content-Disposition": disposition, "Cache-Control": "no-store"}
    return Response(content, media_type="application/gzip", headers=headers)


async def _check_password(request: Request, password: str) -> None:
    """Ask the broker to check that `password` is the caller's own password.

    Raises:
        FormRefused: the password is wrong or cannot be checked now, or the caller is a program.
        BrokerProblem: the broker did not respond.
    """
    caller = caller_of(request)
    if caller.login is None:
        raise FormRefused(_PEOPLE, 403)
    port = request.client.port if request.client is not None else 0
    try:
        account = await gate_of(request).accounts.check(
            caller.login.proof.typed_name, password, (host_of(request), port)
        )
    except TooManyLogins:
        raise FormRefused(_BUSY, 503) from None
    if account is None or account.username != caller.name:
        raise FormRefused(_WRONG, 403)


def _name_of(request: Request) -> str:
    gateway = re.sub(r"[^a-z0-9_-]", "", observer_of(request).gateway or "") or "gateway"
    day = datetime.datetime.now(datetime.UTC).date().isoformat()
    return f"{gateway}-{day}.oncegate-backup.tar.gz"


def _form(request: Request, problem: str | None = None, status_code: int = 200) -> Response:
    return rendered(
        request,
        "backup.html",
        status_code=status_code,
        possible=backup_of(request) is not None,
        problem=problem,
    )
