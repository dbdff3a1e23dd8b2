"""Shared parts of commands: options, output, exit codes, and the configuration file."""
