"""What every program with a persistent MQTT session of its own needs: the bridge and the uplink.

Why this room exists: gmqtt has the protocol, and both programs need the same of it that its public
interface does not give, the same names for their sessions, the same exchanges in flight, and the
same pauses between attempts. A ground room: it imports no other room.
"""
