"""`oncegate id`: the gateway's id."""

from gateway.cli.options import ConfigOption, DataDirOption, configuration_of


def identity(config: ConfigOption = None, data_dir: DataDirOption = None) -> None:
    """Print the gateway's id, and make it where there is none yet.

    It names the gateway's events and is kept in the data directory.

    Examples:

        oncegate id --config /etc/oncegate/gateway.toml
    """
    from gateway.configuration import gateway_id
    from gateway.files.private import prepare

    configuration = configuration_of(config, gateway__data_dir=data_dir)
    prepare(configuration.gateway.data_dir)
    print(gateway_id(configuration))
