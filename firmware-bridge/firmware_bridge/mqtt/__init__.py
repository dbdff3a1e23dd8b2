"""The bridge's one MQTT session: connected, given up where it is lost, and begun again.

Why this room exists: gmqtt knows the protocol, and the outbox what may be sent and when.
"""
