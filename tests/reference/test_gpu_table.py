"""The table of GPUs: what it holds, and which cards a name means."""

import pytest

from auditor.reference.gpus import all_gpus, find_cards, suggestions

WS, MAXQ, SERVER = (f"rtx-pro-6000-blackwell-{edition}" for edition in ("ws", "maxq", "server"))
CELLS = (
    "compute_capability", "multiprocessors", "memory_gb", "tdp_w", "shared_memory_sm_kb", "shared_memory_block_kb",
    "l2_mb", "bf16_tflops", "fp8_tflops", "fp4_tflops",
)  # fmt: skip


def _ids(text: str) -> list[str]:
    return list(dict.fromkeys(card.gpu.id for card in find_cards(text)))


@pytest.fixture(scope="module")
def gpus():
    return {gpu.id: gpu for gpu in all_gpus()}


def test_every_figure_has_a_source_or_says_that_it_has_none(gpus):
    assert len(gpus) == 29
    for gpu in gpus.values():
        for name in CELLS:
            cell = getattr(gpu, name)
            assert cell.sources or cell.mark in ("unconfirmed", "absent"), (gpu.id, name)
            assert (cell.value is None) == (cell.mark == "absent"), (gpu.id, name)
        assert gpu.name_sources, gpu.id
        assert [one.standing for one in gpu.bandwidth].count("nominal") == 1, gpu.id
        assert all(one.sources or one.mark == "unconfirmed" for one in gpu.bandwidth), gpu.id


def test_names_and_pci_ids_are_of_one_card_each(gpus):
    names = [name for gpu in gpus.values() for name in (*gpu.names, *(n for v in gpu.variants for n in v.names))]
    pci = [one for gpu in gpus.values() for one in (*gpu.pci_ids, *(p for v in gpu.variants for p in v.pci_ids))]
    assert len(set(names)) == len(names)
    assert len(set(pci)) == len(pci)
    for gpu in gpus.values():
        for text in (gpu.id, *gpu.names, *gpu.pci_ids):
            assert _ids(text) == [gpu.id], text


def test_sm120_is_told_from_its_neighbours(gpus):
    capability = {gpu.id: gpu.compute_capability.value for gpu in gpus.values()}
    assert {capability[one] for one in (WS, MAXQ, SERVER, "rtx-5090")} == {"12.0"}
    assert capability["dgx-spark-gb10"] == "12.1"
    assert capability["b200"] == "10.0"
    assert capability["h200"] == "9.0"
    assert gpus[WS].shared_memory_sm_kb.value == 100
    assert gpus["h200"].shared_memory_sm_kb.value == 228


def test_bandwidth_comes_from_the_clock_where_one_was_read(gpus):
    server = gpus[SERVER]
    nominal, conflict = server.bandwidth
    assert nominal.clock_mhz == 12481
    assert server.gbs(nominal) == pytest.approx(12481e6 * 2 * 64 / 1e9)  # 1597.568 GB/s
    assert (conflict.gbs, conflict.standing) == (1792, "conflict")
    assert server.from_clock(14001) == pytest.approx(1792.128)
    ws = {one.standing: gpus[WS].gbs(one) for one in gpus[WS].bandwidth}
    assert ws["nominal"] == pytest.approx(1792, abs=0.2)
    assert ws["state"] == pytest.approx(1710.7, abs=0.1)
    assert "rejected" in ws
    assert gpus["h200"].from_clock(3201) is None  # the width of its bus is not in the material
    assert gpus["h200"].gbs(gpus["h200"].bandwidth[0]) == 4800


def test_conflicts_are_kept(gpus):
    assert {one.standing for one in gpus[MAXQ].bandwidth} == {"nominal", "unverified"}
    assert gpus[MAXQ].bf16_tflops.most == 503.8
    assert gpus[MAXQ].bf16_tflops.mark == "derived"
    assert (gpus["rtx-pro-4500-blackwell"].bf16_tflops.least, gpus["rtx-pro-4500-blackwell"].bf16_tflops.value) == (
        109.9,
        210.9,
    )
    assert gpus["mi300x"].fp8_tflops.least == 2209
    assert gpus["rtx-5090"].fp8_tflops.most == 838
    assert gpus["rtx-pro-4000-blackwell"].tdp_w.source == "general knowledge, not confirmed"


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("rtx-pro-6000-blackwell", [WS, MAXQ, SERVER]),
        ("RTX PRO 6000", [WS, MAXQ, SERVER]),
        ("RTX PRO 6000 Blackwell Max-Q", [MAXQ]),
        ("rtx pro 6000 server edition", [SERVER]),
        ("NVIDIA RTX PRO 6000 Blackwell Max-Q Workstation Edition", [MAXQ]),
        ("2bb1", [WS]),
        ("0x2bb110de", [WS]),
        ("10DE:2BB5", [SERVER]),
        ("4x RTX 5090", ["rtx-5090"]),
        ("RTX5070Ti", ["rtx-5070-ti"]),
        ("RTX 5070", ["rtx-5070"]),
        ("B200", ["b200"]),  # also four hexadecimal digits
        ("H100", ["h100-sxm", "h100-pcie"]),
        ("NVIDIA H100 80GB HBM3", ["h100-sxm"]),
        ("DGX Spark", ["dgx-spark-gb10"]),
        ("RTX 6000 Ada", ["rtx-6000-ada"]),
        ("NVIDIA GeForce RTX 5090 Laptop GPU", []),
        ("RTX 6000", []),
        ("Tesla T4", []),
        ("nvidia", []),
        ("", []),
    ],
)
def test_a_name_finds_the_cards_it_may_mean(text, found):
    assert _ids(text) == found


def test_a_variant_is_not_the_card_of_the_row():
    (card,) = find_cards("RTX 5090 D")
    assert (card.gpu.id, card.variant.what) == ("rtx-5090", "D")
    assert card.title == "GeForce RTX 5090 D"
    assert find_cards("10de:2b87") == (card,)
    assert find_cards("RTX 5090")[0].variant is None
    assert [one.variant.what for one in find_cards("A100 40GB")] == ["SXM, 40 GB", "PCIe, 40 GB"]


@pytest.mark.parametrize(
    ("text", "near"), [("rtx pro 6000 blackwel server", SERVER), ("rtx-509", "rtx-5090"), ("h20", "h200")]
)
def test_near_misses_are_suggested(text, near):
    assert near in suggestions(text)
    assert suggestions("a toaster") == ()
