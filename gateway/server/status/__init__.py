"""What the broker shows of itself: the control socket's status and the topics under `$SYS`."""
