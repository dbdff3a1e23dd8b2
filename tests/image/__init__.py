"""The files of the image and of the Debian package."""
