"""Users' shares of the limits, as operators write them."""

import pytest

from gateway.configuration import ConfigurationError, load


def test_networks_are_kept_in_one_form() -> None:
    written = ["192.0.2.7", "10.1.2.3/8", "2001:DB8::1/64"]
    quotas = load(None, {}, {"quotas.exempt_addresses": written}, None).quotas
    assert quotas.exempt_addresses == ("192.0.2.7/32", "10.0.0.0/8", "2001:db8::/64")


@pytest.mark.parametrize("written", ["host.example", "", "10.0.0.0/33", 7])
def test_what_is_no_network_is_refused_with_the_fix(written: object) -> None:
    with pytest.raises(ConfigurationError, match=r"exempt_addresses.* use an address or a network"):
        load(None, {}, {"quotas.exempt_addresses": [written]}, None)
