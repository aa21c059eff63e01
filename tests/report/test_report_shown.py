"""How numbers and foreign text are shown."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from auditor.report.shown import figure, milliseconds, numbers_in, one_line, percent, plain


@pytest.mark.parametrize(
    ("value", "marks", "text"),
    [
        (59.7526, (), "59.75"),
        (129.96, (130,), "129.96"),
        (129.9996, (130,), "129.9996"),
        (130.0, (130,), "130"),
        (129.4996, (129.5,), "129.4996"),
        (5816.4, (), "5,816"),
        (123456.7, (), "123,457"),
        (0.00123456, (), "0.001235"),
        (0.0, (), "0"),
        (74.0, (), "74"),
    ],
)
def test_figures(value: float, marks: tuple[float, ...], text: str) -> None:
    assert figure(value, marks) == text


@given(st.floats(1e-6, 1e9), st.lists(st.floats(1e-6, 1e9), max_size=4))
def test_rounding_never_reaches_a_mark_that_the_value_does_not(value: float, marks: list[float]) -> None:
    shown = float(figure(value, marks).replace(",", ""))
    for mark in marks:
        assert (shown > mark) - (shown < mark) == (value > mark) - (value < mark)
    assert math.isclose(shown, value, rel_tol=6e-4)


@pytest.mark.parametrize(
    ("share", "text"), [(1, "100 %"), (0.99999, "99.999 %"), (0, "0 %"), (0.00001, "0.001 %"), (0.906215, "90.6 %")]
)
def test_a_share_is_all_or_nothing_only_when_it_is(share: float, text: str) -> None:
    assert percent(share) == text


def test_a_gap_is_zero_only_when_it_is() -> None:
    assert milliseconds(0) == "0 ms"
    assert milliseconds(1) == "0.000001 ms"


def test_the_numbers_of_a_claim() -> None:
    assert numbers_in("130 to 150 tok/s") == (130, 150)
    assert numbers_in("1,950.5 at 256") == (1950.5, 256)


@pytest.mark.parametrize(
    "code", [0, 0x1B, 0x7F, 0x85, 0x200B, 0x2028, 0x202E, 0x2066, 0xFEFF, 0xFFFE, 0xE0001, 0x1FFFF]
)
def test_what_cannot_be_seen_is_shown(code: int) -> None:
    assert plain(f"a{chr(code)}b") == f"a\\u{code:04X}b"


def test_honest_text_stays_as_it_is() -> None:
    text = "naïve Pécs عربي 日本語 👩\u200d💻 a\tb\nc"
    assert plain(text) == text
    assert one_line("a\n b\u2028c") == "a b c"


@given(st.text())
def test_shown_text_holds_no_control_character(text: str) -> None:
    assert all(ord(character) >= 32 or character in "\n\t" for character in plain(text))


def test_long_text_is_cut() -> None:
    assert len(plain("x" * 10_000, 100)) == 102
