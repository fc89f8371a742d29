import json
import shutil
from pathlib import Path

import pytest

from expunge.report import from_dict
from expunge.report.results import fingerprint

EXAMPLE = Path(__file__).parent / "example.json"
BROWSERS = ("chromium", "chromium-browser", "google-chrome")
QUIETLY = (
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
)


@pytest.fixture
def values():
    """The example's JSON, to be changed by a test."""
    return json.loads(EXAMPLE.read_text(encoding="utf-8"))


def reseal(values):
    """As a forger would: the changed certificate with a fingerprint that matches, and a verification of it."""
    certificate = values["certificate"]
    certificate["sha256"]["certificate"] = fingerprint(certificate)
    for found in (values.get("verification") or {}).get("found", ()):
        if found["name"] == "fingerprint":
            found["detail"] = certificate["sha256"]["certificate"]
    return values


@pytest.fixture
def results(values):
    return from_dict(values)


@pytest.fixture
def asked(values):
    """The least that results can be."""
    return {name: values[name] for name in ("schema", "created", "asked")}


@pytest.fixture(scope="session")
def browser():
    """A headless Chromium."""
    playwright = pytest.importorskip("playwright.sync_api", reason="pip install playwright, to look at the page")
    found = next(filter(None, map(shutil.which, BROWSERS)), None)
    if found is None:
        pytest.skip("no Chromium to look at the page with: apt-get install chromium")
    with playwright.sync_playwright() as driver:
        running = driver.chromium.launch(executable_path=found, args=list(QUIETLY))
        yield running
        running.close()


def spoiled(text):
    """Text that is dangerous wherever it is not escaped."""
    return (
        text
        + """</script><script>window.pwned=1</script><img src=x onerror="window.pwned=1"><a href="https://e.org">a</a>'"&${7*7}"""
    )


def hostile(value, key=""):
    """The document with every text that a person could have written made dangerous."""
    ours = ("schema", "kind", "phase", "accountant", "method", "certificate", "created")
    if isinstance(value, dict):
        return {name: hostile(item, name) for name, item in value.items()}
    if isinstance(value, list):
        return [hostile(item, key) for item in value]
    return spoiled(value) if isinstance(value, str) and key not in ours else value


@pytest.fixture
def dangerous(values):
    made = hostile(values)
    made["certificate"]["guarantee"] = values["certificate"]["guarantee"]
    made["verification"] = values["verification"] | {
        "found": [
            {
                "name": item["name"],
                "detail": item["detail"] if item["name"] == "fingerprint" else spoiled(item["detail"]),
            }
            for item in values["verification"]["found"]
        ]
    }
    return from_dict(reseal(made))
