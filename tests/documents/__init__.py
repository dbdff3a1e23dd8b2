"""The documents that people read: their links, their commands, and the site made of them."""
