"use strict";
// The page of a trace. DATA is what crates/openmps-cli/src/command/trace/show/page.rs describes. No library, no network; what comes
// from the trace reaches the document as text only (textContent, canvas), never as markup.
const DATA = JSON.parse(document.getElementById("data").textContent);
const $ = (id) => document.getElementById(id);

// ---- small tools ----

function element(tag, attributes, ...children) {
  const node = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes || {})) {
    if (name.startsWith("on")) node.addEventListener(name.slice(2), value);
    else if (value !== null && value !== undefined && value !== false) node.setAttribute(name, value === true ? "" : value);
  }
  for (const child of children.flat(Infinity)) if (child !== null && child !== undefined) node.append(child);
  return node;
}

function replace(node, ...children) {
  node.replaceChildren(...children.flat(Infinity).filter((child) => child !== null && child !== undefined));
}

function time(ns) {
  if (ns >= 1e9) return (ns / 1e9).toFixed(3) + " s";
  if (ns >= 1e6) return (ns / 1e6).toFixed(3) + " ms";
  if (ns >= 1e3) return (ns / 1e3).toFixed(2) + " µs";
  return Math.round(ns) + " ns";
}

function bytes(count) {
  const units = ["B", "KiB", "MiB", "GiB", "TiB"];
  let unit = 0;
  while (Math.abs(count) >= 1024 && unit < units.length - 1) { count /= 1024; unit += 1; }
  return (unit ? count.toFixed(count < 10 ? 2 : 1) : count) + " " + units[unit];
}

const shape = (sizes) => sizes.join(" × ");
const trim = (sizes) => { const all = [...sizes]; while (all.length > 1 && all[all.length - 1] === 1) all.pop(); return shape(all); };

function colour(name) { return getComputedStyle(document.documentElement).getPropertyValue("--" + name).trim(); }

function prepare(canvas, width, height) {
  const ratio = window.devicePixelRatio || 1;
  canvas.width = Math.max(1, Math.round(width * ratio));
  canvas.height = Math.max(1, Math.round(height * ratio));
  canvas.style.height = height + "px";
  const context = canvas.getContext("2d");
  context.setTransform(ratio, 0, 0, ratio, 0, 0);
  context.clearRect(0, 0, width, height);
  context.font = "12px system-ui, 'DejaVu Sans', sans-serif";
  context.textBaseline = "middle";
  return context;
}

// ---- what is in the trace ----

// Slices are [track, start, end, kind, name, detail]; detail is a launch's number, a text's number, or -1.
const KINDS = ["launch", "op", "copy", "host", "sync", "call", "other"];
const KIND_NAMES = { launch: "kernel launch", op: "operator", copy: "copy", host: "host function", sync: "event", call: "call of the program", other: "other" };
const slices = DATA.slices.map(([track, start, end, kind, name, detail], id) =>
  ({ id, track, start, end, kind: KINDS[kind], name: DATA.names[name], detail }));
const ofTrack = DATA.tracks.map(() => []);
for (const slice of slices) ofTrack[slice.track].push(slice);
for (const list of ofTrack) list.sort((a, b) => a.start - b.start || b.end - a.end);
// Slices of a track that overlap go to lanes below each other.
const lanes = ofTrack.map((list) => {
  const ends = [];
  for (const slice of list) {
    let lane = ends.findIndex((end) => end <= slice.start);
    if (lane < 0) lane = ends.length < 6 ? ends.length : 5;
    ends[lane] = slice.end;
    slice.lane = lane;
  }
  return Math.max(1, ends.length);
});
// Slices that belong together: the call of the program, the queue, the execution.
const flowsOf = new Map();
DATA.flows.forEach((flow) => flow.forEach((id) => flowsOf.set(id, [...(flowsOf.get(id) || []), flow])));
const linked = (slice) => [...new Set((flowsOf.get(slice.id) || []).flat())].filter((id) => id !== slice.id).map((id) => slices[id]).sort((a, b) => a.start - b.start);
const sliceOfLaunch = new Map(slices.filter((slice) => slice.kind === "launch" && slice.detail >= 0).map((slice) => [slice.detail, slice]));
const span = slices.reduce((all, slice) => [Math.min(all[0], slice.start), Math.max(all[1], slice.end)], [Infinity, -Infinity]);
if (!(span[0] < span[1])) { span[0] = Math.min(span[0], 0) || 0; span[1] = span[0] + 1000; }

const kernelTimes = DATA.kernels.map(() => ({ launches: 0, total: 0, longest: 0, shortest: Infinity }));
for (const [number, slice] of sliceOfLaunch) {
  const times = kernelTimes[DATA.launches[number].kernel];
  const took = slice.end - slice.start;
  times.launches += 1;
  times.total += took;
  times.longest = Math.max(times.longest, took);
  times.shortest = Math.min(times.shortest, took);
}
const allKernelTime = kernelTimes.reduce((sum, times) => sum + times.total, 0) || 1;

const state = { view: "timeline", from: span[0], to: span[1], slice: null, kernel: null, hits: [], hit: -1, words: "", sort: { key: "number", down: false } };

// ---- views ----

const VIEWS = [["timeline", "Timeline"], ["launches", "Launches"], ["kernels", "Kernels"], ["memory", "Memory"], ["about", "About"]];

