"""Code shared by all processes: files, control socket, MQTT client, scheduling and systemd."""
