// MQTT.js as the tests' foreign client: told what to do by lines of JSON, it tells what happened.
//
//   in:   {"id": 1, "verb": "connect", "client": "away", "url": "mqtt://...", "options": {...}}
//   out:  {"id": 1, "result": {"sessionPresent": false, ...}}      or {"id": 1, "error": "..."}
//   out:  {"client": "away", "event": "message", "value": {"topic": "x", "payload": "21.5", ...}}
//
// One process holds any number of clients, by name. Each verb is answered once, when the library says
// that it is done; events come in between. Binary data are strings of one character a byte (Latin-1).
// The process ends with its standard input, so that it cannot outlive the test.

import { once } from "node:events";
import { createInterface } from "node:readline";
import mqtt from "mqtt";

const BINARY = new Set(["payload", "correlationData"]);
const clients = new Map();

const bytesFromJson = (key, value) =>
  BINARY.has(key) && typeof value === "string" ? Buffer.from(value, "latin1") : value;

// A function, because `this` is the object that still holds the Buffer: `value` is its toJSON().
function bytesToJson(key, value) {
  return Buffer.isBuffer(this[key]) ? this[key].toString("latin1") : value;
}

const tell = (line) => process.stdout.write(`${JSON.stringify(line, bytesToJson)}\n`);

const verbs = {
  async connect({ client: name, url, options }) {
    const client = mqtt.connect(url, options);
    clients.set(name, client);
    client.on("message", (topic, payload, { qos, retain, properties }) =>
      tell({ client: name, event: "message", value: { topic, payload, qos, retain, properties } }),
    );
    client.on("disconnect", ({ reasonCode }) =>
      tell({ client: name, event: "disconnect", value: reasonCode }),
    );
    client.on("close", () => tell({ client: name, event: "close", value: null }));
    const [connack] = await once(client, "connect");
    // `once` has rejected an error until here; from now on one that nobody hears would end the process.
    client.on("error", (error) => tell({ client: name, event: "error", value: String(error) }));
    return connack;
  },
  subscribe: ({ client, filter, options }) => clients.get(client).subscribeAsync(filter, options),
  publish: ({ client, topic, payload, options }) =>
    clients.get(client).publishAsync(topic, payload, options),
  end: ({ client, options }) => clients.get(client).endAsync(false, options),
  // The connection ends as when a cable is pulled: no DISCONNECT.
  cut: ({ client }) => clients.get(client).stream.destroy(),
};

async function carryOut({ id, verb, ...details }) {
  try {
    tell({ id, result: (await verbs[verb](details)) ?? null });
  } catch (error) {
    tell({ id, error: String(error) });
  }
}

const commands = createInterface({ input: process.stdin });
commands.on("line", (line) => carryOut(JSON.parse(line, bytesFromJson)));
commands.on("close", () => process.exit());
