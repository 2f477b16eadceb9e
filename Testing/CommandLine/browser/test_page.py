# Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0
"""The page in a browser: Debian's Chromium, driven by Playwright."""

import csv
import io
import json
import re
import shutil

import axe_playwright_python.sync_playwright as axe
import playwright.sync_api as playwright
import pytest

from conftest import run
from report_pages import Page, make_batch

ROWS = "[...document.querySelectorAll('#table tbody tr')].map((row) => row.querySelector('.name bdi').textContent)"


@pytest.fixture(scope="module")
def report(tmp_path_factory):
    folder = tmp_path_factory.mktemp("report")
    slides, results = make_batch(folder)
    run("report", results, "--slides", slides, "-o", folder / "report.html")
    return folder / "report.html"


@pytest.fixture(scope="module")
def browser():
    with playwright.sync_playwright() as driver:
        chromium = driver.chromium.launch(executable_path=shutil.which("chromium"), args=["--no-sandbox"])
        yield chromium
        chromium.close()


@pytest.fixture(params=[1440, 390])
def page(request, browser, report):
    context = browser.new_context(viewport={"width": request.param, "height": 900}, accept_downloads=True)
    page = context.new_page()
    page.wrong, page.asked = [], []
    page.on("console", lambda message: page.wrong.append(message.text))
    page.on("pageerror", lambda error: page.wrong.append(str(error)))
    page.on("request", lambda asked: page.asked.append(asked.url.split(":")[0]))
    page.goto(report.as_uri())
    page.is_wide = request.param > 760
    yield page
    assert page.wrong == [] and set(page.asked) <= {"file", "data", "blob"}
    context.close()


def sort(page, title, is_down=False):
    if not page.is_wide:
        page.select_option("#sort", label=f"{title}, falling" if is_down else title, force=True)
        return
    button = page.get_by_role("button", name=title, exact=True)
    button.click()
    if (page.locator("th[aria-sort]").get_attribute("aria-sort") == "descending") != is_down:
        button.click()


def test_pictures_load_and_nothing_overflows(page):
    page.locator(".thumb[data-state=drawn]").nth(3).wait_for()
    assert page.evaluate("[...document.querySelectorAll('.thumb canvas')].every((canvas) => canvas.width > 50)")
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    assert page.locator(".thumb[data-state=failed]").count() == 0
    colors = "((canvas) => [...canvas.getContext('2d').getImageData(2, 2, 1, 1).data])(document.querySelector('tr[data-number=\"1\"] .thumb canvas'))"
    red, green, blue, _ = page.evaluate(colors)  # tissue
    assert red > green + 40 and blue > green + 20


def test_sorts(page, report):
    areas = {name: slide.get("tissueMm2") for name, slide in Page(report).slides.items()}
    known = sorted((name for name in areas if areas[name] is not None), key=areas.get)
    sort(page, "Tissue mm²")
    assert page.evaluate(ROWS) == [*known, "broken"]  # what is not known comes last
    sort(page, "Tissue mm²", is_down=True)
    assert page.evaluate(ROWS) == [*reversed(known), "broken"]
    if page.is_wide:
        assert page.evaluate("document.querySelector('th[aria-sort]').getAttribute('aria-sort')") == "descending"


def test_fields_of_tables_are_sorted_as_numbers_and_shown_as_they_are(page):
    sort(page, "case")
    assert page.evaluate(ROWS) == ["glass", "b", "c", "a", "broken"]
    shown = page.evaluate("[...document.querySelectorAll('#table td[data-title=case]')].map((cell) => cell.textContent)")
    assert shown == ["007", "1e5", "12345678901234567890", "12345678901234567891", ""]


def test_searches_and_filters(page):
    page.fill("#search", "jane doe 1")
    assert page.evaluate(ROWS) == ["b"]
    page.fill("#search", "")
    page.select_option("#filter", "failed")
    assert page.evaluate(ROWS) == ["broken"]
    page.select_option("#filter", "all")
    page.click("#doubts button[data-code=W-DOUBT-MASK-EMPTY]")
    assert page.evaluate(ROWS) == ["glass"]
    page.click("#doubts button[data-code=W-DOUBT-MASK-EMPTY]")
    assert len(page.evaluate(ROWS)) == 5