function show(view) {
  state.view = view;
  for (const [name] of VIEWS) {
    $("view-" + name).hidden = name !== view;
    const tab = $("tab-" + name);
    tab.setAttribute("aria-selected", String(name === view));
    tab.tabIndex = name === view ? 0 : -1;
  }
  draw();
}

function draw() {
  if (state.view === "timeline") drawTimeline();
  if (state.view === "launches") drawLaunches();
  if (state.view === "kernels") drawKernels();
  if (state.view === "memory") drawMemory();
}

// ---- timeline ----

const LABELS = 150, LANE = 20, TOP = 26, GAP = 8, GRAPH = 64, STRIP = 40;
let rows = [];

function drawTimeline() {
  const box = $("timeline-box"), width = box.clientWidth;
  let y = TOP;
  rows = DATA.tracks.map((track, number) => { const top = y; y += lanes[number] * LANE + GAP; return top; });
  const graph = DATA.memory.times.length ? y : 0;
  if (graph) y += GRAPH + GAP;
  const strips = DATA.counters.map((curve) => { const top = y; y += STRIP + GAP; return [curve, top]; });
  const height = Math.max(y, box.clientHeight - 2);
  const context = prepare($("timeline"), width, height);
  const x = (ns) => LABELS + (ns - state.from) / (state.to - state.from) * (width - LABELS);
  drawAxis(context, width, height, x);
  DATA.tracks.forEach((track, number) => drawTrack(context, number, width, x));
  if (graph) drawMemoryStrip(context, graph, width, x);
  for (const [curve, top] of strips) drawCurve(context, curve, top, width, x);
  if (state.slice) drawFlows(context, state.slice, width, x);
  $("range").textContent = time(state.from - span[0]) + " to " + time(state.to - span[0]) + " (" + time(state.to - state.from) + ")";
}

function drawAxis(context, width, height, x) {
  const per = (state.to - state.from) / Math.max(1, (width - LABELS) / 110);
  const power = 10 ** Math.floor(Math.log10(per));
  const step = [1, 2, 5, 10].map((factor) => factor * power).find((step) => step >= per);
  context.strokeStyle = colour("line");
  context.fillStyle = colour("faint");
  context.textAlign = "left";
  for (let tick = Math.ceil((state.from - span[0]) / step) * step; tick <= state.to - span[0]; tick += step) {
    const place = Math.round(x(tick + span[0])) + 0.5;
    context.beginPath();
    context.moveTo(place, 0);
    context.lineTo(place, height);
    context.stroke();
    context.fillText(time(tick), place + 4, 11);
  }
}

function drawTrack(context, number, width, x) {
  const top = rows[number], height = lanes[number] * LANE;
  context.textAlign = "left";
  context.fillStyle = colour("text");
  context.save();
  context.beginPath();
  context.rect(0, top, LABELS - 6, height);
  context.clip();
  context.fillText(DATA.tracks[number], 14, top + LANE / 2);
  context.restore();
  context.save();
  context.beginPath();
  context.rect(LABELS, top, width - LABELS, height);
  context.clip();
  const colours = Object.fromEntries(KINDS.map((kind) => [kind, colour(kind)]));
  const right = [];
  for (const slice of ofTrack[number]) {
    if (slice.end < state.from || slice.start > state.to) continue;
    const left = x(slice.start), wide = Math.max(1, x(slice.end) - left), y = top + slice.lane * LANE;
    // What is narrower than a pixel hides behind its neighbour.
    if (wide <= 1 && right[slice.lane] >= Math.floor(left) && slice !== state.slice) continue;
    right[slice.lane] = Math.floor(left + wide);
    context.globalAlpha = state.words && !slice.isHit ? 0.25 : 1;
    context.fillStyle = colours[slice.kind];
    context.fillRect(left, y + 1, wide, LANE - 3);
    if (wide > 34) {
      context.save();
      context.beginPath();
      context.rect(left, y, wide - 3, LANE);
      context.clip();
      context.fillStyle = colour("back");
      context.fillText(slice.name, Math.max(left, LABELS) + 5, y + LANE / 2);
      context.restore();
    }
    context.globalAlpha = 1;
  }
  if (state.slice && state.slice.track === number) {
    const slice = state.slice, left = x(slice.start);
    context.strokeStyle = colour("text");
    context.lineWidth = 2;
    context.strokeRect(left - 1, top + slice.lane * LANE, Math.max(3, x(slice.end) - left + 2), LANE - 1);
    context.lineWidth = 1;
  }
  context.restore();
}

function drawMemoryStrip(context, top, width, x) {
  const memory = DATA.memory;
  const most = Math.max(1, ...memory.driver.map(Number));
  context.fillStyle = colour("text");
  context.fillText("memory", 14, top + 10);
  context.fillStyle = colour("faint");
  context.fillText("up to " + bytes(most), 14, top + 26);
  for (const [name, values] of [["driver", memory.driver], ["small", memory.current]]) {
    context.beginPath();
    context.moveTo(LABELS, top + GRAPH);
    let before = values[0];
    memory.times.forEach((ns, place) => {
      const left = Math.max(LABELS, x(ns));
      context.lineTo(left, top + GRAPH - before / most * (GRAPH - 4));
      before = values[place];
      context.lineTo(left, top + GRAPH - before / most * (GRAPH - 4));
    });
    context.lineTo(Math.max(LABELS, x(span[1])), top + GRAPH - before / most * (GRAPH - 4));
    context.lineTo(Math.max(LABELS, x(span[1])), top + GRAPH);
    context.globalAlpha = name === "driver" ? 0.25 : 0.6;
    context.fillStyle = colour(name);
    context.fill();
    context.globalAlpha = 1;
  }
}

