"""What programs outside the project rely on, proved with those programs."""
