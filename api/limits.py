"""All limits of this package, with their names, units and reasons.

The limits are not configurable, because no site needs other values. Some limits protect the
gateway, which is a small computer, from its visitors. The other limits protect visitors from
waiting for a gateway that does not respond.
"""

from typing import Final

# A broker responds from memory within milliseconds. Two seconds leave room for an SD card that
# blocks the whole machine, and are shorter than a visitor's patience.
ANSWER_SECONDS_MAX: Final = 2.0

# However many visitors there are, the broker receives the same query at most four times a second.
ANSWER_REUSE_SECONDS: Final = 0.25

# After a failure the broker is not queried for this long; requests meanwhile get the same failure.
RETRY_SECONDS: Final = 0.25

# Different queries that may be open or cached at a time (pages of sessions, single sessions). A
# response is at most 1 MiB, so this limits memory as well.
QUESTIONS_MAX: Final = 32

# The standard's longest client identifier in bytes, so also its maximum in characters [MQTT-1.5.3].
# Even escaped to ASCII in JSON, it stays within the limit of a line
# (gateway.process.control.messages).
CLIENT_ID_CHARACTERS_MAX: Final = 65_535

# The control socket's limits for one page of sessions.
SESSIONS_PER_REQUEST_MAX: Final = 1000
SESSIONS_PER_REQUEST_DEFAULT: Final = 100

# Events in one response (the broker's limit), on a page of the log, and on a client's page with its
# handshakes.
EVENTS_PER_REQUEST_MAX: Final = 1000
EVENTS_PER_REQUEST_DEFAULT: Final = 100
EVENTS_PER_PAGE: Final = 50
HANDSHAKE_EVENTS_MAX: Final = 40

# Names of events in one request: the broker's limit.
EVENT_NAMES_MAX: Final = 50

# Characters of the name of an event or a serial port: far more than any has.
EVENT_NAME_CHARACTERS_MAX: Final = 64

# Concurrent streams of events, and the duration of a stream, which is shorter than a connection's.
# A program opens the next stream with the sequence number of the last event it received.
EVENT_STREAMS_MAX: Final = 8
EVENT_STREAM_SECONDS: Final = 50.0

# Time between two queries for a stream.
EVENT_STREAM_STEP_SECONDS: Final = 1.0

# Series in /metrics, because a scraper stores each series for weeks. A gateway has tens of ports,
# and the longest list of reasons (the broker's errors) has about thirty.
METRIC_PORTS_MAX: Final = 64
METRIC_REASONS_MAX: Final = 64

# Size of the card's report. It normally has a few kilobytes, and ten times as much if every line
# of gateway.toml has a mistake.
CARD_BYTES_MAX: Final = 262_144

# Lines of the provisioning report: the limit in image/device.
PROVISIONING_LINES_MAX: Final = 64

# Rows on the page for people: about ten screens of a phone.
SESSIONS_PER_PAGE: Final = 50

# Characters in front of a client id in the cursor of a sorted list: a number of 64 bits, a space.
SORT_CHARACTERS_MAX: Final = 21

# The standard's longest topic in bytes, so also its maximum in characters [MQTT-1.5.3].
TOPIC_CHARACTERS_MAX: Final = 65_535

# Topics in one response (the broker's limit), and on a page, which is then about 40 kB of HTML.
TOPICS_PER_REQUEST_MAX: Final = 500
TOPICS_PER_REQUEST_DEFAULT: Final = 100
TOPICS_PER_PAGE: Final = 100

# Levels in the tree of topics. Further levels share a line, so that the tree fits on a phone.
TOPIC_LEVELS_SHOWN: Final = 6

# A message that an operator publishes: the broker's limits. The form stays below FORM_BYTES_MAX
# unless most characters are not ASCII.
PUBLISHED_TOPIC_CHARACTERS_MAX: Final = 1024
PUBLISHED_PAYLOAD_CHARACTERS_MAX: Final = 8192

# Characters of a payload on the page.
PAYLOAD_CHARACTERS_SHOWN: Final = 200

# Characters of a search text.
SEARCH_CHARACTERS_MAX: Final = 100

