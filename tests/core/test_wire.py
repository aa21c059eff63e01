"""The wire log: what is written is read back, and a file cut anywhere loses the torn frame, says so, and nothing else."""

from pathlib import Path

import pytest
import zstandard
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from runs import Cells, recording, wire_records

from auditor.core.counting.evidence import assemble, read_response
from auditor.core.wire.log import MAGIC, SMALL_BYTES, Kind, WireRecord, encode, frame, read_wire
from auditor.errors import EvidenceError

RECORDS = st.builds(
    WireRecord,
    kind=st.sampled_from(Kind),
    exchange=st.integers(0, 2**32 - 1),
    t_ns=st.integers(-(2**63), 2**63 - 1),
    kernel_ns=st.integers(-(2**63), 2**63 - 1),
    payload=st.binary(max_size=200),
)
shared_folder = settings(suppress_health_check=[HealthCheck.function_scoped_fixture])


def written(path: Path, frames: list[list[WireRecord]]) -> list[int]:
    """Write the frames; the lengths of the file after each."""
    data, ends = b"", []
    for index, records in enumerate(frames):
        data += frame(records, first=index == 0)
        ends.append(len(data))
    path.write_bytes(data)
    return ends


@shared_folder
@given(st.lists(st.lists(RECORDS, max_size=5), min_size=1, max_size=5))
def test_what_is_written_is_read_back(tmp_path: Path, frames: list[list[WireRecord]]) -> None:
    path = tmp_path / "wire.zst"
    written(path, frames)
    log = read_wire(path)
    assert list(log.records) == [record for records in frames for record in records]
    assert log.damage is None


def test_a_file_cut_at_any_byte_loses_the_torn_frame_and_says_so(tmp_path: Path) -> None:
    path = tmp_path / "wire.zst"
    frames = [[WireRecord(Kind.READ, n, 10 * n + i, 0, b"data: %d\n\n" % i) for i in range(4)] for n in range(4)]
    ends = written(path, frames)
    data = path.read_bytes()
    for length in range(len(data) + 1):
        path.write_bytes(data[:length])
        log = read_wire(path)
        whole = sum(end <= length for end in ends)
        assert list(log.records) == [record for records in frames[:whole] for record in records], length
        assert (log.damage is None) == (length in ends), length


@shared_folder
@given(st.integers(0, 10**6), st.integers(1, 255))
def test_a_damaged_byte_costs_its_frame_and_those_behind(tmp_path: Path, place: int, flip: int) -> None:
    path = tmp_path / "wire.zst"
    frames = [[WireRecord(Kind.READ, n, n, 0, bytes(range(256)))] for n in range(4)]
    ends = written(path, frames)
    data = bytearray(path.read_bytes())
    place %= len(data)
    data[place] ^= flip
    path.write_bytes(data)
    if place < 4:
        with pytest.raises(EvidenceError, match="not a wire log"):
            read_wire(path)
        return
    log = read_wire(path)
    whole = sum(end <= place for end in ends)
    written_records = [record for records in frames for record in records]
    # Some bits of a frame's head mean nothing: then nothing is lost. What is read is always what was written.
    assert list(log.records) == written_records[: len(log.records)]
    assert len(log.records) >= whole
    assert (log.damage is None) == (len(log.records) == len(frames))


def test_a_long_log_is_read_in_one_pass(tmp_path: Path) -> None:
    path = tmp_path / "wire.zst"
    frames = [[WireRecord(Kind.READ, n, n, 0, n.to_bytes(4) * 2000)] for n in range(2000)]
    written(path, frames)
    log = read_wire(path)
    assert [record.exchange for record in log.records] == list(range(2000))


