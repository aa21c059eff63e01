"""Bad luck before the first measured request: one line, the right exit code, and no folder left behind."""

import json
import socket

import pytest
from luck import NOT_FOUND, TRIAL_TOKENS, answer, good
from rawserver import LAST_CHUNK, STREAM_HEAD, Asked, Peer, chunked, event, head, plain, raw_server

KEY = "sk-Zq7/41+u9vW_x"


def refusal(status: str, message: str, **fields: str):
    """An answer that refuses in the OpenAI shape."""
    return answer(plain(json.dumps({"error": {"message": message}}).encode(), status, **fields), close=False)


def nothing_left(ran) -> None:
    """No folder of a run that measured nothing, and no word on standard output."""
    assert not (ran.cwd / "reports").exists()
    assert ran.out == ""


# the server cannot be reached


def test_a_server_that_is_down(tool):
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
    ran = tool(*tool.arguments(f"http://127.0.0.1:{port}"))
    assert ran.line(5) == f"http://127.0.0.1:{port}: connection refused; start the server, or check host and port"
    nothing_left(ran)


def test_a_host_that_is_not_known(tool):
    ran = tool(*tool.arguments("http://no-such-host.invalid:8000"))
    assert ran.line(5) == "http://no-such-host.invalid:8000: no such host; check the name of the server"
    nothing_left(ran)


def test_a_certificate_that_is_not_trusted(tool, model, certificate):
    server = model(server={"context": certificate[1]})
    ran = tool(*tool.arguments(server.url))
    assert ran.line(5).startswith(f"{server.url}: TLS failed: self-signed certificate; set SSL_CERT_FILE")
    nothing_left(ran)


def test_tls_where_there_is_none(tool):
    async def plainly(peer: Peer) -> None:
        await peer.reader.read(1)
        await peer.send(plain(b"", "400 Bad Request"))

    with raw_server(plainly) as server:
        url = server.url.replace("http:", "https:")
        ran = tool(*tool.arguments(url))
    assert ran.line(5).startswith(f"{url}: TLS failed: ")
    assert "http against https" in ran.err


# the probe is refused


@pytest.mark.parametrize(
    ("reply", "code", "words"),
    [
        (plain(b"{}", "401 Unauthorized"), 5, "asks for a key (HTTP 401); give --api-key"),
        (plain(b"", "307 Temporary Redirect", Location="http://x/"), 5, "a redirect; give the address it leads to"),
        (plain(b"", "429 Too Many Requests"), 5, "takes no more requests now (HTTP 429); try again later"),
        (plain(b'{"error":"loading"}', "503 Service Unavailable"), 5, "(loading); wait until it has loaded"),
        (plain(b"<html>hello</html>", content_type="text/html"), 2, "give the model's name with --model"),
        (b"HTTP/1.1 200 OK\r\nConte", 5, "see whether it is up; check port"),
        (b"220 mail ESMTP\r\n\r\n", 5, "see whether it is up; check port and http or https"),
    ],
    ids=["401", "redirect", "429", "503", "HTML", "half a head", "mail"],
)
def test_a_probe_that_is_refused(reply, code, words, tool, model):
    ran = tool(*tool.arguments(model(get={"/v1/models": reply}).url))
    assert words in ran.line(code)
    nothing_left(ran)


def test_a_model_that_is_not_served(tool, model):
    # A generic server may have more than it lists; the refusal of the request is what counts.
    said = "The model `other` does not exist."
    ran = tool(*tool.arguments(model(trial=refusal("404 Not Found", said)).url, "--model", "other"))
    assert f"HTTP 404: {said}; give the model's name with --model" in ran.line(5)
    nothing_left(ran)


# the first request is refused


