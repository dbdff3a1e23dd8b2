"""One-sentence descriptions of all keys, for the schema that editors show.

The reasons for the defaults are in `docs/configuration.md`. The keys of a serial protocol are
described where they are declared.
"""

from collections.abc import Mapping
from typing import Final

KEY_DESCRIPTIONS: Final[Mapping[str, Mapping[str, str]]] = {
    "gateway": {
        "id": "Name of the gateway in its events. By default it is created on the first start.",
        "data_dir": "Directory of the data that must survive a restart: database, session log, "
        "outbox.",
        "control_dir": "Directory of the broker's control sockets. Default: data_dir.",
        "control_group": "Group that may use control.sock, which accepts every command.",
        "status_group": "Group that may use status.sock, which only reads.",
        "operate_group": "Group that may use operate.sock, through which the page acts for "
        "operators.",
    },
    "listeners": {
        "name": "Name of the listener in access rules, logs and status. Default: its address.",
        "bind": "Address at which the broker listens.",
        "port": "TCP port. 0 takes any free port. Default: 1883, 8083 (websocket); with tls 8883, "
        "8084.",
        "protocol": "Transport: MQTT over TCP, in WebSocket frames, or over a Unix socket.",
        "anonymous": "Accept clients without a user name.",
        "allow_anonymous_network": "Accept clients from other machines without authentication.",
        "path": 'Path of the Unix socket. Allowed only with protocol = "unix".',
        "websocket_path": 'Path of the URL. Allowed only with protocol = "websocket".',
        "origins": "Origins of web pages that may connect. Allowed only with protocol = "
        '"websocket".',
        "proxy_protocol": "Require a PROXY protocol header at the start of each connection.",
        "proxy_protocol_certificates": "Use the certificate name in the PROXY protocol header as "
        "the user name.",
        "tls": "Certificate for TLS at this listener: MQTT over TLS, or WSS.",
        "max_connections": "Maximum number of connections, within [mqtt] max_connections.",
        "max_connection_rate": "Maximum number of new connections per second at this listener.",
        "max_packet_rate": "Maximum number of packets per second from one client. Excess packets "
        "are read later.",
        "max_byte_rate": "Maximum number of bytes per second from one client. Excess bytes are "
        "read later.",
        "sessions": "Maximum number of sessions of all clients of this listener.",
        "login_rate": "Maximum number of logins per second of all clients. Excess logins are "
        "rejected.",
        "packet_rate": "Maximum number of packets per second from all clients. Excess packets are "
        "read later.",
        "byte_rate": "Maximum number of bytes per second from all clients. Excess bytes are read "
        "later.",
    },
    "queues": {
        "client": 'Client ids to which the table applies. "*" matches any characters.',
        "when_full": "Behaviour when a queue reaches max_mqueue_len or max_mqueue_bytes.",
    },
    "mqtt": {
        "max_inflight": "Maximum number of QoS 1 and 2 messages in flight to one client. 0 means "
        "65535.",
        "max_mqueue_len": "Maximum number of queued messages per session. 0 means unlimited.",
        "max_mqueue_bytes": "Maximum size of the queued messages of one session.",
        "max_queue_memory": "Maximum memory for the queues of all clean sessions together.",
        "mqueue_store_qos0": "Queue QoS 0 messages for clients that are not connected.",
        "max_awaiting_rel": "Maximum number of unreleased QoS 2 messages from one client.",
        "max_awaiting_rel_bytes": "Maximum size of the unreleased QoS 2 messages from one client.",
        "await_rel_timeout": "Time after which an unreleased QoS 2 message is dropped.",
        "retry_interval": "Time between resends of a message within a connection.",
        "max_packet_size": "Maximum size of a packet. A larger packet closes the connection.",
        "max_topic_alias": "Maximum number of topic aliases of an MQTT 5.0 client.",
        "check_payload_format": "Check that a payload that is declared as UTF-8 is valid.",
        "max_keep_alive": "Longest keep-alive interval of an MQTT 5.0 client.",
        "max_session_expiry": "Longest time that a persistent session is kept after its client "
        "disconnects.",
        "max_connections": "Maximum number of open connections.",
        "connect_timeout": "Maximum time from the TCP connection to the CONNECT packet.",
        "max_subscriptions": "Maximum number of topic filters per session.",
        "max_subscription_bytes": "Maximum memory for all subscriptions.",
        "max_topic_levels": "Maximum number of levels in a topic.",
        "max_write_buffer": "Maximum number of unsent bytes for a client that reads slowly.",
        "max_retained": "Maximum number of retained messages.",
        "max_retained_bytes": "Maximum memory for all retained messages.",
        "max_sessions": "Maximum number of sessions, connected or not.",
        "maximum_qos": "Highest QoS of published messages and granted subscriptions.",
        "retain_available": "Accept retained messages.",
        "check_retain_source": "Send a retained message only while its publisher is still allowed "
        "to publish it.",
        "message_size_limit": 'Maximum size of a payload. With "0B", only max_packet_size limits '
        "it.",
        "protocol_versions": "Accepted protocol levels: 3 is MQTT 3.1, 4 is 3.1.1, 5 is 5.0.",
        "allow_zero_length_clientid": "Accept clients with an empty client id.",
        "allow_control_characters": "Allow control characters in names and topics.",
        "sys_interval": "Time between publications of $SYS topics.",
    },
    "quotas": {
        "anonymous_share": "Percentage of the broker's limits available to clients without a user.",
        "anonymous_queued_bytes": "Maximum size of queued messages in all sessions without a user.",
        "anonymous_session_expiry": "Longest time that a session without a user is kept.",
        "max_connections_per_address": "Maximum number of open connections from one IPv4 address "
        "or IPv6 /64.",
        "max_connection_rate_per_address": "Maximum number of new connections per second from one "
        "address. 0 means unlimited.",
        "anonymous_journal_bytes_per_day": "Maximum number of journal bytes per day for clients "
        "without a user.",
        "max_sessions_per_address": "Maximum number of sessions of all clients of one address.",
        "max_packet_rate_per_address": "Maximum number of packets per second from one address. "
        "Excess packets are read later.",
        "max_byte_rate_per_address": "Maximum number of bytes per second from one address. Excess "
        "bytes are read later.",
        "exempt_addresses": "Addresses and networks that are exempt from the limits per address.",
    },
    "flapping": {
        "enable": "Ban clients that connect and disconnect too often.",
        "max_count": "Number of disconnects within window_time. A client is banned with one more.",
        "window_time": "Period in which disconnects are counted.",
        "ban_time": "Duration of the ban.",
    },
    "user_quotas": {
        "user": "Users to which the table applies. * matches any characters.",
        "connections": "Maximum number of connected clients per user.",
        "sessions": "Maximum number of sessions per user, connected or not.",
        "session_expiry": "Longest time that a user's session is kept after its client "
        "disconnects.",
        "subscriptions": "Maximum number of topic filters in all sessions of one user.",
        "retained": "Maximum number of retained messages per user.",
        "retained_bytes": "Maximum memory for the retained messages of one user.",
        "queued_bytes": "Maximum size of queued messages in all sessions of one user.",
        "awaiting_rel_bytes": "Maximum size of a user's unreleased QoS 2 messages.",
        "login_rate": "Maximum number of logins per second of one user. Excess logins are "
        "rejected.",
        "packet_rate": "Maximum number of packets per second from one user. Excess packets are "
        "read later.",
        "byte_rate": "Maximum number of bytes per second from one user. Excess bytes are read "
        "later.",
        "journal_bytes_per_day": "Maximum number of journal bytes per day for all clients of one "
        "user.",
    },
    "limits": {
        "max_uncommitted": "Size of the uncommitted batch at which the broker stops reading from "
        "sockets.",
        "commit_delay": "Time that a commit is delayed to collect more work.",
        "lazy_commit_delay": "Longest delay of a commit that no client waits for.",
        "checkpoint_interval": "Time between checkpoints, which write the journal's changes to the "
        "tables.",
        "max_journal": "Maximum size of the journal while the uploader is not running.",
    },
    "disk": {
        "free_min": "Free space below which new messages are refused. Default: based on disk size.",
        "log_max": "Maximum size of the session log on this device. Default: based on disk size.",
        "log_max_files": "Maximum number of segments on this device. Default: a million, or half "
        "the disk's inodes.",
        "damaged_max": "Maximum size of files set aside as damaged. Default: based on disk size.",
        "reserve": "Size of the space that is allocated in advance. Default: based on disk size.",
    },
    "alarms": {
        "topic": "Topic below which the bridge publishes alarms as retained messages.",
        "disk_free": "Free share of the disk below which an alarm is raised.",
        "clock_unsynchronised": "Time without a synchronised clock after which an alarm is raised.",
        "upload_backlog": "Size of the data not yet uploaded at which an alarm is raised.",
        "temperature": "Temperature of the processor in °C at which an alarm is raised.",
        "card_life": "Expected life of the SD card in years below which an alarm is raised.",
        "wrong_passwords": "Number of wrong passwords within an hour at which an alarm is raised.",
    },
    "access": {
        "password_file": "File of users, written by `oncegate passwd`.",
        "rules_file": "File of access rules. They define who may publish and subscribe to which "
        "topics.",
        "order": "Order in which the sources of users are queried.",
        "jwt": "Authentication with tokens of an identity provider.",
        "mysql": "Authentication with users in a MySQL or MariaDB database.",
        "sessions_outlive_proof": "Time that stored sessions receive messages after a token or "
        "certificate expires.",
    },
    "hooks": {
        "module": "Python module that observes the broker.",
    },
    "session_log": {
        "payload_topics": "Topic filters of the messages whose payloads are logged.",
        "seal_after": "Age at which a segment is closed and uploaded.",
    },
    "upload": {
        "target": "URL to which segments are uploaded. Default: `uploaded` in the data directory.",
        "sent_keep": "Maximum size of uploaded segments that are kept on the device.",
        "sent_keep_files": "Maximum number of uploaded segments that are kept on the device.",
        "checksum_header": "Send a SHA-256 of each segment to an S3 store.",
    },
    "bridge": {
        "client_id": "Prefix of the bridge's client id.",
        "broker": "Broker to which the bridge publishes, HOST:PORT. Default: the first listener.",
        "username": "User name of the bridge.",
        "password_file": "File whose first line is the bridge's password.",
        "tls": "TLS settings for the connection to the broker.",
        "outbox_max": "Maximum size of the readings on disk while the broker does not answer.",
        "outbox_max_age": "Age of the oldest reading at which the outbox counts as full.",
        "window": "Maximum number of publications in flight. Default: 100, or max_awaiting_rel if "
        "less.",
        "commit_delay": "Time that a commit of frames from boards is delayed to collect more of "
        "them.",
        "availability_topic": 'Topic of a retained "online" or "offline". The topics of ports are '
        "below it.",
        "home_assistant_prefix": "Topic prefix of Home Assistant's discovery, usually "
        '"homeassistant".',
        "commands": "Let clients that may publish to commands/# send commands to boards.",
    },
    "serial": {
        "name": "Name of the port on the page and in the log.",
        "path": "Device file of the port. Set exactly one of path, usb and address.",
        "usb": "USB identity of the port: VID:PID or VID:PID:SERIAL.",
        "address": "Serial server (tcp://HOST:PORT, rfc2217://, rtu+tcp://) or modbus+tcp://.",
        "framing": 'Format of the data on the line. "board" is the frame format of Oncegate\'s '
        "boards.",
        "baud_rate": "Bits per second, with 8 data bits, no parity and 1 stop bit.",
        "line": "Bit rate, data bits, parity and stop bits, instead of baud_rate.",
        "flow_control": "Method by which one side of the line stops the other.",
        "when_full": "Behaviour of the port while the outbox is full. Default: based on the line.",
        "low_latency": "Ask the driver to deliver bytes without delay.",
        "rs485": "Let the driver switch the direction of an RS-485 line with RTS.",
        "rs485_rts": "Level of RTS while sending.",
        "rs485_delay_before_send": "Time from setting RTS for sending to the first byte.",
        "rs485_delay_after_send": "Time from the last byte to resetting RTS.",
        "silent_after": "Time without a byte after which the port is reported as silent.",
        "reset_after": "Time without a byte after which the port is closed and reopened.",
        "dtr": 'Level of DTR while the port is open. "leave" does not change it.',
        "rts": 'Level of RTS while the port is open. "leave" does not change it.',
        "device_silent_after": "Time without a frame after which a device counts as offline.",
        "units": "SenML units by quantity, for data that does not contain the units.",
        "device": "Device in the topic sensors/<device>/<quantity>. Default: the port's name.",
        "readings": "Settings for publishing the readings: topic, payload, tags, quantities.",
    },
    "console": {
        "uart": "Use of the UART on a Raspberry Pi's header. Default: as the machine is set up.",
    },
    "uplink": {
        "address": "Upstream broker, HOST:PORT. By default there is no uplink.",
        "protocol": "Protocol level at the upstream broker: 5 is MQTT 5.0, 4 is 3.1.1.",
        "client_id": "Prefix of the client id at the upstream broker. Default: oncegate- and the "
        "gateway's id.",
        "username": "User name at the upstream broker.",
        "password_file": "File whose first line is the password at the upstream broker.",
        "tls": "TLS settings for the connection to the upstream broker.",
        "topics": "Topics that the uplink carries. Each table describes one set of topics.",
        "queue_max": "Maximum size of the messages queued on disk, in each direction.",
        "window": "Maximum number of publications in flight, per direction. Default: 100; 19 with "
        "protocol = 4.",
        "session_expiry": "Time that the upstream broker keeps the session of a disconnected "
        "uplink.",
        "availability_topic": 'Topic at the upstream broker of a retained message "online" or '
        '"offline".',
        "local_broker": "This gateway's broker, HOST:PORT. Default: the first listener.",
        "local_username": "User name at this gateway's broker.",
        "local_password_file": "File whose first line is the password at this gateway's broker.",
    },
    "api": {
        "bind": "Address at which the status page listens.",
        "port": "TCP port of the status page. 0 takes any free port.",
        "hosts": "Host names that browsers use for the page, in addition to this machine's own.",
        "viewers": "Users who may view the page and read the REST interface.",
        "operators": "Users who may view the page, and disconnect and ban clients.",
        "administrators": "Users who may do everything on the page.",
        "viewer_groups": "Groups from [access.jwt] or [access.mysql] whose members are viewers.",
        "operator_groups": "Groups from [access.jwt] or [access.mysql] whose members are "
        "operators.",
        "administrator_groups": "Groups from [access.jwt] or [access.mysql] whose members are "
        "administrators.",
        "tokens_file": "File of the tokens of programs, written by `oncegate api-token`.",
        "allow_anonymous_network": "Show the page to everyone on the network, without a login.",
        "tls": "Certificate for HTTPS.",
    },
}
