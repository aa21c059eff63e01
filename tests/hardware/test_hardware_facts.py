"""What is read of GPUs from saved output of nvidia-smi and from exporters."""

from pathlib import Path

import pytest

from auditor.capture.hardware import peers, read_file
from auditor.core.hardware import HostHardware, architecture_of
from auditor.core.hardware.exporters import parse_exporter
from auditor.core.hardware.judged import state_findings
from auditor.core.hardware.smicsv import parse_csv
from auditor.core.hardware.smixml import SIZE_LIMIT_BYTES, parse_xml
from auditor.core.hardware.values import read_value, reasons_of
from auditor.errors import UsageError


@pytest.fixture
def saved(data: Path):
    return lambda name: read_file(data / "hardware" / f"{name}.xml")


def test_the_recorded_h200(saved) -> None:
    found = saved("h200")
    (gpu,) = found.gpus
    wanted = {
        "product": "NVIDIA H200", "pci_id": "10de:2335", "compute_capability": "9.0", "architecture": "SM90",
        "memory_mib": 143771, "memory_used_mib": 0, "power_limit_w": 700, "power_draw_w": 81.16,
        "sm_clock_mhz": 345, "sm_clock_max_mhz": 1980, "memory_clock_mhz": 3201, "pcie_gen": 5, "pcie_width": 16,
        "pcie_width_max": 16, "ecc": True, "throttle": "gpu_idle", "persistence": True, "mig": False,
    }  # fmt: skip
    assert {name: gpu.value(name) for name in wanted} == wanted
    assert (found.driver.value, found.cuda.value) == ("580.159.04", "13.0")
    assert gpu.is_idle
    assert "not read" in gpu.facts["compute_capability"].source


@pytest.mark.parametrize(
    ("name", "architecture", "bandwidth"),
    [
        ("pro6000-ws", "SM120", 1710.72),
        ("pro6000-maxq", "SM120", 1792.13),
        ("pro6000-server-x4", "SM120", 1597.57),
        ("gb10", "SM121", None),
        ("b200", "SM100", None),
    ],
)
def test_architecture_and_the_bandwidth_of_the_clock(saved, name: str, architecture: str, bandwidth) -> None:
    for gpu in saved(name).gpus:
        assert gpu.value("architecture") == architecture
        assert gpu.value("bandwidth_gbs") == bandwidth
        assert bandwidth is not None or gpu.facts["bandwidth_gbs"].reason


@pytest.mark.parametrize(
    ("name", "ids"),
    [
        ("pro6000-ws", {"hardware-clocks": "13,365 MHz of 14,001: 1,711 GB/s of 1,792"}),
        ("pro6000-server-x4", {}),
        ("pro6000-ws-idle-wsl", {"hardware-clocks": "read at idle (memory 405 MHz)"}),
        (
            "pro6000-maxq",
            {"hardware-power": "250 W of 300", "hardware-link": "x8 where x16", "hardware-throttle": "sw_power_cap"},
        ),
    ],
)
def test_what_is_unusual(saved, name: str, ids: dict[str, str]) -> None:
    findings = {one.id: one for one in state_findings(saved(name))}
    assert set(findings) == set(ids)
    for key, words in ids.items():
        assert words in findings[key].sentence
        assert findings[key].remedy
        assert findings[key].gravity == "note"


def test_an_idle_link_is_no_slow_link(saved) -> None:
    found = saved("pro6000-ws-idle-wsl")
    assert found.gpus[0].value("pcie_gen") == 1
    assert not [one for one in state_findings(found) if one.id == "hardware-link"]
    assert found.wsl.value is True


def test_a_name_that_its_pci_id_belies(data: Path) -> None:
    text = (data / "hardware" / "pro6000-ws.xml").read_bytes().replace(b"2BB110DE", b"233510DE")
    (finding,) = [one for one in state_findings(parse_xml(text, "x")) if one.id == "hardware-identity"]
    assert "H200" in finding.sentence


def test_a_name_that_no_table_knows_goes_by_its_pci_id(data: Path) -> None:
    text = (data / "hardware" / "pro6000-ws.xml").read_bytes()
    text = text.replace(b"NVIDIA RTX PRO 6000 Blackwell Workstation Edition", b"Graphics Device")
    assert parse_xml(text, "x").gpus[0].value("architecture") == "SM120"
    (gpu,) = parse_xml(text.replace(b"2BB110DE", b"FFFF10DE"), "x").gpus
    assert gpu.value("architecture") is None
    assert gpu.facts["architecture"].reason


def test_old_drivers_spell_power_and_reasons_otherwise() -> None:
    text = b"""<nvidia_smi_log><gpu id="1"><product_name>NVIDIA A100-SXM4-80GB</product_name>
    <power_readings><power_draw>61.5 W</power_draw><power_limit>400.00 W</power_limit></power_readings>
    <clocks_throttle_reasons><clocks_throttle_reason_hw_slowdown>Active</clocks_throttle_reason_hw_slowdown>
    </clocks_throttle_reasons></gpu></nvidia_smi_log>"""
    (gpu,) = parse_xml(text, "x").gpus
    assert (gpu.value("power_draw_w"), gpu.value("power_limit_w")) == (61.5, 400)
    assert gpu.value("throttle") == "hw_slowdown"


