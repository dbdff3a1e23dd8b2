"""Backups: one file with a gateway's configuration, users, identity and, if requested, its data.

`manifest` describes the file (docs/formats/backup.md), and `archive` writes and reads it. `sources`
reads the gateway's files for a backup. `plan` compares a backup with this machine, and `restoring`
writes the files in a plan. `data_names` lists the files in a data directory, and `running` locks
the directory.
"""
