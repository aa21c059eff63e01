"""What the hardware means for a run: the facts that it fills, and findings with a remedy each."""

from collections.abc import Sequence

from auditor.core.claim.claim import Case
from auditor.core.facts import Fact, FactName, ServerFacts, known
from auditor.core.hardware import GpuFacts, GpuName, HostHardware, architecture_of
from auditor.core.hardware.values import SLOWING
from auditor.core.judging.names import same_gpu
from auditor.core.judging.verdict import Finding
from auditor.reference.gpus import find_cards
from auditor.terms import Outcome

UNDER_LOAD = "read it again while the server answers"


def with_hardware(server: ServerFacts, hardware: HostHardware) -> ServerFacts:
    """The server's facts with GPU and number of GPUs, where the server itself did not tell them."""
    kept = {name: fact for name, fact in gpu_facts(hardware).items() if server.value(name) is None}
    return server.model_copy(update={"facts": {**server.facts, **kept}})


def gpu_facts(hardware: HostHardware) -> dict[FactName, Fact]:
    """GPU and number of GPUs as facts of a server."""
    names, used = hardware.products, hardware.used
    rest = f"; {len(used)} of {len(hardware.gpus)} hold memory" if len(used) != len(hardware.gpus) else ""
    found: dict[FactName, Fact] = {"gpu_count": known(len(used), f"{hardware.source}{rest}")}
    return found | ({"gpu": known(" and ".join(names), hardware.source)} if names else {})


def hardware_findings(case: Case, server: ServerFacts, hardware: HostHardware) -> tuple[Finding, ...]:
    """What a reader of a verdict must know of the hardware; notes, for the comparison decides."""
    return (_same_kind(case, hardware), _same_machine(server, hardware), *state_findings(hardware))


def state_findings(hardware: HostHardware) -> tuple[Finding, ...]:
    """What is unusual about the GPUs whatever the claim: identity, clocks, power, link, throttling."""
    checks = (_identity, _clocks, _power, _link, _throttle)
    return tuple(finding for check in checks for finding in check(hardware))


def _same_kind(case: Case, hardware: HostHardware) -> Finding:
    """Whether the claim's GPU is of the architecture that is there."""
    stated, name = case.hardware.gpu, "hardware"
    if stated is None:
        return _finding(name, Outcome.NOT_APPLICABLE, "the claim names no GPU")
    wanted = {architecture_of(card.gpu.compute_capability.value) for card in find_cards(stated)}
    seen = {text for gpu in hardware.used if (text := gpu.text("architecture"))}
    there = _named(hardware)
    if len(wanted) != 1 or not seen:
        why = f"the architecture of {stated}" if len(wanted) != 1 else f"the architecture of {there}"
        return _finding(name, Outcome.NOT_AVAILABLE, f"{why} is not known")
    ours, theirs = " and ".join(sorted(seen)), wanted.pop()
    if seen != {theirs}:
        remedy = f"measure on {stated}; kernels, number formats and bandwidth are another machine's"
        return _finding(
            name, Outcome.FAILS, f"{ours} is not {theirs}: {there} serves, the claim is for {stated}", remedy
        )
    same = same_gpu(stated, " and ".join(hardware.products)) if hardware.products else None
    if same is False:
        words = f"the architecture is {ours} as claimed, the card is another: {there}, not {stated}"
        return _finding(name, Outcome.FAILS, words, f"measure on {stated}")
    return _finding(name, Outcome.HOLDS, f"{there} is {ours}, as the claim's {stated}")


def _same_machine(server: ServerFacts, hardware: HostHardware) -> Finding:
    """Whether the server names the GPU that the hardware facts name."""
    told, name = server.facts.get("gpu"), "hardware-is-servers"
    if told is None or told.value is None or told.source == hardware.source or not hardware.products:
        return _finding(name, Outcome.NOT_AVAILABLE, "that these GPUs are the server's is taken on trust")
    same = same_gpu(str(told.value), " and ".join(hardware.products))
    if same is False:
        words = f"the server names {told.value} ({told.source}), {hardware.source} names {_named(hardware)}"
        return _finding(name, Outcome.FAILS, words, "give the hardware of the machine that serves")
    outcome = Outcome.HOLDS if same else Outcome.NOT_AVAILABLE
    return _finding(name, outcome, f"the server names {told.value} and {hardware.source} {_named(hardware)}")