def test_columns_and_export(page, report):
    page.click("#columns summary")
    page.locator("#column-list").get_by_label("Tissue mm²", exact=True).uncheck()
    assert page.locator("td[data-title='Tissue mm²']").count() == 0
    page.keyboard.press("Escape")
    page.click("#columns summary")
    with page.expect_download() as download:
        page.click("#export")
    with open(download.value.path(), newline="") as file:
        rows = {row["name"]: row for row in csv.DictReader(io.StringIO(file.read()))}
    slides = Page(report).slides
    assert set(rows) == set(slides)
    for name, slide in slides.items():
        assert rows[name]["tissueMm2"] == ("" if slide.get("tissueMm2") is None else rows[name]["tissueMm2"])
        assert float(rows[name]["tissueMm2"] or "nan") == pytest.approx(slide.get("tissueMm2", float("nan")), nan_ok=True)
        assert rows[name]["patient"] == slide["columns"].get("patient", "")


def test_keyboard(page):
    page.keyboard.press("/")
    assert page.evaluate("document.activeElement.id") == "search"
    page.locator("#table tbody tr").first.focus()
    page.keyboard.press("ArrowDown")
    assert page.evaluate("document.activeElement.dataset.number") == "2"
    page.keyboard.press("Enter")
    page.wait_for_selector("#view-stage[data-state=drawn]")
    scale = page.evaluate("Number(document.getElementById('view-stage').dataset.scale)")
    page.keyboard.press("+")
    assert page.evaluate("Number(document.getElementById('view-stage').dataset.scale)") == pytest.approx(1.4 * scale)
    page.keyboard.press("0")
    assert page.evaluate("Number(document.getElementById('view-stage').dataset.scale)") == pytest.approx(scale)
    page.keyboard.press("n")
    playwright.expect(page.locator("#view-title")).to_have_text(re.compile("^(broken|c)$"))
    page.keyboard.press("Escape")
    assert not page.evaluate("document.getElementById('view').open")
    assert page.evaluate("document.activeElement.tagName") == "TR"


def test_overlay_and_classes_on_and_off(page):
    page.locator("#table tbody tr[data-number='1']").click(position={"x": 5, "y": 5})
    page.wait_for_selector("#view-stage[data-state=drawn]")
    look = "document.querySelector('#view-stage canvas').toDataURL()"
    whole = page.evaluate(look)
    page.keyboard.press("o")
    bare = page.evaluate(look)
    page.keyboard.press("o")
    assert page.evaluate(look) == whole != bare
    page.locator("#view-facts .class input").first.uncheck()
    assert page.evaluate(look) == bare
    page.locator("#view-facts .class input").first.check()
    page.evaluate("((range) => { range.value = 0; range.dispatchEvent(new Event('input')); })(document.getElementById('view-opacity'))")
    assert page.evaluate(look) == bare


def test_details_state_the_hash_of_the_slide(page, report):
    (made,) = Page(report).data["slides"][0]["made"]
    page.locator("#table tbody tr[data-number='1']").click(position={"x": 5, "y": 5})
    assert made["inputs"]["slide"] in page.locator("#view-facts").text_content()
    assert "label --preset remedios2023" in page.locator("#provenance").text_content()


def test_ranges_of_probabilities_and_versions(browser, tmp_path):
    """Both are shown where there are several models, and where results are of another version of the program."""
    for n, p in enumerate((0.25, 0.75)):
        (tmp_path / f"{n}.csv").write_text(f"slide,p_normal,p_tumor\na.tif,{1 - p},{p}\n")
    entry = {"slide": "../a.tif", "output": "a.pyramid.tif", "version": "0.0.1", "command": "label", "options": {}, "inputs": {}, "result": {"slide": "a.tif"}}
    (tmp_path / "out").mkdir()
    (tmp_path / "out/manifest.json").write_text(json.dumps({"format": "gigapixel manifest 1", "slides": [entry]}))
    run("report", tmp_path / "out", tmp_path / "0.csv", tmp_path / "1.csv", "-o", tmp_path / "page.html")
    page = browser.new_page(viewport={"width": 1440, "height": 900})
    page.goto((tmp_path / "page.html").as_uri())
    assert page.locator("td[data-title='p tumor']").text_content() == "0.500 (0.250 to 0.750)"
    assert page.locator("td[data-title='Version']").text_content() == "0.0.1"
    page.close()


@pytest.mark.parametrize("shown", ["page", "slide"])
def test_accessibility(page, shown):
    """axe-core, https://github.com/dequelabs/axe-core, finds nothing serious."""
    page.locator(".thumb[data-state=drawn]").nth(3).wait_for()
    if shown == "slide":
        page.locator("#table tbody tr[data-number='1']").click(position={"x": 5, "y": 5})
        page.wait_for_selector("#view-stage[data-state=drawn]")
    found = axe.Axe().run(page).response["violations"]
    assert {(each["id"], node["html"]) for each in found for node in each["nodes"] if each["impact"] in ("serious", "critical")} == set()
