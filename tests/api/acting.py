"""A real broker with users, its page, and browsers and programs that carry out actions."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import httpx

from api.login.roles import Role
from api.rest.actions import FORM_TOKEN_HEADER
from api.status.backup import BackupCommand
from gateway.broker.access.passwords.file import set_password
from gateway.process.files.token_file import HEADER, new_token
from tests.api.conftest import DEADLINE_SECONDS, serving
from tests.api.logging_in import PASSWORD, ROLES, log_in, origin_of, token_in
from tests.broker.server.reloading_broker import ReloadingBroker, reloading_broker


class Site:
    """A broker, the address of its page, and a token for each role."""

    def __init__(self, broker: ReloadingBroker, url: str, programs: dict[str, str]) -> None:
        self.broker, self.url, self.programs = broker, url, programs
        self.port: int = broker.shown[0]["port"]

    @property
    def counted(self) -> dict[str, int]:
        """The broker's counters of actions that were carried out on the page."""
        return dict(self.broker.running.control.operating.counted)

    @asynccontextmanager
    async def browser(self, username: str) -> AsyncIterator[httpx.AsyncClient]:
        """Yield a logged-in browser that sends the headers of the page's own scripts."""
        async with httpx.AsyncClient(base_url=self.url, timeout=DEADLINE_SECONDS) as browser:
            assert (await log_in(browser, username)).status_code == 303
            token = token_in((await browser.get("/")).text)
            browser.headers.update({FORM_TOKEN_HEADER: token, "Origin": origin_of(browser)})
            yield browser

    @asynccontextmanager
    async def program(self, role: str) -> AsyncIterator[httpx.AsyncClient]:
        """Yield a program with a token for this role."""
        headers = {"Authorization": f"Bearer {self.programs[role]}"}
        async with httpx.AsyncClient(
            base_url=self.url, timeout=DEADLINE_SECONDS, headers=headers
        ) as program:
            yield program


def written_tokens(path: Path) -> dict[str, str]:
    """Write a file with one token for each role, and return the tokens by role."""
    made = {role.word: new_token(f"program-{role.word}", role.word, "2026-11-24") for role in Role}
    path.write_text("\n".join([HEADER, *(token.line for _, token in made.values()), ""]))
    path.chmod(0o600)
    return {word: text for word, (text, _) in made.items()}


@asynccontextmanager
async def site(
    directory: Path, backup: BackupCommand | None = None, **written: Any
) -> AsyncIterator[Site]:
    """Run a broker with the users of `ROLES` and its page. The test may write `card.json`.

    `written` are further settings of the broker.
    """
    for user in ROLES:
        set_password(directory / "passwords", user, PASSWORD.encode(), scram_iterations=4_096)
    programs = written_tokens(directory / "tokens")
    configuration = {
        "listeners": [{"port": 0, "anonymous": True}],
        "access__password_file": directory / "passwords",
        "api__viewers": ["anna"],
        "api__operators": ["ben"],
        "api__administrators": ["carl"],
        "api__tokens_file": directory / "tokens",
    } | written
    async with (
        reloading_broker(directory, **configuration) as broker,
        serving(
            directory / "data" / "status.sock",
            roles=ROLES,
            tokens_file=directory / "tokens",
            history_dir=directory / "data" / "history",
            backup=backup,
            card_file=directory / "card.json",
        ) as url,
    ):
        yield Site(broker, url, programs)