// A counter that is not the allocator's.
function drawCurve(context, curve, top, width, x) {
  const least = Math.min(0, ...curve.values), most = Math.max(...curve.values, least + 1e-9);
  const y = (value) => top + STRIP - (value - least) / (most - least) * (STRIP - 4);
  context.textAlign = "left";
  context.fillStyle = colour("text");
  context.save();
  context.beginPath();
  context.rect(0, top, LABELS - 6, STRIP);
  context.clip();
  context.fillText(curve.name, 14, top + 10);
  context.fillStyle = colour("faint");
  context.fillText("up to " + (curve.unit === "B" ? bytes(Math.round(most)) : number(most) + " " + curve.unit), 14, top + 26);
  context.restore();
  context.save();
  context.beginPath();
  context.rect(LABELS, top, width - LABELS, STRIP);
  context.clip();
  context.beginPath();
  curve.times.forEach((ns, place) => { if (place) context.lineTo(x(ns), y(curve.values[place - 1])); context.lineTo(x(ns), y(curve.values[place])); });
  context.lineTo(x(span[1]), y(curve.values[curve.values.length - 1]));
  context.strokeStyle = colour("accent");
  context.stroke();
  context.restore();
}

// Lines from the selected event to what belongs to it, in order of time.
function drawFlows(context, slice, width, x) {
  const place = (one) => [Math.min(width, Math.max(LABELS, x(one.start))), rows[one.track] + one.lane * LANE + LANE / 2];
  const all = [slice, ...linked(slice)].sort((a, b) => a.start - b.start);
  context.strokeStyle = colour("accent");
  context.lineWidth = 1.5;
  for (let step = 1; step < all.length; step += 1) {
    const [fromX, fromY] = place(all[step - 1]), [toX, toY] = place(all[step]);
    context.beginPath();
    context.moveTo(fromX, fromY);
    context.bezierCurveTo(fromX + 24, fromY, toX - 24, toY, toX, toY);
    context.stroke();
  }
  context.lineWidth = 1;
}

function zoom(factor, at) {
  const middle = at === undefined ? (state.slice ? (state.slice.start + state.slice.end) / 2 : (state.from + state.to) / 2) : at;
  const wide = Math.min((span[1] - span[0]) * 1.02, Math.max(50, (state.to - state.from) * factor));
  const share = Math.min(1, Math.max(0, (middle - state.from) / (state.to - state.from)));
  state.from = middle - share * wide;
  state.to = state.from + wide;
  keepInside();
}

function keepInside() {
  const wide = state.to - state.from;
  if (state.from < span[0]) { state.from = span[0]; state.to = span[0] + wide; }
  if (state.to > span[1] + wide * 0.02) { state.to = span[1] + wide * 0.02; state.from = state.to - wide; }
  draw();
}

function zoomAll() { state.from = span[0]; state.to = span[1]; draw(); }

function pan(share) {
  const by = (state.to - state.from) * share;
  state.from += by;
  state.to += by;
  keepInside();
}

function sliceAt(event) {
  const box = $("timeline").getBoundingClientRect();
  const x = event.clientX - box.left, y = event.clientY - box.top;
  const ns = (x - LABELS) / (box.width - LABELS) * (state.to - state.from) + state.from;
  const slack = (state.to - state.from) / (box.width - LABELS) * 3;
  const track = rows.findIndex((top, number) => y >= top && y < top + lanes[number] * LANE);
  if (track < 0 || x < LABELS) return { ns, slice: null };
  const lane = Math.floor((y - rows[track]) / LANE);
  const near = ofTrack[track].filter((slice) => slice.lane === lane && slice.start - slack <= ns && slice.end + slack >= ns);
  near.sort((a, b) => Math.abs((a.start + a.end) / 2 - ns) - Math.abs((b.start + b.end) / 2 - ns));
  return { ns, slice: near[0] || null };
}

function listenToTimeline() {
  const canvas = $("timeline");
  let drag = null;
  canvas.addEventListener("wheel", (event) => {
    if (event.shiftKey || event.altKey) return;
    event.preventDefault();
    if (Math.abs(event.deltaX) > Math.abs(event.deltaY)) pan(event.deltaX / 1000);
    else zoom(Math.exp(event.deltaY / 400), sliceAt(event).ns);
  }, { passive: false });
  canvas.addEventListener("pointerdown", (event) => { drag = { x: event.clientX, moved: false }; canvas.setPointerCapture(event.pointerId); });
  canvas.addEventListener("pointermove", (event) => {
    if (!drag) { const { slice } = sliceAt(event); canvas.title = slice ? slice.name + ", " + time(slice.end - slice.start) : ""; return; }
    const by = event.clientX - drag.x;
    if (Math.abs(by) > 3) drag.moved = true;
    if (drag.moved) { drag.x = event.clientX; pan(-by / (canvas.clientWidth - LABELS)); }
  });
  canvas.addEventListener("pointerup", (event) => {
    if (drag && !drag.moved) { const { slice } = sliceAt(event); if (slice) select(slice); }
    drag = null;
  });
}

