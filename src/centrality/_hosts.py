"""Check host names: which ones only this machine can reach, and which are a server's own."""

import ipaddress
import re
from functools import lru_cache

HOST = re.compile(r"(\[(?P<address>[^\[\]]+)\]|(?P<name>[^:\[\]]+))(:\d*)?")


def is_loopback(host: str) -> bool:
    """Say whether only this machine can reach the host."""
    try:
        return host == "localhost" or ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


@lru_cache(maxsize=64)  # all requests of most clients name the same one
def is_own(host: bytes, names: frozenset[str]) -> bool:
    """Say whether a Host header names this server: by an address, as localhost, or by one of these names.

    A foreign page can make its own name resolve to 127.0.0.1, and its visitors' browsers then send us requests in that
    name (DNS rebinding). With a bare address this is impossible.
    """
    if not host:
        return True  # browsers always send one
    parts = HOST.fullmatch(host.decode("latin-1").strip().lower())
    if parts is None:
        return False
    name = parts["name"] or parts["address"]
    if name == "localhost" or name in names:
        return True
    try:
        ipaddress.ip_address(name)
    except ValueError:
        return False
    return True
