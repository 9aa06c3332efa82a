"""The page of `openmps trace show` in a real browser, of a capture and of a trace: it draws, keys work, both themes, nothing is loaded.

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
  seen.lines = [...document.querySelectorAll("#source tbody tr")].map((row) => [...row.cells].map((cell) => cell.textContent));
  seen.heads = [...document.querySelectorAll("#source thead th")].map((cell) => cell.textContent);
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
    subprocess.run([COMMAND, "trace", "show", "--count", folder / "0000-small.gputrace", "-o", folder / "page.html"], check=True, capture_output=True)
    return folder / "page.html"


def browse(page, *options):
    result = subprocess.run([*BROWSER, f"--user-data-dir={page.parent / 'profile'}", *options, f"file://{page}"], capture_output=True, text=True, timeout=240)
    assert result.returncode == 0, result.stderr
    return result.stdout


def probe(page, script):
    """What the script of `PROBE`, or another in its frame, sees in the page."""
    probed = page.with_name("probed.html")
    probed.write_text(page.read_text().replace("</body>", script))
    document = browse(probed, "--dump-dom")
    seen = json.loads(re.search(r'<pre id="seen">(.*?)</pre>', document, re.S)[1].replace("&lt;", "<").replace("&gt;", ">").replace("&amp;", "&"))
    assert "error" not in seen, seen["error"]
    return seen


def test_the_page_works_by_keyboard_in_chromium(page):
    seen = probe(page, PROBE)
    assert seen["ready"] == "yes"
    assert seen["tracks"] == ["default stream", "CPU, thread 1"]
    assert seen["detail"].startswith("scale") and "launch0" in seen["detail"] and "float32[64, 32]" in seen["detail"]
    assert seen["next"].startswith("count") and "launch1" in seen["next"]
    assert seen["zoomed"] != seen["all"]
    assert seen["rows"] == 110 and "scale" in seen["row"]
    assert sorted(seen["kernels"]) == ["count", "scale"]
    assert "loop" in seen["source"] and "atomic" in seen["source"] and "100 × " in seen["source"]
    # 100 launches of 2048 threads whose loop runs twice: loads and stores of x, loads of factor.
    assert seen["heads"][1:5] == ["instructions", "float ops", "loads", "stores"] and "counted over all launches" in seen["heads"]
    (loop,) = [line for line in seen["lines"] if "x[i] *= factor" in line[-1]]
    assert loop[2:5] == ["410k", "819k", "410k"]
    assert "most in blocks" in seen["memory"] and "[object" not in seen["memory"]
    assert seen["searching"] and seen["found"] == "10 found" and seen["hit"] == "1 of 10"
    assert sorted(seen["themes"]) == ["dark", "light"]
    assert seen["colours"] > 5, "the timeline is drawn"
    assert seen["loaded"] == [] and seen["help"]


def test_a_screenshot_is_not_empty(page, tmp_path):
    picture = tmp_path / "page.png"
    browse(page, f"--screenshot={picture}")
    assert picture.read_bytes().startswith(b"\x89PNG") and picture.stat().st_size > 20_000


TRACED = """
    import threading, torch

    library = torch.mps.compile_shader("kernel void twice(device float* x, uint i [[thread_position_in_grid]]) { x[i] *= 2; }")

    def work(stream):
        with torch.mps.stream(torch.mps.Stream(stream_id=stream)):
            x = torch.ones(64, 2, device="mps")
            for _ in range(5):
                library.twice(x, group_size=32)
            (x + x).cpu()

    with torch.mps.profiler.profile("interval,event"):
        threads = [threading.Thread(target=work, args=[number]) for number in (1, 2)]
        for thread in threads: thread.start()
        for thread in threads: thread.join()
"""

TRACE_STEPS = """
  seen.title = text("title");
  seen.tracks = DATA.tracks;
  seen.detail = text("detail");
  press("2");
  seen.launches = [...document.querySelectorAll("#launch-table tbody tr")].map((row) => row.textContent);
  press("3");
  seen.kernels = [...document.querySelectorAll("#kernel-table tbody tr")].map((row) => row.cells[0].textContent + " " + row.cells[1].textContent);
  seen.origin = text("source-head");
  seen.source = [...document.querySelectorAll("#source tbody tr")].map((row) => row.cells[row.cells.length - 1].textContent);
  press("4");
  seen.legend = text("memory-legend");
  seen.memory = text("memory-table");
  press("5");
  seen.about = text("about");
  const box = document.getElementById("search");
  box.value = "float[64, 2]";
  box.dispatchEvent(new Event("input"));
  seen.found = Number(text("found").split(" ")[0]);
  press("1");
  const link = document.querySelector("#detail button");
  link.click();
  seen.linked = text("detail");
  const canvas = document.getElementById("timeline"), pixels = canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height).data;
  seen.colours = new Set(new Uint32Array(pixels.buffer)).size;
