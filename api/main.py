"""Composition root of the API process.

``serve`` binds the port and serves until ``stop`` is set. If it cannot listen, it raises
``CannotListen`` or the subclass ``PortTaken``, with a one-line message that includes the fix. When
``serve`` returns, no task is running, and all sockets and connections are closed. The caller is
responsible for signals, the log format and the configuration.
"""

import asyncio
import contextlib
import logging
import time
from collections.abc import AsyncIterator, Callable, Coroutine
from importlib.metadata import version
from typing import Any, Final

import uvicorn
from fastapi import FastAPI

from api import limits
from api.alarms.store import AlarmStore
from api.alarms.watch import AlarmWatch, Sources
from api.application import Application
from api.connections.certificate import ServedCertificate
from api.connections.certificate_files import CertificateUnusable
from api.connections.server import Server, bounded_by
from api.connections.visitors import Visitors
from api.history.history import History
from api.history.recorder import Recorder
from api.login.accounts import Accounts
from api.login.admission import Gate
from api.login.roles import Roles
from api.login.tokens import Tokens
from api.pages.actions import actions_page
from api.pages.alarms import alarms_page
from api.pages.backup import backup_page
from api.pages.clients import clients_page
from api.pages.configuration import configuration_page
from api.pages.log import events_page
from api.pages.login import login_page
from api.pages.network import network_page
from api.pages.page import page
from api.pages.ports import ports_page
from api.pages.reference import reference
from api.pages.sensors import sensors_page
from api.pages.system import system_page
from api.pages.tokens import tokens_page
from api.pages.topics import topics_page
from api.pages.updates import updates_page
from api.pages.users import users_page
from api.rest.actions import actions
from api.rest.alarms import alarms_rest
from api.rest.events import Streams, events_rest
from api.rest.history import history_rest
from api.rest.metrics import metrics
from api.rest.network import network_rest
from api.rest.operator import Operator
from api.rest.sensors import sensors_rest
from api.rest.status import operation_id_of, probes, rest
from api.rest.topics import topics_rest
from api.rest.updates import updates_rest
from api.rest.users import users_rest
from api.serving.error_handlers import install_problem_handlers
from api.serving.listening import CannotListen, PortTaken, listen, url_of
from api.serving.shielding import is_loopback
from api.settings import ApiSettings
from api.status.card import CardReader
from api.status.control_socket import ControlSocket
from api.status.machine import read_machine
from api.status.network import NetworkReader
from api.status.observer import Observer

__all__ = ["CannotListen", "CertificateUnusable", "PortTaken", "create_app", "serve"]

logger = logging.getLogger(__name__)

_ROUTERS: Final = (
    rest,
    history_rest,
    alarms_rest,
    events_rest,
    sensors_rest,
    topics_rest,
    users_rest,
    network_rest,
    updates_rest,
    actions,
    metrics,
    probes,
    page,
    clients_page,
    sensors_page,
    system_page,
    backup_page,
    network_page,
    updates_page,
    topics_page,
    users_page,
    tokens_page,
    ports_page,
    configuration_page,
    alarms_page,
    events_page,
    actions_page,
    reference,
    login_page,
)


def create_app(
    settings: ApiSettings,
    certificate: ServedCertificate | None = None,
    stop: asyncio.Event | None = None,
) -> Application:
    """Create the application. Its routes query the broker at ``settings.status_socket``.

    The application sets ``stop`` if it cannot continue.
    """

    app = Application(
        title="Oncegate",
        version=version("oncegate"),
        summary="What the gateway does, and what operators do with it.",
        lifespan=lambda app: _running(app, settings, certificate),
        docs_url=None,
        openapi_url=None,  # `reference` has this route, with a role like every other route
        redoc_url=None,
        generate_unique_id_function=operation_id_of,
        redirect_slashes=False,
    )
    app.stop = stop or asyncio.Event()
    app.hosts = settings.hosts
    app.takes_tokens = settings.has_users
    install_problem_handlers(app)
    for router in _ROUTERS:
        app.include_router(router)
    return app


