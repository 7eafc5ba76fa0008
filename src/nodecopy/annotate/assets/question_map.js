// The map of all nodes, with the one in question selected; fetched again after every fit.

let graphMap = null;
const fetched = { version: null, positions: "", places: new Map() };

async function updateMap() {
  if (state.stamp < 0 || fetched.version === state.fittedVersion) return;
  const before = fetched.version;
  fetched.version = state.fittedVersion;
  try {
    takeMap(await get("map"));
  } catch (problem) {
    fetched.version = before; // asked for again with the next state
    told(problem);
  }
}

function takeMap(block) {
  const { predicted, known } = seenClasses(block);
  const moved = block.positions !== fetched.positions;
  if (moved) buildQuestionMap(block);
  if (graphMap === null) return;
  Object.assign(graphMap.source, { predicted, known, confidence: block.confidence });
  graphMap.redraw();
  selectOnMap();
}

function buildQuestionMap(block) {
  fetched.positions = block.positions;
  fetched.places = new Map(block.ids.map((id, i) => [id, i]));
  graphMap?.view.remove();
  const source = {
    ...mapPlaces(block.positions),
    ...seenClasses(block),
    links: unpackLinks(block.links, block.ids.length),
    confidence: block.confidence,
    name: (i) => block.names[i],
    searched: block.ids.map((id, i) => `${id}\n${block.names[i]}`.toLowerCase()),
    words: (i) => questionWords(source, i),
    open: (i) => ask(block.ids[i], "You chose this node."),
    mark: (i) => questionMark(source, block.ids[i], i),
    heldOut: null,
    columns: [],
    suspectLinks: [],
  };
  graphMap = buildMap(byId("map"), source);
  if (block.ids.length < block.total) {
    const words = `The map holds ${whole(block.ids.length)} of ${whole(block.total)} nodes: labelled ones, and ends of edges drawn at random.`;
    byId("map").append(make("p", { class: "quiet" }, words));
  }
}

function questionWords({ predicted, known, confidence }, i) {
  const guess = `${shortened(nameOf(predicted[i]), 40)}${confidence[i] ? `, ${percent(confidence[i])}` : ""}`;
  return known[i] >= 0 ? [guess, `label: ${shortened(nameOf(known[i]), 40)}`] : [guess];
}

function questionMark({ known }, id, i) {
  if (state.suspects.some(([suspect, , , , wrong]) => suspect === id && wrong >= 0.5)) return MARKS.suspect;
  if (known[i] >= 0) return MARKS.known;
  return state.next.includes(id) ? MARKS.next : MARKS.none;
}

function selectOnMap() {
  graphMap?.view.select(fetched.places.get(current.id) ?? -1, true);
}
