"""Backups: one file with a gateway's configuration, users, identity and, if wanted, its data.

`manifest` describes the file (docs/formats/backup.md), and `archive` writes and reads it. `sources`
reads the files of a gateway. `plan` compares a backup with this machine, and `restoring` carries
the plan out. `data_names` and `running` belong to the data directory.
"""
