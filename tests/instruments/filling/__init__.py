"""A disk that is filled from outside and emptied again, under the whole gateway at work."""
