"""Who may come in: a random token in the first address, then a cookie, under the names of this server alone."""

from __future__ import annotations

import ipaddress
import secrets
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from http.cookies import CookieError, SimpleCookie
from urllib.parse import urlsplit

LOOPBACK = ("127.0.0.1", "localhost", "::1")


@dataclass(frozen=True)
class Access:
    """The secrets of one server and the names that it answers to.

    The cookie is another secret than the token, and has the port in its name: cookies are not told apart by port, and
    two servers of one machine would sign each other's visitors out.

    >>> access = Access(port=8765, token="t", session="s")
    >>> access.signed_in({"authorization": "Bearer t"}), access.signed_in({"cookie": "forebear-8765=s"})
    (True, True)
    >>> access.signed_in({"cookie": "forebear-8765=t"}), access.signed_in({})
    (False, False)
    """

    port: int
    token: str = field(default_factory=lambda: secrets.token_urlsafe(32), repr=False)
    session: str = field(default_factory=lambda: secrets.token_urlsafe(32), repr=False)
    names: tuple[str, ...] = ()
    """further names that the server may be called by, such as that of a proxy before it"""
    any_address: bool = False
    """whether an IP address will do as a name: where the server listens to others than this machine. No web site can
    make its own name one."""
    open_paths: frozenset[str] = frozenset()
    """what may be read without a token, such as /health"""

    @property
    def cookie(self) -> str:
        """The name of the cookie."""
        return f"forebear-{self.port}"

    def signed_in(self, headers: Mapping[str, str]) -> bool:
        """By the cookie of a browser or the token of a program."""
        scheme, _, given = headers.get("authorization", "").partition(" ")
        if scheme.lower() == "bearer" and same(given.strip(), self.token):
            return True
        return same(_cookie(headers.get("cookie", ""), self.cookie), self.session)

    def by_program(self, headers: Mapping[str, str]) -> bool:
        """Whether a token comes with the request, which no other site can make a browser send."""
        return headers.get("authorization", "").lower().startswith("bearer ")

    def called_by(self, host: str) -> bool:
        """Whether a Host header names this server.

        >>> access = Access(8765, names=("plant.example",))
        >>> [access.called_by(host) for host in ("localhost:8765", "[::1]:1", "plant.example", "evil.example:8765")]
        [True, True, True, False]
        """
        name = host_name(host)
        if name is None:
            return False
        return name in (*LOOPBACK, *self.names) or (self.any_address and is_address(name))


def same(given: str, secret: str) -> bool:
    """Compared in a time that does not tell how much of it is right.

    >>> same("a", "a"), same("ä", "a")
    (True, False)
    """
    return secrets.compare_digest(given.encode("utf-8", "replace"), secret.encode("utf-8"))


def _cookie(header: str, name: str) -> str:
    try:
        # One that Python cannot read, of another server, must not hide ours.
        parts = [part.strip() for part in header.split(";") if part.strip().startswith(f"{name}=")]
        jar = SimpleCookie(parts[0] if parts else "")
    except CookieError:
        return ""
    return jar[name].value if name in jar else ""


def host_name(host: str) -> str | None:
    """The name in a Host header, without its port and in small letters; None if there is none.

    >>> host_name("Localhost:80"), host_name("[::1]:80"), host_name("a b"), host_name("u@localhost"), host_name("")
    ('localhost', '::1', None, None, None)
    """
    if not host or any(c.isspace() or c in "/\\@?#," for c in host):
        return None
    try:
        parts = urlsplit(f"//{host}")
        parts.port  # noqa: B018  a port that is no number raises
        return parts.hostname
    except ValueError:
        return None


def is_address(name: str) -> bool:
    """Whether a name is an IP address.

    >>> is_address("192.168.0.7"), is_address("plant.example")
    (True, False)
    """
    try:
        ipaddress.ip_address(name)
    except ValueError:
        return False
    return True


def is_loopback(host: str) -> bool:
    """Whether nobody beside this machine reaches what listens there.

    >>> [is_loopback(host) for host in ("127.0.0.1", "localhost", "::1", "0.0.0.0", "10.0.0.3")]
    [True, True, True, False, False]
    """
    return host == "localhost" or (is_address(host) and ipaddress.ip_address(host).is_loopback)


def header_map(headers: Iterable[tuple[bytes, bytes]]) -> dict[str, str]:
    """The headers of a request, by their names in small letters; several cookies are one.

    >>> header_map([(b"Host", b"a"), (b"cookie", b"x=1"), (b"cookie", b"y=2")])
    {'host': 'a', 'cookie': 'x=1; y=2'}
    """
    found: dict[str, str] = {}
    for name, value in headers:
        key, text = name.decode("latin-1").lower(), value.decode("latin-1")
        found[key] = f"{found[key]}; {text}" if key == "cookie" and key in found else text
    return found
