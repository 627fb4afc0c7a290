"""The page in a real browser: no errors, no requests, sorting and filtering, narrow, dark, print."""

from __future__ import annotations

import base64
import os
import re
import shutil
from types import SimpleNamespace

import pytest
import sample_bringup

webdriver = pytest.importorskip("selenium.webdriver", reason="no selenium: Debian's package is python3-selenium")
from selenium.webdriver.chrome.service import Service  # noqa: E402  (only where selenium is)


@pytest.fixture(scope="module")
def browser():
    binary = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
    driver = shutil.which("chromedriver")
    if not binary or not driver:
        pytest.skip("no chromium and chromedriver: Debian's packages are chromium and chromium-driver")
    options = webdriver.ChromeOptions()
    options.binary_location = binary
    for argument in ("--headless=new", "--disable-gpu", "--disable-dev-shm-usage", "--hide-scrollbars"):
        options.add_argument(argument)
    if os.geteuid() == 0:
        options.add_argument("--no-sandbox")
    options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
    try:
        chrome = webdriver.Chrome(service=Service(driver), options=options)
    except Exception as problem:  # a chromium that cannot start here is a reason to skip, not a fault of the page
        pytest.skip(f"chromium does not start: {str(problem).splitlines()[0]}")
    yield chrome
    chrome.quit()


@pytest.fixture
def show(browser, pages):
    """show(sample, width, media, scheme) loads a page and returns helpers."""
    def load(sample: str, width: int = 1280, media: str = "", scheme: str = "light", scripts: bool = True,
             paper: str = "summary"):
        browser.execute_cdp_cmd("Emulation.setScriptExecutionDisabled", {"value": not scripts})
        browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride",
                                {"width": width, "height": 900, "deviceScaleFactor": 1, "mobile": False})
        browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {
            "media": media, "features": [{"name": "prefers-color-scheme", "value": scheme}]})
        browser.get_log("browser"), browser.get_log("performance")
        browser.get(pages.page(sample, paper).as_uri())
        return SimpleNamespace(run=browser.execute_script, log=lambda: browser.get_log("browser"),
                               performance=lambda: browser.get_log("performance"), command=browser.execute_cdp_cmd)
    return load


BRINGUPS = [(sample, width) for sample in sample_bringup.SAMPLES for width in (360, 1280)]
NAMES = "return [...document.querySelectorAll('#needs-table tbody')].filter(b => !b.hidden)" \
        ".map(b => b.querySelector('th').dataset.sort)"
HEADER = "document.querySelectorAll('#needs-table thead button')[{}].click()"


def test_no_error_and_no_request(show, sample, pages):
    page = show(sample)
    assert page.log() == []
    requests = re.findall(r'"url":"((?!data:)[^"]*)"', "".join(entry["message"] for entry in page.performance()
                          if "Network.requestWillBeSent" in entry["message"]))
    assert set(requests) <= {pages.page(sample).as_uri()}
    assert page.run("return performance.getEntriesByType('resource').length") == 0


def test_sorts_needs_with_their_explanations(show):
    page = show("failing")
    reported = page.run(NAMES)
    page.run(HEADER.format(0))
    assert page.run(NAMES) == sorted(reported, key=str.lower)
    page.run(HEADER.format(0))
    assert page.run(NAMES) == sorted(reported, key=str.lower, reverse=True)
    assert page.run("return document.querySelector('#needs-table thead th').ariaSort") == "descending"
    page.run(HEADER.format(3))  # headroom; what was not measured comes last both ways
    assert page.run(NAMES)[0] == "Bytes read" and page.run(NAMES)[-1] == "Read calls"
    page.run(HEADER.format(3))
    assert page.run(NAMES)[0] == "Memory bandwidth" and page.run(NAMES)[-1] == "Read calls"
    page.run(HEADER.format(4))
    assert page.run(NAMES) == reported  # the verdict's order is the one that was reported
    assert page.run("return [...document.querySelectorAll('#needs-table tbody')].every(b => b.rows.length === 2)")


def test_sorts_quantities_by_size(show):
    page = show("failing")
    page.run("const t = document.querySelector('.metrics'); t.querySelectorAll('thead button')[1].click();")
    values = page.run("return [...document.querySelectorAll('.metrics tbody')[0].rows].map(r => +r.cells[1].dataset.sort)")
    assert values == sorted(values) and len(values) == 3


