// Why a node has its class: a waterfall of evidence, in log-odds of the class against the next one.

// Marks of the scale, those that matter first, and how far apart they are in percent of its width.
const AXIS = [0.5, 0.9, 0.1, 0.99, 0.01, 0.999, 0.001, 0.75, 0.25, 0.6, 0.4];
const APART = 16;
const LABELS_SHOWN = 4;
let compared = null; // { name, why } of another node, to look at beside this one

const logOdds = (p) => Math.log(p / (1 - p));
const totalOf = (why) => why.bars.reduce((sum, [, , , value]) => sum + value, 0);

// What odds are multiplied by; of numbers, what a piece adds.
function times(value) {
  if (kind) return kind.effect(value);
  const n = Math.exp(Math.abs(value));
  const text = n < 9.95 ? n.toFixed(1) : n < 1e6 ? whole(Math.round(n)) : "1,000,000 and more";
  return `${value < 0 ? "÷" : "×"}${text}`;
}

const signed = (value) => `${value < 0 ? "−" : "+"}${Math.abs(value).toFixed(2)}`;

// Where each bar begins and ends.
function spans(why) {
  let at = 0;
  return why.bars.map(([, , , value]) => [at, (at += value)]);
}

function evidenceParts(why, name) {
  const elsewhere =
    "Why it has its class was computed for nodes in lists, and for the least certain ones; " +
    "for any other, nodecopy explain RUN NODE, or explain(node) in Python.";
  if (why === null) return [make("p", { class: "quiet" }, elsewhere)];
  const several = compared && compared.why !== why ? [{ name, why }, compared] : [{ name, why }];
  const ends = several.flatMap((one) => [0, ...spans(one.why).map(([, end]) => end)]);
  const range = [Math.min(...ends), Math.max(...ends, Math.min(...ends) + 0.01)];
  const host = make("div", { class: "falls" });
  host.append(...several.map((one) => waterfall(one, range, several.length > 1)));
  const tag = why.tag === undefined ? "Why this class" : "Why this tag, or not";
  return [make("h3", {}, kind ? "Why this number" : tag), host, compareButton(name, why)];
}

function compareButton(name, why) {
  const held = compared !== null;
  const words = held ? "Stop comparing" : "Compare with another node";
  const button = make("button", { type: "button", class: "compare" }, words);
  const hint = make("span", { class: "quiet", role: "status" });
  button.addEventListener("click", () => {
    compared = held ? null : { name, why };
    button.hidden = true;
    if (held) document.querySelector(".fall + .fall")?.remove();
    else hint.textContent = "Open another node: this one is shown beside it.";
  });
  return make("p", {}, button, hint);
}

function waterfall({ name, why }, range, named) {
  if (kind) kind.multiplies = why.multiplies;
  const total = totalOf(why);
  const share = 1 / (1 + Math.exp(-total));
  const places = spans(why);
  const bars = why.bars.map((bar, i) => barOf(bar, places[i], range));
  const labels = why.labels.slice(0, LABELS_SHOWN);
  const learnt = labels.length ? [make("p", { class: "quiet" }, "Learnt mostly from the labels of ", ...pieceNames(labels), ".")] : [];
  return make(
    "div",
    { class: "fall" },
    ...(named ? [make("h4", {}, make("bdi", {}, shown(name)))] : []),
    ...(kind ? kind.fall(why, bars) : classFall(why, bars, range, total, share)),
    ...learnt,
  );
}

// What is explained: a class rather than the next, or a tag rather than not.
function questionOf(why) {
  if (why.tag === undefined) return [className(why.label), " rather than ", className(why.against)];
  return why.has ? [className(why.tag), " rather than not"] : ["Not ", className(why.tag), " rather than with it"];
}

function classFall(why, bars, range, total, share) {
  const words = "? From even odds, each piece of evidence makes it more likely (right) or less (left).";
  return [
    make("p", {}, ...questionOf(why), words),
    make("ul", { class: "waterfall" }, ...bars, axisRow(range)),
    make("p", {}, `Together ${times(total)} (${signed(total)} in log-odds): `, make("strong", {}, percent(share)), " of the two."),
  ];
}

function barOf([source, title, sentence, value, pieces, left, rest], place, range) {
  const [from, to] = [...place].sort((a, b) => a - b).map((at) => across100(at, range));
  const style = `left: ${from}%; width: max(2px, ${to - from}%)`;
  const zero = make("span", { class: "zero", style: `left: ${across100(0, range)}%` });
  const drawn = make("span", { class: value < 0 ? "bar against" : "bar", style });
  const lane = make("span", { class: "lane", "aria-hidden": "true" }, zero, drawn);
  const head = make("summary", { title: kind ? "" : `${signed(value)} in log-odds` }, make("span", {}, title), lane, make("span", { class: "number" }, times(value)));
  const items = pieces.map((piece) =>
    make("li", {}, make("span", {}, pieceName(piece)), make("span", { class: "number" }, times(piece[1]))),
  );
  if (Math.abs(rest) >= (kind ? 1e-9 : 0.005)) {
    const others = left ? `${counted(left, "more piece")}` : "smaller pieces";
    items.push(make("li", {}, make("span", {}, others), make("span", { class: "number" }, times(rest))));
  }
  return make("li", {}, make("details", { class: source.replace(" ", "-") }, head, make("p", {}, shown(sentence)), make("ul", { class: "pieces" }, ...items)));
}

const across100 = (at, [low, high]) => (100 * (at - low)) / (high - low);

// The scale: the probability of the class among the two.
function axisRow(range) {
  const ticks = new Map();
  for (const p of AXIS) {
    const at = across100(logOdds(p), range);
    const free = [...ticks.values()].every((other) => Math.abs(other - at) >= APART);
    if (at >= 0 && at <= 100 && free) ticks.set(p, at);
  }
  const marks = [...ticks].map(([p, at]) => make("span", { style: `left: ${at}%` }, `${+(100 * p).toFixed(1)}%`));
  return make("li", { class: "axis", "aria-hidden": "true" }, make("span", {}), make("span", { class: "lane" }, ...marks), make("span", {}));
}

// A node on this page is named by its place.
function pieceName([name, , note]) {
  const text = make("bdi", {}, shortened(typeof name === "number" ? nodes.names[name] : name, 200));
  return make("span", {}, text, note ? ` (${shortened(note, 200)})` : "");
}

const pieceNames = (rows) => rows.flatMap((row, i) => [i ? ", " : "", pieceName(row)]);

// What each neighbour of a node adds to its class, by its place.
function neighbourEvidence(why) {
  const bar = why?.bars.find(([source]) => source === "neighbour");
  const placed = (bar?.[4] ?? []).filter(([name]) => typeof name === "number");
  return new Map(placed.map(([node, value]) => [node, value]));
}
