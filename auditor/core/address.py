"""The address of a server: what the user typed, and what may be written down of it."""

from urllib.parse import SplitResult, parse_qsl, unquote, urlsplit

from auditor.errors import UsageError

_EXAMPLE = "give an address like http://127.0.0.1:8000"


def base_url(text: str) -> str:
    """The address that paths such as `/v1/models` are put behind: no `/v1`, slash, query or fragment at the end.

    Raises UsageError for what is no HTTP address.
    """
    parts = _split(text)
    path = parts.path.rstrip("/").removesuffix("/v1").rstrip("/")
    return f"{parts.scheme}://{parts.netloc}{path}"


def public_url(text: str) -> str:
    """The same without user and password, for records and messages."""
    parts = urlsplit(base_url(text))
    return f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}{parts.path}"


def credentials(text: str) -> tuple[str, str] | None:
    """User and password in an address, decoded; None where it holds none."""
    parts = _split(text)
    if parts.username is None and parts.password is None:
        return None
    return unquote(parts.username or ""), unquote(parts.password or "")


def secrets_in(text: str) -> tuple[str, ...]:
    """What an address holds that must never be written down: its password, and the values of its query."""
    parts = _split(text)
    password = [parts.password, unquote(parts.password)] if parts.password else []
    return (*password, *(value for _, value in parse_qsl(parts.query)))


def _split(text: str) -> SplitResult:
    shown = text.rpartition("@")[2][:200]
    try:
        parts = urlsplit(text.strip())
        port = parts.port
    except ValueError:
        raise UsageError("not a server address", where=shown, remedy=_EXAMPLE) from None
    if parts.scheme not in ("http", "https") or not parts.hostname or port == 0:
        raise UsageError("not a server address", where=shown or "server", remedy=_EXAMPLE)
    if any(c.isspace() or not c.isprintable() for c in parts.netloc + parts.path):
        raise UsageError("not a server address: it holds white space", where=shown, remedy=_EXAMPLE)
    return parts
