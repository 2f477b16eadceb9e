#!/usr/bin/env python3
# Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0
"""Measures `gigapixel report`: the page of many slides, the time to write it, and the time until a browser shows it.

    write_report.py --program build/bin/gigapixel --slide slide.svs [--slides 100 1000] [--side 1200] [--json result.json]

The slides are squares of --side pixels, cut from --slide at random places, as pyramids; `label` makes their masks, which takes no part
in the figures. CPU is user and system time of the process. With playwright for Python and --browser, Chromium opens the page from the
disk, the best of three times: first paint, and the time until the pictures of the first slides are drawn.
"""

import argparse
import json
import os
import random
import shutil
import subprocess
import tempfile
import time
from pathlib import Path


def call(*words):
    return json.loads(subprocess.run([str(word) for word in words], check=True, stdout=subprocess.PIPE).stdout)


def cut_slides(program, slide, folder, count, side):
    """Slides of real pixels, no two of them alike."""
    levels = call(program, "info", slide, "--json")["levels"]
    places = random.Random(0)
    for number in range(count):
        x, y = (places.randrange(levels[0][length] - side) for length in ("width", "height"))
        subprocess.run([program, "convert", slide, folder / f"slide-{number}.pyramid.tif", "--region", f"{x},{y},{side},{side}", "--quiet"], check=True, stdout=subprocess.DEVNULL)


def run(command):
    """Wall and CPU seconds and peak memory of a process, and what it printed."""
    begin = time.monotonic()
    process = subprocess.Popen([str(part) for part in command], stdout=subprocess.PIPE)
    out = process.stdout.read()
    _, status, usage = os.wait4(process.pid, 0)
    if status != 0:
        raise RuntimeError(f"{command} ended with {status}")
    cpu = usage.ru_utime + usage.ru_stime
    return {"wall_s": time.monotonic() - begin, "cpu_s": cpu, "peak_mb": usage.ru_maxrss * 1024 / 1e6, **json.loads(out)}


def open_page(page, browser):
    """Milliseconds until the browser paints, and until it has drawn the first pictures."""
    from playwright.sync_api import sync_playwright

    with sync_playwright() as driver:
        chromium = driver.chromium.launch(executable_path=browser, args=["--no-sandbox"])
        tab = chromium.new_page(viewport={"width": 1440, "height": 900})
        tab.goto(page.as_uri(), wait_until="commit")
        tab.locator(".thumb[data-state=drawn]").nth(3).wait_for(timeout=120000)
        pictures = tab.evaluate("performance.now()")
        paint = tab.evaluate("performance.getEntriesByName('first-contentful-paint')[0].startTime")
        chromium.close()
    return paint, pictures


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--program", type=Path, required=True)
    parser.add_argument("--slide", type=Path, required=True)
    parser.add_argument("--slides", type=int, nargs="+", default=[100, 1000])
    parser.add_argument("--side", type=int, default=1200)
    parser.add_argument("--browser", default=shutil.which("chromium"))
    parser.add_argument("--json", type=Path)
    arguments = parser.parse_args()
    results = []
    print("| slides | page MB | wall s | CPU s | peak MB | first paint ms | first pictures ms |\n" + "| ---: " * 7 + "|")
    for count in arguments.slides:
        with tempfile.TemporaryDirectory() as folder:
            slides, masks, page = (Path(folder, name) for name in ("slides", "masks", "page.html"))
            slides.mkdir()
            cut_slides(arguments.program, arguments.slide, slides, count, arguments.side)
            subprocess.run([arguments.program, "label", slides, "-o", f"{masks}/", "--quiet"], check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
            result = run([arguments.program, "report", masks, "--slides", slides, "-o", page, "--json", "--quiet"])
            if arguments.browser:
                shown = [open_page(page, arguments.browser) for _ in range(3)]
                result["first_paint_ms"], result["first_pictures_ms"] = (min(times) for times in zip(*shown))
        results.append(result)
        paint, pictures = (f"{result[name]:.0f}" if name in result else "" for name in ("first_paint_ms", "first_pictures_ms"))
        print(f"| {count} | {result['bytes'] / 1e6:.1f} | {result['wall_s']:.1f} | {result['cpu_s']:.1f} | {result['peak_mb']:.0f} | {paint} | {pictures} |", flush=True)
    if arguments.json:
        arguments.json.write_text(json.dumps(results, indent=2) + "\n")


if __name__ == "__main__":
    main()