// ---- selection ----

function select(slice, bring) {
  state.slice = slice;
  if (slice.kind === "launch" && slice.detail >= 0) state.kernel = DATA.launches[slice.detail].kernel;
  if (bring) {
    const wide = state.to - state.from, middle = (slice.start + slice.end) / 2;
    if (middle < state.from || middle > state.to) { state.from = middle - wide / 2; state.to = middle + wide / 2; keepInside(); }
  }
  drawDetail();
  draw();
}

function neighbour(by) {
  if (!slices.length) return;
  if (!state.slice) { select(ofTrack.find((list) => list.length)[0], true); return; }
  const list = ofTrack[state.slice.track];
  const place = list.indexOf(state.slice) + by;
  if (place >= 0 && place < list.length) select(list[place], true);
}

function otherTrack(by) {
  if (!state.slice) { neighbour(1); return; }
  for (let track = state.slice.track + by; track >= 0 && track < ofTrack.length; track += by) {
    const list = ofTrack[track];
    if (!list.length) continue;
    const middle = state.slice.start;
    select(list.reduce((best, slice) => (Math.abs(slice.start - middle) < Math.abs(best.start - middle) ? slice : best)), true);
    return;
  }
}

function facts(pairs) {
  return element("dl", { class: "facts" }, pairs.filter((pair) => pair).map(([name, value]) => [element("dt", {}, name), element("dd", {}, value)]));
}

function drawDetail() {
  const slice = state.slice, box = $("detail");
  if (!slice) {
    replace(box, element("p", { class: "faint" }, "Select an event: click it, or press → in the timeline."));
    return;
  }
  const head = element("h2", { class: "mono" }, slice.name);
  const common = [["what", KIND_NAMES[slice.kind]], ["track", DATA.tracks[slice.track]], ["start", time(slice.start - span[0])], ["duration", time(slice.end - slice.start)]];
  if (slice.kind === "launch" && slice.detail >= 0) {
    const launch = DATA.launches[slice.detail];
    const threads = launch.threads.reduce((product, size) => product * size, 1);
    replace(box, head,
      facts([["launch", String(slice.detail)], ...common.slice(1), ["threads", trim(launch.threads) + (launch.threads.filter((size) => size > 1).length > 1 ? " = " + threads : "")],
        ["threadgroup", trim(launch.group)], launch.threadgroup.length ? ["threadgroup memory", launch.threadgroup.map(bytes).join(", ")] : null,
        launch.error ? ["error", element("span", { class: "bad" }, launch.error)] : null]),
      launch.message ? element("p", { class: "mono" }, launch.message) : null,
      launch.arguments.length ? element("h3", {}, "Arguments") : null,
      launch.arguments.map((argument) => drawArgument(argument)), drawLinked(slice),
      element("p", {}, element("button", { onclick: () => openKernel(launch.kernel) }, "Source and statistics (Enter)")));
    return;
  }
  const lines = slice.detail >= 0 ? DATA.texts[slice.detail].split("\n").filter((line) => line) : [];
  replace(box, head, facts(common), lines.length ? element("h3", {}, slice.kind === "op" && !DATA.flows.length ? "Tensors" : "Details") : null,
    lines.map((line) => element("div", { class: "mono" }, line)), drawLinked(slice));
}

// Buttons that lead to what belongs to an event.
function drawLinked(slice) {
  const others = linked(slice);
  if (!others.length) return null;
  return [element("h3", {}, "Belongs together"), others.slice(0, 20).map((other) => element("div", {}, element("button", { onclick: () => select(other, true) },
    DATA.tracks[other.track] + ": " + (other.kind === "call" ? "call" : other.end > other.start ? "runs" : "is queued") + " at " + time(other.start - span[0]))))];
}

function drawArgument(argument) {
  const box = element("div", { class: "argument" },
    element("div", {}, element("span", { class: "name mono" }, argument.name || argument.shape || argument.slot), " ",
      element("span", { class: "faint mono" }, argument.type || "")),
    element("div", { class: "faint" }, [argument.slot, argument.access, argument.name ? argument.shape : "", argument.size].filter((text) => text).join(" · ")));
  if (argument.value) box.append(element("div", { class: "mono" }, argument.value));
  const stages = [["before", argument.before], ["after", argument.after]].filter(([, preview]) => preview !== undefined && preview !== null);
  if (!stages.length) return box;
  if (stages.length === 2 && stages[0][1] === stages[1][1]) { box.append(element("div", { class: "faint" }, "unchanged")); stages.pop(); }
  let stage = stages.length - 1, form = "histogram";
  const body = element("div");
  const forms = element("div", { class: "forms" });
  const redraw = () => {
    const preview = DATA.previews[stages[stage][1]];
    const kinds = ["histogram", "table", ...(preview.image ? ["image"] : [])];
    if (!kinds.includes(form)) form = kinds[0];
    const button = (label, pressed, act) => element("button", { "aria-pressed": String(pressed), onclick: () => { act(); redraw(); } }, label);
    replace(forms, stages.map(([name], number) => button(name, number === stage, () => { stage = number; })),
      element("span", { class: "faint" }, " "), kinds.map((kind) => button(kind, kind === form, () => { form = kind; })));
    replace(body, drawPreview(preview, form));
  };
  redraw();
  box.append(forms, body);
  return box;
}

