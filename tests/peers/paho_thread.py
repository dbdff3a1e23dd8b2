"""Disconnecting a paho client whose network runs in a thread."""

import contextlib

import paho.mqtt.client as paho


def disconnect(client: paho.Client) -> None:
    """Send DISCONNECT and wait until the client's thread has ended."""
    client.disconnect()
    # `loop_stop` reads the thread twice; if it ends in between, the second read finds None.
    with contextlib.suppress(AttributeError):
        client.loop_stop()
