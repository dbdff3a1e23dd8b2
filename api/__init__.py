"""The gateway's web interface: a status page for people and a REST interface for programs.

The interface shows what the gateway does without being able to disturb it. It runs in its own
process and talks to the broker through the read-only status socket. For operators it also uses a
socket that accepts four commands (``docs/formats/control-socket.md``). It reads its file of tokens
and, if it exists, one file about the SD card (``docs/formats/card.md``). Of the rest of the gateway
it imports only ``gateway.process.control`` and ``gateway.process.files``, so it can crash, starve
or be left out without any effect on messages.

``main`` is the composition root. ``control_socket``, ``listening``, ``connections`` and ``tls`` do
the I/O. ``observer`` queries the broker and caches the responses, whose types are in ``models``;
``card`` reads the report about the SD card. ``verdict``, ``wear`` and ``wording`` are pure.
``rest``, ``actions`` (through ``operator``), ``page`` and ``reference_page`` serve visitors that
``admission`` accepts: by a login (``login_page``, ``logins``, ``accounts``) or a token
(``tokens``). All limits are in ``limits``.
"""
