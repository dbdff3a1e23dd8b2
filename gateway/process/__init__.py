"""The parts that every process shares: files, control socket, MQTT client, scheduling, systemd."""
