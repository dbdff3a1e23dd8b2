"""All limits of this package, with their names, units and reasons.

None of them is configurable: each one protects a small computer from its visitors, or a visitor
from a gateway that hangs, and no site needs another value.
"""

from typing import Final

# A broker answers from memory within milliseconds. Two seconds leave room for an SD card that makes
# the whole machine wait, and are less than a visitor waits.
ANSWER_SECONDS_MAX: Final = 2.0

# However many people watch, the broker is asked the same question at most four times a second.
ANSWER_REUSE_SECONDS: Final = 0.25

# After a failure the broker is not asked for this long; requests meanwhile get the failure.
RETRY_SECONDS: Final = 0.25

# Different questions that may be open or remembered at a time (pages of sessions, single sessions).
# An answer is at most 1 MiB, so that this also bounds memory.
QUESTIONS_MAX: Final = 32

# The standard's longest client identifier in bytes, so also the most characters one can have
# [MQTT-1.5.3]. Escaped to ASCII in JSON it stays under a line's limit
# (gateway.process.control.messages).
CLIENT_ID_CHARACTERS_MAX: Final = 65_535

# The contract's bounds for one page of sessions.
SESSIONS_PER_REQUEST_MAX: Final = 1000
SESSIONS_PER_REQUEST_DEFAULT: Final = 100

# Events in one answer: the broker's bound; on a page of the log; and those whose handshakes a
# client's page shows.
EVENTS_PER_REQUEST_MAX: Final = 1000
EVENTS_PER_REQUEST_DEFAULT: Final = 100
EVENTS_PER_PAGE: Final = 50
HANDSHAKE_EVENTS_MAX: Final = 40

# Names of events that one request asks for: the broker's bound.
EVENT_NAMES_MAX: Final = 50

# Characters of the name of an event or a serial port: far more than any has.
EVENT_NAME_CHARACTERS_MAX: Final = 64

# Streams of events at a time, and how long one lasts: less than a connection may. A program opens
# the next one with the number of the last event that it has.
EVENT_STREAMS_MAX: Final = 8
EVENT_STREAM_SECONDS: Final = 50.0

# Time between two questions of a stream.
EVENT_STREAM_STEP_SECONDS: Final = 1.0

# Series of /metrics: a scraper keeps each of them for weeks. A gateway has tens of ports, and the
# longest list of reasons, that of the broker's errors, some thirty.
METRIC_PORTS_MAX: Final = 64
METRIC_REASONS_MAX: Final = 64

# Size of the card's report: ours has a few kilobytes, and a gateway.toml with mistakes in every
# line makes it ten times that.
CARD_BYTES_MAX: Final = 262_144

# Lines of the provisioning report: image/device writes no more.
PROVISIONING_LINES_MAX: Final = 64

# Rows on the page for people: about ten screens of a phone.
SESSIONS_PER_PAGE: Final = 50

# Characters in front of a client id in the cursor of a sorted list: a number of 64 bits, a space.
SORT_CHARACTERS_MAX: Final = 21

# The standard's longest topic in bytes, so also the most characters one can have [MQTT-1.5.3].
TOPIC_CHARACTERS_MAX: Final = 65_535

# Topics in one answer: the broker's bound; and on a page, some 40 kB of HTML.
TOPICS_PER_REQUEST_MAX: Final = 500
TOPICS_PER_REQUEST_DEFAULT: Final = 100
TOPICS_PER_PAGE: Final = 100

# Levels of the tree of topics: further ones share a line, so that it fits a phone.
TOPIC_LEVELS_SHOWN: Final = 6

# A message that an operator publishes: the broker's bounds. Its form fits FORM_BYTES_MAX unless
# most of it is other than ASCII.
PUBLISHED_TOPIC_CHARACTERS_MAX: Final = 1024
PUBLISHED_PAYLOAD_CHARACTERS_MAX: Final = 8192

# Characters of a payload on the page.
PAYLOAD_CHARACTERS_SHOWN: Final = 200

# Characters of the text of a search.
SEARCH_CHARACTERS_MAX: Final = 100

# Characters of a hostile name (client id, filter, path) that the page shows; the others are only
# counted.
SHOWN_CHARACTERS_MAX: Final = 96

# Characters of another process's sentence (a warning, an error) that the page shows: a paragraph.
SENTENCE_CHARACTERS_MAX: Final = 600

# A longer client id gets no link on the page: fifty of them would make a page of megabytes.
LINKED_CHARACTERS_MAX: Final = 512

# The bridge and the uploader report once a second. Ten missed reports are no coincidence.
REPORT_AGE_SECONDS_MAX: Final = 10.0

# The page without JavaScript reloads this often. `assets/live.js` has its own, shorter interval.
PAGE_REFRESH_SECONDS: Final = 5

# The Retry-After of a 503: how long a client waits before it asks again.
RETRY_AFTER_SECONDS: Final = 2

# Connections from the network at a time. Each costs some 50 kB, at most REQUEST_HEAD_BYTES_MAX
# more; a household of viewers uses ten.
NETWORK_CONNECTIONS_MAX: Final = 100

# The same from this machine, independent of the network's, and those of one of its addresses: a
# reverse proxy with its pool, a person with a terminal. A program at another one (127.0.0.2, ::1)
# does not use up their places.
LOOPBACK_CONNECTIONS_MAX: Final = 96
LOOPBACK_CONNECTIONS_PER_ADDRESS_MAX: Final = 64

# The same from one address (IPv6: one /64). A browser opens six; several may share an address.
CONNECTIONS_PER_ADDRESS_MAX: Final = 32

# Time from a request's first byte, or from a connection's start, to the end of the headers: they
# are one packet, which even a modem sends in a second.
HEAD_SECONDS_MAX: Final = 5.0

