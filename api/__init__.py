"""The gateway's web interface: a status page for people and a REST interface for programs.

It shows what the gateway does without being able to disturb it. It runs in its own process and
talks to the broker through the read-only status socket, and for operators through a socket that
accepts four commands (``docs/formats/control-socket.md``). It reads its file of tokens and, if it
exists, one file about the SD card (``docs/formats/card.md``). It imports only
``gateway.process.control`` and ``gateway.process.files``, so it can crash, starve or be left out
without any effect on messages.

``main`` is the composition root. ``control_socket``, ``listening``, ``connections`` and ``tls`` do
the I/O. ``observer`` queries the broker and caches the answers; ``models`` are the types of these
answers; ``card`` reads the report about the SD card. ``verdict``, ``wear`` and ``wording`` are
pure. ``rest``, ``actions`` (through ``operator``), ``page`` and ``reference_page`` serve visitors
that ``admission`` accepts: by a login (``login_page``, ``logins``, ``accounts``) or a token
(``tokens``). All limits are in ``limits``.
"""
