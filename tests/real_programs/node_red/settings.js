// No editor, no page, no statistics sent anywhere: only flows.
module.exports = {
    flowFile: "flows.json",
    httpAdminRoot: false,
    httpNodeRoot: false,
    uiHost: "127.0.0.1",
    uiPort: Number(process.env.NODE_RED_PORT),
    telemetry: { enabled: false, updateNotification: false },
    logging: { console: { level: "info", metrics: false, audit: false } },
};
