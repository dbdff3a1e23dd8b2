"""The bridge's one MQTT session: connected, given up where it is lost, and begun again.

Why this room exists: gmqtt has the protocol, and the outbox decides what may be sent and when.
"""
