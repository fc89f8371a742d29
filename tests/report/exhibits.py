"""The example, and ways to forge and to spoil it; the browser that looks at it."""

from pathlib import Path

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


def reseal(values):
    """As a forger would: the changed certificate with a fingerprint that matches, and a verification of it."""
    certificate = values["certificate"]
    certificate["sha256"]["certificate"] = fingerprint(certificate)
    for found in (values.get("verification") or {}).get("found", ()):
        if found["name"] == "fingerprint":
            found["detail"] = certificate["sha256"]["certificate"]
    return values


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
