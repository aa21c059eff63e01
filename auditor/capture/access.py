"""How a server is reached: its address, what opens it, and whom it is trusted by."""

import os
import ssl
from dataclasses import dataclass, field
from http.cookiejar import DefaultCookiePolicy
from pathlib import Path

import httpx

from auditor import __version__
from auditor.capture.stream import CapturingTransport
from auditor.capture.striking import basic
from auditor.capture.wirelog import WireWriter
from auditor.core.address import credentials, public_url, secrets_in
from auditor.errors import UsageError


@dataclass(frozen=True, slots=True)
class Access:
    """One server, and what opens it. User and password of the address go before the key."""

    url: str
    """Base address, without credentials or query."""
    secrets: tuple[str, ...] = field(repr=False)
    """What must never be written down."""
    credentials: tuple[str, str] | None = field(repr=False)
    api_key: str | None = field(repr=False)
    context: ssl.SSLContext | None
    """Certificates that are trusted; None without TLS."""

    def probing_client(self) -> httpx.AsyncClient:
        """A client that writes nothing down."""
        verify = False if self.context is None else self.context
        client = httpx.AsyncClient(headers=self._headers(), verify=verify, trust_env=False)
        return _forgetful(client)

    def capturing_client(self, log: WireWriter) -> tuple[httpx.AsyncClient, CapturingTransport]:
        """A client over the capturing transport: no compression, redirects, proxies or time limits of its own."""
        transport = CapturingTransport(log, context=self.context)
        headers = {"accept-encoding": "identity", **self._headers()}
        client = httpx.AsyncClient(transport=transport, headers=headers, timeout=None, trust_env=False)
        return _forgetful(client), transport

    def _headers(self) -> dict[str, str]:
        key = f"Bearer {self.api_key}" if self.api_key else None
        opens = f"Basic {basic(*self.credentials)}" if self.credentials else key
        return {"user-agent": f"auditor/{__version__}", **({"authorization": opens} if opens else {})}


def _forgetful(client: httpx.AsyncClient) -> httpx.AsyncClient:
    """The client without a memory for cookies: each request is like the first."""
    client.cookies.jar.set_policy(DefaultCookiePolicy(allowed_domains=[]))
    return client


def access_to(address: str, *, api_key: str | None = None) -> Access:
    """How to reach the server of this address; raises UsageError for what is no address or no certificate file."""
    url, opens = public_url(address), credentials(address)
    basics = (basic(*opens),) if opens else ()
    return Access(
        url=url,
        secrets=(*secrets_in(address), *basics, *((api_key,) if api_key else ())),
        credentials=opens,
        api_key=api_key,
        context=_trusted() if url.startswith("https:") else None,
    )


def _trusted() -> ssl.SSLContext:
    """The certificates of the system, or of `SSL_CERT_FILE` and `SSL_CERT_DIR`."""
    file = os.environ.get("SSL_CERT_FILE")
    if file and not Path(file).is_file():
        raise UsageError("SSL_CERT_FILE names no file", where=file, remedy="give the authority's certificate as PEM")
    return ssl.create_default_context()
