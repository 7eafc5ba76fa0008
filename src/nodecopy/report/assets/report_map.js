// The map of the report: all nodes that the page holds.

const MAP_PROBABILITIES = 8; // classes whose probability can be a colour
let graphMap = null;

function showMap() {
  graphMap = buildMap(byId("map"), {
    ...mapPlaces(data.map.positions),
    ...nodes,
    links,
    name: (i) => nodes.names[i],
    words: mapWords,
    open: openNode,
    mark: markOf(),
    heldOut: data.reliability?.points || data.scatter ? unpack(Uint8Array, data.map.heldOut) : null,
    columns: mapColumns(),
    suspectLinks: data.suspects.nodes,
  });
  if (data.leftOut) byId("map").append(make("p", { class: "quiet" }, data.leftOut));
}

function mapWords(i) {
  const { predicted, known, confidence } = nodes;
  if (predicted[i] < 0) return [shortened(nameOf(predicted[i]), 40)];
  if (tagged) {
    const words = [tagNames(setOf(i))];
    return known[i] < 0 ? words : [...words, `known: ${tagNames(setOf(i, nodes.knownTags))}`];
  }
  const words = [kind ? kind.words(i) : `${shortened(nameOf(predicted[i]), 40)}, ${percent(confidence[i])}`];
  if (known[i] >= 0) words.push(`known label: ${kind ? kind.knownText(i) : shortened(nameOf(known[i]), 40)}`);
  return words;
}

// What a node is marked as: the first of these that holds.
function markOf() {
  const marks = new Map();
  nodes.novelty.forEach((novelty, i) => novelty >= 500 && marks.set(i, MARKS.novel));
  nodes.known.forEach((k, i) => k >= 0 && marks.set(i, MARKS.known));
  data.suspectLabels.nodes.forEach((i, at) => {
    if (data.suspectLabels.probability[at] >= 0.5) marks.set(i, MARKS.suspect);
  });
  for (const i of data.next.nodes) marks.set(i, MARKS.next);
  return (i) => marks.get(i) ?? MARKS.none;
}

// Columns of the tables, then those of the page's own table, then probabilities.
function mapColumns() {
  const given = data.map.columns.map((one) => ({ ...one, codes: unpack(Uint8Array, one.codes) }));
  if (kind) return [...given, ...kind.mapColumns()];
  const formats = { degree: whole, setSize: whole };
  const inDoubt = (value) => percent(doubt(value));
  const own = COLUMNS.filter(({ key, number }) => number && key !== "confidence").map(({ key, title }) =>
    ranked(title, nodes[key], formats[key] ?? inDoubt),
  );
  const novelty = tagged ? [] : [ranked("None of the classes", nodes.novelty, (value) => percent(value / 1000))];
  const k = classNames.length;
  const shares = classNames.slice(0, k > MAP_PROBABILITIES ? 0 : k).map((name, c) => {
    const values = nodes.names.map((_, i) => nodes.probabilities[i * k + c] / 10000);
    return ranked(`Probability of ${name}`, values, percent);
  });
  return [...given, ...own, ...novelty, ...shares];
}
