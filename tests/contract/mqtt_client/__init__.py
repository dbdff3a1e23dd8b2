"""MQTT client libraries and commands that people use, on the real broker."""
