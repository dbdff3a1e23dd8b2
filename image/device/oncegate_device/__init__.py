"""Programs that manage the SD card: provisioning, updates, and the health check of a slot.

The programs run as root on a gateway that was started from the card, with the gateway's Python.
They report each mistake in the file `gateway.toml`, which is on the boot partition, as one clear
line. A configuration is checked with the gateway's own packages before the gateway receives it.

The gateway does not import this package. This package imports only these parts of the gateway:

- `gateway.configuration`, `gateway.process.declarations` and `firmware_bridge.protocols`, which
  define the allowed keys
- `gateway.process.network_settings` and `gateway.process.bundle_address`, which check requests
- `gateway.broker.access`, which writes the password file
- `gateway.process.files`, which writes TOML
- `gateway.broker.wire`, because the health check is an MQTT client

`wanted` parses `gateway.toml`, `settings` writes the settings to the data partition, `wiping`
removes secrets from the boot partition, and `provisioning` calls these three in order. `updates`
records slots and updates, `installing` writes an update bundle to the other slot, `rauc` runs the
program rauc, `u_boot` reads the boot loader's environment, `card` writes the status for the web
page, `start` detects the running slot and version, and `places` has the paths.
"""