@pytest.mark.parametrize(
    "text",
    [
        b"",
        b"<html></html>",
        b"<nvidia_smi_log></nvidia_smi_log>",
        b"<nvidia_smi_log><gpu id='1'>",
        b"\xff\x00garbage",
        b"<nvidia_smi_log>" + b"<a>" * 100 + b"</a>" * 100 + b"</nvidia_smi_log>",
        b'<!DOCTYPE nvidia_smi_log [<!ENTITY a "aaaa">]><nvidia_smi_log><gpu><product_name>&a;</product_name></gpu>'
        b"</nvidia_smi_log>",
        b'<!DOCTYPE nvidia_smi_log [<!ENTITY a SYSTEM "file:///etc/passwd">]><nvidia_smi_log><gpu><product_name>&a;'
        b"</product_name></gpu></nvidia_smi_log>",
        b" " * (SIZE_LIMIT_BYTES + 1),
    ],
)
def test_what_is_no_xml_of_nvidia_smi_is_one_line(text: bytes) -> None:
    with pytest.raises(UsageError) as caught:
        parse_xml(text, "file.xml")
    assert str(caught.value).startswith("file.xml: ")
    assert "\n" not in str(caught.value)


def test_nothing_that_names_a_machine_or_a_card_is_kept(data: Path) -> None:
    text = (data / "hardware" / "pro6000-ws.xml").read_bytes()
    marked = text.replace(b"<serial>redacted", b"<serial>1325SECRET").replace(b"<uuid>redacted", b"<uuid>GPU-SECRET")
    marked = marked.replace(b"<pdi>redacted", b"<pdi>0xSECRET").replace(b"<host_id>N/A", b"<host_id>SECRET")
    assert marked.count(b"SECRET") >= 3
    exporters = [parse_exporter((data / "hardware" / name).read_text(), "x") for name in EXPORTERS]
    for found in (parse_xml(marked, "x"), *exporters):
        kept = found.to_json()
        for word in (b"SECRET", b"secret-host", b"GPU-aaaa", b"df6e7a7c", b"00000000:0"):
            assert word not in kept
        assert HostHardware.from_json(kept) == found


EXPORTERS = ("dcgm.txt", "nvidia_gpu_exporter.txt")


def test_telemetry_as_csv(data: Path) -> None:
    found = read_file(data / "hardware" / "h200-telemetry.csv")
    (gpu,) = found.gpus
    assert gpu.value("compute_capability") == "9.0"
    assert "compute_cap" in gpu.facts["compute_capability"].source
    assert (gpu.value("memory_used_mib"), gpu.value("utilisation_percent")) == (44231, 75)
    assert gpu.value("throttle") == "none"
    assert not gpu.is_idle


def test_csv_without_units_and_of_several_gpus() -> None:
    text = b"\xef\xbb\xbfname, compute_cap, clocks.mem\nNVIDIA GB10, 12.1, [N/A]\nNVIDIA B200, 10.0, 3996\n"
    one, other = parse_csv(text, "x").gpus
    assert (one.value("architecture"), other.value("architecture")) == ("SM121", "SM100")
    assert one.value("memory_clock_mhz") is None
    assert other.value("memory_clock_mhz") == 3996


@pytest.mark.parametrize("text", [b"", b"a,b\n1,2\n", b"name\n", b"\xff\xfe,\n", b"index, name\nx, NVIDIA H200\n"])
def test_what_is_no_query_is_one_line(text: bytes) -> None:
    with pytest.raises(UsageError, match=r"^file.csv: "):
        parse_csv(text, "file.csv")


def test_the_dcgm_exporter(data: Path) -> None:
    found = parse_exporter((data / "hardware" / "dcgm.txt").read_text(), "x")
    zero, one = found.gpus
    assert found.driver.value == "580.105.08"
    assert (zero.value("sm_clock_mhz"), one.value("sm_clock_mhz")) == (2400, 2430)
    assert zero.value("bandwidth_gbs") == 1597.57
    assert zero.value("throttle") == "sw_power_cap, sw_thermal_slowdown"
    assert zero.value("temperature_c") is None, "DCGM's mark for no value is none"
    assert one.facts["power_draw_w"].reason
    assert [gpu.index for gpu in found.used] == [0]


def test_nvidia_gpu_exporter(data: Path) -> None:
    found = parse_exporter((data / "hardware" / "nvidia_gpu_exporter.txt").read_text(), "x")
    (gpu,) = found.gpus
    assert (gpu.value("architecture"), gpu.value("memory_clock_mhz"), gpu.value("memory_mib")) == (
        "SM120",
        14001,
        32607,
    )
    assert (gpu.value("utilisation_percent"), gpu.value("throttle")) == (97, "none")
    assert found.wsl.value is True
    assert {one.id for one in state_findings(found)} == {"hardware-power", "hardware-link"}


@pytest.mark.parametrize("text", ["", "up 1\n", "DCGM_FI_DEV_SM_CLOCK what\n"])
def test_metrics_of_something_else(text: str) -> None:
    with pytest.raises(UsageError, match=r"^there: "):
        parse_exporter(text, "there")


def test_values() -> None:
    assert architecture_of("12.0") == "SM120"
    assert architecture_of("gfx942") == "gfx942"
    assert reasons_of(0) == "none"
    assert reasons_of(0x1000) == "0x1000"
    for absent in ("N/A", "[N/A]", "", "[Not Supported]", "Requested functionality has been deprecated", "ERR!"):
        fact = read_value("power_draw_w", absent, "tool")
        assert fact.value is None
        assert fact.reason


def test_peers() -> None:
    matrix = "\x1b[4m \tGPU0\tGPU1\x1b[0m\n GPU0\tX\t{}\n GPU1\tOK\tX\n\nLegend:\n\n  X    = Self\n  OK   = Status Ok\n"
    assert peers(matrix.format("OK")) == "all"
    assert peers(matrix.format("CNS")) == "some"
    assert peers(matrix.format("CNS").replace("GPU1\tOK", "GPU1\tNS")) == "none"
    assert peers("") is None
