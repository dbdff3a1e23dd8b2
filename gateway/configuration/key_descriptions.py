"""What each key is, in a sentence, for the schema that editors show.

The reasons for the defaults stand in `docs/configuration.md`; the keys of a serial protocol are
described where they are declared.
"""

from collections.abc import Mapping
from typing import Final

KEY_DESCRIPTIONS: Final[Mapping[str, Mapping[str, str]]] = {
    "gateway": {
        "id": "The gateway's name in its events. Made on the first start where it is not given.",
        "data_dir": "Directory of what must survive: database, session log, outbox.",
        "control_dir": "Directory of the broker's control sockets. Default: data_dir.",
        "control_group": "Group of control.sock, which takes every command.",
        "status_group": "Group of status.sock, which only reads.",
    },
    "listeners": {
        "bind": "Address at which the broker listens.",
        "port": "TCP port; 0: any free one. Default: 1883, 8083 (websocket); with tls 8883, 8084.",
        "protocol": "MQTT on TCP, in WebSocket frames at /mqtt, or on a Unix socket.",
        "anonymous": "Whether clients without a user name are admitted.",
        "allow_anonymous_network": "Admits clients without authentication from other machines.",
        "path": 'Path of the Unix socket, with protocol = "unix" only.',
        "origins": 'Origins of pages that may connect, with protocol = "websocket" only.',
        "proxy_protocol": "Whether each connection begins with a PROXY protocol header.",
        "proxy_protocol_certificates": "Whether a certificate's name in that header is a user.",
        "tls": "The certificate of TLS at this listener: MQTT over TLS, or WSS.",
        "max_connections": "This listener's share of [mqtt] max_connections.",
    },
    "mqtt": {
        "max_inflight": "QoS 1 and 2 messages in flight to one client; 0: up to 65535.",
        "max_mqueue_len": "Messages that wait for one session.",
        "max_mqueue_bytes": "Bytes of messages that wait for one session.",
        "mqueue_store_qos0": "Whether QoS 0 messages wait for a client that is away.",
        "max_awaiting_rel": "QoS 2 messages of one client that are received and not released.",
        "max_awaiting_rel_bytes": "Bytes of those messages.",
        "await_rel_timeout": "Time after which an unreleased QoS 2 message is dropped.",
        "retry_interval": "Time between resends within a connection.",
        "max_packet_size": "Largest packet; a larger one ends the connection.",
        "max_topic_alias": "Topic aliases of an MQTT 5.0 client.",
        "check_payload_format": "Whether a payload that is declared as UTF-8 is checked.",
        "max_keep_alive": "Longest keep-alive interval of an MQTT 5.0 client.",
        "max_session_expiry": "Longest life of a persistent session after its connection.",
        "max_connections": "Open connections.",
        "connect_timeout": "Time from the TCP connection to CONNECT.",
        "max_subscriptions": "Topic filters of one session.",
        "max_subscription_bytes": "Memory of all subscriptions.",
        "max_topic_levels": "Levels of a topic.",
        "max_write_buffer": "Bytes that wait for a client that reads slowly.",
        "max_retained": "Retained messages.",
        "max_retained_bytes": "Memory of all retained messages.",
        "max_sessions": "Sessions, connected or not.",
        "maximum_qos": "Highest QoS of published messages and granted subscriptions.",
        "retain_available": "Whether messages may be retained.",
        "message_size_limit": 'Largest payload of a message; "0B": as max_packet_size.',
        "protocol_versions": "Admitted protocol levels: 3 is MQTT 3.1, 4 is 3.1.1, 5 is 5.0.",
        "allow_zero_length_clientid": "Whether a client may leave its identifier empty.",
        "allow_control_characters": "Whether names and topics may have control characters.",
        "sys_interval": "Time between publications of $SYS topics.",
    },
    "limits": {
        "max_uncommitted": "Bytes of the batch at which sockets stop being read.",
        "commit_delay": "Time that a commit waits for more work.",
        "lazy_commit_delay": "Time that facts which no client waits for may wait for a commit.",
        "checkpoint_interval": "Time between writes of the journal's net change into the tables.",
        "max_journal": "Bytes of the journal that wait for the uploader.",
    },
    "disk": {
        "free_min": "Free bytes below which nothing new is taken. Default: by the disk's size.",
        "log_max": "Bytes of the session log on this device. Default: by the disk's size.",
        "damaged_max": "Bytes of files set aside as damaged. Default: by the disk's size.",
        "reserve": "Bytes that are reserved in advance. Default: by the disk's size.",
    },
    "access": {
        "password_file": "File of users, written by `oncegate passwd`.",
        "rules_file": "File of access rules: who may publish and subscribe to what.",
        "order": "The order in which sources of users are asked.",
        "jwt": "Tokens of an identity provider as proof of who a client is.",
        "mysql": "Users in a database of MySQL or MariaDB.",
    },
    "hooks": {
        "module": "Python module that observes the broker.",
    },
    "session_log": {
        "payload_topics": "Topic filters of the messages whose payloads are logged.",
        "seal_after": "Age at which a segment is closed and uploaded.",
    },
    "upload": {
        "target": "URL of sealed segments. Default: `uploaded` in the data directory.",
        "sent_keep": "Bytes of segments kept on the device after their upload.",
    },
    "bridge": {
        "client_id": "Beginning of the client identifier of the bridge's session.",
        "broker": "Broker that the bridge publishes to. Default: the first listener.",
        "username": "User name of the bridge.",
        "password_file": "File whose first line is the bridge's password.",
        "outbox_max": "Bytes of readings on disk while the broker is away.",
        "window": "Publications in flight. Default: 100, or max_awaiting_rel where that is less.",
        "commit_delay": "Time that frames of boards may wait for others before a commit.",
    },
    "serial": {
        "name": "The port's name on the page and in the log.",
        "path": "Device file of the port. Either this or usb.",
        "usb": "USB identity of the port: VID:PID or VID:PID:SERIAL. Either this or path.",
        "framing": 'Form of the data on the line; "board" is the frame of Oncegate\'s boards.',
        "baud_rate": "Bits per second, with 8 data bits, no parity and 1 stop bit.",
        "line": "Rate, data bits, parity and stop bits, instead of baud_rate.",
        "units": "SenML unit by quantity, where a line does not have it.",
        "device": "Device in sensors/<device>/<quantity>. Default: the port's name.",
    },
    "api": {
        "bind": "Address at which the status page listens.",
        "port": "TCP port of the status page; 0 takes any free one.",
    },
}