function number(value) {
  if (typeof value === "string") return value;
  if (Number.isInteger(value) && Math.abs(value) < 1e9) return String(value);
  return Math.abs(value) >= 1e5 || (value !== 0 && Math.abs(value) < 1e-3) ? value.toExponential(3) : value.toPrecision(5);
}

function drawPreview(preview, form) {
  const about = element("div", { class: "faint" },
    preview.dtype + ", " + preview.count + " elements" + (preview.minimum !== null ? ", " + number(preview.minimum) + " to " + number(preview.maximum) + ", mean " + number(preview.mean) : "")
    + (preview.odd ? ", " + preview.odd + " not finite" : "") + (preview.looked_at < preview.count ? " (first " + preview.looked_at + " looked at)" : ""));
  if (form === "table") return [about, element("div", { class: "values mono" }, preview.values.map((value) => element("span", { title: String(value) }, number(value))))];
  if (form === "image") return [about, drawImage(preview.image)];
  return [about, drawHistogram(preview.histogram)];
}

function drawHistogram(counts) {
  const namespace = "http://www.w3.org/2000/svg";
  const width = 320, height = 70, most = Math.max(1, ...counts);
  const svg = document.createElementNS(namespace, "svg");
  svg.setAttribute("width", width);
  svg.setAttribute("height", height);
  svg.setAttribute("role", "img");
  svg.setAttribute("aria-label", "histogram");
  counts.forEach((count, place) => {
    const bar = document.createElementNS(namespace, "rect");
    const tall = count ? Math.max(1.5, count / most * (height - 4)) : 0;
    bar.setAttribute("x", place * width / counts.length + 1);
    bar.setAttribute("width", width / counts.length - 1);
    bar.setAttribute("y", height - tall);
    bar.setAttribute("height", tall);
    bar.setAttribute("fill", "var(--launch)");
    svg.append(bar);
  });
  return svg;
}

function drawImage(image) {
  const canvas = element("canvas", { role: "img", "aria-label": "elements as grey levels, least is black" });
  canvas.width = image.width;
  canvas.height = image.height;
  const grow = Math.max(1, Math.floor(Math.min(320 / image.width, 240 / image.height)));
  canvas.style.width = image.width * grow + "px";
  canvas.style.height = image.height * grow + "px";
  const context = canvas.getContext("2d"), pixels = context.createImageData(image.width, image.height);
  const grey = atob(image.grey);
  for (let place = 0; place < grey.length; place += 1) pixels.data.set([grey.charCodeAt(place), grey.charCodeAt(place), grey.charCodeAt(place), 255], 4 * place);
  context.putImageData(pixels, 0, 0);
  return canvas;
}

// ---- tables ----

function table(columns, list, row) {
  const head = element("tr", {}, columns.map(([key, label, kind]) => element("th", { class: kind, "aria-sort": state.sort.key === key ? (state.sort.down ? "descending" : "ascending") : null },
    element("button", { onclick: () => { state.sort = { key, down: state.sort.key === key ? !state.sort.down : kind === "number" && key !== "number" }; draw(); } }, label))));
  return element("table", {}, element("thead", {}, head), element("tbody", {}, list.map(row)));
}

function sorted(list, value) {
  const order = state.sort.down ? -1 : 1;
  return [...list].sort((a, b) => { const x = value(a), y = value(b); return (x < y ? -1 : x > y ? 1 : 0) * order; });
}

const LAUNCH_COLUMNS = [["number", "launch", "number"], ["kernel", "kernel", ""], ["start", "start", "number"], ["duration", "duration", "number"], ["threads", "threads", "number"], ["group", "threadgroup", ""], ["arguments", "arguments", ""]];

function launchText(launch) {
  return launch.arguments.filter((argument) => argument.shape || argument.value).map((argument) => (argument.name ? argument.name + ": " : "") + (argument.shape || argument.value)).join(", ");
}

const ROWS_MAX = 4000;

function drawLaunches() {
  const columns = {
    number: (entry) => entry.number, kernel: (entry) => entry.slice.name, start: (entry) => entry.slice.start, duration: (entry) => entry.slice.end - entry.slice.start,
    threads: (entry) => entry.launch.threads.reduce((product, size) => product * size, 1), group: (entry) => trim(entry.launch.group), arguments: (entry) => launchText(entry.launch),
  };
  const all = [...sliceOfLaunch].map(([number, slice]) => ({ number, slice, launch: DATA.launches[number] }));
  const list = sorted(state.words ? all.filter((entry) => entry.slice.isHit) : all, columns[state.sort.key] || columns.number);
  const rowOf = ({ number, slice, launch }) => element("tr", { "aria-selected": String(slice === state.slice), onclick: () => select(slice), "data-slice": slice.id },
    element("td", { class: "number" }, String(number)), element("td", { class: "mono" }, slice.name), element("td", { class: "number" }, time(slice.start - span[0])),
    element("td", { class: "number" }, time(slice.end - slice.start)), element("td", { class: "number" }, trim(launch.threads)), element("td", {}, trim(launch.group)),
    element("td", { class: "mono" }, launchText(launch)));
  replace($("launch-table"), table(LAUNCH_COLUMNS, list.slice(0, ROWS_MAX), rowOf),
    list.length > ROWS_MAX ? element("p", { class: "faint" }, "The first " + ROWS_MAX + " of " + list.length + " launches; search for others.") : null,
    list.length ? null : element("p", { class: "faint" }, "No launches."));
  keepVisible($("launch-table"));
}

