"""Serial ports: found, opened, read or asked, and reported; lost and found again.

Why this room exists: cables are pulled and sensors send anything. What happens on one line must
neither lose what was accepted nor disturb another line.
"""
