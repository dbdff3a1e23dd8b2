"""The sensor's side: serial bytes become readings that reach the broker once.

Why this room exists: a reading must survive from the wire of a sensor to the broker's
acknowledgement, whatever moment the power goes. Every reading is durable in the outbox before
anything else is done with it, and leaves the outbox at PUBCOMP.

It is an MQTT client like any other: of the broker it uses `gateway.broker.wire` and nothing else.
The rooms of the ground that it shares with other programs are `gateway.process.mqtt_client` (gmqtt
and the session), `gateway.process.control`, `gateway.process.files` and
`gateway.process.declarations`.
"""
