"""The page of `openmps trace show` in a real browser: it draws, keys work, both themes, nothing is loaded.

A script that is added to a copy of the page presses keys and writes what it sees into the document, which Chromium prints.
"""

import json
import pathlib
import re
import subprocess

import pytest

import openmps
import snippets

COMMAND = pathlib.Path(openmps.__file__).parent / "_native" / "openmps"
BROWSER = ["chromium", "--headless", "--no-sandbox", "--disable-gpu", "--hide-scrollbars", "--window-size=1400,860", "--virtual-time-budget=5000"]

CODE = """
    import torch

    library = torch.mps.compile_shader('''
    #include <metal_stdlib>
    using namespace metal;
    kernel void scale(device float* x [[buffer(0)]], constant float& factor [[buffer(1)]], uint i [[thread_position_in_grid]]) {
      for (int n = 0; n < 2; n++) x[i] *= factor;
    }
    kernel void count(device atomic_int* sum, uint i [[thread_position_in_grid]]) { atomic_fetch_add_explicit(sum, 1, memory_order_relaxed); }
    ''')
    x = torch.arange(64 * 32, dtype=torch.float32, device="mps").reshape(64, 32)
    sum = torch.zeros(1, dtype=torch.int32, device="mps")
    with torch.mps.profiler.metal_capture(NAME):
        for number in range(100):
            library.scale(x, 0.5 if number % 2 else 2.0)
            if number % 10 == 0:
                library.count(sum, threads=1000)
                y = x + 1
"""

PROBE = """
<script>
const press = (key, options) => (document.activeElement || document.body).dispatchEvent(new KeyboardEvent("keydown", { key, bubbles: true, ...options }));
const text = (id) => document.getElementById(id).textContent;
const seen = {};
addEventListener("error", (event) => { seen.error = event.message; });
function probe() {
  seen.errors = [];
  seen.ready = document.documentElement.dataset.ready;
  seen.tracks = DATA.tracks;
  seen.detail = text("detail");
  press("ArrowRight");
  seen.next = text("detail");
  press("+");
  seen.zoomed = text("range");
  press("0");
  seen.all = text("range");
  press("2");
  seen.rows = document.querySelectorAll("#launch-table tbody tr").length;
  press("ArrowDown");
  seen.row = document.querySelector('#launch-table tr[aria-selected="true"]').textContent;
  press("3");
  seen.kernels = [...document.querySelectorAll("#kernel-table tbody tr")].map((row) => row.cells[0].textContent);
  seen.source = text("source");
  press("4");
  seen.memory = text("memory-table");
  const search = document.getElementById("search");
  press("/");
  seen.searching = document.activeElement === search;
  search.value = "COUNT";
  search.dispatchEvent(new Event("input"));
  seen.found = text("found");
  press("Enter");
  seen.hit = text("found");
  press("Escape");
  const theme = document.documentElement.dataset.theme;
  press("d");
  seen.themes = [theme, document.documentElement.dataset.theme];
  press("1");
  const canvas = document.getElementById("timeline"), pixels = canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height).data;
  seen.colours = new Set(new Uint32Array(pixels.buffer)).size;
  seen.loaded = performance.getEntriesByType("resource").map((entry) => entry.name);
  press("?");
  seen.help = document.getElementById("help").open;
}
try { probe(); } catch (error) { seen.error = String(error); }
const note = document.createElement("pre");
note.id = "seen";
note.textContent = JSON.stringify(seen);
document.body.append(note);
</script>
</body>
"""


@pytest.fixture(scope="module")
def page(tmp_path_factory):
    folder = tmp_path_factory.mktemp("page")
    snippets.output(CODE.replace("NAME", repr(str(folder / "small"))), MTL_CAPTURE_ENABLED="1")
    subprocess.run([COMMAND, "trace", "show", folder / "0000-small.gputrace", "-o", folder / "page.html"], check=True, capture_output=True)
    return folder / "page.html"


def browse(page, *options):
    result = subprocess.run([*BROWSER, f"--user-data-dir={page.parent / 'profile'}", *options, f"file://{page}"], capture_output=True, text=True, timeout=240)
    assert result.returncode == 0, result.stderr
    return result.stdout


def test_the_page_works_by_keyboard_in_chromium(page):
    probed = page.with_name("probed.html")
    probed.write_text(page.read_text().replace("</body>", PROBE))
    document = browse(probed, "--dump-dom")
    seen = json.loads(re.search(r'<pre id="seen">(.*?)</pre>', document, re.S)[1].replace("&lt;", "<").replace("&gt;", ">").replace("&amp;", "&"))
    assert "error" not in seen, seen["error"]
    assert seen["ready"] == "yes"
    assert seen["tracks"] == ["default stream", "CPU, thread 1"]
    assert seen["detail"].startswith("scale") and "launch0" in seen["detail"] and "float32[64, 32]" in seen["detail"]
    assert seen["next"].startswith("count") and "launch1" in seen["next"]
    assert seen["zoomed"] != seen["all"]
    assert seen["rows"] == 110 and "scale" in seen["row"]
    assert sorted(seen["kernels"]) == ["count", "scale"]
    assert "loop" in seen["source"] and "atomic" in seen["source"] and "100 × " in seen["source"]
    assert "most in blocks" in seen["memory"] and "[object" not in seen["memory"]
    assert seen["searching"] and seen["found"] == "10 found" and seen["hit"] == "1 of 10"
    assert sorted(seen["themes"]) == ["dark", "light"]
    assert seen["colours"] > 5, "the timeline is drawn"
    assert seen["loaded"] == [] and seen["help"]


def test_a_screenshot_is_not_empty(page, tmp_path):
    picture = tmp_path / "page.png"
    browse(page, f"--screenshot={picture}")
    assert picture.read_bytes().startswith(b"\x89PNG") and picture.stat().st_size > 20_000
