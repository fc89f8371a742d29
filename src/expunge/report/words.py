"""How numbers are written. What a promise costs is rounded up, so that the page never promises more than the certificate."""

import math
from datetime import datetime

_SUPERSCRIPT = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")
THIN = "\u202f"  # a narrow space that does not break
LABELS = {
    "blockwise_nft": "Block-wise NFT",
    "nft": "NFT",
    "nft_clipped": "NFT, clipped model",
    "output_perturbation": "Output perturbation",
    "retrain": "Retraining",
    "from_public": "Public init., same steps",
    "from_public_noised": "Public init., same run with noise",
    "fine_tune": "Fine-tuning",
    "gradient_ascent": "Gradient ascent",
    "influence": "Influence function",
    "salun": "SalUn",
    "l1_sparse": "ℓ₁-sparse",
    "amun": "AMUN",
}


def label(method: str) -> str:
    """A method's name for people."""
    return LABELS.get(method, method.replace("_", " "))


def up(value: float, digits: int = 4) -> float:
    """The next number of so many significant digits that is not smaller (but for a rounding error of the last bits)."""
    if value == 0.0 or not math.isfinite(value):
        return value
    power = digits - 1 - math.floor(math.log10(abs(value)))
    scaled = value * 10.0**power if power < 300 else value
    return math.ceil(scaled * (1.0 - 1e-14)) / 10.0**power if power < 300 else value


def number(value: float, digits: int = 4) -> str:
    """Significant digits; a power of ten where there would be many zeros."""
    if value != 0.0 and math.isfinite(value) and not 1e-3 <= abs(value) < 1e6:
        mantissa, exponent = f"{value:.{digits - 1}e}".split("e")
        mantissa = mantissa.rstrip("0").rstrip(".") if "." in mantissa else mantissa
        ten = "10" + str(int(exponent)).translate(_SUPERSCRIPT)
        return ten if mantissa == "1" else f"{mantissa}{THIN}×{THIN}{ten}"
    return f"{value:.{digits}g}" if abs(value) < 1e4 else f"{value:,.0f}"


def cost(value: float) -> str:
    """A number that must not look smaller than it is."""
    return number(up(value))


def percent(value: float, digits: int = 1) -> str:
    """A fraction in percent."""
    return f"{100 * value:.{digits}f}{THIN}%"


def percent_up(value: float) -> str:
    """A fraction in percent, not smaller than it is."""
    return f"{math.ceil(1000 * value * (1.0 - 1e-14)) / 10:.1f}{THIN}%"


def points(difference: float) -> str:
    """A difference of two fractions, in percentage points."""
    found = f"{abs(100 * difference):.1f}"
    return f"{found} point{'' if found == '1.0' else 's'}"


def seconds(value: float) -> str:
    """A time as people say it."""
    if value < 1.0:
        return f"{1000 * value:.0f}{THIN}ms"
    if value < 120.0:
        return f"{value:.1f}{THIN}s"
    minutes = value / 60.0
    return f"{minutes:.0f}{THIN}min" if minutes < 120.0 else f"{minutes / 60.0:.1f}{THIN}h"


def day(text: str) -> str:
    """A moment as people write it; anything else stays as it is."""
    try:
        moment = datetime.fromisoformat(text.replace("Z", "+00:00"))
    except ValueError:
        return text
    zone = f" {moment.tzname()}" if moment.tzinfo else ""
    return f"{moment.day} {moment:%B %Y, %H:%M}{zone}"


def count(value: int, thing: str) -> str:
    """So many things."""
    return f"{value:,} {thing}{'' if value == 1 else 's'}"


def capital(text: str) -> str:
    """The first letter large, the rest untouched."""
    return text[:1].upper() + text[1:]
