"use strict";
const data = JSON.parse(document.getElementById("data").textContent);
const graph = document.getElementById("graph");
const WIDTH = 150, HEIGHT = 40, COLUMN = 175, ROW = 74;
let chosen = null, asked = "", matches = [], found = new Set(), current = 0;

function make(name, attributes, parent, text) {
  const isDrawing = ["g", "rect", "text", "path", "title"].includes(name);
  const element = isDrawing
    ? document.createElementNS("http://www.w3.org/2000/svg", name)
    : document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, value);
  if (text !== undefined) element.textContent = text;
  parent.append(element);
  return element;
}

const number = (value) => value.toLocaleString("en");
const shape = (note) => note.shape.join("×");
const micro = (seconds) => `${(1e6 * seconds).toFixed(1)} µs`;
const center = (node) => [node.x * COLUMN, node.y * ROW];

function row(table, cells, numbers = 0) {
  const line = make("tr", {}, table);
  cells.forEach((cell, i) => {
    const field = make("td", i >= cells.length - numbers ? { class: "number" } : {}, line);
    // Long names break where their words end, numbers nowhere.
    cell.split(/(?<=[_/])|(?<=\.)(?!\d)/).forEach((part) => field.append(part, document.createElement("wbr")));
  });
}

// The view: a box of the drawing, which dragging moves; wheel, buttons and two fingers scale it.

let view = { x: 0, y: 0, w: 1, h: 1 };
let waiting = false;

function show() {
  graph.setAttribute("viewBox", `${view.x} ${view.y} ${view.w} ${view.h}`);
  draw();
}

function showSoon() {
  if (waiting) return;
  waiting = true;
  requestAnimationFrame(() => { waiting = false; show(); });
}

function extent() {
  const all = { left: Infinity, right: -Infinity, top: Infinity, bottom: -Infinity };
  for (const node of data.nodes) {
    const [x, y] = center(node);
    all.left = Math.min(all.left, x - WIDTH);
    all.right = Math.max(all.right, x + WIDTH);
    all.top = Math.min(all.top, y - HEIGHT);
    all.bottom = Math.max(all.bottom, y + HEIGHT);
  }
  return all;
}

function fit() {
  if (!data.nodes.length) return;
  const box = graph.getBoundingClientRect();
  const { left, right, top, bottom } = extent();
  const w = Math.max(right - left, ((bottom - top) * box.width) / Math.max(box.height, 1));
  view = { x: (left + right - w) / 2, y: top, w, h: (w * box.height) / Math.max(box.width, 1) };
  show();
}

function goTo(node) {
  const box = graph.getBoundingClientRect();
  const w = Math.min(view.w, 1200), h = (w * box.height) / Math.max(box.width, 1);
  const [x, y] = center(node);
  view = { x: x - w / 2, y: y - h / 2, w, h };
  show();
}

function start() {
  fit();
  // A long network is no more than a line as a whole: begin at its top.
  const readable = 1.3 * graph.getBoundingClientRect().width;
  if (view.w > readable && data.nodes.length) {
    const [x, y] = center(data.nodes[0]);
    view = { x: x - readable / 2, y: y - HEIGHT, w: readable, h: (readable * view.h) / view.w };
    show();
  }
}

// Scale about a point of the window, or about the middle.
function zoom(factor, clientX, clientY) {
  const box = graph.getBoundingClientRect();
  const px = clientX === undefined ? 0.5 : (clientX - box.left) / box.width;
  const py = clientY === undefined ? 0.5 : (clientY - box.top) / box.height;
  view.x += px * view.w * (1 - factor);
  view.y += py * view.h * (1 - factor);
  view.w *= factor;
  view.h *= factor;
  showSoon();
}

graph.addEventListener("wheel", (event) => {
  event.preventDefault();
  zoom(Math.exp(0.0015 * event.deltaY), event.clientX, event.clientY);
}, { passive: false });
document.getElementById("nearer").addEventListener("click", () => zoom(1 / 1.5));
document.getElementById("farther").addEventListener("click", () => zoom(1.5));
document.getElementById("fit").addEventListener("click", fit);

