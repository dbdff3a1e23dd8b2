"""Settings are written to the files that the card's programs read; earlier secrets remain."""

from firmware_bridge.protocols.table import PROTOCOLS
from oncegate_device.wanted import BRIDGE_USER, NETWORK

from gateway.broker.access.passwords.file import PasswordFile
from gateway.configuration import load
from tests.image.device.boot_partition import FULL, KEY, Card


def test_everything_in_a_full_file_is_stored_where_the_card_s_programs_look(card: Card) -> None:
    card.put(FULL)
    lines = card.provision()
    configuration = load(card.places.configuration / "gateway.toml", {}, {}, PROTOCOLS)
    assert str(configuration.gateway.data_dir) == "/var/lib/oncegate"
    assert [(listener.bind, listener.anonymous) for listener in configuration.listeners] == [
        (NETWORK, False)
    ]
    assert configuration.bridge.username == BRIDGE_USER
    assert configuration.serial[0].name == "gps"
    assert configuration.api.port == 80
    assert configuration.api.listens_at == NETWORK
    passwords = PasswordFile.load(card.places.configuration / "passwords")
    assert passwords.verify("cellar", b"battery staple")
    bridge_password = card.stored("oncegate/bridge-password").strip().encode()
    assert passwords.verify(BRIDGE_USER, bridge_password)
    assert card.stored("hostname") == "cabinet-7\n"
    assert card.stored("ssh/authorized_keys") == f"{KEY}\n"
    assert card.stored("ssh/ssh_host_ed25519_key").startswith("-----BEGIN OPENSSH PRIVATE KEY")
    assert card.stored("oncegate/upload.env") == (
        'AWS_SECRET_ACCESS_KEY="quote \\" and \\\\ slash"\n'
    )
    assert card.owners["passwords"] == "root:oncegate-broker"
    assert "Page: http://cabinet-7.local/ for 1 user on the network" in lines


def test_a_wireless_password_is_stored_as_the_key_of_that_network_alone(card: Card) -> None:
    # IEEE 802.11, annex J.4: the passphrase "password" with the SSID "IEEE".
    card.put('[wifi]\ncountry = "DE"\nssid = "IEEE"\npassword = "password"\n')
    card.provision()
    stored = card.stored("wpa_supplicant/wpa_supplicant-wlan0.conf")
    assert "psk=f42c6fc52df0ebef9ebb4b90b38a5f902e83fe1b135a70e23aed762e9710a12e" in stored
    assert "ssid=49454545" in stored
    assert '"password"' not in stored


def test_a_fixed_address_is_stored_for_its_adapter(card: Card) -> None:
    card.put('[ethernet]\naddress = "192.0.2.10/24"\ninterface = "end0"\n')
    card.provision()
    assert "[Match]\nType=ether\nName=end0\n[Network]" in card.stored("network/wired.network")


def test_a_file_that_was_wiped_can_be_edited_and_taken_again(card: Card) -> None:
    card.put(FULL.replace("ssh_keys", "# ssh_keys"))
    card.provision()
    stored = [
        card.stored(name)
        for name in ("oncegate/upload.env", "wpa_supplicant/wpa_supplicant-wlan0.conf")
    ]
    card.put(card.text.replace("cabinet-7", "cabinet-8"))
    card.provision()
    assert card.stored("hostname") == "cabinet-8\n"
    assert stored == [
        card.stored(name)
        for name in ("oncegate/upload.env", "wpa_supplicant/wpa_supplicant-wlan0.conf")
    ]
    passwords = PasswordFile.load(card.places.configuration / "passwords")
    assert passwords.verify("cellar", b"battery staple")


def test_a_user_who_is_no_longer_in_the_file_is_let_in_no_more(card: Card) -> None:
    card.put(
        '[[users]]\nname = "a"\npassword = "12345678"\n'
        '[[users]]\nname = "b"\npassword = "12345678"\n'
    )
    card.provision()
    card.put('[[users]]\nname = "b"\npassword = ""\n')
    card.provision()
    passwords = PasswordFile.load(card.places.configuration / "passwords")
    assert not passwords.verify("a", b"12345678")
    assert passwords.verify("b", b"12345678")


def test_a_setting_beyond_the_first_65_536_characters_is_one_that_the_gateway_reads(
    card: Card,
) -> None:
    card.put('[upload]\ntarget = "s3://bucket/\N{GRINNING FACE}"\n')
    card.provision()
    configuration = load(card.places.configuration / "gateway.toml", {}, {}, PROTOCOLS)
    assert str(configuration.upload.target) == "s3://bucket/\N{GRINNING FACE}"


def test_groups_open_the_page_to_the_network_as_users_do(card: Card) -> None:
    card.put(
        '[access.jwt]\nissuer = "https://login.example"\naudience = "a"\ngroups_claim = "g"\n'
        '[api]\nbind = "0.0.0.0"\nviewer_groups = ["house", "guests"]\n'
    )
    lines = card.provision()
    (line,) = [each for each in lines if each.startswith("Page: ")]
    assert line.endswith("for 2 groups on the network")
    configuration = load(card.places.configuration / "gateway.toml", {}, {}, PROTOCOLS)
    assert configuration.api.listens_at == NETWORK
