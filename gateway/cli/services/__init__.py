"""Commands that run until they are stopped: broker, bridge, uplink, uploader and status page."""
