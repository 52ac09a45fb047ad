"""Which URLs may be fetched and which addresses may be connected to. Pure.

The check of a URL concerns its form only. The check of each address right before connecting protects private networks,
whatever name, redirect or notation led to the address.
"""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Sequence
from functools import lru_cache

from yarl import URL

from services.setting import AddressRange, is_loopback_host

LONGEST_URL = 4096

Address = ipaddress.IPv4Address | ipaddress.IPv6Address


def _networks(*texts: str) -> tuple[ipaddress.IPv4Network | ipaddress.IPv6Network, ...]:
    return tuple(ipaddress.ip_network(text) for text in texts)


NEVER_ALLOWED = _networks(
    "169.254.0.0/16",  # link-local: instance metadata of most clouds, and the credentials of containers
    "fe80::/10",
    "168.63.129.16/32",  # Azure's wire server, in a public range
    "100.100.100.200/32",  # Alibaba
    "192.0.0.192/32",  # Oracle
    "fd00:ec2::/32",  # AWS
    "fd20:ce::/32",  # Google
    "fd00:c1::/32",  # Oracle
    "fd00:42::42/128",  # Scaleway
    "224.0.0.0/4",
    "255.255.255.255/32",
    "ff00::/8",
)
"""Refused even if private addresses are allowed: metadata services have secrets, and no address here serves feeds."""

PRIVATE_V4 = _networks(
    "0.0.0.0/8",
    "10.0.0.0/8",
    "100.64.0.0/10",
    "127.0.0.0/8",
    "172.16.0.0/12",
    "192.0.0.0/24",
    "192.0.2.0/24",
    "192.88.99.0/24",
    "192.168.0.0/16",
    "198.18.0.0/15",
    "198.51.100.0/24",
    "203.0.113.0/24",
    "240.0.0.0/4",
)
PUBLIC_V6 = _networks("2000::/3")
PRIVATE_V6 = _networks("2001::/23", "2001:db8::/32", "2002::/16", "3fff::/20")
"""Written out, because `is_global` differs between patch releases of Python."""

NAT64 = ipaddress.ip_network("64:ff9b::/96")
LOCAL_NAT64 = ipaddress.ip_network("64:ff9b:1::/48")
COMPATIBLE = ipaddress.ip_network("::/96")
TRANSLATED = ipaddress.ip_network("::ffff:0:0:0/96")

_ENDS_IN_A_NUMBER = re.compile(r"(^|\.)(\d+|0[xX][0-9a-fA-F]*)\.?$")
_CONTROL = re.compile(r"[\x00-\x20\x7f]")
_HOST = re.compile(r"[0-9A-Fa-f:.]+|[^\s\[\]:]+")
"""A host as yarl returns it, without brackets. A zone (`fe80::1%eth0`) is refused: it has a meaning on one machine
only."""

_SETTING = "the setting ALLOW_PRIVATE_ADDRESSES would allow it"


def refused_address(text: str, private: bool | Sequence[AddressRange], port: int) -> str | None:
    """Why an address must not be connected to at this port; None if it may be. `private` says which private addresses
    are allowed: all, none, or those of these ranges."""
    try:
        address: Address = ipaddress.ip_address(text.partition("%")[0])
    except ValueError:
        return "not an address"
    embedded = _embedded(address)
    if any(_within(each, NEVER_ALLOWED) for each in (address, *embedded)):
        return "link-local, metadata, broadcast or multicast address"
    if private is True or (private and any(each.has(address, port) for each in private)):
        return None
    # A relay or gateway may forward a public IPv6 address to the private IPv4 address within it.
    if embedded:
        allowed = all(map(_is_public, embedded)) and _may_embed(address)
        return None if allowed else f"private address within another; {_SETTING}"
    return None if _is_public(address) else f"private, loopback or reserved address; {_SETTING}"


