"""`oncegate up`: the processes of a gateway, started, restarted and stopped together."""
