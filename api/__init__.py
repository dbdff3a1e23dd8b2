"""The gateway's web interface: a status page for people and a REST interface for programs.

The interface shows what the gateway does without being able to disturb it. It runs in its own
process and talks to the broker through the read-only status socket. For operators it also uses a
socket that accepts their commands (``docs/formats/control-socket.md``). It reads its file of tokens
and, if it exists, one file about the SD card (``docs/formats/card.md``). It imports only
``gateway.process.control`` and ``gateway.process.files`` from the rest of the gateway. If it
crashes, gets no CPU time or is not installed, messages are not affected.

``main`` is the composition root. ``serving`` and ``connections`` do the I/O with visitors, and
``login`` decides who may use a route. ``pages`` has the routes for people, and ``rest`` those for
programs. ``drawing`` builds parts of pages. ``status`` queries the broker and reads the card's
file, and ``models`` has the types of the broker's responses. ``alarms`` and ``history`` store what
they derive from these responses. All limits are in ``limits``.
"""
