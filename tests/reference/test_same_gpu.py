"""Whether the GPU of a claim is the one that was observed."""

import pytest

from auditor.core.judging.names import same_gpu
from auditor.reference.gpus import all_gpus

WS = "NVIDIA RTX PRO 6000 Blackwell Workstation Edition"
MAXQ = "NVIDIA RTX PRO 6000 Blackwell Max-Q Workstation Edition"
SERVER = "NVIDIA RTX PRO 6000 Blackwell Server Edition"


@pytest.mark.parametrize("gpu", all_gpus(), ids=lambda gpu: gpu.id)
def test_an_id_and_the_names_of_one_card_are_equal_and_of_others_are_not(gpu):
    for name in (*gpu.names, *gpu.pci_ids):
        assert same_gpu(gpu.id, name) is True, name
    others = [name for other in all_gpus() if other.id != gpu.id for name in other.names]
    assert all(same_gpu(gpu.id, name) is False for name in others)
    for variant in gpu.variants:
        assert all(same_gpu(gpu.id, name) is False for name in variant.names)


@pytest.mark.parametrize(
    ("stated", "observed", "same"),
    [
        ("rtx-pro-6000-blackwell", WS, None),  # its edition is not stated
        ("RTX PRO 6000", SERVER, None),
        ("rtx-pro-6000-blackwell-ws", MAXQ, False),
        ("RTX PRO 6000 Blackwell Max-Q", MAXQ, True),
        ("rtx-pro-6000-blackwell", "NVIDIA GeForce RTX 5090", False),
        ("RTX 5090", "NVIDIA GeForce RTX 5090", True),
        ("RTX 5090", "10de:2b87", False),  # the D
        ("H100", "NVIDIA H100 80GB HBM3", None),
        ("rtx-5090", f"NVIDIA GeForce RTX 5090 and {WS}", None),
        ("rtx-5090", "NVIDIA GeForce RTX 5090 and NVIDIA GeForce RTX 5090", True),
        # Not in the table: told by their words alone.
        ("RTX 5090 Laptop", "NVIDIA GeForce RTX 5090", False),
        ("Tesla T4", "Tesla T4", True),
        ("Tesla T4", "Tesla V100-SXM2-16GB", False),
    ],
)
def test_editions_differ_and_an_unstated_one_is_unknown(stated, observed, same):
    assert same_gpu(stated, observed) is same
