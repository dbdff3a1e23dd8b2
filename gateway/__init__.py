"""The gateway: a folder for each process, the verbs, and the parts that the processes share."""
