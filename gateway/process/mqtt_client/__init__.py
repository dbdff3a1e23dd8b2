"""Shared code of programs with a persistent MQTT session: the bridge and the uplink.

gmqtt implements the protocol. This package adds the parts that both programs need and gmqtt lacks:
session names, the state of exchanges in flight, and back-off between connection attempts. It
imports no other package of the gateway.
"""
