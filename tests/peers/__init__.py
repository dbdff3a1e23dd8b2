"""Clients and servers for tests, which talk to the program under test. Each kind exists once.

Clients of the broker:

- `byte_client.ByteClient` writes the bytes that a test passes and reads the response. It takes the
  steps of MQTT 3.1.1 by itself where a test asks for them. Its packets are built and read by
  `mqtt_bytes`, which is written from the standard. It is for tests that must not learn the protocol
  from the code under test: all of `tests/system`, the power cuts and the audit of real runs.
- `websocket_client.WebSocketClient` is a `ByteClient` that sends its packets in WebSocket frames.
  The frames are built by hand.
- `packet_client.PacketClient` sends and receives packets of 3.1.1 or 5.0 with
  `gateway.broker.wire`. It is for tests of what the broker does with packets, not of how packets
  are encoded.
- `resuming_client` has publishers and subscribers that resume their sessions as the standard
  requires, and count what they received. They are for kills, cuts and takeovers under load.

Servers:

- `scripted_broker.ScriptedBroker` answers packets as its script states. It serves our own clients:
  the bridge, the load generator and the health check.
- `control_server.ControlServer` is the broker's end of the control socket. It serves the API, the
  uploader and the bridge.
- `identity_provider.IdentityProvider` serves keys over HTTP for tests of `[access.jwt]`. Its
  `Signer` signs tokens with these keys.
- `mariadb.MariaDB` is Debian's MariaDB in its own directory, for tests of `[access.mysql]`.

These clients and servers are elsewhere, for a reason:

- `tests.broker.core.harness.Client` drives the core directly, without a socket and with a clock
  that the test sets.
- In `tests.instruments`, `fuzz.peer` also checks what the broker is allowed to send.
  `simulation.client` is on the simulated network, and checks each packet against its plan.
  `benchmarks.scale.peer` and `benchmarks.hostile.honest_clients` answer inside the transport's
  callback, with one write per read. If they waited for the event loop, the benchmarks would measure
  the clients as well. `benchmarks.hostile.attack` has thousands of connections that misbehave.
- `tests.bridge.broker` and `tests.contract` use brokers and client libraries of other projects.
- `tests.image.boot.subscriber` runs on a thread, because the test waits for a virtual machine.
- `tests.cli.peer` answers at the control socket on a thread, because commands have no event loop.
- `tests.tools.bench.test_publisher.Broker` answers without a socket, in an order that hypothesis
  draws.
"""
