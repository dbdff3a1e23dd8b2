"""File operations that survive crashes and power cuts, and protection of private files.

Every process of a gateway stores files in the data directory. A file survives a power cut only if
fsync and rename are called in the right order. This package calls them for all processes. It
imports no other package of the gateway, and does not depend on the format of a file.
"""
