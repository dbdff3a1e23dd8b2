"""Loads queued messages from disk in pages, so that each load takes a limited time."""

import sqlite3

from gateway.broker.core.sessions.message import Delivery, Message
from gateway.broker.core.sessions.session import Session
from gateway.broker.store.rows import message_of

PAGE_BYTES_MAX = 1024 * 1024
"""Maximum payload bytes in a page. Without this limit, a page of 256 messages of `max_packet_size`
would take half a gigabyte."""


CONTENTS_PER_QUERY = 500
"""Maximum messages per query: enough for a page, and far below SQLite's 32,766 parameters."""


def load_page(
    connection: sqlite3.Connection,
    session: Session,
    first_position: int,
    end_position: int,
    payload_bytes_max: int | None,
) -> tuple[list[Delivery], int]:
    """Load the queued deliveries of a session from the tables, from `first_position` on.

    Reading ends before `end_position`. It ends earlier if the payloads reach `payload_bytes_max` in
    total. The message that reaches this limit is included, so that a page is never empty because of
    the limit.

    Returns:
        The deliveries, and the number of queue positions that have been read.
    """
    deliveries: list[Delivery] = []
    payload_bytes = 0
    rows = connection.execute(
        "SELECT q.position, q.message, q.flags, m.topic, m.payload, m.flags, m.properties"
        " FROM queue q LEFT JOIN messages m ON m.number = q.message"
        " WHERE q.session = ? AND q.position >= ? AND q.position < ? ORDER BY q.position",
        (session.number, first_position, end_position),
    )
    for position, number, flags, topic, *row in rows:
        message = None
        if topic is not None:
            message = message_of(number, topic, *row)
            payload_bytes += len(message.payload)
        deliveries.append(Delivery(session, message, number, flags, position))
        if payload_bytes_max is not None and payload_bytes >= payload_bytes_max:
            rows.close()  # an open query would keep the WAL from being reused from its beginning
            return deliveries, position + 1 - first_position
    return deliveries, end_position - first_position


def load_contents(connection: sqlite3.Connection, numbers: list[int]) -> dict[int, Message]:
    """Load messages from the tables, by message number. Missing messages are left out."""
    contents: dict[int, Message] = {}
    for start in range(0, len(numbers), CONTENTS_PER_QUERY):
        part = numbers[start : start + CONTENTS_PER_QUERY]
        marks = ",".join("?" * len(part))
        for number, *row in connection.execute(
            "SELECT number, topic, payload, flags, properties FROM messages"
            f" WHERE number IN ({marks})",
            part,
        ):
            contents[number] = message_of(number, *row)
    return contents