# Characters of an untrusted name (client id, filter, path) that the page shows. Further characters
# are only counted.
SHOWN_CHARACTERS_MAX: Final = 96

# Characters of another process's sentence (a warning, an error) that the page shows: a paragraph.
SENTENCE_CHARACTERS_MAX: Final = 600

# A longer client id gets no link on the page: fifty of them would make a page of megabytes.
LINKED_CHARACTERS_MAX: Final = 512

# The bridge and the uploader report once a second. Ten missed reports are not a coincidence.
REPORT_AGE_SECONDS_MAX: Final = 10.0

# The page without JavaScript reloads this often. `assets/live.js` has its own, shorter interval.
PAGE_REFRESH_SECONDS: Final = 5

# The Retry-After of a 503: how long a client should wait before it retries.
RETRY_AFTER_SECONDS: Final = 2

# Concurrent connections from the network. Each takes about 50 kB, plus at most
# REQUEST_HEAD_BYTES_MAX. A household of viewers uses ten.
NETWORK_CONNECTIONS_MAX: Final = 100

# Concurrent connections from this machine, in addition to those from the network, and from one of
# its loopback addresses: a reverse proxy with its pool, a person at a terminal. A program at
# another loopback address (127.0.0.2, ::1) cannot use up all of them.
LOOPBACK_CONNECTIONS_MAX: Final = 96
LOOPBACK_CONNECTIONS_PER_ADDRESS_MAX: Final = 64

# Concurrent connections from one address (for IPv6, one /64). A browser opens six connections, and
# several browsers may share an address.
CONNECTIONS_PER_ADDRESS_MAX: Final = 32

# Time from a request's first byte, or from a connection's start, to the end of the headers: they
# are one packet, which even a modem sends in a second.
HEAD_SECONDS_MAX: Final = 5.0

# How long a visitor whose request is being answered cannot be replaced by others: enough for a slow
# broker's response and for reading it.
ANSWERING_SECONDS_PROTECTED: Final = 5.0

# Idle time of a connection: a browser reuses its connection at the next refresh of the page.
KEEP_ALIVE_SECONDS: Final = 15

# Longest life of a connection, so that a connection with one byte a minute is closed as well.
CONNECTION_SECONDS_MAX: Final = 60.0

# Time for a connection to finish its response when its life ends, or when the process stops.
FAREWELL_SECONDS: Final = 2.0

# Length of an address (path and query) that the HTTP parser accepts: httptools counts its parts in
# 16 bits. A client id whose percent-encoded form is longer can be used with `oncegate ctl` only.
ADDRESS_BYTES_MAX: Final = 65_535

# A request's line and headers: the longest address, and as much again.
REQUEST_HEAD_BYTES_MAX: Final = 131_072

# Longest Host header that is accepted: the longest DNS name (RFC 1035 2.3.4) in brackets, with a
# port. A longer header is not parsed. IDNA conversion, whose time is quadratic, is never used.
HOST_CHARACTERS_MAX: Final = 255 + len("[]:65535")

# Browsers logged in at a time, in total and for one user, about 500 bytes each. A person has a
# desktop, a phone and a wall display. Beyond the limit the least recently used login ends.
LOGINS_MAX: Final = 200
LOGINS_PER_USER_MAX: Final = 8

# Idle time and total duration of a login (OWASP: half an hour and a working day). An open page
# sends a request every few seconds, so only the second limit ends the login of a wall display.
LOGIN_IDLE_SECONDS_MAX: Final = 1800.0
LOGIN_SECONDS_MAX: Final = 12 * 3600.0

# How long a login is trusted before the broker is asked whether the password has changed.
LOGIN_CONFIRMED_SECONDS: Final = 5.0

# Concurrent password checks by the broker, in total and for one address. The broker itself checks
# two at a time, and accepts eight from this process.
LOGIN_CHECKS_MAX: Final = 6
LOGIN_CHECKS_PER_ADDRESS_MAX: Final = 2

# The broker delays logins after wrong guesses, and MQTT clients wait in the same queue.
LOGIN_ANSWER_SECONDS_MAX: Final = 15.0

