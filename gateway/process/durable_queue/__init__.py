"""A queue on disk of a program that is an MQTT client: the bridge's outbox, and the uplink's lanes.

Both store messages, publish them at QoS 1 or 2 and remove them when the exchange is complete, with
one fsync for everything that arrived meanwhile. This package has the table, the exchanges and the
commits. The programs add where messages come from and what is sent.
"""