@pytest.mark.parametrize(
    ("trial", "words"),
    [
        (refusal("401 Unauthorized", "no key"), "HTTP 401: no key; give the key with --api-key or AUDIT_API_KEY"),
        (answer(NOT_FOUND), "HTTP 404: Not Found; give the model's name with --model, and the address without /v1"),
        (refusal("500 Internal Server Error", "CUDA error"), "HTTP 500: CUDA error; see the server's log"),
        (refusal("400 Bad Request", "no such thing"), "HTTP 400: no such thing; change what it names"),
        (refusal("429 Too Many Requests", "slow", Retry_After="3600"), "HTTP 429: slow; wait, or ask its owner"),
        (answer(plain(b"", "307 Temporary Redirect", Location="/v2?k=v")), "/v2; give the address it leads to"),
        (answer(plain(b"<html>", content_type="text/html")), "no event stream but text/html; see that the address"),
        (answer(plain(b'{"choices":[]}')), "no event stream but application/json; see that the address"),
        (
            answer(
                head(Content_Type="text/event-stream", Content_Encoding="gzip", Content_Length="3") + b"\x1f\x8b\x08"
            ),
            "compressed",
        ),
        (answer(b"HTTP/1.1 200 OK\r\nConte"), "the connection failed: the server closed without an answer; see that"),
        (
            answer(STREAM_HEAD, *chunked(event({"error": {"message": "engine dead"}}), event(b"[DONE]")), LAST_CHUNK),
            "the server answers with an error: engine dead; see its log",
        ),
    ],
    ids=["401", "404", "500", "400", "429", "redirect", "HTML", "no stream", "gzip", "half a head", "error event"],
)
def test_a_first_request_that_is_refused(trial, words, tool, model):
    ran = tool(*tool.arguments(model(trial=trial).url, "--json", "--stall-limit", "1"))
    assert words in ran.line(5)
    assert json.loads(ran.out)["exit_code"] == 5
    assert not (ran.cwd / "reports").exists()


def test_a_first_request_that_stalls(tool, model):
    async def stall(peer: Peer, asked: Asked) -> None:
        await peer.send(STREAM_HEAD, *chunked(event({}), event({}), event({})))
        await peer.gone()

    ran = tool(*tool.arguments(model(trial=stall).url, "--stall-limit", "1"))
    assert "the connection failed: the server was silent for 1 s" in ran.line(5)
    nothing_left(ran)


def test_a_field_that_is_refused_is_left_out_once_by_a_server_that_is_loading(tool, model):
    loading = [1, 2]

    async def strict(peer: Peer, asked: Asked) -> None:
        if loading:
            loading.pop()
            await refusal("503 Service Unavailable", "loading", Retry_After="0")(peer, asked)
        elif "stream_options" in asked.json:
            await refusal("400 Bad Request", "extra fields not permitted: stream_options")(peer, asked)
        else:
            await good(peer, asked)

    server = model(trial=strict)
    ran = tool(*tool.arguments(server.url))
    assert ran.code == 4, ran.err
    trials = [asked.json for asked in server.posts() if asked.json.get("max_tokens") == TRIAL_TOKENS]
    assert [("stream_options" in body) for body in trials] == [True, True, True, False]
    facts = ran.document("facts.json")["servers"]["subject"]
    assert facts["dropped_fields"] == {"stream_options": "HTTP 400: extra fields not permitted: stream_options"}
    findings = {finding["id"]: finding for finding in ran.document("verdict.json")["findings"]}
    assert findings["fields-accepted"]["outcome"] == "fails"
    assert "stream_options" in findings["fields-accepted"]["sentence"]


# what the user gave


def test_a_prompt_that_holds_the_key(tool, model):
    tool.prompts("good", KEY)
    ran = tool(*tool.arguments(model().url, "--api-key", KEY))
    assert ran.line(2) == (
        "the prompt own-2 holds the server's key or password; take it out: prompts are part of the evidence"
    )
    nothing_left(ran)


def test_a_claim_that_holds_the_password(tool, model):
    with (tool.cwd / "claim.yaml").open("a") as file:
        file.write("notes: it is pass-W0rd, they say\n")
    ran = tool(*tool.arguments(model().url.replace("//", "//me:pass-W0rd@")))
    assert ran.line(2) == "the claim holds the server's key or password; take it out of the claim"
    nothing_left(ran)


