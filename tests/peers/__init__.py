"""What stands at the other end of a connection in tests: each kind once.

Clients of the broker:

- `byte_client.ByteClient` writes the bytes that a test hands it and reads them back, and takes the
  steps of MQTT 3.1.1 by itself where a test asks for that. Its packets are built and read by
  `mqtt_bytes`, written from the standard: for whatever must not learn the protocol from the code
  under test, which is all of `tests/system`, the power cuts and the audit of real runs.
- `websocket_client.WebSocketClient` is the same in WebSocket frames, drawn by hand.
- `packet_client.PacketClient` sends and receives packets by `gateway.broker.wire`, 3.1.1 or 5.0:
for what
  the broker does with packets, where how they look as bytes is not the question.
- `resuming_client` has publishers and subscribers that come back to their sessions as the standard
  asks and count what they saw: for kills, cuts and takeovers under load.

Servers:

- `scripted_broker.ScriptedBroker` answers packets as its script states: for clients of ours (the
  bridge, the load generator, the health check).
- `control_server.ControlServer` is the broker's end of the control socket: for those who ask there
  (API, uploader, bridge).
- `identity_provider.IdentityProvider` serves keys over HTTP, and its `Signer` signs tokens with
  them: for `[access.jwt]`.
- `mariadb.MariaDB` is Debian's MariaDB in a directory of its own: for `[access.mysql]`.

Elsewhere, and for a reason:

- `tests.broker.core.harness.Client` is in the core: no socket, no time of its own.
- In `tests.instruments`: `fuzz.peer` adds to that an account of what the broker may send to it.
  `simulation.client` lives on the simulated network, and checks each packet against its plan.
  `benchmarks.scale.peer` and `benchmarks.hostile.honest_clients` answer inside the transport's
  callback, with one write a read: a client that waited its turn in the event loop would be
  measured itself. `benchmarks.hostile.attack` has thousands of connections that misbehave.
- `tests.bridge.broker` and `tests.contract` have brokers and client libraries of others.
- `tests.image.boot.subscriber` runs on a thread, beside a virtual machine that is waited for.
- `tests.cli.peer` answers at the control socket on a thread: commands have no event loop.
- `tests.tools.bench.test_publisher.Broker` answers without a socket, in an order that hypothesis
draws.
"""
