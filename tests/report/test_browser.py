"""The page as a browser shows it."""

import pytest

from expunge.report import from_dict, write

NARROW = "document.scrollingElement.scrollWidth <= innerWidth"
LINE = "getComputedStyle(document.querySelector('#plot-privacy .js-line')).stroke"
PAPER = "getComputedStyle(document.body).backgroundColor"


class Shown:
    """A page that was opened, with everything it complained of or asked the network for."""

    def __init__(self, browser, path, *, width=1280, **options):
        self.context = browser.new_context(viewport={"width": width, "height": 800}, **options)
        self.page, self.complaints, self.requests = self.context.new_page(), [], []
        self.page.on("console", lambda message: self.complaints.append(message.text))
        self.page.on("pageerror", lambda error: self.complaints.append(str(error)))
        self.page.on("request", lambda request: self.requests.append(request.url))
        self.page.goto(path.as_uri())

    def drawn(self):
        self.page.wait_for_selector("html[data-drawn]")
        return self

    def ask(self, expression):
        return self.page.evaluate(expression)


@pytest.fixture(scope="module")
def opened(browser):
    """Opens pages, and closes them."""
    shown = []

    def show(path, **options):
        shown.append(Shown(browser, path, **options))
        return shown[-1]

    yield show
    for one in shown:
        one.context.close()


@pytest.fixture
def path(results, tmp_path):
    write(results, tmp_path / "report.html")
    return tmp_path / "report.html"


@pytest.mark.parametrize(("width", "scheme"), [(1280, "light"), (1280, "dark"), (320, "light")])
def test_every_figure_is_drawn_without_complaint_or_network(opened, path, width, scheme):
    shown = opened(path, width=width, color_scheme=scheme).drawn()
    sizes = shown.ask("[...document.querySelectorAll('.plot')].map(p => p.querySelectorAll('.trace').length)")
    assert len(sizes) == 13
    assert all(sizes)
    assert shown.ask(NARROW)
    assert shown.complaints == []
    assert shown.requests == [path.as_uri()]


def test_no_figure_is_wider_than_its_place(opened, path):
    for width in (320, 768):
        shown = opened(path, width=width).drawn()
        fits = "[...document.querySelectorAll('.plot')].every(p => p.querySelector('svg').clientWidth <= p.clientWidth)"
        assert shown.ask(fits)


def test_both_themes_colour_page_and_figures(opened, path):
    shown = opened(path, color_scheme="light").drawn()
    light = shown.ask(PAPER), shown.ask(LINE)
    shown.page.click("#theme")
    dark = shown.ask(PAPER), shown.ask(LINE)
    assert light[0] != dark[0]
    assert light[1] != dark[1]
    other = opened(path, color_scheme="dark").drawn()
    assert (other.ask(PAPER), other.ask(LINE)) == dark
    shown.page.click("#theme")
    assert (shown.ask(PAPER), shown.ask(LINE)) == light


def test_it_prints_in_light_and_in_the_width_of_the_paper(opened, path):
    shown = opened(path, color_scheme="dark").drawn()
    dark = shown.ask(LINE)
    shown.ask("dispatchEvent(new Event('beforeprint'))")
    assert shown.ask(LINE) != dark
    assert shown.ask("Math.max(...[...document.querySelectorAll('.plot svg')].map(s => s.clientWidth))") <= 680
    shown.ask("dispatchEvent(new Event('afterprint'))")
    assert shown.ask(LINE) == dark
    assert shown.page.pdf(format="A4").startswith(b"%PDF")
    assert shown.complaints == []


def test_text_and_tables_need_no_script(opened, path):
    page = opened(path, java_script_enabled=False).page
    assert page.locator(".state").is_visible()
    page.locator("#privacy summary").click()
    assert page.locator("#privacy tbody tr").first.is_visible()
    assert not page.locator("#theme").is_visible()
    assert page.locator("noscript").inner_text() != ""


def test_hostile_names_stay_names(opened, dangerous, tmp_path):
    write(dangerous, tmp_path / "report.html")
    shown = opened(tmp_path / "report.html").drawn()
    assert shown.ask("window.pwned") is None
    assert "<script>" in shown.page.locator("h1").inner_text()
    assert shown.page.locator(".plot img, .plot a").count() == 0
    assert shown.complaints == []
    assert len(shown.requests) == 1
    assert shown.ask(NARROW)


def test_names_that_look_like_markup_stay_text_beside_a_figure(opened, values, tmp_path):
    name = "<b>&amp;</b>"
    values["signal"]["layers"] = [{"name": name, "dimension": 1, "noise": 1.0, "weights": 2.0}]
    write(from_dict(values), tmp_path / "report.html")
    page = opened(tmp_path / "report.html").drawn().page
    assert page.locator("#plot-signal-layers .ytick text").text_content() == name
    assert page.locator("#plot-signal-layers tspan").count() == 0


def test_long_names_leave_room_for_the_figure(opened, values, tmp_path):
    values["signal"]["layers"] = [{"name": 9 * "encoder.layers.", "dimension": 1, "noise": 1.0, "weights": 2.0}]
    write(from_dict(values), tmp_path / "report.html")
    shown = opened(tmp_path / "report.html", width=360).drawn()
    name = shown.page.locator("#plot-signal-layers .ytick text")
    assert "…" in name.text_content()
    assert name.bounding_box()["width"] < 0.5 * shown.page.locator("#plot-signal-layers").bounding_box()["width"]


def test_an_axis_has_numbers_however_close_its_values_are(opened, values, tmp_path):
    values["signal"]["blocks"] = [{"name": "block 0", "dimension": 1, "noise": 7.4, "weights": 6.7}]
    write(from_dict(values), tmp_path / "report.html")
    page = opened(tmp_path / "report.html").drawn().page
    assert page.locator("#plot-signal-blocks .xtick text").all_text_contents() == ["6.7", "7.4"]


def test_a_page_with_nothing_measured_opens_too(opened, asked, tmp_path):
    write(from_dict(asked), tmp_path / "report.html")
    shown = opened(tmp_path / "report.html", width=360).drawn()
    assert shown.complaints == []
    assert shown.ask(NARROW)


def test_it_is_drawn_again_when_the_window_changes(opened, path):
    shown = opened(path, width=1280).drawn()
    before = shown.ask("document.querySelector('#plot-privacy svg').clientWidth")
    shown.page.set_viewport_size({"width": 400, "height": 800})
    for _ in range(100):  # the page's policy forbids the evaluation that wait_for_function is made of
        if shown.ask("document.querySelector('#plot-privacy svg').clientWidth") < before - 100:
            break
        shown.page.wait_for_timeout(100)
    else:
        pytest.fail("the figures kept their width")
    assert shown.ask(NARROW)
