"""The gateway's web interface: a status page for people and a REST interface for programs.

The interface shows what the gateway does without being able to disturb it. It runs in its own
process and talks to the broker through the read-only status socket. For operators it also uses a
socket that accepts their commands (``docs/formats/control-socket.md``). It reads its file of tokens
and, if it exists, one file about the SD card (``docs/formats/card.md``). Of the rest of the gateway
it imports only ``gateway.process.control`` and ``gateway.process.files``, so it can crash, starve
or be left out without any effect on messages.

``main`` is the composition root. ``serving`` and ``connections`` do the I/O with visitors, and
``login`` decides who may use a route. ``pages`` and ``rest`` are the routes for people and for
programs; ``drawing`` builds parts of pages. ``status`` queries the broker and reads the card's
file, and ``models`` are the types of the broker's responses. ``alarms`` and ``history`` are derived
from these responses and stored. All limits are in ``limits``.
"""
