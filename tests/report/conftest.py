import json
import shutil

import pytest
from exhibits import BROWSERS, EXAMPLE, QUIETLY, hostile, reseal, spoiled

from expunge.report import from_dict


@pytest.fixture
def values():
    """The example's JSON, to be changed by a test."""
    return json.loads(EXAMPLE.read_text(encoding="utf-8"))


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