@lru_cache(maxsize=1024)  # feeds are fetched again and again
def checked_url(text: str) -> URL | str:
    """The URL to fetch, or why it cannot be fetched."""
    text = text.strip()
    try:
        url = parsed(text).with_fragment(None)
        port = url.port
    except ValueError:
        return "not a URL"
    faults = (
        (len(text) > LONGEST_URL, f"longer than {LONGEST_URL} characters"),
        (_CONTROL.search(text), "contains spaces or control characters"),
        (url.scheme not in ("http", "https"), "must begin with http:// or https://"),
        (not url.raw_host, "has no host"),
        (not _HOST.fullmatch(url.raw_host or "-"), "has an impossible host"),
        (url.raw_user is not None or url.raw_password is not None, "must not contain a user name or password"),
        (port is not None and port < 1, "port must be 1 or more"),
    )
    return next((fault for found, fault in faults if found), url)


def parsed(text: str) -> URL:
    """The URL as yarl parses it. Raises ValueError also where yarl raises IndexError: `http://][@/`."""
    try:
        return URL(text)
    except IndexError:
        raise ValueError("not a URL") from None


@lru_cache(maxsize=1024)
def is_odd_address(host: str) -> bool:
    """Whether the host is such as 127.1, 0x7f.1 or 2130706433: an address to some programs and a name to others."""
    if ":" in host or not _ENDS_IN_A_NUMBER.search(host):
        return False
    try:
        return str(ipaddress.IPv4Address(host)) != host
    except ValueError:
        return True


@lru_cache(maxsize=1024)
def is_loopback(host: str) -> bool:
    """Whether the host, with its port or without, is `localhost` or a loopback address. Names that resolve to one do
    not count."""
    return is_loopback_host(host) or is_loopback_host(host.rpartition(":")[0])


def same_origin(one: URL, other: URL) -> bool:
    """Whether scheme, host and port are the same. A port that is not named is the default of the scheme."""
    return (one.scheme, one.raw_host, one.port) == (other.scheme, other.raw_host, other.port)


def without_query(url: URL | str) -> str:
    """The URL for messages, without its query, fragment and user."""
    try:
        url = parsed(url) if isinstance(url, str) else url
        return str(url.with_user(None).with_query(None).with_fragment(None))[:200]
    except ValueError:
        return "(not a URL)"


def _embedded(address: Address) -> list[ipaddress.IPv4Address]:
    """The IPv4 addresses that an IPv6 address contains or leads to."""
    if address.version == 4:
        return []
    found = [each for each in (address.ipv4_mapped, address.sixtofour, *(address.teredo or ())) if each is not None]
    low = ipaddress.IPv4Address(int(address) & 0xFFFFFFFF)
    interface = (int(address) >> 32) & 0xFFFFFFFF
    in_low_bits = any(address in network for network in (NAT64, LOCAL_NAT64, COMPATIBLE, TRANSLATED))
    if in_low_bits or interface & 0xFDFFFFFF == 0x00005EFE:  # the last: ISATAP
        found.append(low)
    if address in LOCAL_NAT64:  # its operator chooses the length of the prefix (RFC 6052); bits 64 to 71 are zero
        bits = int(address)
        found += [ipaddress.IPv4Address((bits >> 64 & 0xFFFF) << 16 | bits >> 40 & 0xFFFF)]
        found += [ipaddress.IPv4Address((bits >> 64 & 0xFF) << 24 | bits >> 32 & 0xFFFFFF)]
        found += [ipaddress.IPv4Address(bits >> 24 & 0xFFFFFFFF)]
    return found


def _may_embed(address: Address) -> bool:
    """Whether the IPv6 form is in use today: mapped by the system, or NAT64 of a network without IPv4."""
    return address.version == 6 and (address.ipv4_mapped is not None or address in NAT64)


def _is_public(address: Address) -> bool:
    if address.version == 4:
        return not _within(address, PRIVATE_V4) and not _within(address, NEVER_ALLOWED)
    return _within(address, PUBLIC_V6) and not _within(address, PRIVATE_V6)


def _within(address: Address, networks: tuple[ipaddress.IPv4Network | ipaddress.IPv6Network, ...]) -> bool:
    return any(address in network for network in networks if network.version == address.version)
