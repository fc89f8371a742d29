import json
from pathlib import Path

import pytest

EXAMPLE = Path(__file__).parent / "example.json"


@pytest.fixture
def values():
    """The example's JSON, to be changed by a test."""
    return json.loads(EXAMPLE.read_text(encoding="utf-8"))
