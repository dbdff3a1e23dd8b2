"""The serial bridge: reads sensors on serial lines, and publishes each reading exactly once.

From its arrival until the broker's acknowledgement, a reading must survive a power cut at any
moment. Every reading is therefore made durable in the outbox first. It leaves the outbox when
PUBCOMP arrives.

The bridge is an ordinary MQTT client. From the broker's code it imports only `gateway.broker.wire`.
From the code shared by all programs it imports `gateway.process.mqtt_client` (gmqtt and the
session), `gateway.process.control`, `gateway.process.files` and `gateway.process.declarations`.
"""
