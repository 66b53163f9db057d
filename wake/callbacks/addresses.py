"""Resolves host names, and refuses addresses that callbacks may not connect to."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Collection
from concurrent.futures import ThreadPoolExecutor
from ipaddress import ip_address, ip_network

import aiohttp
from aiohttp.abc import AbstractResolver, ResolveResult

from wake.callbacks.allowlist import HTTPS_PORT, AddressRefused, is_loopback_name, is_trusted

LOOKUP_SECONDS = 3.0

# An explicit list, because `is_private` and `is_global` each let some of these through.
DENIED = {
    4: [
        ip_network(text)
        for text in (
            "0.0.0.0/8",  # this network
            "10.0.0.0/8",  # private
            "100.64.0.0/10",  # carrier-grade NAT, and Alibaba's metadata
            "127.0.0.0/8",  # loopback
            "168.63.129.16/32",  # Azure's host agent, a public address
            "169.254.0.0/16",  # link-local, and the metadata of most clouds
            "172.16.0.0/12",  # private
            "192.0.0.0/24",  # protocol assignments, and Oracle's metadata
            "192.0.2.0/24",  # documentation
            "192.31.196.0/24",  # AS112
            "192.52.193.0/24",  # AMT relays
            "192.88.99.0/24",  # 6to4 relays
            "192.168.0.0/16",  # private
            "192.175.48.0/24",  # AS112
            "198.18.0.0/15",  # benchmarks
            "198.51.100.0/24",  # documentation
            "203.0.113.0/24",  # documentation
            "224.0.0.0/4",  # multicast
            "240.0.0.0/4",  # reserved, and broadcast
        )
    ],
    6: [
        ip_network(text)
        for text in (
            # Only 2000::/3 is handed out. Below it are ::, ::1, every form with an IPv4 address
            # inside (::127.0.0.1, ::ffff:127.0.0.1, NAT64's 64:ff9b::) and 100::, the discard
            # prefix; above it are unique local, link-local, site-local and multicast addresses.
            "::/3",
            "4000::/2",
            "8000::/1",
            "2001::/23",  # protocol assignments: Teredo, ORCHID, benchmarks
            "2001:db8::/32",  # documentation
            "2002::/16",  # 6to4, with an IPv4 address inside
            "2620:4f:8000::/48",  # AS112
            "3fff::/20",  # documentation
        )
    ],
}


def look_up(name: str, *, dns: AbstractResolver | None = None) -> None:
    """Resolves the host of an allowlist line that does not start with `*.`. Raises AddressRefused
    if callbacks may not connect to its addresses, and OSError if the host has no addresses or DNS
    does not answer in time."""
    host, _, port = name.partition(":")

    async def resolve() -> None:
        asyncio.get_running_loop().set_default_executor(LookupThreads(max_workers=1))
        resolver = CheckedResolver(dns or aiohttp.ThreadedResolver())
        async with asyncio.timeout(LOOKUP_SECONDS):
            await resolver.resolve(host, int(port or HTTPS_PORT))

    asyncio.run(resolve())


class LookupThreads(ThreadPoolExecutor):
    """Runs DNS lookups in its own threads. There are enough threads that a slow name server does
    not delay lookups of other hosts. Shutdown does not wait for a lookup that never answers."""

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:  # noqa: FBT001, FBT002
        super().shutdown(wait=False, cancel_futures=True)


class CheckedResolver(AbstractResolver):
    """Resolves a host name once, and returns its addresses only if callbacks may connect to all of
    them. aiohttp connects to exactly these addresses, and still uses the name for the Host header,
    SNI and the certificate. A `trusted` host may have private addresses."""

    def __init__(self, dns: AbstractResolver, *, trusted: Collection[str] = ()) -> None:
        self._dns = dns
        self._trusted = trusted

    async def resolve(
        self, host: str, port: int = 0, family: socket.AddressFamily = socket.AF_UNSPEC
    ) -> list[ResolveResult]:
        addresses = await self._dns.resolve(host, port, family)
        if is_trusted(host, port, self._trusted):
            return addresses
        may_connect = is_loopback if is_loopback_name(host) else is_public
        if not all(may_connect(address["host"]) for address in addresses):
            raise AddressRefused(
                "address_denied",
                f"{host} resolves to a private or reserved address, to which nothing is sent.",
            )
        return addresses

    async def close(self) -> None:
        await self._dns.close()


def is_public(address: str) -> bool:
    """Returns whether no internal or reserved network contains the address."""
    ip = ip_address(address)
    return not any(ip in network for network in DENIED[ip.version])


def is_loopback(address: str) -> bool:
    return ip_address(address).is_loopback