const fingers = new Map();
let isDragged = false;
graph.addEventListener("pointerdown", (event) => {
  if (!fingers.size) isDragged = false;
  fingers.set(event.pointerId, [event.clientX, event.clientY]);
});
window.addEventListener("pointermove", (event) => {
  const before = fingers.get(event.pointerId);
  if (!before) return;
  const now = [event.clientX, event.clientY];
  const others = [...fingers].filter(([id]) => id !== event.pointerId).map(([, place]) => place);
  fingers.set(event.pointerId, now);
  if (others.length) {
    isDragged = true;
    const [x, y] = others[0];
    const apart = (place) => Math.max(Math.hypot(place[0] - x, place[1] - y), 1);
    zoom(apart(before) / apart(now), x, y);
    return;
  }
  const step = view.w / graph.getBoundingClientRect().width;
  view.x -= (now[0] - before[0]) * step;
  view.y -= (now[1] - before[1]) * step;
  graph.classList.add("dragged");
  isDragged = isDragged || Math.hypot(now[0] - before[0], now[1] - before[1]) > 1;
  showSoon();
});
for (const kind of ["pointerup", "pointercancel"]) {
  window.addEventListener(kind, (event) => {
    fingers.delete(event.pointerId);
    graph.classList.remove("dragged");
  });
}

graph.addEventListener("click", (event) => {
  if (isDragged) return;
  const place = event.target.closest("[data-node]")?.dataset.node ?? nodeAt(event);
  if (place !== undefined) choose(Number(place));
});

function nodeAt(event) {
  const box = graph.getBoundingClientRect(), step = view.w / box.width;
  const x = view.x + (event.clientX - box.left) * step;
  const y = view.y + (event.clientY - box.top) * step;
  const isAt = ([a, b]) => Math.abs(a - x) < WIDTH / 2 && Math.abs(b - y) < HEIGHT / 2;
  const place = data.nodes.findIndex((node) => isAt(center(node)));
  return place < 0 ? undefined : place;
}

// The colours: how operators are computed, how long they take, or how far they are off.

const LOWERINGS = {
  integer: "#dbeafe", float32: "#fef3c7", "float32 between dequantize and quantize": "#fed7aa",
  unsupported: "#fecaca",
};
const HEAT = ["#ffffff", "#fff3e0", "#ffe6c4", "#ffd8a8", "#ffc88b", "#ffb66e", "#ffa252", "#fb8c3c"];
const percent = (share) => `${(100 * share).toPrecision(2)} %`;
const differing = (node) => node.difference && node.difference.differing / node.difference.elements;
const SCALES = { time: [(node) => node.seconds, micro], difference: [differing, percent] };
let scale = null, highest = 0;

function colourBy(kind) {
  scale = SCALES[kind] ?? null;
  highest = scale ? Math.max(0, ...data.nodes.map((node) => scale[0](node) ?? 0)) : 0;
  legend();
  paint();
}

function colour(node) {
  if (!scale) return LOWERINGS[node.lowering];
  const share = highest ? (scale[0](node) ?? 0) / highest : 0;
  return HEAT[Math.ceil(Math.sqrt(share) * (HEAT.length - 1))];
}

function legend() {
  const list = document.getElementById("legend");
  list.replaceChildren();
  const upTo = (i) => scale[1](highest * (i / (HEAT.length - 1)) ** 2);
  const entries = scale
    ? HEAT.map((each, i) => [each, i ? `to ${upTo(i)}` : "nothing"])
    : Object.entries(LOWERINGS)
      .filter(([name]) => data.nodes.some((node) => node.lowering === name))
      .map(([name, each]) => [each, name]);
  for (const [each, text] of highest || !scale ? entries : entries.slice(0, 1)) {
    const entry = make("li", {}, list);
    make("span", { class: "swatch", style: `background:${each}` }, entry);
    entry.append(text);
  }
}

// The drawing. From afar all boxes of a colour are one element; near, those in view are drawn with
// their texts. So a graph of thousands of operators moves as a small one does.

const MOST = 400, LEGIBLE = 0.3;

