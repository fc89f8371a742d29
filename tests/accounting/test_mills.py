from mpmath import mp, mpf

from expunge.accounting.mills import mills, mills_slope
from reference import off

POINTS = [
    -37.5,
    -30.0,
    -8.0,
    -1.0,
    -1e-9,
    0.0,
    1e-9,
    0.5,
    1.0,
    2.0,
    3.0,
    3.999999999,
    4.0,
    4.1,
    5.0,
    10.0,
    38.0,
    1e3,
    1e8,
]


def true_mills(x):
    return mp.ncdf(-mpf(x)) / mp.npdf(x)


def test_mills_ratio_is_exact_on_both_sides_of_its_switch():
    for x in POINTS:
        assert off(mills(x), true_mills(x)) < 2e-13, x


def test_its_slope_is_exact_where_two_terms_nearly_cancel():
    for x in POINTS:
        with mp.workdps(90):
            true = 1 - mpf(x) * true_mills(x)
        assert off(mills_slope(x), true) < 2e-13, x