"""


@pytest.fixture(scope="module")
def trace_page(tmp_path_factory):
    folder = tmp_path_factory.mktemp("trace")
    assert snippets.run(TRACED, OPENMPS_TRACE_DIR=str(folder)).code == 0
    (file,) = folder.glob("*.perfetto-trace")
    subprocess.run([COMMAND, "trace", "show", file, "-o", folder / "page.html"], check=True, capture_output=True)
    return folder / "page.html"


def test_the_page_of_a_trace_works_in_chromium(trace_page):
    start, _, end = PROBE.partition("function probe() {")
    seen = probe(trace_page, start + "function probe() {" + TRACE_STEPS + end[end.index("}\ntry {") :])
    assert seen["title"].startswith("openmps-")
    assert [track.split()[0] + " " + track.split()[1] for track in seen["tracks"][:4]] == ["mps stream", "mps stream", "mps queue", "mps queue"]
    assert sum(track.startswith("thread ") for track in seen["tracks"]) == 2
    assert seen["detail"].startswith("twice") and "aten::twice" in seen["detail"] and "Belongs together" in seen["detail"]
    assert len(seen["launches"]) == 10 and all("128" in row or "64" in row for row in seen["launches"])
    assert seen["kernels"] == ["twice 10"] and "from Metal source text" in seen["origin"]
    assert seen["source"][0].startswith("kernel void twice(device float* x")
    assert "small pool" in seen["legend"] and "low watermark" in seen["legend"] and "no known pool" not in seen["legend"]
    assert "high watermark" in seen["legend"] and "most in blocks so far" in seen["legend"] and "most in heaps" in seen["memory"]
    assert "Perfetto trace" in seen["about"] and seen["found"] > 2
    assert seen["linked"].startswith("twice") and "call of the program" in seen["linked"]
    assert seen["colours"] > 5, "the timeline is drawn"


def test_the_page_of_a_thousand_launches_is_small_and_opens(tmp_path):
    code = CODE.replace("NAME", repr(str(tmp_path / "large"))).replace("range(100)", "range(1000)")
    snippets.output(code, MTL_CAPTURE_ENABLED="1")
    capture, page = tmp_path / "0000-large.gputrace", tmp_path / "page.html"
    subprocess.run([COMMAND, "trace", "show", "--no-buffers", capture, "-o", page], check=True, capture_output=True)
    assert page.stat().st_size < 5_000_000
    seen = probe(page, PROBE)
    assert seen["ready"] == "yes" and seen["rows"] == 1100 and seen["found"] == "100 found"


def test_sources_stay_out_of_a_trace_if_asked(tmp_path):
    assert snippets.run(TRACED, OPENMPS_TRACE_DIR=str(tmp_path), OPENMPS_TRACE_SOURCE_LIMIT="20").code == 0
    (file,) = tmp_path.glob("*.perfetto-trace")
    assert b"kernel void" not in file.read_bytes()
    subprocess.run([COMMAND, "trace", "show", file, "-o", tmp_path / "page.html"], check=True, capture_output=True)
    assert "OPENMPS_TRACE_SOURCE_LIMIT" in (tmp_path / "page.html").read_text()


def test_what_is_no_trace_is_told(tmp_path):
    foreign = tmp_path / "foreign.perfetto-trace"
    for content, text in [
        (b"", "this is no Perfetto trace: the file is empty"),
        (b"\x1f\x8b\x08", "this is no Perfetto trace: it is compressed, gunzip unpacks it"),
        (b"\x0a\x02\x40\x01", "the trace has no events on tracks, but 1 packets of other kinds, which ui.perfetto.dev shows"),
    ]:
        foreign.write_bytes(content)
        result = subprocess.run([COMMAND, "trace", "show", foreign], capture_output=True, text=True, cwd=tmp_path)
        assert (result.returncode, result.stdout, result.stderr) == (1, "", f"openmps: error: {foreign}: {text}\n")
    assert list(tmp_path.iterdir()) == [foreign]


def test_a_trace_of_another_program_shows_what_it_has(tmp_path):
    from perfetto.protos.perfetto.trace import perfetto_trace_pb2 as proto

    trace = proto.Trace()
    track = trace.packet.add()
    track.track_descriptor.uuid = 4
    track.track_descriptor.name = "work"
    for time, kind, name in [(10, 1, "outer"), (20, 1, "inner"), (30, 2, ""), (40, 2, "")]:
        packet = trace.packet.add(timestamp=time, trusted_packet_sequence_id=1)
        packet.track_event.type, packet.track_event.track_uuid, packet.track_event.name = kind, 4, name
        packet.track_event.categories.append("theirs")
    counter = trace.packet.add()
    counter.track_descriptor.uuid = 5
    counter.track_descriptor.name = "queue length"
    counter.track_descriptor.counter.unit_name = "jobs"
    for time, value in [(10, 3), (35, 7)]:
        packet = trace.packet.add(timestamp=time, trusted_packet_sequence_id=1)
        packet.track_event.type, packet.track_event.track_uuid, packet.track_event.counter_value = 4, 5, value
    trace.packet.add().ftrace_events.cpu = 1
    file = tmp_path / "theirs.perfetto-trace"
    file.write_bytes(trace.SerializeToString())
    subprocess.run([COMMAND, "trace", "show", file, "-o", tmp_path / "page.html"], check=True, capture_output=True)
    data = json.loads(re.search(r'<script type="application/json" id="data">(.*?)</script>', (tmp_path / "page.html").read_text(), re.S)[1])
    assert data["tracks"] == ["work"] and data["names"] == ["outer", "inner"]
    assert [slice[1:3] for slice in data["slices"]] == [[0, 30], [10, 20]]
    assert data["counters"] == [{"name": "queue length", "unit": "jobs", "times": [0, 25], "values": [3.0, 7.0]}]
    assert data["notices"] == ["1 packets are of kinds that this page does not show; ui.perfetto.dev does."]
