"""The broker's own status, for the control socket and for the `$SYS` topics."""
