"""How fast the map is drawn: seconds to lay it out, size of the page, frames per second.

    python -m benchmarks.map_speed                  # 20,000 and 100,000 nodes
    python -m benchmarks.map_speed 1000000          # as many as are named

Graphs have 2.5 edges per node and seven classes. Here the page holds every node, however many; that
of a user holds at most 20,000. Frames are counted for five seconds while the map moves, in headless
Chromium without a graphics card: a screen with one is faster.
"""

from __future__ import annotations

import sys
import tempfile
import time
from pathlib import Path

from nodecopy import NodeCopyClassifier, planted_partition
from nodecopy.report import page
from tests.browser import Page, browser

_SECONDS = 5
_FRAMES = """const [seconds, done] = arguments;
const { camera, renderer } = graphMap.view;
const start = performance.now();
let frames = 0;
renderer.on("afterRender", () => (frames += 1));
camera.animate({ x: 0.9, ratio: 0.6 }, { duration: 1000 * seconds, easing: "linear" });
setTimeout(() => done((1000 * frames) / (performance.now() - start)), 1000 * seconds);"""


def measure(count: int) -> str:
    """Fit a quick model to a synthetic graph, write its page, and drag its map."""
    data = planted_partition(count, 7, seed=0)
    y = data.labels.copy()
    y[200:] = -1
    model = NodeCopyClassifier(method="label-propagation", calibrate=False, random_state=0)
    result = model.fit(data.graph, None, y).result_
    start = time.process_time()
    html = page.report_page(result)
    seconds = time.process_time() - start
    with tempfile.TemporaryDirectory() as folder, browser() as driver:
        file = Path(folder, "report.html")
        file.write_text(html, encoding="utf-8")
        shown, begun = Page(driver, file), time.monotonic()
        shown.open()
        drawn = shown.run("graphMap.view.graph.order")
        opened = time.monotonic() - begun
        driver.set_script_timeout(60)
        frames = driver.execute_async_script(_FRAMES, _SECONDS)
    return (
        f"{count:,} nodes, {data.graph.num_edges:,} edges: {seconds:.1f} CPU s to write, "
        f"{len(html) / 1e6:.1f} MB, opened in {opened:.1f} s, {drawn:,} nodes drawn, "
        f"{frames:.0f} frames per second while it moves"
    )


def main(counts: list[int]) -> None:
    """Print a line for each number of nodes."""
    page.MAX_NODES = page.MAX_BYTES = 10**9
    for count in counts or [20_000, 100_000]:
        print(measure(count), flush=True)


if __name__ == "__main__":
    main([int(word) for word in sys.argv[1:]])
