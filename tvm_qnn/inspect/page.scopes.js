// Scopes: operators that follow one another and whose names begin alike, as "block1/conv", are one box.

const originals = data.nodes;
const WORST = ["unsupported", "float32", "float32 between dequantize and quantize", "integer"];
const sum = (values) => values.reduce((total, value) => total + value, 0);
const known = (values) => values.filter((value) => value !== null && value !== undefined);

function scopeOf(node, depth) {
  const parts = node.name.split(";")[0].split(/[/.:]/).filter((part) => part);
  return node.kind === "operator" && parts.length > depth ? parts.slice(0, depth).join("/") : null;
}

function groupOf(name, members) {
  if (members.length === 1) return { ...members[0] };
  const differences = known(members.map((node) => node.difference));
  const seconds = known(members.map((node) => node.seconds));
  const total = (key) => sum(differences.map((each) => each[key] ?? 0));
  return {
    kind: "group", name, members, code: `${members.length} operators`, index: members[0].index,
    lowering: WORST.find((kind) => members.some((node) => node.lowering === kind)), reason: "",
    macs: sum(members.map((node) => node.macs ?? 0)), options: {}, changes: [],
    seconds: seconds.length ? sum(seconds) : null, inputs: [], outputs: members.at(-1).outputs,
    change: members.find((node) => node.change && node.change !== "equal")?.change ?? members[0].change,
    difference: differences.length
      ? { differing: total("differing"), elements: total("elements"), worst: null, sqnr: null, cosine: null, mismatch: "" }
      : null,
  };
}

// The boxes at a depth of names, in layers: each below those that it depends on.
function boxesAt(depth) {
  const runs = [];
  originals.forEach((node, place) => {
    const scope = scopeOf(node, depth), last = runs.at(-1);
    if (scope !== null && last?.scope === scope) last.places.push(place);
    else runs.push({ scope, places: [place] });
  });
  const homes = [];
  runs.forEach(({ places }, run) => places.forEach((place) => { homes[place] = run; }));
  const boxes = runs.map(({ scope, places }) => groupOf(scope, places.map((place) => originals[place])));
  boxes.forEach((box, run) => {
    const before = runs[run].places.flatMap((place) => originals[place].from.map((from) => homes[from]));
    box.from = [...new Set(before)].filter((from) => from !== run);
  });
  const first = (box) => (box.kind === "input" ? -1 : box.kind === "output" ? Infinity : box.index);
  const order = boxes.map((_, run) => run).sort((a, b) => first(boxes[a]) - first(boxes[b]));
  const rows = [];
  for (const run of order) {
    const box = boxes[run];
    box.y = 1 + Math.max(-1, ...box.from.map((from) => boxes[from].y));
    (rows[box.y] ??= []).push(run);
  }
  const middle = (run) => sum(runs[run].places.map((place) => originals[place].x)) / runs[run].places.length;
  for (const row of rows) {
    const places = new Map(row.map((run) => [run, middle(run)]));
    row.sort((a, b) => places.get(a) - places.get(b));
    row.forEach((run, place) => { boxes[run].x = place - (row.length - 1) / 2; });
  }
  return boxes;
}

function showScopes(depth) {
  data.nodes = depth ? boxesAt(depth) : originals;
  chosen = null;
  rebuild();
  index = data.nodes.map(words);
  search(field.value);
  colourBy(colours.value);
  start();
}

function members(section, node) {
  make("h2", {}, section, "Operators of this scope");
  const open = make("button", { type: "button" }, section, "Show all operators");
  open.addEventListener("click", () => {
    scopes.value = "0";
    showScopes(0);
    choose(originals.indexOf(node.members[0]));
    goTo(node.members[0]);
  });
  const table = make("table", {}, section);
  for (const each of node.members) row(table, [each.code, each.name]);
}

const scopes = document.getElementById("scopes");
const depths = [0];
// Of two models, what one alone has lies between the operators of the other.
if (!originals.some((node) => node.kind === "removed")) {
  for (let depth = 1; depth <= 4; depth += 1) {
    const count = boxesAt(depth).length;
    if (count < originals.length && count > 3) depths.push(depth);
  }
}
const levels = (depth) => (depth === 1 ? "one level of names" : `${depth} levels of names`);
for (const depth of depths) make("option", { value: depth }, scopes, depth ? levels(depth) : "every operator");
scopes.parentElement.hidden = depths.length < 2;
scopes.addEventListener("change", () => showScopes(Number(scopes.value)));
