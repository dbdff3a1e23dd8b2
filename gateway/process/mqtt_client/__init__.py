"""Shared code of programs with a persistent MQTT session: the bridge and the uplink.

gmqtt implements the protocol, but its public interface lacks what both programs need: session
names, exchanges in flight, and pauses between attempts. This package imports no other package of
the gateway.
"""