function curve(from, to) {
  const [a, b] = center(data.nodes[from]), [x, y] = center(data.nodes[to]);
  const bend = (y - b) / 2;
  // What skips layers passes beside the boxes between.
  const side = y - b > ROW && Math.abs(x - a) < WIDTH ? 0.75 * COLUMN : 0;
  const [top, bottom] = [b + HEIGHT / 2, y - HEIGHT / 2];
  return `M${a} ${top}C${a + side} ${b + bend} ${x + side} ${y - bend} ${x} ${bottom}`;
}

const after = data.nodes.map(() => []);
data.nodes.forEach((node, to) => node.from.forEach((from) => after[from].push(to)));
const curves = data.nodes.flatMap((node, to) => node.from.map((from) => curve(from, to)));
make("path", { class: "edge", d: curves.join("") }, graph);
const near = make("path", { class: "edge near", d: "" }, graph);
const afar = make("g", { id: "afar" }, graph), boxes = make("g", {}, graph);
const shown = new Map();

function outlines(places) {
  const corner = (place) => {
    const [x, y] = center(data.nodes[place]);
    return `M${x - WIDTH / 2} ${y - HEIGHT / 2}h${WIDTH}v${HEIGHT}h${-WIDTH}z`;
  };
  return places.map(corner).join("");
}

function paint() {
  const kinds = new Map();
  data.nodes.forEach((node, place) => {
    const kind = colour(node);
    if (!kinds.has(kind)) kinds.set(kind, []);
    kinds.get(kind).push(place);
  });
  afar.replaceChildren();
  for (const [kind, places] of kinds) {
    make("path", { class: asked ? "faded" : "", fill: kind, d: outlines(places) }, afar);
  }
  if (asked) make("path", { class: "match", d: outlines(matches) }, afar);
  if (chosen !== null) make("path", { class: "chosen", d: outlines([chosen]) }, afar);
  shown.forEach((box, place) => mark(box, place));
  draw();
}

function mark(box, place) {
  box.classList.toggle("match", found.has(place));
  box.classList.toggle("faded", asked !== "" && !found.has(place));
  box.classList.toggle("chosen", place === chosen);
  box.firstChild.setAttribute("fill", colour(data.nodes[place]));
}

function draw() {
  const { x: left, y: top, w, h } = view;
  const size = graph.getBoundingClientRect().width / w;
  const visible = [];
  if (size > LEGIBLE) {
    data.nodes.forEach((node, place) => {
      const [x, y] = center(node);
      const isIn = x > left - WIDTH && x < left + w + WIDTH && y > top - ROW && y < top + h + ROW;
      if (isIn) visible.push(place);
    });
  }
  const isNear = size > LEGIBLE && visible.length <= MOST;
  afar.style.display = isNear ? "none" : "";
  const wanted = new Set(isNear ? visible : []);
  for (const [place, box] of shown) {
    if (wanted.has(place)) continue;
    box.remove();
    shown.delete(place);
  }
  for (const place of wanted) if (!shown.has(place)) shown.set(place, drawn(place));
}

function drawn(place) {
  const node = data.nodes[place], [x, y] = center(node);
  const box = make("g", {
    class: "node", "data-node": place, tabindex: 0, transform: `translate(${x} ${y})`,
  }, boxes);
  const size = { x: -WIDTH / 2, y: -HEIGHT / 2, width: WIDTH, height: HEIGHT };
  make("rect", { ...size, "data-lowering": node.lowering }, box);
  make("text", { y: -3 }, box, node.code.length > 22 ? `${node.code.slice(0, 21)}…` : node.code);
  const small = [node.outputs.length ? shape(node.outputs[0]) : ""];
  if (node.seconds !== null) small.push(micro(node.seconds));
  make("text", { y: 12, class: "small" }, box, small.join("  "));
  make("title", {}, box, `${node.index} ${node.name}`);
  mark(box, place);
  box.addEventListener("keydown", (event) => { if (event.key === "Enter") choose(place); });
  return box;
}

function choose(place) {
  chosen = place;
  const ends = data.nodes[place].from.map((from) => curve(from, place));
  near.setAttribute("d", [...ends, ...after[place].map((to) => curve(place, to))].join(""));
  paint();
  details(data.nodes[place]);
}

