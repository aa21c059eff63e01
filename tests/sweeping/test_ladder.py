"""The knee of a ladder: where output squared by streams is largest."""

from auditor.core.stats import Estimate
from auditor.core.sweeping.ladder import Knee, Rung, knee_of


def rung(streams: int, output: float | None, spread: float | None = None) -> Rung:
    low, high = (None, None) if spread is None or output is None else (output - spread, output + spread)
    made = None if output is None else Estimate(value=output, low=low, high=high, n=3)
    return Rung(
        streams=streams, effective_streams=None, output=made, total=made, peak=None, decode=None, complete=1, sent=1
    )


def knee(*outputs: float | None, spread: float | None = 0.1) -> Knee:
    found = knee_of([rung(2**power, output, spread) for power, output in enumerate(outputs)])
    assert found is not None
    return found


def test_it_is_where_power_is_largest() -> None:
    # Amdahl with a serial share of 1/9 and 100 tok/s alone: X = 100 C / (1 + (C - 1) / 9); X^2 / C is largest at 8.
    found = knee(*(100 * c / (1 + (c - 1) / 9) for c in (1, 2, 4, 8, 16, 32)))
    assert found.streams == 8
    assert "do not part" not in found.sentence


def test_the_streams_in_flight_count_and_not_those_asked_for() -> None:
    # 4 were asked for and 2 were in flight: 180^2 / 2 is more than 150^2 / 2 and 185^2 / 8.
    rungs = [
        rung(1, 100.0),
        rung(2, 150.0),
        rung(4, 180.0).model_copy(update={"effective_streams": 2.0}),
        rung(8, 185.0),
    ]
    found = knee_of(rungs)
    assert found is not None
    assert found.streams == 4


def test_none_where_every_step_still_paid() -> None:
    assert knee(100.0, 190.0, 350.0).streams is None
    assert "not reached by 4 streams" in knee(100.0, 190.0, 350.0).sentence


def test_none_where_it_cannot_be_told() -> None:
    assert "fewer than 3" in knee(100.0, 110.0).sentence
    assert "no output rate at 2 streams" in knee(100.0, None, 120.0).sentence
    assert knee_of([rung(1, 100.0)]) is None


def test_what_the_repeats_do_not_part_is_said() -> None:
    assert "do not part it from 1" in knee(100.0, 142.0, 150.0, spread=5).sentence
    assert "one repeat" in knee(100.0, 150.0, 155.0, spread=None).sentence