def test_filters_by_verdict_and_text(show):
    page = show("failing")
    everything = page.run(NAMES)
    chip = "document.querySelector('.chip[data-outcome=\"{}\"]').click()"
    page.run(chip.format("PASS"))
    assert len(page.run(NAMES)) == len(everything) - 4
    assert page.run("return document.querySelector('.shown').textContent") == "4 of 8 shown"
    page.run(chip.format("PASS"))
    typed = "const i = document.querySelector('.controls input'); i.value = '{}'; i.dispatchEvent(new Event('input'))"
    page.run(typed.format("STRADDLES"))
    assert page.run(NAMES) == ["read.p99"]
    page.run(typed.format(""))
    assert page.run(NAMES) == everything
    page.run("const i = document.querySelectorAll('.controls input')[1]; i.value = 'shard'; i.dispatchEvent(new Event('input'))")
    assert page.run("return [...document.querySelectorAll('.point')].filter(p => !p.hidden).length") == 1


def test_a_link_opens_the_fold_it_points_to(show):
    page = show("failing")
    assert not page.run("return document.getElementById('point-3').open")
    page.run("location.hash = '#point-3'")
    assert page.run("return new Promise(done => setTimeout(() => done(document.getElementById('point-3').open), 50))")


@pytest.mark.parametrize("sample, width", [("failing", 360), ("failing", 768), ("failing", 1280), ("golden", 360),
                                           ("hostile", 360), ("interrupted", 360), ("without_needs", 360),
                                           ("comparison_worse", 360), ("comparison_worse", 768),
                                           ("comparison_worse", 1280), ("comparison_hostile", 360),
                                           ("comparison_stored", 360), ("comparison_three", 360),
                                           ("sizing_golden", 360), ("sizing_golden", 768), ("sizing_golden", 1280),
                                           ("sizing_hostile", 360), ("sizing_fed", 360),
                                           ("fleet_found", 360), ("fleet_found", 1280), ("fleet_hostile", 360),
                                           ("fleet_hostile", 1280), ("comparison_hostile", 1280), ("sizing_hostile", 1280),
                                           ("history_change", 360), ("history_change", 1280), ("history_hostile", 360), *BRINGUPS])
def test_nothing_overflows_sideways(show, sample, width):
    page = show(sample, width)
    page.run("document.querySelectorAll('details').forEach(d => d.open = true)")
    assert page.run("return document.documentElement.scrollWidth") <= width
    # Nothing reaches out of the window but what scrolls in a box of its own.
    outside = page.run("""
      return [...document.body.querySelectorAll('*')].filter(e => !e.closest('.scroll') && !e.closest('thead'))
        .filter(e => e.getBoundingClientRect().right > innerWidth + 1).map(e => e.outerHTML.slice(0, 80))""")
    assert outside == []


def test_dark_follows_the_system(show):
    colour = "return getComputedStyle(document.body).backgroundColor"
    light, dark = show("passing").run(colour), show("passing", scheme="dark").run(colour)
    assert light == "rgb(255, 255, 255)" and dark == "rgb(20, 23, 27)"
    # One drawing follows: its texts change with the page.
    text = "return getComputedStyle(document.querySelector('.plot text')).fill"
    assert show("passing").run(text) != show("passing", scheme="dark").run(text)


@pytest.mark.parametrize("sample", ["failing", "comparison_worse", "comparison_stored", "comparison_hostile",
                                    "sizing_golden", "sizing_hostile", "fleet_found", "fleet_hostile", "history_change",
                                    "history_hostile", *sample_bringup.SAMPLES])
def test_texts_of_figures_stay_inside(show, sample):
    page = show(sample)
    page.run("document.querySelectorAll('details').forEach(d => d.open = true)")
    clipped = page.run("""
      return [...document.querySelectorAll('.plot')].flatMap(plot => {
        const frame = plot.getBoundingClientRect();
        return [...plot.querySelectorAll('text')].filter(t => {
          const box = t.getBoundingClientRect();
          return box.left < frame.left - 1 || box.right > frame.right + 1 || box.top < frame.top - 1 || box.bottom > frame.bottom + 1;
        }).map(t => t.textContent);
      })""")
    assert clipped == []


SHEETS = {"A4": (8.27, 11.69), "Letter": (8.5, 11)}  # [inches]


