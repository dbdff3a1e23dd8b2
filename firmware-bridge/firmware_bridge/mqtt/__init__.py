"""The bridge's MQTT connections: for readings, for commands, and for descriptions of devices.

The gmqtt library implements the protocol. The outbox, a queue on disk, decides which readings are
sent, and when. This package connects the outbox to gmqtt, and reconnects when a connection is lost.
"""
