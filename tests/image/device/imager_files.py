"""The files that Raspberry Pi Imager leaves on a boot partition."""

from oncegate_device.report import REPORT

from tests.image.device.boot_partition import KEY, Card

SSID = "Müller's"
PSK = "f42c6fc52df0ebef9ebb4b90b38a5f902e83fe1b135a70e23aed762e9710a12e"
HASH = "$y$j9T$c2FsdA$aGFzaGVkaGFzaGVkaGFzaGVkaGFzaGVk"
USER_DATA = f"""\
#cloud-config
manage_resolv_conf: false

hostname: Cabinet-7
manage_etc_hosts: true
packages:
- avahi-daemon
apt:
  preserve_sources_list: true
  conf: |
    Acquire {{
      Check-Date "false";
    }};
timezone: Europe/Berlin
keyboard:
  model: pc105
  layout: "de"
users:
- name: pi
  groups: users,adm,dialout,sudo
  shell: /bin/bash
  lock_passwd: false
  passwd: "{HASH}"
  ssh_authorized_keys:
    - {KEY}
  sudo: ALL=(ALL) NOPASSWD:ALL

enable_ssh: true
ssh_pwauth: false
"""
NETWORK_CONFIG = f"""\
network:
  version: 2
  ethernets:
    eth0:
      dhcp4: true
      dhcp6: true
      optional: true
  wifis:
    wlan0:
      dhcp4: true
      regulatory-domain: "DE"
      access-points:
        "{SSID}":
          hidden: true
          password: "{PSK}"
      optional: true
"""
NAMES_LEFT = [REPORT, "gateway.toml"]


def put(card: Card, name: str, content: str | bytes) -> None:
    data = content.encode() if isinstance(content, str) else content
    (card.places.boot / name).write_bytes(data)


def flashed(card: Card) -> None:
    put(card, "user-data", USER_DATA)
    put(card, "network-config", NETWORK_CONFIG)
    put(card, "meta-data", "instance-id: rpi-imager-1790623015181\n")


def names(card: Card) -> list[str]:
    return sorted(each.name for each in card.places.boot.iterdir())
