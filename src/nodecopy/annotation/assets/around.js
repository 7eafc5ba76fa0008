// The small graph around the node in question, under the names that the drawing of the report knows.

let classNames = [];
let nodes = { ids: [], known: [], predicted: [], confidence: [], degree: [] };
let links = { offsets: [0], targets: [] };
const suspectLinks = new Set();
const opened = { hops: 1 };
const NOTHING = "no prediction yet";

const neighboursOf = (i) => links.targets.slice(links.offsets[i], links.offsets[i + 1]);
const linkKey = (u, v) => Math.min(u, v) * nodes.ids.length + Math.max(u, v);
const openNode = (i) => ask(nodes.ids[i], "You chose this node.");

function takeAround(around, nothing) {
  classNames[nothing] = NOTHING;
  nodes = around;
  links = { offsets: around.offsets, targets: around.targets };
}