def sheets(page, size="A4"):
    """How many sheets of paper the page takes."""
    width, height = SHEETS[size]
    pdf = base64.b64decode(page.command("Page.printToPDF", {"paperWidth": width, "paperHeight": height, "printBackground": True})["data"])
    assert pdf.startswith(b"%PDF")
    return len(re.findall(rb"/Type\s*/Page\b", pdf))


@pytest.mark.parametrize("size", SHEETS)
@pytest.mark.parametrize("sample", ["many_needs", "without_needs", "comparison_worse", "comparison_three"])
def test_a_printed_summary_takes_two_sheets(show, sample, size):
    page = show(sample, 760, media="print")
    assert page.run("return document.querySelector('.hero').getBoundingClientRect().height") > 0
    assert 1 <= sheets(page, size) <= 2
    # What decided is on it, every section at least by its name, and nothing that only screens have.
    shown = "return [...document.querySelectorAll('h2')].every(h => h.getBoundingClientRect().height > 0)"
    assert page.run(shown)
    assert page.run("return [...document.querySelectorAll('.next-steps li *')].every(e => e.scrollHeight <= e.clientHeight + 1 || !e.clientHeight)")
    assert page.run("return getComputedStyle(document.querySelector('nav')).display") == "none"


def test_a_printed_summary_leaves_out_the_least(show):
    page = show("many_needs", 760, media="print")
    rows = page.run("return [...document.querySelectorAll('#needs-table tbody')].map(b => b.getBoundingClientRect().height > 0)")
    reported = page.run("return document.querySelector('#needs .on-paper').textContent")
    assert rows[0] and not rows[-1] and rows == sorted(rows, reverse=True)  # from the worst on, none between
    assert reported == f"{rows.count(False)} more on the page itself."
    assert page.run("return document.querySelector('#next .on-paper').getBoundingClientRect().height") > 0
    wide = show("many_needs")
    assert wide.run("return [...document.querySelectorAll('#needs-table tbody')].every(b => b.getBoundingClientRect().height > 0)")
    assert wide.run("return [...document.querySelectorAll('.on-paper')].every(b => b.getBoundingClientRect().height === 0)")


@pytest.mark.parametrize("sample", ["failing", "comparison_worse", "sizing_golden", "fleet_found", "history_change"])
def test_print_in_full_is_light_and_open(show, sample):
    page = show(sample, 760, media="print", scheme="dark", paper="full")
    assert sheets(page) > 2
    assert page.run("return getComputedStyle(document.body).backgroundColor") == "rgb(255, 255, 255)"
    assert page.run("return getComputedStyle(document.querySelector('nav')).display") == "none"
    folded = page.run("""
      return [...document.querySelectorAll('details:not([open]) table, details:not([open]) dl')]
        .filter(e => e.getBoundingClientRect().height === 0).length""")
    assert folded == 0
    pdf = base64.b64decode(page.command("Page.printToPDF", {"preferCSSPageSize": True})["data"])
    assert pdf.startswith(b"%PDF") and len(pdf) > 20_000


def test_sorts_and_filters_compared_metrics(show):
    page = show("comparison_worse")
    shown = "return [...document.querySelectorAll('#pair-1-rows > tbody')].filter(b => !b.hidden)" \
            ".map(b => b.querySelector('th').dataset.sort)"
    reported = page.run(shown)
    assert reported[:2] == ["read_bandwidth", "write_bandwidth"]  # the gates
    header = "document.querySelectorAll('#pair-1-rows thead button')[{}].click()"
    page.run(header.format(3))
    assert page.run(shown)[:2] == ["cpu_cores", "read_bandwidth"] and page.run(shown)[-1] == "hit_ratio"  # -50, -9.9 ... +20 %
    page.run(header.format(4))
    assert page.run(shown) == reported
    page.run("document.querySelector('.chip[data-outcome=\"inconclusive\"]').click()")
    assert len(page.run(shown)) == len(reported) - 2
    page.run("const i = document.querySelector('.controls input'); i.value = 'metadata'; i.dispatchEvent(new Event('input'))")
    assert page.run(shown) == []


