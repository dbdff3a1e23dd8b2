"""The broker's own status: for the control socket, and as topics under `$SYS`."""
