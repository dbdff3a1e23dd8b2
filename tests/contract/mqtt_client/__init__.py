"""Widely used MQTT client libraries and commands, tested on the real broker."""
