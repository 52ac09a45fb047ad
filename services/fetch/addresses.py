"""Which URLs may be asked for and which addresses may be connected to. Pure; who connects must ask for each address.

The check of the URL is about form only. What protects the inside is the check of the address that is really connected
to: names, redirects and odd notations all end there.
"""

from __future__ import annotations

import ipaddress
import re
from functools import lru_cache

from yarl import URL

LONGEST_URL = 4096

Address = ipaddress.IPv4Address | ipaddress.IPv6Address


def _networks(*texts: str) -> tuple[ipaddress.IPv4Network | ipaddress.IPv6Network, ...]:
    return tuple(ipaddress.ip_network(text) for text in texts)


NEVER = _networks(
    "169.254.169.254/32",  # instance metadata of most clouds
    "168.63.129.16/32",  # Azure's wire server, in a public range
    "100.100.100.200/32",
    "fd00:ec2::254/128",
    "224.0.0.0/4",
    "255.255.255.255/32",
    "ff00::/8",
)
"""Refused also where private addresses are allowed: no feed is there, and much harm is."""

INSIDE = _networks(
    "0.0.0.0/8",
    "10.0.0.0/8",
    "100.64.0.0/10",
    "127.0.0.0/8",
    "169.254.0.0/16",
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
OUTSIDE_V6 = _networks("2000::/3")
INSIDE_V6 = _networks("2001::/23", "2001:db8::/32", "2002::/16", "3fff::/20")
"""Written out, since what `is_global` says differs between the patch releases of Python."""

NAT64 = ipaddress.ip_network("64:ff9b::/96")
COMPATIBLE = ipaddress.ip_network("::/96")

_ENDS_IN_A_NUMBER = re.compile(r"(^|\.)(\d+|0[xX][0-9a-fA-F]*)\.?$")
_CONTROL = re.compile(r"[\x00-\x20\x7f]")
_HOST = re.compile(r"[0-9A-Fa-f:.]+|[^\s\[\]:]+")
"""As yarl has it, without brackets. A zone (`fe80::1%eth0`) is a name within one machine, and no feed's."""


def refused_address(text: str, allow_private: bool) -> str | None:
    """Why the address that is about to be connected to is refused; None if it is not."""
    try:
        address: Address = ipaddress.ip_address(text.partition("%")[0])
    except ValueError:
        return "not an address"
    meant = _embedded(address)
    if any(_within(each, NEVER) for each in (address, *meant)):
        return "metadata, broadcast or multicast address"
    if allow_private:
        return None
    # A way in through a relay or gateway: public form, private end.
    if meant:
        return None if all(map(_is_public, meant)) and _may_translate(address) else "private address within another"
    return None if _is_public(address) else "private, loopback or reserved address"


@lru_cache(maxsize=1024)  # a feed is asked again and again
def checked_url(text: str) -> URL | str:
    """The URL to ask for, or why it is none."""
    text = text.strip()
    try:
        url = parsed(text).with_fragment(None)
        port = url.port
    except ValueError:
        return "not a URL"
    faults = (
        (len(text) > LONGEST_URL, f"longer than {LONGEST_URL} characters"),
        (_CONTROL.search(text), "holds spaces or control characters"),
        (url.scheme not in ("http", "https"), "must begin with http:// or https://"),
        (not url.raw_host, "names no host"),
        (not _HOST.fullmatch(url.raw_host or "-"), "names a host that cannot be"),
        (url.raw_user is not None or url.raw_password is not None, "must not hold a user name or password"),
        (port is not None and port < 1, "port must be 1 or more"),
    )
    return next((fault for found, fault in faults if found), url)


def parsed(text: str) -> URL:
    """yarl's reading of a URL. ValueError for what is none, also where yarl itself stumbles: `http://][@/`."""
    try:
        return URL(text)
    except IndexError:
        raise ValueError("not a URL") from None


def odd_address(url: URL) -> bool:
    """A host such as 127.1, 0x7f.1 or 2130706433, that some would read as an address and others as a name."""
    return _is_odd(url.raw_host or "")


@lru_cache(maxsize=1024)
def _is_odd(host: str) -> bool:
    if ":" in host or not _ENDS_IN_A_NUMBER.search(host):
        return False
    try:
        return str(ipaddress.IPv4Address(host)) != host
    except ValueError:
        return True


@lru_cache(maxsize=1024)
def is_loopback(host: str) -> bool:
    """This machine, said outright. A name that happens to lead here is somebody's name."""
    if not host.startswith("127.") and ":" not in host:
        return host == "localhost"
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def same_origin(one: URL, other: URL) -> bool:
    return one.origin() == other.origin()


def shown(url: URL | str) -> str:
    """The URL for messages: where it is, without query or user."""
    try:
        url = parsed(url) if isinstance(url, str) else url
        return str(url.with_user(None).with_query(None).with_fragment(None))[:200]
    except ValueError:
        return "(not a URL)"


def _embedded(address: Address) -> list[ipaddress.IPv4Address]:
    """The IPv4 addresses that an IPv6 address stands for or leads to."""
    if address.version == 4:
        return []
    found = [each for each in (address.ipv4_mapped, address.sixtofour, *(address.teredo or ())) if each is not None]
    low = ipaddress.IPv4Address(int(address) & 0xFFFFFFFF)
    interface = (int(address) >> 32) & 0xFFFFFFFF
    if address in NAT64 or address in COMPATIBLE or interface & 0xFDFFFFFF == 0x00005EFE:  # the last: ISATAP
        found.append(low)
    return found


def _may_translate(address: Address) -> bool:
    """Whether an address that embeds another is a form in real use: mapped by the system, or NAT64 of a v6-only net."""
    return address.version == 6 and (address.ipv4_mapped is not None or address in NAT64)


def _is_public(address: Address) -> bool:
    if address.version == 4:
        return not _within(address, INSIDE) and not _within(address, NEVER)
    return _within(address, OUTSIDE_V6) and not _within(address, INSIDE_V6)


def _within(address: Address, networks: tuple[ipaddress.IPv4Network | ipaddress.IPv6Network, ...]) -> bool:
    return any(address in network for network in networks if network.version == address.version)
