"""A file from an address, with limits: the far end may be slow, endless or hostile."""

import time

import httpx

from auditor import __version__
from auditor.errors import ServerError

_TOTAL_S = 600
_TIMES = httpx.Timeout(30, connect=10)


def fetch(url: str, most: int) -> bytes:
    """The bytes at an http or https address, at most `most` of them; redirects stay with http and https.

    Raises ServerError. The clock only gives up; it measures nothing.
    """
    started, parts, size = time.monotonic(), [], 0
    headers = {"accept-encoding": "identity", "user-agent": f"auditor/{__version__}"}
    shown = url.partition("?")[0].rpartition("@")[2]
    try:
        with (
            httpx.Client(timeout=_TIMES, headers=headers, follow_redirects=True, max_redirects=5) as client,
            client.stream("GET", url) as answer,
        ):
            if answer.status_code != httpx.codes.OK:
                raise ServerError(f"the server answers with HTTP {answer.status_code}", where=shown)
            if answer.headers.get("content-encoding", "identity") != "identity":
                raise ServerError("the answer is compressed, though identity was asked for", where=shown)
            for piece in answer.iter_raw():
                parts.append(piece)
                size += len(piece)
                if size > most:
                    raise ServerError(f"is larger than {most >> 20:,} MiB", where=shown, remedy="fetch it yourself")
                if time.monotonic() - started > _TOTAL_S:
                    raise ServerError(f"takes more than {_TOTAL_S} s", where=shown, remedy="fetch it yourself")
    except (httpx.HTTPError, httpx.InvalidURL) as error:
        words = " ".join(str(error).split())[:200] or type(error).__name__
        raise ServerError(f"cannot be fetched: {words}", where=shown, remedy="see that the address is right") from None
    return b"".join(parts)
