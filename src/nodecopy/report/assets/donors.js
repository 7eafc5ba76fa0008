// Whose neighbours a node receives in the sampled graphs.

function donorParts(node) {
  if (!donors) {
    const none =
      "There are no donors: this fit copies no neighbours between nodes, or the graph is so large " +
      "that the model was fitted to a part of it.";
    return [make("p", {}, none)];
  }
  const counts = drawnDonors(node);
  const elsewhere = counts.get(-1) ?? 0;
  counts.delete(-1);
  const order = [...counts.keys()].sort((a, b) => counts.get(b) - counts.get(a) || a - b);
  const times = (donor) =>
    `${donor === node ? "itself, " : ""}in ${counted(counts.get(donor), "graph")}`;
  const { graphs, allGraphs } = donors;
  const which = graphs < allGraphs ? `the first ${graphs} of ${allGraphs}` : `the ${graphs}`;
  const more = elsewhere ? `; ${whole(elsewhere)} more are not on this page` : "";
  const drawn = make("p", {}, `Drawn in ${which} sampled graphs${more}:`);
  return [donorRule(node), drawn, nodeList(order, times)];
}

function donorRule(node) {
  const k = donors.classOf[node];
  const size = donors.classSizes[k];
  const chance = size > 1 ? `1/${whole(size)}` : "1";
  const text = make(
    "p",
    {},
    `In a sampled graph it receives the neighbours of one of ${counted(size, "node")} of class `,
    className(k),
    `, each with probability ${chance} `,
    `(and keeps its own with probability ${donors.epsilon}).`,
  );
  if (k !== nodes.predicted[node]) {
    text.append(" That class is the base classifier’s; the final prediction differs.");
  }
  return text;
}

function drawnDonors(node) {
  const counts = new Map();
  for (const donor of donors.drawn.subarray(node * donors.graphs, (node + 1) * donors.graphs)) {
    counts.set(donor, (counts.get(donor) ?? 0) + 1);
  }
  return counts;
}
