"""The end of a client of paho's whose network runs in a thread."""

import contextlib

import paho.mqtt.client as paho


def disconnect(client: paho.Client) -> None:
    """Send DISCONNECT and wait for the end of the thread."""
    client.disconnect()
    # `loop_stop` looks at the thread twice; one that has ended in between is gone the second time.
    with contextlib.suppress(AttributeError):
        client.loop_stop()
