"""Updates the subscriptions of a session to match the configuration."""

import asyncio
import logging
from collections.abc import Mapping
from typing import Final

from gateway.broker.wire.encoder import encode
from gateway.broker.wire.packets import Suback, Subscribe, Subscription, Unsuback, Unsubscribe
from gateway.process.mqtt_client.client import SessionClient
from gateway.uplink.lane import PACKET_ID_MAX

logger = logging.getLogger(__name__)

SUBACK_SECONDS_MAX: Final = 30.0
"""Timeout for SUBACK and UNSUBACK, in seconds. A cluster that distributes a subscription among its
nodes responds late."""
_QOS_MAX = 2
_UNSUBSCRIBE_PACKET_ID: Final = PACKET_ID_MAX + 1
_SUBSCRIBE_PACKET_ID: Final = PACKET_ID_MAX + 2


class SubscriptionSync:
    """Changes the subscriptions of a session over one connection.

    `lost` is an event that is set when the connection ends.
    """

    def __init__(
        self, client: SessionClient, version: int, lost: asyncio.Event, broker: str
    ) -> None:
        self._client = client
        self._version = version
        self._lost = lost
        self._broker = broker
        self._answers: asyncio.Queue[Suback | Unsuback] = asyncio.Queue()
        self._refused: set[str] = set()
        """Topic filters that the broker refused on this connection. Each is logged once."""

    def receive(self, packet: Suback | Unsuback) -> None:
        """Process a SUBACK or UNSUBACK."""
        self._answers.put_nowait(packet)

    async def apply_changes(
        self, wanted: Mapping[str, int], have: Mapping[str, int]
    ) -> dict[str, int]:
        """Change the subscriptions from `have` to `wanted`, and return the resulting subscriptions.

        Both arguments map topic filters to their QoS. Unchanged filters are not sent to the
        broker again, because an MQTT 3.1.1 broker would resend all retained messages.

        Raises:
            OSError, TimeoutError: if the connection ended, or there was no valid response.
        """
        if gone := [each for each in have if each not in wanted]:
            self._client.send_packet(
                encode(Unsubscribe(_UNSUBSCRIBE_PACKET_ID, gone), self._version)
            )
            await self._answer()
        kept = {each: qos for each, qos in have.items() if wanted.get(each) == qos}
        new = {each: qos for each, qos in wanted.items() if each not in kept}
        if not new:
            return kept
        self._client.send_packet(encode(_subscribe_of(new), self._version))
        answer = await self._answer()
        if not isinstance(answer, Suback) or len(answer.reason_codes) != len(new):
            raise ConnectionError("the broker answered SUBSCRIBE with something else")
        return kept | self._granted(new, answer.reason_codes)

    async def _answer(self) -> Suback | Unsuback:
        answer = asyncio.ensure_future(self._answers.get())
        losing = asyncio.ensure_future(self._lost.wait())
        try:
            async with asyncio.timeout(SUBACK_SECONDS_MAX):
                await asyncio.wait({answer, losing}, return_when=asyncio.FIRST_COMPLETED)
            if not answer.done():
                raise ConnectionResetError("the connection was lost before SUBACK")
            return answer.result()
        finally:
            answer.cancel()
            losing.cancel()

    def _granted(self, asked: Mapping[str, int], codes: list[int]) -> dict[str, int]:
        """Return the requested topic filters that the broker has accepted, with their QoS.

        `codes` contains the broker's reason code for each filter in `asked`. Rejected filters can
        be requested again by another call.
        """
        granted = {}
        for (each, qos), code in zip(asked.items(), codes, strict=True):
            if code > _QOS_MAX:
                if each not in self._refused:
                    logger.error(
                        "the %s broker refused the filter %r: 0x%02X", self._broker, each, code
                    )
                self._refused.add(each)
                continue
            if each in self._refused:
                logger.info("the %s broker accepts the filter %r now", self._broker, each)
                self._refused.remove(each)
            if code < qos:
                logger.warning(
                    "the %s broker gives QoS %d for %r, not %d", self._broker, code, each, qos
                )
            granted[each] = qos
        return granted


def _subscribe_of(filters: Mapping[str, int]) -> Subscribe:
    return Subscribe(
        _SUBSCRIBE_PACKET_ID,
        [
            # The broker does not return messages of our own session, and sends retained messages
            # only for a new subscription.
            Subscription(each, qos, no_local=True, retain_as_published=True, retain_handling=1)
            for each, qos in filters.items()
        ],
    )
