"""Who may talk to the server: its own page on this machine, or whoever knows the token."""

from __future__ import annotations

import base64
import hashlib
import ipaddress
import re
import secrets
from collections.abc import Mapping
from http.cookies import CookieError, SimpleCookie
from urllib.parse import parse_qs

from berm.core.errors import InputError

TOKEN = re.compile(r"[A-Za-z0-9_-]+")
NAME = re.compile(r"[A-Za-z0-9._-]+|\[[0-9A-Fa-f:.]+\]")
INLINE = re.compile(rb"<script\b(?![^>]*\bsrc=)[^>]*>(.*?)</script>", re.S | re.I)


def is_loopback(host: str) -> bool:
    """Whether a server bound to `host` can be reached from this machine only."""
    if host.strip("[]").lower() == "localhost":
        return True
    try:
        return ipaddress.ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return False


class Guard:
    """Decides by the headers of a request; `refusal` says why not.

    On loopback the Host must be one of this machine's names for it, so that a site whose name was
    rebound to 127.0.0.1 is refused. Beyond, any Host may be right, and the token decides.
    """

    def __init__(self, host: str, port: int, token: str | None = None) -> None:
        self.host, self.port = host, port
        self.local = is_loopback(host)
        if token is not None and not TOKEN.fullmatch(token):
            raise InputError("token", token, "letters, digits, - and _")
        self.token = None if self.local and token is None else token or secrets.token_urlsafe(24)
        self.cookie = f"berm-{port}"

    @property
    def address(self) -> str:
        """What a person types into the browser."""
        name = self.host if self.host not in ("0.0.0.0", "::", "") else _own_name()
        name = f"[{name}]" if ":" in name and not name.startswith("[") else name
        query = f"?token={self.token}" if self.token else ""
        return f"http://{name}:{self.port}/{query}"

    def refusal(
        self, headers: Mapping[str, str], query: str = "", websocket: bool = False
    ) -> str | None:
        """Return why a request is refused, or None if it may pass."""
        host = headers.get("host", "")
        name, _, port = host.rpartition(":")
        if not port.isdecimal():
            name, port = host, "80"
        if len(port) > 5 or not NAME.fullmatch(name) or (self.local and not is_loopback(name)):
            return f"Host {host[:80]!r}: not a name of this server"
        if int(port) != self.port and self.local:
            return f"Host {host[:80]!r}: not the port of this server"
        origin = headers.get("origin")
        if origin is None:
            # a browser always names the origin of a websocket
            if websocket:
                return "Origin is missing"
        elif origin.lower() not in (f"http://{host.lower()}", f"https://{host.lower()}"):
            return f"Origin {origin[:80]!r}: not this server's page"
        if self.token is not None and not self._knows_token(headers, query):
            return "token is missing or wrong: open the address that berm printed"
        return None

    def _knows_token(self, headers: Mapping[str, str], query: str) -> bool:
        assert self.token is not None
        given = parse_qs(query).get("token", [])[:1]
        try:
            cookies = SimpleCookie(headers.get("cookie", ""))
        except CookieError:
            cookies = SimpleCookie()
        if self.cookie in cookies:
            given.append(cookies[self.cookie].value)
        right = self.token.encode()
        return any(secrets.compare_digest(one.encode("utf-8", "replace"), right) for one in given)

    def headers(self, host: str, page: bytes | None = None) -> dict[str, str]:
        """Return the headers of every answer: the page may ask this server only, and no other."""
        inline = " ".join(_hash(script) for script in INLINE.findall(page or b""))
        policy = {
            "default-src": "'none'",
            "script-src": f"'self' {inline}".strip(),
            "style-src": "'self'",
            "img-src": "'self' data: blob:",
            "font-src": "'self' data:",  # lil-gui's style brings its arrows
            "connect-src": f"'self' ws://{host} wss://{host}",
            "worker-src": "'self' blob:",
            "base-uri": "'none'",
            "form-action": "'none'",
            # a notebook on this machine may embed the page
            "frame-ancestors": "'self' http://localhost:* http://127.0.0.1:*",
        }
        made = {
            "Content-Security-Policy": "; ".join(f"{k} {v}" for k, v in policy.items()),
            "X-Content-Type-Options": "nosniff",
            "Referrer-Policy": "no-referrer",
            "Cross-Origin-Resource-Policy": "same-origin",
            "Cross-Origin-Opener-Policy": "same-origin",
            "Cache-Control": "no-cache",
        }
        if page is not None and self.token is not None:
            made["Set-Cookie"] = f"{self.cookie}={self.token}; Path=/; HttpOnly; SameSite=Strict"
        return made


def _hash(script: bytes) -> str:
    return f"'sha256-{base64.b64encode(hashlib.sha256(script).digest()).decode()}'"


def _own_name() -> str:
    import socket

    return socket.gethostname()
