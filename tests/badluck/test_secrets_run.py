"""A whole run with a key, a password and a token: it works, and none of them is in what it leaves or says."""

import base64
import json
import re
from urllib.parse import quote

import pytest
from luck import TOKENS, answer, good, words
from rawserver import LAST_CHUNK, STREAM_HEAD, Asked, Peer, chunked, delta, event, last, plain

KEY = "sk-Zq7/41+u9vW_x"
USER, PASSWORD, TOKEN = "karl7", "p@ss-Wo3rt", "tok-9a8b7c"
OF_KEY = [KEY, quote(KEY, safe=""), TOKEN]
OF_ADDRESS = [PASSWORD, "p%40ss-Wo3rt", base64.b64encode(f"{USER}:{PASSWORD}".encode()).decode(), TOKEN]


def echo(status: str, secrets: list[str]):
    """A refusal that sends back all that came, in pieces."""

    async def send(peer: Peer, asked: Asked) -> None:
        headers = " ".join(asked.headers.values())
        said = json.dumps({"error": {"message": f"stream_options: {headers} {' '.join(secrets)}"}}).encode()
        said = said.replace(KEY.encode(), KEY.replace("/", r"\/").encode())  # as some languages write JSON
        whole = plain(said, status, X_Echo=headers, Set_Cookie="sid=7f3a9c")
        await peer.send(*(whole[at : at + 7] for at in range(0, len(whole), 7)))

    return send


def no_secret(ran, secrets: list[str]) -> None:
    """None of the secrets is in the bytes that the run left or said."""
    everything = ran.everything()
    for secret in (*secrets, KEY.replace("/", r"\/"), "7f3a9c"):
        assert secret.encode() not in everything, secret


END = [event(last(tokens=TOKENS)), event(b"[DONE]")]


@pytest.mark.parametrize(("how", "secrets"), [("key", OF_KEY), ("address", OF_ADDRESS)])
def test_no_secret_is_left_of_a_run(how, secrets, tool, model):
    async def trial(peer: Peer, asked: Asked) -> None:
        """Refuses the first extra field, with all that came in its words."""
        await (echo("400 Bad Request", secrets) if "stream_options" in asked.json else good)(peer, asked)

    tool.prompts("good", "refused", "good", "within", "told")
    said = " ".join(secrets)
    server = model(
        trial=trial,
        refused=echo("500 Internal Server Error", secrets),
        within=answer(STREAM_HEAD, *chunked(*words(3), event({"error": {"message": f"bad {said}"}})), LAST_CHUNK),
        told=answer(STREAM_HEAD, *chunked(*words(TOKENS - 1), event(delta(said)), *END), LAST_CHUNK),
    )
    address, options, expected = f"{server.url}?token={TOKEN}", ["--api-key", KEY], f"Bearer {KEY}"
    if how == "address":
        address = server.url.replace("//", f"//{USER}:p%40ss-Wo3rt@") + f"/v1?token={TOKEN}"
        options, expected = [], f"Basic {OF_ADDRESS[2]}"
    ran = tool(*tool.arguments(address, *options, "--json"))
    assert ran.code == 4, ran.err
    assert {asked.headers["authorization"] for asked in server.asked} == {expected}
    assert len(ran.document("ledger.json")["exchanges"]) == 5
    assert "stream_options" in ran.document("facts.json")["servers"]["subject"]["dropped_fields"]
    command = ran.document("run.json")["command"]
    assert ("--api-key '***'" in command) == (how == "key")
    assert re.search(r"http://(\*\*\*@)?127\.0\.0\.1:\d+(/v1)?\?\*\*\*", command), command
    assert (ran.cwd / "audit.db").stat().st_size > 0
    no_secret(ran, secrets)


@pytest.mark.parametrize("phase", ["trial", "good"])
def test_no_secret_is_said_when_a_server_refuses(phase, tool, model):
    server = model(**{phase: echo("403 Forbidden", OF_KEY)})
    ran = tool(*tool.arguments(f"{server.url}/?token={TOKEN}", "--json"), env={"AUDIT_API_KEY": KEY})
    assert "HTTP 403: stream_options: " in ran.line(5)
    assert "***" in ran.err
    no_secret(ran, OF_KEY)


def test_a_wrong_password(tool, model):
    server = model(get={"/v1/models": plain(b"{}", "401 Unauthorized")})
    ran = tool(*tool.arguments(server.url.replace("//", f"//{USER}:p%40ss-Wo3rt@")))
    assert ran.line(5).startswith(f"{server.url}: the server asks for a key (HTTP 401)")
    no_secret(ran, OF_ADDRESS)


def test_a_database_password_is_not_in_the_command(tool, model):
    ran = tool(*tool.arguments(model().url, "--database", f"postgresql+psycopg://{USER}:p%40ss-Wo3rt@127.0.0.1:9/x"))
    assert ran.code == 4, ran.err
    assert "the run is not in the database" in ran.err
    assert "postgresql+psycopg://***@127.0.0.1:9/x" in ran.document("run.json")["command"]
    no_secret(ran, OF_ADDRESS)


def test_tls_with_a_certificate_of_ones_own(tool, model, certificate):
    file, context = certificate
    server = model(server={"context": context})
    ran = tool(*tool.arguments(server.url), env={"SSL_CERT_FILE": str(file)})
    assert ran.code == 4, ran.err
    (line,) = ran.document("ledger.json")["exchanges"]
    assert line["status"] == "complete"


def test_ipv6(tool, model):
    try:
        server = model(server={"host": "::1"})
    except OSError:
        pytest.skip("this machine has no IPv6")
    ran = tool(*tool.arguments(server.url))
    assert ran.code == 4, ran.err
    assert ran.document("facts.json")["servers"]["subject"]["url"] == server.url