# Size of a form: the longest name, password and target path, with every byte escaped. Instead of a
# password, a person may enter a token from an identity provider.
FORM_BYTES_MAX: Final = 36_864
FORM_FIELDS_MAX: Final = 16
USERNAME_BYTES_MAX: Final = 1024
PASSWORD_BYTES_MAX: Final = 8192
NEXT_CHARACTERS_MAX: Final = 2048

# Time from the headers to the end of a form, which is a single packet.
FORM_SECONDS_MAX: Final = 5.0

# Time that an action at the broker may take: a reload opens listeners and reads files and keys from
# a slow card.
ACTION_SECONDS_MAX: Final = 15.0

# The broker's limit for the value and the reason of a ban.
BAN_CHARACTERS_MAX: Final = 1024
BAN_REASON_CHARACTERS_MAX: Final = 200

# Actions that wait for earlier actions, from all callers: people press one button at a time.
ACTIONS_WAITING_MAX: Final = 8

# Users in one response (the broker's limit), and on a page.
USERS_PER_REQUEST_MAX: Final = 200
USERS_PER_PAGE: Final = 100

# Characters of a cookie or token that is looked up: ours have fewer than 50.
SECRET_CHARACTERS_MAX: Final = 128

# Characters of a token's name: the limit of the token file.
TOKEN_NAME_CHARACTERS_MAX: Final = 64

# How long a removed token remains valid, at most.
TOKENS_CHECK_SECONDS: Final = 1.0

# Log lines about refused logins and tokens: strangers must not fill the card with them.
REFUSALS_LOGGED_SECONDS: Final = 60.0

# Series of the history with points in memory. A gateway with 64 devices has about 500 series. An
# hour of one series takes at most 29 kB of memory.
SERIES_MAX: Final = 1000

# Series that are listed but have points on disk only.
SERIES_STORED_MAX: Final = 2000

# Characters in the name of a series: the names of device and quantity, which sensors may choose.
SERIES_NAME_CHARACTERS_MAX: Final = 200

# Series in one request, each with at most 2,976 points: a response of 3 MB.
SERIES_PER_REQUEST_MAX: Final = 10

# Devices on the overview, quantities of one device, and charts of all devices. A chart is 1 kB, so
# the page stays below 60 kB compressed. The page of sensors shows everything.
DEVICES_ON_OVERVIEW_MAX: Final = 24
QUANTITIES_ON_OVERVIEW_MAX: Final = 6
CHARTS_ON_OVERVIEW_MAX: Final = 48

# Points of a chart on the overview: one every 36 seconds, three pixels wide.
POINTS_ON_OVERVIEW_MAX: Final = 100

# Responses of this size or more are compressed; a smaller response fits one packet anyway.
COMPRESSED_FROM_BYTES: Final = 1200

# Alarms in a response of the REST interface, and cleared alarms on a page.
ALARMS_PER_REQUEST_MAX: Final = 200
ALARMS_PER_PAGE: Final = 50

# Characters of a port's path or USB identity, and of a sensor's name, which is a topic level.
PORT_CHARACTERS_MAX: Final = 1024
SENSOR_NAME_CHARACTERS_MAX: Final = 64

# Settings of a sensor's protocol, as lines of TOML: 120 registers of a Modbus device.
SENSOR_SETTINGS_CHARACTERS_MAX: Final = 16_384

# Size of a backup that is downloaded (the whole backup is held in memory), and time to create it. A
# backup of a gateway with a thousand users has 200 kB and takes a second on a Raspberry Pi.
BACKUP_BYTES_MAX: Final = 16_777_216
BACKUP_SECONDS_MAX: Final = 30.0

# Characters of a name, an address or a password of the network: a Wi-Fi key has 64, and a host name
# 63.
NETWORK_TEXT_CHARACTERS_MAX: Final = 128

# Name servers, and addresses of one interface.
NETWORK_ITEMS_MAX: Final = 16

# Network interfaces that are shown: a Raspberry Pi has two, and adapters on USB.
INTERFACES_MAX: Final = 64

# Time after which a network change is undone unless it is kept: the value of the SD card's system.
NETWORK_TRIAL_SECONDS: Final = 300.0

# Characters of the address of an update bundle: the limit of the SD card's system.
BUNDLE_ADDRESS_CHARACTERS_MAX: Final = 2000
