"""`oncegate broker`: the MQTT broker."""

from functools import partial

from gateway.cli.common.configuration_file import read_configuration
from gateway.cli.common.options import (
    ConfigOption,
    DataDirOption,
    ListenOption,
    QuietOption,
    TenantOption,
    VerboseOption,
    configuration_of,
)
from gateway.cli.services.prepared import PreparedBroker

LISTENER_FIX = "choose another with --listen HOST:PORT, [[listeners]] port or ONCEGATE_LISTENERS"


def broker(
    config: ConfigOption = None,
    listen: ListenOption = None,
    data_dir: DataDirOption = None,
    verbose: VerboseOption = False,
    quiet: QuietOption = False,
    tenant: TenantOption = None,
) -> PreparedBroker:
    """Run the MQTT broker until SIGTERM or Ctrl-C.

    Everything that the broker acknowledges is stored on disk first. No
    configuration file is needed.

    Examples:

        oncegate broker

        oncegate broker --listen 127.0.0.1:1884 --data-dir /tmp/gateway

        oncegate broker --config /etc/oncegate/gateway.toml

        oncegate broker --config /etc/oncegate/gateway.toml --tenant acme
    """
    from gateway.cli.running.ports import free_port

    overrides = {"listen": listen, "gateway__data_dir": data_dir}
    configuration = configuration_of(config, tenant=tenant, **overrides)
    for listener in configuration.listeners:
        if listener.path is None:
            free_port(listener.bind, listener.port, what="the broker", fix=LISTENER_FIX)
    return PreparedBroker(
        configuration=configuration,
        read_again=partial(read_configuration, config, tenant=tenant, **overrides),
        verbose=verbose,
        quiet=quiet,
    )
