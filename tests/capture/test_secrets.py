"""No secret is in the wire log, wherever it was cut."""

import pytest
from rawserver import LAST_CHUNK, STREAM_HEAD, Peer, chunked, delta, event, head, plain, raw_server

from auditor.capture.access import access_to
from auditor.capture.striking import Striker, is_secret
from auditor.core.counting.evidence import read_response
from auditor.errors import ServerError, UsageError

KEY = "sk-Zq7/41+u9vW_x"


def written(found) -> bytes:
    """All payloads of the log, and what its readers make of them."""
    responses = [read_response(exchange) for exchange in found.evidence.exchanges]
    parts = [record.payload for record in found.log.records]
    for response in responses:
        parts += [response.body, *(arrival.event.data for arrival in response.arrivals)]
    # Reads side by side, so that halves of a secret would meet.
    parts.append(b"".join(read.data for exchange in found.evidence.exchanges for read in exchange.reads))
    return b"\n".join(parts)


def test_the_key_is_sent_and_not_written(capture):
    async def answer(peer: Peer) -> None:
        await peer.asked()
        await peer.send(plain(b"{}"))

    with raw_server(answer) as server:
        found = capture(server.url, lambda c: c.post(), api_key=KEY)
        assert server.asked[0].headers["authorization"] == f"Bearer {KEY}"
    assert KEY.encode() not in written(found)
    assert b"Authorization: ***" in found.evidence.exchanges[0].request.title()


@pytest.mark.parametrize("size", [1, 2, 3, 5, 11, 1000])
@pytest.mark.parametrize("framing", ["length", "chunks"])
@pytest.mark.parametrize("status", ["401 Unauthorized", "200 OK"])
def test_a_key_that_the_server_echoes(size, framing, status, capture):
    said = f'{{"error":"bad key {KEY} or {KEY.replace("/", "%2F").replace("+", "%2B")}"}}'.encode()

    async def answer(peer: Peer) -> None:
        await peer.asked()
        pieces = [said[at : at + size] for at in range(0, len(said), size)]
        if framing == "chunks":
            fields = {"Content_Type": "application/json", "Transfer_Encoding": "chunked"}
            await peer.send(head(status, X_Key=KEY, **fields), *chunked(*pieces), LAST_CHUNK)
        else:
            whole = plain(said, status, X_Key=KEY)
            await peer.send(*(whole[at : at + size] for at in range(0, len(whole), size)))

    with raw_server(answer) as server:
        found = capture(server.url, lambda c: c.post(), api_key=KEY)
    (exchange,) = found.evidence.exchanges
    assert read_response(exchange).whole
    assert KEY.encode() not in written(found)
    assert b"%2F" not in written(found)


def test_a_key_in_a_stream_that_is_cut_between_two_reads(capture):
    said = event(delta(f"your key is {KEY}, isn't it"))
    middle = said.index(KEY.encode()) + 7

    async def answer(peer: Peer) -> None:
        await peer.asked()
        (whole,) = chunked(said)
        await peer.send(STREAM_HEAD, whole[:middle], whole[middle:], LAST_CHUNK, pause_s=0.01)

    with raw_server(answer) as server:
        found = capture(server.url, lambda c: c.post(), api_key=KEY)
    assert KEY.encode() not in written(found)
    assert b"your key is ****" in written(found)


def test_credentials_of_the_address(capture):
    async def answer(peer: Peer) -> None:
        asked = await peer.asked()
        await peer.send(plain(asked.headers["authorization"].encode(), "401 Unauthorized"))

    with raw_server(answer) as server:
        url = server.url.replace("http://", "http://karl7:p%40ss-Wo3rt@")
        found = capture(url, lambda c: c.post())
        sent = server.asked[0].headers["authorization"]
    assert sent == "Basic a2FybDc6cEBzcy1XbzNydA=="
    for secret in (b"a2FybDc6", b"p@ss-Wo3rt", b"p%40ss", b"karl7"):
        assert secret not in written(found)


def test_cookies_of_the_answer(capture):
    async def answer(peer: Peer) -> None:
        await peer.asked()
        await peer.send(plain(b"{}", Set_Cookie="session=7f3a9c; Path=/"))

    with raw_server(answer) as server:
        found = capture(server.url, lambda c: c.post())
    assert b"7f3a9c" not in written(found)
    assert b"Set-Cookie:****" in written(found)


def test_a_query_is_not_written(capture):
    async def answer(peer: Peer) -> None:
        await peer.asked()
        await peer.send(plain(b"{}"))

    with raw_server(answer) as server:
        found = capture(server.url, lambda c: c.client.get(f"{c.url}/x?token=s3cr3t-tok"))
        assert server.asked[0].target == "/x?token=s3cr3t-tok"
    assert b"s3cr3t" not in written(found)


@pytest.mark.parametrize(
    ("word", "expected"),
    [("EMPTY", False), ("none", False), ("1234", False), ("token", False), ("hunter2", True), ("correcthorse", True)],
)
def test_what_is_a_secret(word, expected):
    assert is_secret(word) is expected


def test_a_word_that_is_no_secret_leaves_the_evidence_alone():
    assert Striker(["none", ""]).in_bytes(b'{"finish_reason":"none"}') == b'{"finish_reason":"none"}'


def test_errors_are_struck_and_keep_their_kind():
    error = Striker([KEY]).in_error(ServerError(f"bad {KEY}", where=f"http://h/{KEY}", remedy=f"not {KEY}"))
    assert isinstance(error, ServerError)
    assert str(error) == "http://h/***: bad ***; not ***"


def test_secrets_that_overlap_as_text():
    striker = Striker(["abc-1234", "abc-1234-long"])
    assert striker.in_text("abc-1234-long abc-1234") == "*** ***"


def test_an_access_shows_none_of_its_secrets():
    access = access_to("http://karl7:p%40ss-Wo3rt@127.0.0.1:1/v1?token=s3cr3t-tok", api_key=KEY)
    assert access.url == "http://127.0.0.1:1"
    for secret in (KEY, "karl7", "p@ss", "p%40ss", "s3cr3t"):
        assert secret not in repr(access)


def test_a_certificate_file_that_is_none(monkeypatch):
    monkeypatch.setenv("SSL_CERT_FILE", "/nowhere/at/all.pem")
    with pytest.raises(UsageError, match=r"all\.pem: SSL_CERT_FILE names no file"):
        access_to("https://127.0.0.1:1")
