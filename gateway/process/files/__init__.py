"""Operations on files that survive crashes and power cuts, and protection of private files.

Every process of a gateway stores files in the data directory, and needs a few operations with the
right order of fsync and rename. This package implements these operations once. It imports no other
package of the gateway, and does not depend on their file formats.
"""