function keepVisible(box) {
  const row = box.querySelector('tr[aria-selected="true"]');
  if (row) row.scrollIntoView({ block: "nearest" });
}

function moveRow(box, by) {
  const all = [...box.querySelectorAll("tbody tr")];
  const place = all.findIndex((row) => row.getAttribute("aria-selected") === "true");
  const next = all[Math.min(all.length - 1, Math.max(0, place + by))];
  if (next) next.click();
}

const KERNEL_COLUMNS = [["number", "kernel", ""], ["launches", "launches", "number"], ["total", "total", "number"], ["share", "share", "number"], ["mean", "mean", "number"], ["shortest", "shortest", "number"], ["longest", "longest", "number"]];

function openKernel(kernel) { state.kernel = kernel; show("kernels"); }

function drawKernels() {
  if (state.kernel === null && DATA.kernels.length) state.kernel = kernelTimes.reduce((best, times, number) => (times.total > kernelTimes[best].total ? number : best), 0);
  const value = { number: (entry) => entry.kernel.name, launches: (entry) => entry.times.launches, total: (entry) => entry.times.total, share: (entry) => entry.times.total, mean: (entry) => entry.times.total / entry.times.launches, shortest: (entry) => entry.times.shortest, longest: (entry) => entry.times.longest };
  const list = sorted(DATA.kernels.map((kernel, id) => ({ kernel, id, times: kernelTimes[id] })).filter((entry) => !state.words || matches(entry.kernel.name) || matches(sourceOf(entry.kernel))), value[state.sort.key] || value.number);
  const rowOf = ({ kernel, id, times }) => element("tr", { "aria-selected": String(id === state.kernel), onclick: () => { state.kernel = id; drawKernels(); } },
    element("td", { class: "mono" }, kernel.name + kernel.constants), element("td", { class: "number" }, String(times.launches)), element("td", { class: "number" }, time(times.total)),
    element("td", { class: "number" }, element("span", { class: "bar", style: "width:" + Math.round(times.total / allKernelTime * 60) + "px" }), (times.total / allKernelTime * 100).toFixed(1) + " %"),
    element("td", { class: "number" }, times.launches ? time(times.total / times.launches) : ""), element("td", { class: "number" }, times.launches ? time(times.shortest) : ""), element("td", { class: "number" }, times.launches ? time(times.longest) : ""));
  replace($("kernel-table"), table(KERNEL_COLUMNS, list, rowOf), list.length ? null : element("p", { class: "faint" }, "No kernels."));
  keepVisible($("kernel-table"));
  drawSource();
}

function sourceOf(kernel) { return kernel.source >= 0 ? DATA.sources[kernel.source].text : ""; }

// What is counted by line, in the order of a row.
const WORK = ["instructions", "float ops", "loads", "stores", "threadgroup", "atomics", "barriers"];

function short(count) {
  const units = ["", "k", "M", "G", "T"];
  let unit = 0;
  while (count >= 10000 && unit < units.length - 1) { count /= 1000; unit += 1; }
  return (unit && count < 100 ? count.toFixed(1) : Math.round(count)) + units[unit];
}

function drawSource() {
  const kernel = state.kernel === null ? null : DATA.kernels[state.kernel];
  if (!kernel) { replace($("source-head")); replace($("source")); return; }
  const facts = [kernel.origin, kernel.engine].filter((text) => text);
  replace($("source-head"), element("strong", { class: "mono" }, kernel.name), element("span", { class: "faint" }, facts.join(" · ")));
  if (kernel.source < 0) {
    replace($("source"), element("table", {}, element("tbody", {}, kernel.arguments.map((text) => element("tr", {}, element("td", { class: "mono" }, text))))));
    return;
  }
  const source = DATA.sources[kernel.source];
  const entries = new Map();
  DATA.kernels.forEach((other, id) => { if (other.source === kernel.source && other.line > 0) entries.set(other.line, [...(entries.get(other.line) || []), id]); });
  const counts = kernel.work.length ? kernel.work : kernel.text_work;
  const work = new Map(counts.map((row) => [row[0], row.slice(1)]));
  // Columns in which nothing happens are left out.
  const columns = WORK.map((label, column) => [label, column]).filter(([, column]) => counts.some((row) => row[column + 1]));
  const all = counts.reduce((sum, row) => sum + row[1], 0) || 1;
  const cells = (number) => columns.map(([, column]) => {
    const row = work.get(number), value = row ? row[column] : 0;
    const share = column === 0 && value ? "background:linear-gradient(to left, var(--heat) " + (value / all * 100).toFixed(1) + "%, transparent 0)" : null;
    return element("td", { class: "work mono", style: share, title: value ? value + " " + WORK[column] + (column === 0 ? ", " + (value / all * 100).toFixed(1) + " % of the kernel" : "") : null }, value ? short(value) : "");
  });
  const rowsOfSource = source.text.split("\n").map((line, place) => {
    const ids = entries.get(place + 1) || [];
    const marks = source.marks[place + 1] || [];
    const notes = ids.map((id) => kernelTimes[id].launches + " × " + time(kernelTimes[id].total / Math.max(1, kernelTimes[id].launches)) + " (" + (kernelTimes[id].total / allKernelTime * 100).toFixed(1) + " %)");
    return element("tr", { class: (ids.includes(state.kernel) ? "entry " : "") + (state.words && matches(line) ? "hit" : "") },
      element("td", { class: "gutter mono" }, String(place + 1)), cells(place + 1),
      element("td", { class: "notes mono" }, notes.join(", "), marks.map((mark) => element("span", { class: "tag" }, mark))),
      element("td", { class: "mono" }, line));
  });
  const heads = columns.length ? element("thead", {}, element("tr", {}, element("th", {}), columns.map(([label]) => element("th", { class: "number" }, label)), element("th", { class: "number" }, kernel.work.length ? "counted over all launches" : "once over the text"), element("th", {}))) : null;
  replace($("source"), element("table", {}, heads, element("tbody", {}, rowsOfSource)));
  const entry = $("source").querySelector("tr.entry");
  if (entry) entry.scrollIntoView({ block: "center" });
}

