"""What runs on the card beside the gateway: provisioning, updates, and the health check of a slot.

This room owes the person who edits `gateway.toml` on the boot partition one clear line for each
mistake, owes the gateway a configuration that its own rooms have checked, and owes a caller
the truth about slots and updates. It runs as root on the card with the gateway's Python, and only
there: the gateway does not know it. It imports `gateway.configuration` with `gateway.keys` and
`firmware_bridge.protocols` (what a file may have), `gateway.access` (the password file) and
`gateway.wire` (the health check is an MQTT client), nothing else.

`wanted` reads the file into types, `settings` writes them to the data partition, `wiping` takes the
secrets off the boot partition, `provisioning` puts these in order. `updates` is the record of slots
and updates, `installing` puts a bundle into the other slot, `rauc` runs that program, `u_boot` has
the boot loader's environment, `card` reports to the page, `start` reads what runs, `places` names
the files.
"""
