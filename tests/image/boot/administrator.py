"""An administrator who acts at the page of a booted card, over the forwarded port."""

import contextlib
import re
import time
from typing import Any

import httpx

from tests.image.boot.conftest import PASSWORD, USER
from tests.image.boot.machine import PAGE, Machine

ANSWER_SECONDS_MAX = 60.0
STATE_SECONDS_MAX = 600.0


class Administrator:
    """A browser that is logged in at a machine's page."""

    def __init__(self, machine: Machine) -> None:
        address = f"http://127.0.0.1:{machine.port(PAGE)}"
        self._browser = httpx.Client(base_url=address, timeout=ANSWER_SECONDS_MAX)
        self._browser.headers["Origin"] = address
        form = self._browser.get("/login").text
        given = {"username": USER, "password": PASSWORD, "token": _token_in(form)}
        answer = self._browser.post("/login", data={**given, "next": "/"})
        assert answer.status_code == 303, answer.text
        self._browser.headers["X-Form-Token"] = _token_in(self._browser.get("/").text)

    def get(self, path: str) -> dict[str, Any]:
        answer = self._browser.get(path)
        assert answer.status_code == 200, answer.text
        found: dict[str, Any] = answer.json()
        return found

    def ask(self, path: str, **given: object) -> None:
        """Send a request that the card's system carries out."""
        answer = self._browser.post(path, json=given)
        assert (answer.status_code, answer.json()) == (200, {"requested": True}), answer.text

    def wait_until_away(self) -> None:
        """Wait until the page does not answer at this address any more."""
        until = time.monotonic() + STATE_SECONDS_MAX
        with contextlib.suppress(httpx.TransportError):
            while time.monotonic() < until:
                self._browser.get("/healthz", timeout=5)
                time.sleep(1)
            raise AssertionError("the page still answers at the former address")

    def wait_for_network(self, state: str, *, shown: str = "") -> dict[str, Any]:
        """Wait until the last change of the network has a state, also while the page is away.

        The state is published before the change is applied. With `shown`, also wait until this
        text, such as the new name, occurs in the page's answer.
        """
        until = time.monotonic() + STATE_SECONDS_MAX
        while True:
            with contextlib.suppress(httpx.TransportError):
                network = self.get("/api/v1/network")
                if (network["change"] or {}).get("state") == state and shown in str(network):
                    return network
            assert time.monotonic() < until, f"the change does not become {state}"
            time.sleep(1)

    def wait_for_update(self, state: str) -> set[int]:
        """Wait until the last update has a state. Return the percentages that were shown."""
        shown: set[int] = set()
        until = time.monotonic() + 2 * STATE_SECONDS_MAX
        while True:
            facts = self.get("/api/v1/card")["facts"]
            update = facts["update"] or {}
            if update.get("state") == state:
                return shown
            if update.get("percent") is not None:
                shown.add(update["percent"])
            assert time.monotonic() < until, facts
            time.sleep(0.5)


def _token_in(html: str) -> str:
    found = re.search(r'name="token" value="([^"]+)"', html)
    assert found is not None, html
    return found[1]