def _identity(hardware: HostHardware) -> list[Finding]:
    """A name and a PCI id of different cards: a name can be patched, an id less easily."""
    found = []
    for gpu in hardware.used:
        name, pci_id = gpu.text("product"), gpu.text("pci_id")
        by_name, by_id = find_cards(name or ""), find_cards(pci_id or "")
        if by_name and by_id and not set(by_name) & set(by_id):
            words = f"GPU {gpu.index} is named {name}, and its PCI id {pci_id} is that of {by_id[0].title}"
            found.append(_finding("hardware-identity", Outcome.FAILS, words, "see `nvidia-smi -q` of the machine"))
    return found


def _clocks(hardware: HostHardware) -> list[Finding]:
    """Bandwidth follows the memory clock; clocks read at idle say nothing of a run."""
    name = "hardware-clocks"
    idle = next((gpu for gpu in hardware.used if gpu.is_idle), None)
    if idle is not None:
        read = f" (memory {clock:,.0f} MHz)" if (clock := idle.number("memory_clock_mhz")) else ""
        words = f"the clocks of GPU {idle.index} were read at idle{read}, so that they say nothing of the run"
        return [_finding(name, Outcome.NOT_AVAILABLE, words, UNDER_LOAD)]
    found = []
    for gpu in hardware.used:
        now, most = gpu.number("memory_clock_mhz"), gpu.number("memory_clock_max_mhz")
        if now and most and now < most * 0.99:
            speeds = [gpu.number("bandwidth_gbs"), gpu.number("bandwidth_max_gbs")]
            rates = f": {speeds[0]:,.0f} GB/s of {speeds[1]:,.0f}" if speeds[0] and speeds[1] else ""
            words = f"the memory of GPU {gpu.index} runs at {now:,.0f} MHz of {most:,.0f}{rates}"
            found.append(
                _finding(name, Outcome.FAILS, words, "the clock decides the bandwidth, not the name of the card")
            )
    return found


def _power(hardware: HostHardware) -> list[Finding]:
    """A limit below the card's own: compute is capped, bandwidth is not."""
    found = []
    for gpu in hardware.used:
        limit, default = gpu.number("power_limit_w"), gpu.number("power_default_w")
        card = gpu.card
        tdp = card.gpu.tdp_w.value if card and card.variant is None else None
        most = max([value for value in (default, tdp) if value], default=None)
        if limit and most and limit < most * 0.99:
            words = f"the power limit of GPU {gpu.index} is {limit:g} W of {most:g}: it caps compute, not bandwidth"
            found.append(_finding("hardware-power", Outcome.FAILS, words, "state the power limit with the number"))
    return found


def _link(hardware: HostHardware) -> list[Finding]:
    """A PCIe link narrower or slower than it can be; at idle the generation drops by itself."""
    found = []
    for gpu in hardware.used:
        lacks = [
            _below(gpu, "pcie_width", "pcie_width_max", "x"),
            _below(gpu, "pcie_gen_max", "pcie_gen_device", "gen "),
        ]
        if not gpu.is_idle:
            lacks.append(_below(gpu, "pcie_gen", "pcie_gen_max", "gen "))
        words = " and ".join(word for word in lacks if word)
        if words:
            sentence = f"the PCIe link of GPU {gpu.index} is {words}"
            found.append(_finding("hardware-link", Outcome.FAILS, sentence, "see the slot, the riser and the BIOS"))
    return found


def _below(gpu: GpuFacts, name: GpuName, most_name: GpuName, unit: str) -> str | None:
    now, most = gpu.number(name), gpu.number(most_name)
    return f"{unit}{now:g} where {unit}{most:g} is possible" if now and most and now < most else None


def _throttle(hardware: HostHardware) -> list[Finding]:
    """Clock event reasons that take speed away."""
    found = []
    for gpu in hardware.used:
        slowing = [reason for reason in (gpu.text("throttle") or "").split(", ") if reason in SLOWING]
        if slowing:
            words = f"GPU {gpu.index} was slowed down when it was read: {', '.join(slowing)}"
            found.append(_finding("hardware-throttle", Outcome.FAILS, words, "see to cooling and the power limit"))
    return found


def _named(hardware: HostHardware) -> str:
    return " and ".join(hardware.products) or "an unnamed GPU"


def _finding(name: str, outcome: Outcome, sentence: str, remedy: str | None = None) -> Finding:
    return Finding(id=name, outcome=outcome, gravity="note", sentence=sentence, remedy=remedy)


def sentences(findings: Sequence[Finding]) -> list[str]:
    """The sentences that are worth a warning."""
    return [f"{one.sentence}; {one.remedy}" if one.remedy else one.sentence for one in findings
            if one.outcome in (Outcome.FAILS, Outcome.NOT_AVAILABLE)]  # fmt: skip
