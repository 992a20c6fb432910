"use strict";
const data = JSON.parse(document.getElementById("data").textContent);
const graph = document.getElementById("graph");
const WIDTH = 150, HEIGHT = 40, COLUMN = 175, ROW = 74;
let chosen = null, asked = "", matches = [], found = new Set(), current = 0;

function make(name, attributes, parent, text) {
  const isDrawing = ["svg", "g", "rect", "text", "path", "title", "style"].includes(name);
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
const isEnd = (node) => node.kind === "input" || node.kind === "output";
const isGroup = (node) => node.kind === "group";
const headline = (node) => isGroup(node) ? `${node.name}: ${node.code}` : `${isEnd(node) ? "" : `${node.index} `}${node.code} ${node.name}`;
const center = (node) => [node.x * COLUMN, node.y * ROW];

// Long names break where their words end, numbers nowhere.
function broken(element, text) {
  text.split(/(?<=[_/])|(?<=\.)(?!\d)/).forEach((part) => element.append(part, document.createElement("wbr")));
}

function row(table, cells, numbers = 0) {
  const line = make("tr", {}, table);
  cells.forEach((cell, i) => {
    const field = make("td", i >= cells.length - numbers ? { class: "number" } : {}, line);
    broken(field, cell);
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
    const [x, y] = center(data.nodes.find((node) => node.y === 0));
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

// The colours: how operators are computed, what became of them, how long they take, or how far they
// are off.

const END = "#e2e8f0";
const CLASSES = {
  lowering: {
    integer: "#dbeafe", float32: "#fef3c7", "float32 between dequantize and quantize": "#fed7aa",
    unsupported: "#fecaca", "input of the model": END, "output of the model": END,
  },
  change: { equal: "#f1f5f9", changed: "#fde68a", added: "#bbf7d0", removed: "#fecaca" },
};
const HEAT = ["#ffffff", "#fff3e0", "#ffe6c4", "#ffd8a8", "#ffc88b", "#ffb66e", "#ffa252", "#fb8c3c"];
const percent = (share) => `${(100 * share).toPrecision(2)} %`;
const differing = (node) => node.difference && node.difference.differing / node.difference.elements;
const SCALES = { time: [(node) => node.seconds, micro], difference: [differing, percent] };
let scale = null, classes = "lowering", highest = 0;

function colourBy(kind) {
  scale = SCALES[kind] ?? null;
  classes = kind in CLASSES ? kind : "lowering";
  highest = scale ? Math.max(0, ...data.nodes.map((node) => scale[0](node) ?? 0)) : 0;
  legend();
  paint();
}

function colour(node) {
  if (!scale) return CLASSES[classes][node[classes]];
  const share = highest ? (scale[0](node) ?? 0) / highest : 0;
  return HEAT[Math.ceil(Math.sqrt(share) * (HEAT.length - 1))];
}

function legend() {
  const list = document.getElementById("legend");
  list.replaceChildren();
  const upTo = (i) => scale[1](highest * (i / (HEAT.length - 1)) ** 2);
  const entries = scale
    ? HEAT.map((each, i) => [each, i ? `to ${upTo(i)}` : "nothing"])
    : Object.entries(CLASSES[classes])
      .filter(([name]) => data.nodes.some((node) => node[classes] === name))
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

let after = [];
const edges = make("path", { class: "edge", d: "" }, graph);
const near = make("path", { class: "edge near", d: "" }, graph);
const afar = make("g", { id: "afar" }, graph), boxes = make("g", {}, graph);
const shown = new Map();

// Take other boxes: those of ``data.nodes``.
function rebuild() {
  after = data.nodes.map(() => []);
  data.nodes.forEach((node, to) => node.from.forEach((from) => after[from].push(to)));
  edges.setAttribute("d", data.nodes.flatMap((node, to) => node.from.map((from) => curve(from, to))).join(""));
  near.setAttribute("d", "");
  shown.forEach((box) => box.remove());
  shown.clear();
}
rebuild();

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
  box.querySelector("rect").setAttribute("fill", colour(data.nodes[place]));
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
    class: "node", "data-node": place, tabindex: 0, role: "button", transform: `translate(${x} ${y})`,
  }, boxes);
  make("title", {}, box, headline(node));
  const size = { x: -WIDTH / 2, y: -HEIGHT / 2, width: WIDTH, height: HEIGHT };
  make("rect", { ...size, "data-lowering": node.lowering }, box);
  const code = isEnd(node) ? `${node.code} ${node.name}` : isGroup(node) ? node.name.split("/").at(-1) : node.code;
  make("text", { y: -3 }, box, code.length > 21 ? `${code.slice(0, 20)}…` : code);
  const [first] = isEnd(node) ? [...node.inputs, ...node.outputs] : node.outputs;
  const small = [isGroup(node) ? node.code : first ? shape(first) : ""];
  if (node.seconds !== null) small.push(micro(node.seconds));
  make("text", { y: 12, class: "small" }, box, small.join("  "));
  mark(box, place);
  box.addEventListener("keydown", (event) => {
    if (event.key !== "Enter" && event.key !== " ") return;
    event.preventDefault();
    choose(place);
  });
  return box;
}

function choose(place) {
  chosen = place;
  const ends = data.nodes[place].from.map((from) => curve(from, place));
  near.setAttribute("d", [...ends, ...after[place].map((to) => curve(place, to))].join(""));
  paint();
  details(data.nodes[place]);
}
