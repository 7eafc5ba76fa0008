// The data of the page as typed columns.

const data = JSON.parse(byId("data").textContent);
const classNames = data.classes.names;
const tagged = data.target === "tags"; // several for each node; the last name stands for none
const manyClasses = classNames.length > 15;
// The classes with most predicted nodes first.
const classOrder = [...classNames.keys()].sort(
  (a, b) => data.classes.predicted[b] - data.classes.predicted[a] || a - b,
);
const classRanks = [];
classOrder.forEach((k, rank) => (classRanks[k] = rank));
const nodes = unpackNodes(data.nodes);
const links = unpackLinks(data.links, nodes.ids.length);
const relationNames = data.links.relationNames;
const otherTypes = data.otherTypes; // of nodes without a class; their numbers are -1, -2, …
const classified = nodes.predicted.filter((k) => k >= 0).length;
const placeOfId = new Map(nodes.ids.map((id, i) => [id, i]));
const suspectLinks = new Set(data.suspects.nodes.map(([u, v]) => linkKey(u, v)));

function unpackNodes(columns) {
  if (columns.value) return unpackNumbers(columns);
  const Class = classNames.length < 2 ** 15 ? Int16Array : Int32Array;
  const unpacked = {
    ids: columns.ids,
    names: columns.ids.map((id, i) => columns.names?.[i] || id),
    searched: columns.ids.map((id, i) => `${id}\n${columns.names?.[i] ?? ""}`.toLowerCase()),
    known: unpack(Class, columns.known),
    knownTags: columns.knownTags && unpack(Uint8Array, columns.knownTags),
    predicted: unpack(Class, columns.predicted),
    probabilities: unpack(Uint16Array, columns.probabilities),
    entropy: unpack(Float32Array, columns.entropy),
    novelty: columns.novelty ? unpack(Uint16Array, columns.novelty) : new Uint16Array(columns.ids.length),
    fromGraph: orZeros(columns.fromGraph, columns.ids.length),
    fromWeights: orZeros(columns.fromWeights, columns.ids.length),
    fromModel: orZeros(columns.fromModel, columns.ids.length),
    degree: unpack(Int32Array, columns.degree),
    sets: columns.sets && unpack(Uint8Array, columns.sets),
  };
  const k = classNames.length;
  unpacked.confidence = Float32Array.from(
    unpacked.predicted,
    (c, i) => (c < 0 ? 1 : unpacked.probabilities[i * k + c] / 10000),
  );
  unpacked.setSize = Int32Array.from(unpacked.predicted, (_, i) => setOf(i, unpacked.sets).length);
  return unpacked;
}

// Numbers: a range of like ones, low to high, stands where a class does.
function unpackNumbers(columns) {
  const numbers = (name) => columns[name] && unpack(Float32Array, columns[name]);
  const [low, high] = [numbers("low"), numbers("high")];
  return {
    ids: columns.ids,
    names: columns.ids.map((id, i) => columns.names?.[i] || id),
    searched: columns.ids.map((id, i) => `${id}\n${columns.names?.[i] ?? ""}`.toLowerCase()),
    known: unpack(Int16Array, columns.known),
    predicted: unpack(Int16Array, columns.predicted),
    knownValue: numbers("knownValue"),
    value: numbers("value"),
    low,
    high,
    wide: low && low.map((end, i) => high[i] - end),
    degree: unpack(Int32Array, columns.degree),
    confidence: new Float32Array(columns.ids.length).fill(1),
    novelty: new Uint16Array(columns.ids.length),
  };
}

function orZeros(column, n) {
  return column ? unpack(Float32Array, column) : new Float32Array(n);
}

// The classes in the prediction set of a node, or its tags: a bit for each, in whole bytes a node.
function setOf(i, bits = nodes.sets) {
  if (!bits) return [];
  const width = Math.ceil(classNames.length / 8);
  const held = (_, k) => (bits[i * width + (k >> 3)] >> (k & 7)) & 1;
  return classNames.map((_, k) => k).filter(held);
}

function probabilitiesOf(i) {
  const k = classNames.length;
  return Array.from(nodes.probabilities.subarray(i * k, (i + 1) * k), (p) => p / 10000);
}

const evidenceOf = (node) => data.evidence[node] ?? null;

function neighboursOf(i) {
  return links.targets.subarray(links.offsets[i], links.offsets[i + 1]);
}

function linkKey(u, v) {
  return Math.min(u, v) * data.nodes.ids.length + Math.max(u, v);
}
