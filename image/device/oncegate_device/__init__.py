"""Programs on the SD card other than the gateway: provisioning, updates, health check of a slot.

They report every mistake in `gateway.toml` on the boot partition in one clear line, give the
gateway only a configuration that its own packages have checked, and report the true state of slots
and updates. They run as root on the card, with the gateway's Python. The gateway does not import
this package. It imports only `gateway.configuration` with `gateway.process.declarations` and
`firmware_bridge.protocols` (allowed keys), `gateway.broker.access` (the password file),
`gateway.process.files` (TOML) and `gateway.broker.wire` (the health check is an MQTT client).

`wanted` parses the file, `settings` writes it to the data partition, `wiping` removes secrets from
the boot partition, and `provisioning` runs these in order. `updates` records slots and updates,
`installing` writes a bundle to the other slot, `rauc` runs that program, `u_boot` reads the boot
loader's environment, `card` reports to the page, `start` finds out what runs, and `places` has the
paths.
"""