# How long a visitor whose request is being answered keeps its place while others want it: a slow
# broker's answer and the time to read it.
ANSWERING_SECONDS_PROTECTED: Final = 5.0

# A browser keeps a connection between two refreshes of the page.
KEEP_ALIVE_SECONDS: Final = 15

# Longest life of a connection, so that one that sends or reads a byte a minute frees its place.
CONNECTION_SECONDS_MAX: Final = 60.0

# Time that a connection gets to finish its answer when its life ends, or when the process stops.
FAREWELL_SECONDS: Final = 2.0

# Length of an address (path and query) that the HTTP parser accepts: httptools counts its parts in
# 16 bits. A client id whose percent-encoded form is longer can be used with `oncegate ctl` only.
ADDRESS_BYTES_MAX: Final = 65_535

# A request's line and headers: the longest address, and as much again.
REQUEST_HEAD_BYTES_MAX: Final = 131_072

# A Host header that may name this machine: the longest DNS name (RFC 1035 2.3.4) in brackets, with
# a port. Beyond it nothing is parsed, and nothing is ever converted by IDNA's rules, whose time
# grows with the square of the length.
HOST_CHARACTERS_MAX: Final = 255 + len("[]:65535")

# Browsers logged in at a time, and those of one user: some 500 bytes each. A person has a desk, a
# phone and a wall display; one more login ends the one that was used longest ago.
LOGINS_MAX: Final = 200
LOGINS_PER_USER_MAX: Final = 8

# A login without a request, and a login as a whole (OWASP: half an hour and a working day). An open
# page asks every few seconds, so a wall display meets the second limit.
LOGIN_IDLE_SECONDS_MAX: Final = 1800.0
LOGIN_SECONDS_MAX: Final = 12 * 3600.0

# How long a login counts before the broker is asked whether the user's password is still the same.
LOGIN_CONFIRMED_SECONDS: Final = 5.0

# Passwords that the broker is asked to check at a time, and those of one address: it checks two at
# a time itself, and accepts eight from here.
LOGIN_CHECKS_MAX: Final = 6
LOGIN_CHECKS_PER_ADDRESS_MAX: Final = 2

# The broker delays logins after wrong guesses, and MQTT clients wait in the same queue.
LOGIN_ANSWER_SECONDS_MAX: Final = 15.0

# A form of the page: a name, a password and an address to go to, each at its longest with every
# byte escaped. Instead of a password a person may give a token of an identity provider.
FORM_BYTES_MAX: Final = 36_864
FORM_FIELDS_MAX: Final = 8
USERNAME_BYTES_MAX: Final = 1024
PASSWORD_BYTES_MAX: Final = 8192
NEXT_CHARACTERS_MAX: Final = 2048

# From the headers to the end of a form: it is one packet.
FORM_SECONDS_MAX: Final = 5.0

# Time that an action at the broker may take: a reload opens listeners and reads files and keys from
# a slow card.
ACTION_SECONDS_MAX: Final = 15.0

# The broker's limit for the value and the reason of a ban.
BAN_CHARACTERS_MAX: Final = 1024
BAN_REASON_CHARACTERS_MAX: Final = 200

# Actions of all callers that wait for their turn: people press one button at a time.
ACTIONS_WAITING_MAX: Final = 8

# Users in one answer: the broker's bound; and on a page.
USERS_PER_REQUEST_MAX: Final = 200
USERS_PER_PAGE: Final = 100

# A cookie or token that is looked up: ours have less than 50 characters.
SECRET_CHARACTERS_MAX: Final = 128

# Tokens of programs: each is compared at each request with a token.
TOKENS_MAX: Final = 100
TOKENS_FILE_BYTES_MAX: Final = 65_536

# How long a removed token remains valid, at most.
TOKENS_LOOK_SECONDS: Final = 1.0

# Log lines about refused logins and tokens: strangers must not fill the card with them.
REFUSALS_LOGGED_SECONDS: Final = 60.0

# Series of the history that change: a gateway of 64 devices has some 500. An hour of each takes 29
# kB of memory at most.
SERIES_MAX: Final = 1000

# Series that are only on disk and are still listed: names without points in memory.
SERIES_STORED_MAX: Final = 2000

# Name of a series: a device's and a quantity's, which a sensor may have invented.
SERIES_NAME_CHARACTERS_MAX: Final = 200

# Series of one request, each of at most 2,976 points: an answer of 3 MB.
SERIES_PER_REQUEST_MAX: Final = 10

# The overview: devices as cards, quantities of each, and curves of all. A curve is 1 kB: the page
# stays below 60 kB compressed. The page of sensors has all.
DEVICES_ON_OVERVIEW_MAX: Final = 24
QUANTITIES_ON_OVERVIEW_MAX: Final = 6
CURVES_ON_OVERVIEW_MAX: Final = 48

# Points of a curve on the overview: one every 36 seconds, three pixels wide.
POINTS_ON_OVERVIEW_MAX: Final = 100

# Answers from this size on are compressed: a smaller one is one packet either way.
COMPRESSED_FROM_BYTES: Final = 1200

# Alarms in an answer of the REST interface, and cleared ones on a page.
ALARMS_PER_REQUEST_MAX: Final = 200
ALARMS_PER_PAGE: Final = 50

# A path of a port or its USB identity, and a sensor's name, which is a topic level.
PORT_CHARACTERS_MAX: Final = 1024
SENSOR_NAME_CHARACTERS_MAX: Final = 64

# Settings of a sensor's protocol, as lines of TOML: 120 registers of a Modbus device.
SENSOR_SETTINGS_CHARACTERS_MAX: Final = 16_384