@pytest.mark.parametrize(
    ("data", "words"),
    [
        (b"not a log", "not a wire log"),
        (zstandard.compress(b"something else"), "not a wire log"),
        (zstandard.compress(MAGIC[:-1] + b"\x02" + b"rest"), "format 2, this tool reads 1"),
    ],
)
def test_what_is_no_wire_log_is_an_error(tmp_path: Path, data: bytes, words: str) -> None:
    path = tmp_path / "wire.zst"
    path.write_bytes(data)
    with pytest.raises(EvidenceError, match=words):
        read_wire(path)


def test_an_empty_log_and_a_missing_one_are_told_apart(tmp_path: Path) -> None:
    path = tmp_path / "wire.zst"
    with pytest.raises(EvidenceError, match="cannot be read"):
        read_wire(path)
    path.write_bytes(b"")
    assert read_wire(path).damage == "the wire log is empty"


@pytest.mark.parametrize("body", [b"\x09" + bytes(24), encode(WireRecord(Kind.READ, 1, 1, 0, b"abc"))[:-1], b"\x05"])
def test_a_record_that_cannot_be_is_damage(tmp_path: Path, body: bytes) -> None:
    path = tmp_path / "wire.zst"
    good = WireRecord(Kind.MARK, 0, 1, 0, b"{}")
    path.write_bytes(frame([good], first=True) + zstandard.compress(body))
    log = read_wire(path)
    assert log.records == (good,)
    assert log.damage


def test_exchanges_come_out_of_the_log_as_they_went_in(tmp_path: Path) -> None:
    one = recording("vllm-0.32-cpu", "ngram_chat64")
    path = tmp_path / "wire.zst"
    written(path, wire_records(Cells(subject=((one,),))))
    evidence = assemble(read_wire(path).records)
    exchange = next(exchange for exchange in evidence.exchanges if exchange.purpose == "measure")
    assert b"".join(read.data for read in exchange.reads) == b"".join(data for _, data in one.reads)
    assert exchange.request == one.request
    assert evidence.finished
    assert read_response(exchange).whole


def test_kernel_times_are_put_on_the_client_s_clock() -> None:
    base = 1_796_112_545_400_911_292

    def clock(t_ns: int, kernel_ns: int, error_ns: int) -> WireRecord:
        return WireRecord(Kind.CLOCK, 0, t_ns, kernel_ns, b'{"error_ns": %d}' % error_ns)

    records = [
        clock(1000, base + 1000, 30),
        WireRecord(Kind.OPEN, 1, 1500, 0, b"{}"),
        WireRecord(Kind.READ, 1, 2000, base + 1900, b"a"),
        clock(5000, base + 5400, 70),  # the realtime clock was set forward by 400 ns
        WireRecord(Kind.READ, 1, 6000, base + 6300, b"b"),
        WireRecord(Kind.READ, 1, 7000, 0, b"c"),
        WireRecord(Kind.READ, 1, 8000, base + 9000, b"d"),
    ]
    evidence = assemble(records)
    # The stamp of the last read lies after the read itself: no read is later than when the client saw it.
    assert [read.arrival_ns for read in evidence.exchanges[0].reads] == [1900, 5900, 7000, 8000]
    assert evidence.clock_error_ns == 70


def test_a_log_that_would_fill_the_memory_is_refused_while_it_is_read(tmp_path: Path) -> None:
    path = tmp_path / "wire.zst"
    part = WireRecord(Kind.READ, 1, 0, 0, bytes(SMALL_BYTES // 2))
    written(path, [[part], [part], [part]])
    assert path.stat().st_size < 100_000
    with pytest.raises(EvidenceError, match="expands to more than 64 MiB") as refused:
        read_wire(path)
    assert refused.value.where == str(path)
    written(path, [[part]])
    assert read_wire(path).damage is None


def test_a_log_of_nothing_but_openings_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("auditor.core.counting.evidence.MOST_EXCHANGES", 3)
    opened = [WireRecord(Kind.OPEN, number, 0, 0, b"{}") for number in range(4)]
    assert len(assemble(opened[:3]).exchanges) == 3
    with pytest.raises(EvidenceError, match="opens more than 3 exchanges"):
        assemble(opened)
