"""Commands that run until they are stopped: broker, bridge, uplink, uploader and page."""
