"""The gateway: a folder for each process, the commands, and the parts that the processes share."""