def test_a_tokenizer_that_cannot_be_loaded_is_found_before_anything_is_sent(tool, model):
    (tool.cwd / "tokenizer.json").write_text("{}")
    server = model()
    ran = tool(*tool.arguments(server.url, "--tokenizer", "tokenizer.json"))
    assert "the tokenizer cannot be loaded" in ran.line(2)
    assert not server.asked
    nothing_left(ran)


def test_a_file_where_the_reports_should_be(tool, model):
    (tool.cwd / "file").write_text("")
    ran = tool(*tool.arguments(model().url, "--reports", "file/reports"))
    line = ran.line(2)
    assert line.startswith("file/reports/small/")
    assert line.endswith("the run folder cannot be made (Not a directory); choose another with --reports")


def test_reports_on_a_file_system_that_is_read_only(tool, model):
    ran = tool(*tool.arguments(model().url, "--reports", "/proc/reports"))
    assert "the run folder cannot be made" in ran.line(2)


def test_a_run_folder_that_exists_is_left_alone(tmp_path, model, monkeypatch):
    from auditor import audit
    from auditor.core.claim.claim import parse_claim
    from auditor.core.plan.making import Wishes
    from auditor.errors import UsageError
    from auditor.job import Job, ServerChoice

    text = b"schema: 1\nid: small\ntitle: A small claim\n"
    claim = parse_claim(text.decode(), "claim.yaml")
    folder = tmp_path / "taken"
    folder.mkdir()
    (folder / "mine.txt").write_text("mine")
    job = Job(
        claim=claim,
        case=claim.case(None),
        claim_bytes=text,
        servers=(ServerChoice("subject", model().url),),
        wishes=Wishes(),
        run="r1",
        started_ns=1,
        seed=1,
        folder=folder,
        command="audit run",
    )
    with pytest.raises(UsageError, match=r"cannot be made \(File exists\)"):
        audit.run(job)
    assert [path.name for path in folder.iterdir()] == ["mine.txt"]


def test_a_folder_that_was_there_before_stays(tool, model):
    (tool.cwd / "reports").mkdir()
    tool(*tool.arguments(model(trial=refusal("500 Internal Server Error", "no")).url))
    assert list((tool.cwd / "reports").iterdir()) == []


@pytest.mark.parametrize("arguments", [["run"], ["run", "claim.yaml", "--no-such"], ["no-such"]])
def test_usage_is_one_document_too(arguments, tool):
    ran = tool(*arguments, "--json")
    assert ran.code == 2
    assert json.loads(ran.out)["exit_code"] == 2
    assert "Traceback" not in ran.err


# what nobody foresaw


@pytest.mark.parametrize(
    ("raised", "line"),
    [
        ("ZeroDivisionError('by zero')", "ZeroDivisionError: by zero; this is a bug: please report it"),
        ("OSError(28, 'No space left on device', 'x.db')", "x.db: No space left on device; AUDIT_DEBUG=1 shows where"),
        ("MemoryError()", "out of memory"),
    ],
)
def test_an_exception_that_nobody_foresaw(raised, line, tool, model):
    code = f"import sys, auditor.audit as a\ndef look(*x): raise {raised}\na.look = look\nfrom auditor.cli import main\nmain(sys.argv[1:])"
    arguments = tool.arguments(model().url, "--json")
    ran = tool.run_code(code, *arguments)
    assert line in ran.line(1)
    assert json.loads(ran.out)["exit_code"] == 1
    nothing = tool.run_code(code, *arguments, env={"AUDIT_DEBUG": "1"})
    assert "Traceback" in nothing.err
    assert nothing.code == 1


def test_output_that_nobody_reads_any_more(tool):
    (tool.cwd / "x").mkdir()
    shell = "$AUDIT claims schema | head -c 1 >/dev/null; exit ${PIPESTATUS[0]}"
    ran = tool.run("bash", "-c", shell)
    assert ran.err == ""


def test_output_that_cannot_be_written(tool):
    ran = tool.run("bash", "-c", "$AUDIT claims schema >/dev/full")
    assert "No space left on device" in ran.line(1)
