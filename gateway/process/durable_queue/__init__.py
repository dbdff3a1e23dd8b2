"""A queue on disk for an MQTT client of the gateway. It is used by the bridge and the uplink.

Both programs store messages, publish them at QoS 1 or 2, and remove each message when its exchange
of packets is complete. Messages that arrive during a commit are stored together by the next commit,
with one fsync. This package implements the database table, the exchanges and the commits. The
bridge and the uplink receive the messages to store, and create the packets to send.
"""