@contextlib.asynccontextmanager
async def _running(
    app: Application, settings: ApiSettings, certificate: ServedCertificate | None
) -> AsyncIterator[None]:
    """Store the objects that the routes need in ``app.state``, and close them at the end.

    The application runs while the context manager is open.
    """
    observer = Observer(ControlSocket(settings.status_socket))
    app.state.observer = observer
    app.state.operator = Operator(settings.acts_at)
    # A second operator, so that no other action waits while the bridge does not respond.
    app.state.sensor_operator = Operator(settings.acts_at)
    app.state.certificate = certificate
    app.state.backup = settings.backup
    app.state.backup_turn = asyncio.Lock()
    app.state.hosts = frozenset(settings.hosts)
    app.state.gate = gate = _gate_of(settings)
    app.state.card = card = CardReader(settings.card_file, settings.block_devices)
    app.state.network = NetworkReader(settings.card_file)
    app.state.event_streams = Streams()
    app.state.history = history = History(settings.history_dir)
    sources = Sources(
        card=card.read,
        certificate=lambda: None if certificate is None else certificate.state,
        machine=read_machine,
    )
    app.state.alarms = alarms = AlarmWatch(
        observer, AlarmStore(settings.alarms_file), sources, settings.thresholds
    )
    try:
        if settings.history_dir is None:
            yield
        else:
            recorder = Recorder(observer, history)
            async with _background_task(recorder.run, app), _background_task(alarms.run, app):
                yield
    finally:
        await history.close()
        await observer.close()
        gate.accounts.close()


@contextlib.asynccontextmanager
async def _background_task(
    run: Callable[[], Coroutine[Any, Any, None]], app: Application
) -> AsyncIterator[None]:
    """Run a background task until the `async with` block ends.

    If the task ends before that, the whole process stops, and its supervisor restarts it.
    """
    task = asyncio.create_task(run())
    task.add_done_callback(app.note_end)
    try:
        yield
    finally:
        task.remove_done_callback(app.note_end)
        task.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await task


async def serve(
    settings: ApiSettings,
    stop: asyncio.Event,
    ready: Callable[[str], None] | None = None,
    alive: Callable[[], None] | None = None,
) -> None:
    """Serve the page and the REST interface until ``stop`` is set.

    When the page responds, ``ready`` is called with its URL. While the event loop is running,
    ``alive`` is called every second.

    Raises:
        CannotListen: the address cannot be used.
        CertificateUnusable: the certificate cannot be used.
        Exception: a background task has failed.
    """
    certificate = None if settings.certificate is None else ServedCertificate(settings.certificate)
    listener = listen(settings)
    url = url_of(listener, is_secure=certificate is not None)

    def each_second() -> None:
        if alive is not None:
            alive()
        if certificate is not None:
            certificate.check(time.monotonic())

    app = create_app(settings, certificate, stop)
    server = Server(
        _configuration_of(app, certificate),
        stop=stop,
        on_started=lambda: _announce(settings, url, ready),
        on_second=each_second,
    )
    try:
        await server.serve(sockets=[listener])
    finally:
        listener.close()
    if app.fault is not None:
        raise app.fault


def _configuration_of(app: FastAPI, certificate: ServedCertificate | None) -> uvicorn.Config:
    return uvicorn.Config(
        app,
        http=bounded_by(Visitors(), certificate),
        ws="none",
        lifespan="on",
        log_config=None,
        # A remote client must not be able to fill the SD card with lines about bad requests.
        log_level="error",
        access_log=False,
        server_header=False,
        proxy_headers=False,
        timeout_keep_alive=limits.KEEP_ALIVE_SECONDS,
        timeout_graceful_shutdown=int(limits.FAREWELL_SECONDS),
    )


def _announce(settings: ApiSettings, url: str, ready: Callable[[str], None] | None) -> None:
    logger.info("status page at %s", url)
    if settings.bind_unused is not None:
        logger.warning(
            "without users the page stays on loopback, and [api] bind = %s does not count: name "
            "users in [api] viewers",
            settings.bind_unused,
        )
    if not is_loopback(settings.bind):
        _warn(settings, url)
    if ready is not None:
        ready(url)


def _warn(settings: ApiSettings, url: str) -> None:
    if not settings.has_users:
        logger.warning("the page at %s has no login: every client that reaches it can read it", url)
    elif settings.certificate is None:
        logger.warning(
            "the page at %s is not encrypted: who is on the way reads passwords; [api] tls has the "
            "certificate",
            url,
        )


def _gate_of(settings: ApiSettings) -> Gate:
    return Gate(
        roles=Roles(users=settings.roles, groups=settings.group_roles),
        accounts=Accounts(settings.status_socket),
        tokens=None if settings.tokens_file is None else Tokens(settings.tokens_file),
    )