function details(node) {
  const section = document.getElementById("details");
  section.replaceChildren();
  make("h2", {}, section, `${node.index} ${node.code}`);
  const facts = make("table", {}, section);
  row(facts, ["computed in", node.reason ? `${node.lowering}: ${node.reason}` : node.lowering]);
  if (node.macs) row(facts, ["MACs", number(node.macs)]);
  if (node.seconds !== null) row(facts, ["time", micro(node.seconds)]);
  if (node.difference) {
    const { differing, elements, worst, sqnr, cosine } = node.difference;
    const off = differing ? `, by at most ${worst ?? "infinity"}` : "";
    row(facts, ["differing", `${number(differing)} of ${number(elements)} elements${off}`]);
    if (differing && sqnr !== null) row(facts, ["SQNR", `${sqnr.toFixed(1)} dB`]);
    if (differing && cosine !== null) row(facts, ["cosine", String(cosine)]);
  }
  for (const [key, value] of Object.entries(node.options)) {
    row(facts, [key, Array.isArray(value) ? value.join(", ") : String(value)]);
  }
  for (const [title, notes] of [["Inputs", node.inputs], ["Outputs", node.outputs]]) {
    make("h2", {}, section, title);
    const table = make("table", {}, section);
    for (const note of notes) {
      const kind = note.is_constant ? " constant" : "";
      row(table, [note.name, `${note.dtype} ${shape(note)}${kind}`, note.quantization]);
    }
  }
}

// The search.

function words(node) {
  const notes = [...node.inputs, ...node.outputs];
  const texts = notes.map((note) => `${note.name} ${note.dtype} ${shape(note)}`);
  return [node.index, node.code, node.name, node.lowering, ...texts].join(" ").toLowerCase();
}

const index = data.nodes.map(words);

function search(text) {
  asked = text.trim().toLowerCase();
  matches = asked ? index.flatMap((each, i) => (each.includes(asked) ? [i] : [])) : [];
  found = new Set(matches);
  current = 0;
  document.getElementById("found").textContent = asked ? `${matches.length} found` : "";
  if (matches.length) goTo(data.nodes[matches[0]]);
  paint();
}

const field = document.getElementById("search");
field.addEventListener("input", () => search(field.value));
field.addEventListener("keydown", (event) => {
  if (event.key !== "Enter" || !matches.length) return;
  if (chosen === matches[current]) current = (current + 1) % matches.length;
  choose(matches[current]);
  goTo(data.nodes[matches[current]]);
});
// The tables.

document.title = `${data.name} – tvm-qnn`;
document.getElementById("title").textContent = data.name;
const facts = [
  data.format, `${number(data.nodes.length)} operators`, `${number(data.parameters)} parameters`,
  `${(data.parameter_bytes / 1e6).toFixed(2)} MB`,
];
if (data.macs) facts.push(`${number(Math.round(data.macs / 1e4) / 100)} M MACs`);
document.getElementById("facts").textContent = facts.join(" · ");

const counts = document.getElementById("counts");
const heads = make("tr", {}, counts);
const titles = ["operator", "computed in", "count", "M MACs"];
if (data.has_times) titles.push("time");
titles.forEach((text, i) => make("th", i > 1 ? { class: "number" } : {}, heads, text));
for (const [code, lowering, count, macs] of data.counts) {
  const cells = [code, lowering, number(count), macs ? (macs / 1e6).toFixed(1) : ""];
  if (data.has_times) {
    const same = data.nodes.filter((node) => node.code === code && node.lowering === lowering);
    cells.push(micro(same.reduce((sum, node) => sum + (node.seconds ?? 0), 0)));
  }
  row(counts, cells, titles.length - 2);
}
const ends = document.getElementById("ends");
for (const [kind, notes] of [["input", data.inputs], ["output", data.outputs]]) {
  for (const note of notes) row(ends, [kind, note.name, `${note.dtype} ${shape(note)}`, note.quantization]);
}
const colours = document.getElementById("colours");
for (const option of [...colours.options]) {
  const known = option.value in SCALES
    ? data.nodes.some((node) => SCALES[option.value][0](node) !== null) : true;
  if (!known) option.remove();
}
colours.parentElement.hidden = colours.options.length < 2;
colours.addEventListener("change", () => colourBy(colours.value));
if (colours.querySelector("[value=difference]")) colours.value = "difference";
colourBy(colours.value);
start();
