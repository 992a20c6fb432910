"use strict";
const data = JSON.parse(document.getElementById("data").textContent);
const graph = document.getElementById("graph");
const WIDTH = 150, HEIGHT = 40, COLUMN = 175, ROW = 74;
let chosen = null, matches = [], current = 0;

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
    // Long names break where their words end.
    cell.split(/(?<=[_/.])/).forEach((part) => field.append(part, document.createElement("wbr")));
  });
}

// The view: a box of the drawing, which dragging moves and the wheel scales.

let view = { x: 0, y: 0, w: 1, h: 1 };

function show() {
  graph.setAttribute("viewBox", `${view.x} ${view.y} ${view.w} ${view.h}`);
}

function fit() {
  if (!data.nodes.length) return;
  const box = graph.getBoundingClientRect();
  const xs = data.nodes.map((node) => center(node)[0]);
  const ys = data.nodes.map((node) => center(node)[1]);
  const left = Math.min(...xs) - WIDTH, right = Math.max(...xs) + WIDTH;
  const top = Math.min(...ys) - HEIGHT, bottom = Math.max(...ys) + HEIGHT;
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

graph.addEventListener("wheel", (event) => {
  event.preventDefault();
  const box = graph.getBoundingClientRect();
  const factor = Math.exp(0.0015 * event.deltaY);
  const px = (event.clientX - box.left) / box.width, py = (event.clientY - box.top) / box.height;
  view = {
    x: view.x + px * view.w * (1 - factor),
    y: view.y + py * view.h * (1 - factor),
    w: view.w * factor,
    h: view.h * factor,
  };
  show();
}, { passive: false });

let drag = null;
graph.addEventListener("pointerdown", (event) => { drag = { x: event.clientX, y: event.clientY }; });
window.addEventListener("pointermove", (event) => {
  if (!drag) return;
  const scale = view.w / graph.getBoundingClientRect().width;
  view.x -= (event.clientX - drag.x) * scale;
  view.y -= (event.clientY - drag.y) * scale;
  drag = { x: event.clientX, y: event.clientY };
  graph.classList.add("dragged");
  show();
});
window.addEventListener("pointerup", () => { drag = null; graph.classList.remove("dragged"); });

// The drawing.

const edges = make("g", {}, graph), boxes = make("g", {}, graph);
data.nodes.forEach((node, to) => {
  const [x, y] = center(node);
  for (const from of node.from) {
    const [a, b] = center(data.nodes[from]);
    const bend = (y - b) / 2;
    // What skips layers passes beside the boxes between.
    const side = y - b > ROW && Math.abs(x - a) < WIDTH ? 0.75 * COLUMN : 0;
    const [top, bottom] = [b + HEIGHT / 2, y - HEIGHT / 2];
    make("path", {
      class: "edge", "data-from": from, "data-to": to,
      d: `M${a} ${top}C${a + side} ${b + bend} ${x + side} ${y - bend} ${x} ${bottom}`,
    }, edges);
  }
  const box = make("g", {
    class: "node", "data-node": to, "data-lowering": node.lowering, tabindex: 0,
    transform: `translate(${x} ${y})`,
  }, boxes);
  make("rect", { x: -WIDTH / 2, y: -HEIGHT / 2, width: WIDTH, height: HEIGHT }, box);
  make("text", { y: -3 }, box, node.code.length > 22 ? `${node.code.slice(0, 21)}…` : node.code);
  const small = [node.outputs.length ? shape(node.outputs[0]) : ""];
  if (node.seconds !== null) small.push(micro(node.seconds));
  make("text", { y: 12, class: "small" }, box, small.join("  "));
  make("title", {}, box, `${node.index} ${node.name}`);
  box.addEventListener("click", () => choose(to));
  box.addEventListener("keydown", (event) => { if (event.key === "Enter") choose(to); });
});

function choose(place) {
  chosen = place;
  for (const box of boxes.children) {
    box.classList.toggle("chosen", Number(box.dataset.node) === place);
  }
  for (const edge of edges.children) {
    const ends = [Number(edge.dataset.from), Number(edge.dataset.to)];
    edge.classList.toggle("near", ends.includes(place));
  }
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
  const asked = text.trim().toLowerCase();
  matches = asked ? index.flatMap((each, i) => (each.includes(asked) ? [i] : [])) : [];
  current = 0;
  for (const box of boxes.children) {
    const isMatch = matches.includes(Number(box.dataset.node));
    box.classList.toggle("match", isMatch);
    box.classList.toggle("faded", asked !== "" && !isMatch);
  }
  document.getElementById("found").textContent = asked ? `${matches.length} found` : "";
  if (matches.length) goTo(data.nodes[matches[0]]);
}

const field = document.getElementById("search");
field.addEventListener("input", () => search(field.value));
field.addEventListener("keydown", (event) => {
  if (event.key !== "Enter" || !matches.length) return;
  if (chosen === matches[current]) current = (current + 1) % matches.length;
  choose(matches[current]);
  goTo(data.nodes[matches[current]]);
});
document.getElementById("fit").addEventListener("click", fit);

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
start();
