import base64
import hashlib
import re
from html.parser import HTMLParser

import pytest

from expunge.report import from_dict, render, write
from expunge.report.page import ASSETS, facts


class Page(HTMLParser):
    """Every element with its attributes, and the text of each section."""

    def __init__(self, content):
        super().__init__()
        self.elements, self.sections, self._stack, self._silent = [], {}, [], 0
        self.scripts = []
        self.feed(content)

    def handle_starttag(self, tag, attributes):
        self.elements.append((tag, dict(attributes)))
        if tag == "section":
            self._stack.append(dict(attributes)["id"])
            self.sections[self._stack[-1]] = ""
        self._silent += tag in ("script", "style")

    def handle_endtag(self, tag):
        if tag == "section":
            self._stack.pop()
        self._silent -= tag in ("script", "style")

    def handle_data(self, data):
        if self._silent:
            self.scripts.append(data)
        elif self._stack:
            self.sections[self._stack[-1]] += data

    def count(self, tag):
        return sum(name == tag for name, _ in self.elements)


SECTIONS = [
    "asked",
    "certificate",
    "assumptions",
    "progress",
    "calibration",
    "privacy",
    "recertification",
    "signal",
    "audits",
    "roc",
    "cost",
    "verdict",
]


def test_every_section_is_there_and_says_how_to_read_it(results):
    content = render(results)
    assert list(Page(content).sections) == SECTIONS
    assert content.count('<p class="read">') == len(SECTIONS)
    assert "Not measured" not in content


def test_every_figure_has_words_and_a_table(results):
    page = Page(render(results))
    plots = [attributes for tag, attributes in page.elements if attributes.get("role") == "img"]
    assert len(plots) == page.count("figure") == 13
    assert all(len(plot["aria-label"]) > 40 for plot in plots)
    assert page.count("table") >= len(plots)


def test_what_was_not_measured_is_said_to_be_not_measured(asked):
    page = Page(render(from_dict(asked)))
    assert "There is none." in page.sections["certificate"]
    for name in SECTIONS[2:-1]:
        assert "Not measured" in page.sections[name], name
    assert "Nothing is certified" in page.sections["verdict"]
    assert page.count("figure") == 0


@pytest.mark.parametrize(
    "part", ["calibration", "comparison", "curves", "signal", "progress", "cost", "verification", "plan"]
)
def test_any_part_may_be_missing(values, part):
    values[part] = None
    assert list(Page(render(from_dict(values))).sections) == SECTIONS


def test_nothing_from_a_file_becomes_markup(dangerous, results):
    page, plain = Page(render(dangerous)), Page(render(results))
    assert page.count("script") == plain.count("script") == 3
    assert page.count("img") == 0
    assert page.count("a") == plain.count("a")
    assert not any(name.startswith("on") for _, attributes in page.elements for name in attributes)
    assert "<script>window.pwned=1</script>" in page.sections["asked"]  # as text


def test_the_policy_names_the_scripts_and_allows_no_connection(results):
    page = Page(render(results))
    (policy,) = (a["content"] for _, a in page.elements if a.get("http-equiv") == "Content-Security-Policy")
    assert policy.startswith("default-src 'none';")
    for name in ("plotly-basic.min.js", "report.js"):
        digest = hashlib.sha256((ASSETS / name).read_bytes()).digest()
        assert base64.b64encode(digest).decode() in policy
    assert "unsafe-inline'; script" in policy
    assert "unsafe" not in policy.split("script-src")[1]


def test_the_page_refers_to_no_other_file(results):
    addresses = [
        value for _, a in Page(render(results)).elements for name, value in a.items() if name in ("src", "href")
    ]
    assert addresses
    assert all(address.startswith("#") or address == "data:," for address in addresses)


def test_the_page_stays_small_enough_to_send(results, tmp_path):
    size = write(results, tmp_path / "report.html")
    assert size == (tmp_path / "report.html").stat().st_size < 1_500_000


def test_plotly_is_the_published_file():
    content = (ASSETS / "plotly-basic.min.js").read_bytes()
    assert re.search(rb"plotly.js \(basic - minified\) v4\.1\.1\b", content)
    assert hashlib.sha256(content).hexdigest() == "99784e3abfb07b142a15e521a439e6d9addceadb3f79553fd24c72774f0649ba"


def test_what_was_written_for_a_terminal_is_shown_without_its_quotes(values):
    assert any("`" in caveat for caveat in values["certificate"]["caveats"])
    trusted = render(from_dict(values)).split("Taken on trust")[1].split("</ul>")[0]
    assert "proximity in the last of hops" in trusted
    assert "`" not in trusted


def test_accuracy_without_the_removed_class_is_called_so(values):
    for row in values["comparison"]["rows"]:
        row["audit"]["accuracy"]["test_retained_classes"] = 0.9
    assert [name for name, _, _ in facts(from_dict(values))][2] == "Test accuracy, other classes"
