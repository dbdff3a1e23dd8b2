"""The serial bridge: reads sensors on serial lines, and publishes each reading exactly once.

A reading must survive a power cut at any moment. Every reading is therefore first stored in the
outbox, a queue on disk. It is removed from the outbox when the broker's PUBCOMP arrives.

The bridge is an ordinary MQTT client. From the broker's code it imports only `gateway.broker.wire`.
From the code shared by all programs it imports `gateway.process.mqtt_client`,
`gateway.process.control`, `gateway.process.files` and `gateway.process.declarations`.
"""
