"""The gateway's web interface: a status page for people and a REST interface for programs.

The interface runs in its own process. If it crashes, gets no CPU time or is not installed, messages
are not affected. It queries the broker over the read-only status socket, and sends commands from
operators over another socket (``docs/formats/control-socket.md``). It reads a file with API tokens
and, if it exists, one file about the SD card (``docs/formats/card.md``). From the rest of the
gateway, it imports only ``gateway.process.control`` and ``gateway.process.files``.

``main`` is the composition root. ``serving`` and ``connections`` do the I/O with visitors, and
``login`` decides who can use a route. ``pages`` contains the routes for people, and ``rest`` those
for programs. ``drawing`` builds parts of pages. ``status`` queries the broker and reads the card's
file. ``models`` contains the types of the broker's responses. ``alarms`` and ``history`` store data
that they derive from these responses. All limits are in ``limits``.
"""
