"""A published number stands for everything that rounds to it, and its written form decides."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from auditor.core.claim.claim import Basis, OutcomeStated, Reported, parse_claim

HEAD = "schema: 1\nid: a\ntitle: b\nreported: "


def reported(text: str) -> Reported:
    return parse_claim(HEAD + text, "claim.yaml").reported


@pytest.mark.parametrize(
    ("written", "interval", "text"),
    [
        ("{value: 130}", (129.5, 130.5), "130 tok/s"),
        ("{value: 50.5}", (50.45, 50.55), "50.5 tok/s"),
        ("{value: 50.50}", (50.495, 50.505), "50.50 tok/s"),
        ("{value: 130.0}", (129.95, 130.05), "130.0 tok/s"),
        ("{value: 67.76}", (67.755, 67.765), "67.76 tok/s"),
        ("{value: 5816}", (5815.5, 5816.5), "5,816 tok/s"),
        ("{value: 3740}", (3739.5, 3740.5), "3,740 tok/s"),
        ("{value: 3740, about: true}", (3735, 3745), "about 3,740 tok/s"),
        ("{value: 50.0, about: true}", (49.95, 50.05), "about 50.0 tok/s"),
        ("{value: 3740, rounded_to: 100}", (3690, 3790), "3,740 tok/s"),
        ("{value: 1.3e2}", (125, 135), "130 tok/s"),
        ("{value: 1, rounded_to: 10}", (0, 6), "1 tok/s"),
        ("{range: [130, 150]}", (129.5, 150.5), "130 to 150 tok/s"),
        ("{range: [1.4, 2.6]}", (1.35, 2.65), "1.4 to 2.6 tok/s"),
        ("{range: [1.40, 2.60]}", (1.395, 2.605), "1.40 to 2.60 tok/s"),
        ("{range: [6, 7], outcome: garbage}", (5.5, 7.5), "6 to 7 tok/s, output garbage"),
    ],
)
def test_the_written_form_decides(written: str, interval: tuple[float, float], text: str) -> None:
    found = reported(written)
    assert found.interval() == interval
    assert found.as_text() == text


@pytest.mark.parametrize(
    ("written", "text"),
    [
        ("{}", "no number stated"),
        ("{outcome: nan}", "NaN, no rate"),
        ("{outcome: failed}", "failed, no rate"),
        ("{outcome: unsupported}", "unsupported, no rate"),
    ],
)
def test_no_number_has_no_interval(written: str, text: str) -> None:
    found = reported(written)
    assert (found.interval(), found.as_text(), found.has_number) == (None, text, False)


def test_a_record_made_in_code_reads_the_same() -> None:
    assert Reported(value=130).interval() == (129.5, 130.5)
    assert Reported(range=(130, 150)).as_text() == "130 to 150 tok/s"
    found = reported("{value: 50.50, basis: decode}")
    assert Reported.from_json(found.to_json()) == found
    assert (found.basis, found.outcome) == (Basis.DECODE, None)
    assert reported("{outcome: nan}").outcome is OutcomeStated.NAN


@given(whole=st.integers(0, 10**6), places=st.integers(0, 6), data=st.data())
def test_the_interval_is_one_unit_of_the_last_place_around_the_number(
    whole: int, places: int, data: st.DataObject
) -> None:
    digits = data.draw(st.text("0123456789", min_size=places, max_size=places))
    written = f"{whole}.{digits}" if places else str(whole)
    if float(written) == 0:
        return
    interval = reported(f"{{value: {written}}}").interval()
    assert interval is not None
    low, high = interval
    assert low <= float(written) <= high
    # Near nothing the lower end stays at nothing; the ends are floats, each off by up to half a unit of its own.
    off = 4 * math.ulp(high)
    assert high - max(low, float(written) - 0.5 * 10**-places) == pytest.approx(10**-places, rel=1e-4, abs=off)