@pytest.mark.parametrize("width", [360, 1280])
def test_a_table_within_a_row_stays_a_table(show, width):
    page = show("comparison_worse", width)
    page.run("document.querySelectorAll('details').forEach(d => d.open = true)")
    inner = "document.querySelector('#pair-1-rows .why table')"
    assert page.run(f"const t = {inner}; return [t.rows.length, t.querySelectorAll('button').length]") == [2, 0]
    tops = page.run(f"return [...{inner}.rows].map(r => new Set([...r.cells].map(c => c.getBoundingClientRect().top)).size)")
    assert tops == [1, 1]  # name and values beside each other, and so their headings


def test_sorts_and_filters_phases_and_fixes(show):
    page = show("sizing_golden")
    shown = "return [...document.querySelectorAll('#{} tbody')].filter(b => !b.hidden).map(b => b.querySelector('th').dataset.sort)"
    reported = page.run(shown.format("phases-table"))
    page.run("document.querySelectorAll('#phases-table thead button')[4].click()")  # GPUs fed, fewest first
    unfed = {"Checkpoint save", "Checkpoint restore"}  # they feed no number of GPUs: last both ways
    phases = page.run(shown.format("phases-table"))
    assert phases[:3] == ["Cold epoch", "Opening files", "Host memory"] and set(phases[3:]) == unfed
    page.run("document.querySelectorAll('#phases-table thead button')[4].click()")
    phases = page.run(shown.format("phases-table"))
    assert phases[:3] == ["Host memory", "Opening files", "Cold epoch"] and set(phases[3:]) == unfed
    page.run("document.querySelector('#phases .chip[data-outcome=\"FAIL\"]').click()")
    assert len(page.run(shown.format("phases-table"))) == len(reported) - 1
    page.run("const i = document.querySelector('#fixes input'); i.value = 'shards'; i.dispatchEvent(new Event('input'))")
    assert page.run(shown.format("fixes-table")) == ["Pack the samples into shards"]


def test_sorts_and_filters_nodes(show):
    page = show("fleet_found")
    shown = "return [...document.querySelectorAll('#{} tbody')].filter(b => !b.hidden).map(b => b.querySelector('th').dataset.sort)"
    assert page.run(shown.format("nodes-table"))[:2] == ["node17", "node41"]
    page.run("document.querySelectorAll('#nodes-table thead button')[0].click()")
    assert page.run(shown.format("nodes-table"))[:2] == ["node01", "node02"]
    page.run("const i = document.querySelector('#nodes input'); i.value = 'rack r3'; i.dispatchEvent(new Event('input'))")
    assert len(page.run(shown.format("nodes-table"))) == 8
    page.run("document.querySelector('#findings .chip[data-outcome=\"suspected\"]').click()")
    assert page.run(shown.format("outliers-table")) == ["node17"]


@pytest.mark.parametrize("sample", ["comparison_worse", "sizing_golden", "fleet_found"])
def test_keyboard_reaches_controls_in_reading_order(show, sample):
    page = show(sample)
    order = page.run("""
      const stops = [...document.querySelectorAll('a[href], button, input, summary, [tabindex="0"]')]
        .filter(e => e.checkVisibility() && e.tabIndex >= 0);
      return stops.every((e, i) => i === 0 || (stops[i - 1].compareDocumentPosition(e) & Node.DOCUMENT_POSITION_FOLLOWING))
        && !document.querySelector('[tabindex]:not([tabindex="0"])') && stops.length > 20""")
    assert order


@pytest.mark.parametrize("sample, words", [
    ("failing", ["node17 is not ready for", "Bytes read", "Do next"]),
    ("comparison_worse", ["1 of 2 gates is worse", "3 worse, 1 better", "file_system.options", "read_bandwidth", "go on to 12 blocks", "Do next"]),
    ("sizing_golden", ["This storage is expected to feed 73", "Checkpoint save", "What would feed more", "extrapolated: a guess"])])
def test_reads_without_scripts(show, browser, sample, words):
    show(sample, scripts=False)
    try:
        # The driver's own scripts are off too: the picture of the page is all there is to ask.
        tree = browser.execute_cdp_cmd("DOM.getDocument", {"depth": -1})["root"]
        assert tree["children"]
        text = browser.execute_cdp_cmd("Accessibility.getFullAXTree", {})["nodes"]
        names = " ".join(str(node.get("name", {}).get("value", "")) for node in text)
        assert all(word in names for word in words)
    finally:
        browser.execute_cdp_cmd("Emulation.setScriptExecutionDisabled", {"value": False})