// ---- memory ----

function drawMemory() {
  const memory = DATA.memory, box = $("memory-box");
  const width = box.clientWidth, height = box.clientHeight, context = prepare($("memory"), width, height);
  const limits = [["high watermark", memory.high], ["low watermark", memory.low], ["recommended maximum", memory.recommended]].filter(([, value]) => value);
  const layers = [["base", memory.peak.length ? "blocks of no known pool" : "before the capture"], ["small", "small pool"], ["large", "large pool"], ["scalar", "scalar pool"]];
  const key = (name, label) => element("span", { class: "key" }, element("i", { style: "background:" + (name ? "var(--" + name + ")" : "none") }), label);
  replace($("memory-legend"), layers.filter(([name]) => memory.pools[name] && memory.pools[name].some((value) => value)).map(([name, label]) => key(name, label)), key("driver", "heaps"), memory.peak.length ? key("sync", "most in blocks so far") : null,
    limits.map(([label, value]) => element("span", { class: "faint" }, label + " " + bytes(value) + "  ")));
  if (!memory.times.length) { context.fillStyle = colour("faint"); context.fillText("No memory events.", 14, 20); replace($("memory-table")); return; }
  const most = Math.max(1, ...memory.driver, ...memory.current, ...memory.peak);
  const shown = limits.filter(([, value]) => value < most * 1.6).map(([, value]) => value);
  const top = Math.max(most, ...shown) * 1.08, left = 84, low = height - 24;
  const x = (ns) => left + (ns - span[0]) / (span[1] - span[0]) * (width - left - 12), y = (value) => low - value / top * (low - 12);
  context.textAlign = "right";
  for (let part = 0; part <= 4; part += 1) {
    const value = top * part / 4;
    context.strokeStyle = colour("line");
    context.beginPath();
    context.moveTo(left, y(value));
    context.lineTo(width - 12, y(value));
    context.stroke();
    context.fillStyle = colour("faint");
    context.fillText(bytes(Math.round(value)), left - 6, y(value));
  }
  context.textAlign = "center";
  for (let part = 1; part <= 4; part += 1) context.fillText(time((span[1] - span[0]) * part / 4), Math.min(width - 40, x(span[0] + (span[1] - span[0]) * part / 4)), height - 10);
  // The allocator may tell of moments before the first slice and after the last.
  context.save();
  context.beginPath();
  context.rect(left, 0, width - left - 12, height);
  context.clip();
  let below = memory.times.map(() => 0);
  for (const [name] of layers) {
    const values = memory.pools[name] || [];
    const above = below.map((value, place) => value + (values[place] || 0));
    steps(context, memory.times, below, above, x, y, colour(name));
    below = above;
  }
  for (const [name, values] of [["driver", memory.driver], ["sync", memory.peak]]) {
    if (!values.length) continue;
    context.strokeStyle = colour(name);
    context.beginPath();
    memory.times.forEach((ns, place) => { if (place) context.lineTo(x(ns), y(values[place - 1])); context.lineTo(x(ns), y(values[place])); });
    context.lineTo(x(span[1]), y(values[values.length - 1]));
    context.stroke();
  }
  for (const value of shown) {
    context.strokeStyle = colour("bad");
    context.setLineDash([5, 4]);
    context.beginPath();
    context.moveTo(left, y(value));
    context.lineTo(width - 12, y(value));
    context.stroke();
    context.setLineDash([]);
  }
  context.restore();
  const peak = Math.max(...memory.current), at = memory.current.indexOf(peak);
  replace($("memory-table"), element("div", { style: "padding:10px 14px" }, facts([["most in blocks", bytes(peak) + " at " + time(memory.times[at] - span[0])], ["most in heaps", bytes(Math.max(...memory.driver))],
    ["at the end", bytes(memory.current[memory.current.length - 1]) + " in blocks, " + bytes(memory.driver[memory.driver.length - 1]) + " in heaps"], memory.peak.length ? null : ["handed out", memory.allocations + " blocks, " + bytes(memory.allocated)], memory.peak.length ? null : ["freed", memory.frees + " blocks"]])));
}

