import pytest
from hypothesis import given
from hypothesis import strategies as st

from expunge.report import words


@given(st.floats(1e-200, 1e200), st.integers(2, 6))
def test_rounding_up_never_promises_more(value, digits):
    found = words.up(value, digits)
    assert found >= value * (1 - 1e-13)
    assert found <= value * (1 + 10.0 ** (1 - digits)) * (1 + 1e-12)


@given(st.floats(0, 1))
def test_percent_up_never_promises_more(value):
    assert float(words.percent_up(value).split("\u202f")[0]) >= 100 * value * (1 - 1e-12)


@pytest.mark.parametrize(
    ("value", "written"),
    [
        (1e-5, "10⁻⁵"),
        (2.5e-7, "2.5\u202f×\u202f10⁻⁷"),
        (0.0, "0"),
        (0.09092, "0.09092"),
        (12345.0, "12,345"),
        (1e6, "10⁶"),
        (10.0, "10"),
    ],
)
def test_numbers(value, written):
    assert words.number(value) == written


def test_a_cost_with_rounding_errors_of_the_accountant_is_not_blown_up():
    assert words.cost(9.99999999996) == "10"
    assert words.cost(10.0001) == "10.01"


@pytest.mark.parametrize(
    ("value", "written"), [(0.25, "250\u202fms"), (1.5, "1.5\u202fs"), (600, "10\u202fmin"), (9000, "2.5\u202fh")]
)
def test_times(value, written):
    assert words.seconds(value) == written


@pytest.mark.parametrize(
    ("text", "written"),
    [
        ("2026-11-19T06:10:48+00:00", "19 November 2026, 06:10 UTC"),
        ("2026-11-19T06:10:48Z", "19 November 2026, 06:10 UTC"),
        ("once", "once"),
    ],
)
def test_moments(text, written):
    assert words.day(text) == written
