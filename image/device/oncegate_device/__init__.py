"""What runs on the card beside the gateway: provisioning, and the health check behind an update.

This room owes the person who edits `gateway.toml` on the boot partition one clear line for each
mistake, and owes the gateway a configuration that its own rooms have checked. It runs as root on
the card with the gateway's Python, and only there: the gateway does not know it. It imports
`gateway.configuration`, `gateway.access` (the password file) and `gateway.wire` (the health check
is an MQTT client), nothing else.

`wanted` reads the file into types, `settings` writes them to the data partition, `wiping` takes the
secrets off the boot partition, `report` says what was done, `provisioning` puts these in order.
"""