function steps(context, times, below, above, x, y, fill) {
  context.beginPath();
  times.forEach((ns, place) => { if (place) context.lineTo(x(ns), y(above[place - 1])); context.lineTo(x(ns), y(above[place])); });
  context.lineTo(x(span[1]), y(above[above.length - 1]));
  context.lineTo(x(span[1]), y(below[below.length - 1]));
  for (let place = times.length - 1; place >= 0; place -= 1) { context.lineTo(x(times[place]), y(below[place])); if (place) context.lineTo(x(times[place]), y(below[place - 1])); }
  context.closePath();
  context.fillStyle = fill;
  context.fill();
}

// ---- search ----

function matches(text) { return text.toLowerCase().includes(state.words); }

function search(words) {
  state.words = words.trim().toLowerCase();
  state.hits = [];
  state.hit = -1;
  for (const slice of slices) {
    slice.isHit = false;
    if (!state.words) continue;
    const launch = slice.kind === "launch" && slice.detail >= 0 ? DATA.launches[slice.detail] : null;
    const more = launch ? launchText(launch) + " " + launch.message + " " + launch.arguments.map((argument) => argument.name + " " + argument.type).join(" ") : slice.detail >= 0 ? DATA.texts[slice.detail] : "";
    if (matches(slice.name) || matches(more)) { slice.isHit = true; state.hits.push(slice); }
  }
  state.hits.sort((a, b) => a.start - b.start);
  $("found").textContent = state.words ? state.hits.length + " found" : "";
  draw();
}

function nextHit(by) {
  if (!state.hits.length) return;
  state.hit = (state.hit + by + state.hits.length) % state.hits.length;
  $("found").textContent = state.hit + 1 + " of " + state.hits.length;
  select(state.hits[state.hit], true);
}

// ---- keys, start ----

function flipTheme() {
  const root = document.documentElement;
  root.dataset.theme = root.dataset.theme === "dark" ? "light" : "dark";
  drawDetail();
  draw();
}

function key(event) {
  if (event.ctrlKey || event.metaKey || event.altKey) return;
  const typing = event.target === $("search");
  if (typing) {
    if (event.key === "Enter") { nextHit(event.shiftKey ? -1 : 1); event.preventDefault(); }
    if (event.key === "Escape") { $("search").value = ""; search(""); $("search").blur(); }
    return;
  }
  if ($("help").open) return;
  const box = { launches: $("launch-table"), kernels: $("kernel-table") }[state.view];
  const onButton = event.target.tagName === "BUTTON";
  const acts = {
    "/": () => $("search").focus(), "?": () => $("help").showModal(), d: flipTheme, 0: zoomAll, "+": () => zoom(0.5), "=": () => zoom(0.5), "-": () => zoom(2),
    ArrowLeft: () => (event.shiftKey ? pan(-0.2) : neighbour(-1)), ArrowRight: () => (event.shiftKey ? pan(0.2) : neighbour(1)),
    ArrowUp: () => (box ? moveRow(box, -1) : otherTrack(-1)), ArrowDown: () => (box ? moveRow(box, 1) : otherTrack(1)), n: () => nextHit(1), N: () => nextHit(-1),
    Enter: () => { if (!onButton && state.slice && state.slice.kind === "launch") openKernel(state.kernel); },
  };
  VIEWS.forEach(([name], place) => { acts[place + 1] = () => show(name); });
  const act = acts[event.key];
  if (!act) return;
  act();
  if (!(event.key === "Enter" && onButton)) event.preventDefault();
}

function start() {
  const dark = window.matchMedia && window.matchMedia("(prefers-color-scheme: dark)").matches;
  document.documentElement.dataset.theme = dark ? "dark" : "light";
  document.title = DATA.title + " – openmps trace";
  $("title").textContent = DATA.title;
  replace($("notices"), DATA.notices.map((text) => element("p", {}, text)));
  replace($("tabs"), VIEWS.map(([name, label]) => element("button", { role: "tab", id: "tab-" + name, "aria-controls": "view-" + name, onclick: () => show(name) }, label)));
  replace($("legend"), KINDS.filter((kind) => slices.some((slice) => slice.kind === kind)).map((kind) => element("span", { class: "key" }, element("i", { style: "background:var(--" + kind + ")" }), KIND_NAMES[kind])));
  replace($("about"), element("div", { style: "padding:12px 14px" }, facts(DATA.facts)));
  $("theme").addEventListener("click", flipTheme);
  $("help-button").addEventListener("click", () => $("help").showModal());
  $("search").addEventListener("input", (event) => search(event.target.value));
  document.querySelectorAll("[data-do]").forEach((button) => button.addEventListener("click", () => ({ "zoom-in": () => zoom(0.5), "zoom-out": () => zoom(2), "zoom-all": zoomAll })[button.dataset.do]()));
  document.addEventListener("keydown", key);
  window.addEventListener("resize", draw);
  listenToTimeline();
  state.slice = sliceOfLaunch.get(0) || null;
  drawDetail();
  show(VIEWS.some(([name]) => "#" + name === location.hash) ? location.hash.slice(1) : "timeline");
  document.documentElement.dataset.ready = "yes";
}

start();
