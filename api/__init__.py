"""The gateway's window: a page for people and a REST interface for programs.

This room has one reason: to show what the gateway does without being able to disturb it. It runs as
a process of its own, talks to the broker through its status socket, and for operators through one
that takes four commands (``docs/formats/control-socket.md``), reads one file about the SD card
where there is one (``docs/formats/card.md``) and its file of tokens, and imports
``gateway.control`` and ``gateway.files`` only, so that it can crash, get no processor time or be
left out without effect on a message.

``main`` is the composition root. ``control_socket``, ``listening``, ``connections`` and ``tls`` do
the I/O, ``observer`` asks and remembers, ``models`` is the contract as types, ``card`` reads the
report of the SD card's system, ``verdict``, ``wear`` and ``wording`` are pure, and ``rest``,
``actions`` (by ``operator``), ``page`` and ``reference_page`` are what a visitor gets, if
``admission`` lets it: by a login (``login_page``, ``logins``, ``accounts``) or by a token
(``tokens``). Every limit stands in ``limits``.
"""
