"""Commands that concern this installation: its configuration, identity, backups and version."""
