// The side panel: an operator's details, the search and the tables.

// Bars, from the lowest to the highest value, and what their ends are.
function bars(section, text, { low, high, counts }) {
  const box = make("figure", {}, section), most = Math.max(...counts), end = (x) => +x.toPrecision(6);
  const label = `${text}, from ${end(low)} to ${end(high)}`;
  const figure = make("svg", { viewBox: `0 0 ${counts.length} 10`, preserveAspectRatio: "none",
    role: "img", "aria-label": label }, box);
  counts.forEach((count, i) => {
    const height = (10 * count) / most;
    const bar = make("rect", { x: i + 0.05, y: 10 - height, width: 0.9, height }, figure);
    make("title", {}, bar, number(count));
  });
  make("figcaption", {}, box, label);
}

function details(node) {
  const section = document.getElementById("details");
  section.replaceChildren();
  const title = isEnd(node) ? `${node.code} ${node.name}` : `${node.index} ${node.code}`;
  make("h2", {}, section, isGroup(node) ? headline(node) : title);
  const facts = make("table", {}, section);
  const lowering = node.reason ? `${node.lowering}: ${node.reason}` : node.lowering;
  if (!isEnd(node)) row(facts, ["computed in", lowering]);
  if (node.change) row(facts, [`beside ${data.other}`, node.change]);
  for (const text of node.changes) row(facts, ["changed", text]);
  if (node.macs) row(facts, ["MACs", number(node.macs)]);
  if (node.seconds !== null) row(facts, ["time", micro(node.seconds)]);
  if (node.difference) {
    const { differing, elements, worst, sqnr, cosine, mismatch } = node.difference;
    const most = mismatch || `by at most ${worst ?? "infinity"}`;
    const off = differing || mismatch ? `, ${most}` : "";
    row(facts, ["differing", `${number(differing)} of ${number(elements)} elements${off}`]);
    if (differing && sqnr !== null) row(facts, ["SQNR", `${sqnr.toFixed(1)} dB`]);
    if (differing && cosine !== null) row(facts, ["cosine", String(cosine)]);
  }
  for (const [key, value] of Object.entries(node.options)) {
    row(facts, [key, Array.isArray(value) ? value.join(", ") : String(value)]);
  }
  if (isGroup(node)) members(section, node);
  for (const [title, notes] of [["Inputs", node.inputs], ["Outputs", node.outputs]]) {
    if (!notes.length) continue;
    make("h2", {}, section, title);
    for (const note of notes) {
      const kind = note.is_constant ? " constant" : "", table = make("table", {}, section);
      const range = note.range?.map((x) => +x.toPrecision(6)).join(" to ");
      broken(make("h3", {}, section), note.name);
      section.append(table);
      row(table, ["type", `${note.dtype} ${shape(note)}${kind}`]);
      if (note.quantization) row(table, ["quantization", note.quantization]);
      if (range) row(table, ["range", range]);
      if (note.values) bars(section, `values of ${note.name}`, note.values);
      if (note.channels) bars(section, `ranges of the channels of ${note.name}`, note.channels);
    }
  }
}

function words(node) {
  const inside = isGroup(node) ? node.members : [node];
  const notes = inside.flatMap((each) => [...each.inputs, ...each.outputs]);
  const texts = notes.map((note) => `${note.name} ${note.dtype} ${shape(note)}`);
  const named = inside.map((each) => `${each.index} ${each.code} ${each.name}`);
  return [...named, node.lowering, node.change, ...texts].join(" ").toLowerCase();
}

let index = data.nodes.map(words);

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
document.title = `${data.name} – tvm-qnn`;
document.getElementById("title").textContent = data.name;
const facts = [
  data.format, `${number(data.operators)} operators`, `${number(data.parameters)} parameters`,
  `${(data.parameter_bytes / 1e6).toFixed(2)} MB`,
];
if (data.macs) facts.push(`${number(Math.round(data.macs / 1e4) / 100)} M MACs`);
document.getElementById("facts").textContent = facts.join(" · ");
document.getElementById("verdict").textContent = data.verdict;

// The part of the graph that is in view, as a file that stands alone.
document.getElementById("save").addEventListener("click", () => {
  const copy = graph.cloneNode(true);
  const style = document.querySelector("style").textContent;
  make("style", {}, copy, style);
  copy.setAttribute("xmlns", "http://www.w3.org/2000/svg");
  const text = new XMLSerializer().serializeToString(copy);
  const url = URL.createObjectURL(new Blob([text], { type: "image/svg+xml" }));
  const link = make("a", { href: url, download: `${data.name}.svg` }, document.body);
  link.click();
  link.remove();
  URL.revokeObjectURL(url);
});

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
  const read = SCALES[option.value]?.[0] ?? ((node) => node[option.value]);
  const known = data.nodes.some((node) => (read(node) ?? null) !== null);
  if (!known) option.remove();
}
colours.parentElement.hidden = colours.options.length < 2;
colours.addEventListener("change", () => colourBy(colours.value));
for (const kind of ["time", "difference", "change"]) {
  if (colours.querySelector(`[value=${kind}]`)) colours.value = kind;
}
colourBy(colours.value);
start();
