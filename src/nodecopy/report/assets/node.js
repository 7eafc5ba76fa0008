// The panel of a node: probabilities, uncertainty, neighbourhood.

const BARS_AT_FIRST = 8;
const LISTED = 200;

function fillPanel(panel, node) {
  clearPanel(panel);
  const close = make("button", { type: "button", id: "close" }, "Close");
  close.addEventListener("click", closePanel);
  const title = make(
    "h2",
    { id: "panel-title", tabindex: "-1" },
    make("span", { class: "kind" }, "Node"),
    make("bdi", {}, shown(nodes.names[node])),
  );
  panel.append(make("div", { class: "panel-top" }, title, close));
  if (nodes.names[node] !== nodes.ids[node]) {
    panel.append(make("p", { class: "quiet" }, "Id ", make("bdi", {}, shown(nodes.ids[node]))));
  }
  const hasClass = nodes.predicted[node] >= 0;
  panel.append(verdict(node));
  const around = make("div", {});
  panel.append(make("h3", {}, "Its surroundings"), around);
  if (hasClass) {
    panel.append(...evidenceParts(evidenceOf(node), nodes.names[node]));
  }
  if (hasClass && !kind) {
    const title = tagged ? "Tag probabilities" : "Class probabilities";
    panel.append(make("h3", {}, title), probabilityBars(node), ...(tagged ? [] : setWords(node)));
    if (nodes.novelty[node] >= 50) {
      const novelty = percent(nodes.novelty[node] / 1000);
      panel.append(make("p", { class: "quiet" }, `With a probability of ${novelty} it belongs to none of the classes.`));
    }
    panel.append(make("h3", {}, "Where its uncertainty comes from"), ...uncertainty(node));
  }
  fillNeighbourhood(around, node); // when it is in the page, and has a width
}

function tagVerdict(node) {
  const text = make("p", {}, "Predicted: ", predictedCell(node), make("br"));
  if (nodes.known[node] < 0) text.append("Its tags are not known. ");
  else text.append("Known: ", knownCell(node), make("br"));
  data.suspectLabels.nodes.forEach((suspect, at) => {
    if (suspect !== node) return;
    const { tag, given, probability } = data.suspectLabels;
    text.append(className(tag[at]), ` is ${given[at] ? "given" : "missing"}, wrongly with a probability of ${percent(probability[at])}. `);
  });
  return text;
}

function verdict(node) {
  const { predicted, known, confidence, degree } = nodes;
  const sure = ` with a confidence of ${percent(confidence[node])}. `;
  const neighbours = `It has ${degree[node] ? counted(degree[node], "neighbour") : "no neighbours"}.`;
  if (predicted[node] < 0) {
    return make("p", {}, className(predicted[node]), kind ? " have no number. " : " have no classes. ", neighbours);
  }
  const rank = data.next.nodes.indexOf(node) + 1;
  const place = rank ? ` It is number ${rank} on the list of what to label next.` : "";
  if (tagged) {
    const text = tagVerdict(node);
    text.append(neighbours, place);
    return text;
  }
  const text = make("p", {}, "Predicted ", predictedCell(node), kind ? `${kind.between(node)}. ` : sure);
  if (known[node] < 0) {
    text.append("Its label is not known. ");
  } else {
    const same = kind ? !kind.differs(node) : known[node] === predicted[node];
    text.append("Its known label is ", knownName(node), same ? ". " : ", which differs. ");
  }
  text.append(neighbours, place);
  const suspect = data.suspectLabels.nodes.indexOf(node);
  if (suspect >= 0) {
    const probability = percent(data.suspectLabels.probability[suspect]);
    text.append(` Its known label is wrong with a probability of ${probability}; without it, `);
    const { predicted: without } = data.suspectLabels;
    text.append(kind ? kind.number(without[suspect]) : className(without[suspect]), " was predicted.");
  }
  return text;
}

function setWords(node) {
  if (!nodes.sets) return [];
  const p = probabilitiesOf(node);
  const members = setOf(node).sort((a, b) => p[b] - p[a] || a - b);
  const shownFirst = members.slice(0, BARS_AT_FIRST).map((k) => make("li", {}, className(k)));
  const more = members.length - shownFirst.length;
  if (more) shownFirst.push(make("li", {}, `and ${whole(more)} more`));
  const size = counted(members.length, "class", "classes");
  const promise = `Over all nodes, about ${data.sets.coverage} of such sets hold the true class.`;
  return [
    make("h3", {}, `Its ${data.sets.coverage} set`),
    make("p", {}, `${size}. ${promise}`),
    make("ul", { class: "key set" }, ...shownFirst),
  ];
}

function probabilityBars(node) {
  const p = probabilitiesOf(node);
  const order = p.map((_, k) => k).sort((a, b) => p[b] - p[a] || a - b);
  const bars = (some) => some.map((k) => bar(k, p[k]));
  const list = make("ul", { class: "bars" }, ...bars(order.slice(0, BARS_AT_FIRST)));
  const host = make("div", {}, list);
  if (order.length > BARS_AT_FIRST) {
    const more = make("button", { type: "button" }, `Show all ${order.length} ${tagged ? "tags" : "classes"}`);
    more.addEventListener("click", () => {
      list.append(...bars(order.slice(BARS_AT_FIRST)));
      more.remove();
    });
    host.append(more);
  }
  return host;
}

function bar(k, p) {
  const style = `width: ${100 * p}%; background: var(--edge-${colourOf(k)})`;
  const track = make("span", { class: "track", "aria-hidden": "true" }, make("i", { style }));
  return make("li", {}, className(k), track, make("span", { class: "number" }, percent(p)));
}

function uncertainty(node) {
  const total = nodes.entropy[node];
  const range = "0% is certain, and 100% a uniform guess";
  const sentence = make("p", {}, `Its doubt is ${percent(doubt(total))}; ${range}.`);
  if (percent(doubt(total)) === percent(0)) return [sentence];
  const { fromGraph, fromWeights, fromModel } = nodes;
  const shared = Math.max(0, total - fromGraph[node] - fromWeights[node] - fromModel[node]);
  const parts = [
    ["shared", "Shared by all draws", "it lies between classes, or little is known", shared],
    ["model", "Between methods", "the components of the model disagree", fromModel[node]],
    ["graph", "Between networks", "those of different sampled graphs disagree", fromGraph[node]],
    ["weights", "Within a network", "with its weights drawn again it disagrees", fromWeights[node]],
  ].filter(([style, , , value]) => style === "shared" || value >= LEAST_PART * total);
  const width = (value) => `width: ${(100 * value) / total}%`;
  const bars = parts.map(([style, , , value]) => make("i", { class: style, style: width(value) }));
  return [
    sentence,
    make("div", { class: "split", "aria-hidden": "true" }, ...bars),
    make("ul", { class: "parts" }, ...parts.map((part) => partOf(total, ...part))),
  ];
}

function partOf(total, style, name, why, value) {
  return make(
    "li",
    {},
    make("i", { class: style, "aria-hidden": "true" }),
    make("span", {}, name, make("small", {}, why)),
    make("span", { class: "number" }, `${wholePercent(value / total)} of it`),
  );
}

function fillNeighbourhood(host, node) {
  const drawing = byId("neighbourhood");
  if (drawing) forget(drawing);
  if (nodes.degree[node] === 0) {
    const alone = "No edge leads to it or from it: only its features say anything about it.";
    host.replaceChildren(make("p", {}, alone));
    return;
  }
  const around = surroundings(node, opened.hops);
  const chart = make("div", { id: "neighbourhood" });
  host.replaceChildren(
    hopSwitch(host, node),
    chart,
    key(around),
    make("p", { class: "quiet" }, ...drawnWords(around)),
    nodeLists(around),
  );
  const label = "Drawing of the neighbourhood; the lists below say the same";
  draw(chart, label, neighbourhoodOption(around));
  echarts.getInstanceByDom(chart)?.on("click", ({ data: clicked }) => {
    if (clicked?.node !== undefined && clicked.node !== node) openNode(clicked.node);
  });
}

function hopSwitch(host, node) {
  const box = make("input", { type: "checkbox", id: "two-steps" });
  box.checked = opened.hops === 2;
  box.addEventListener("change", () => {
    opened.hops = box.checked ? 2 : 1;
    fillNeighbourhood(host, node);
    byId("two-steps").focus();
  });
  return make("label", { class: "switch" }, box, "Show two steps");
}

// What the marks mean, with how many neighbours are of each class, drawn or not.
function key({ centre, near, inner, outer }) {
  const drawn = new Set([centre, ...inner, ...outer]);
  const counts = new Map(Array.from(drawn, (node) => [nodes.predicted[node], 0]));
  for (const node of near) {
    counts.set(nodes.predicted[node], (counts.get(nodes.predicted[node]) ?? 0) + 1);
  }
  const order = [...counts.keys()].sort((a, b) => counts.get(b) - counts.get(a) || a - b);
  const number = (k) => (counts.get(k) ? `(${whole(counts.get(k))})` : "");
  const items = order.map((k) => make("li", {}, className(k), number(k)));
  if ([...drawn].some((node) => nodes.known[node] >= 0)) {
    items.push(make("li", {}, make("span", { class: "ring" }), "known label"));
  }
  return make("ul", { class: "key" }, ...items, ...lineKey(centre, drawn));
}

function drawnWords({ inner, outer, missing, missingBeyond }) {
  const shape = isTagged()
    ? "Shape and colour show the tag that is predicted most clearly, with the number of neighbours; "
    : "Shape and colour show the predicted class, with the number of neighbours in it; ";
  const words = kind
    ? ["Shape and colour show the range of the predicted number, with how many neighbours are in it."]
    : [shape, "the fuller a mark, the surer the prediction."];
  if (missing > 0) {
    words.push(` ${counted(inner.length, "neighbour")} drawn, `);
    words.push(`those that count most or have a label first; ${whole(missing)} left out.`);
  }
  if (missingBeyond > 0) {
    words.push(` ${counted(outer.length, "node")} two steps away drawn; `);
    words.push(`${whole(missingBeyond)} left out.`);
  }
  return words;
}

function nodeLists({ inner, outer, missing }) {
  const all = missing > 0 ? ` of ${whole(inner.length + missing)}` : "";
  const title = `Neighbours (${whole(inner.length)}${all})`;
  const lists = [make("summary", {}, title), nodeList(inner, describe)];
  if (outer.length) {
    const beyond = `Two steps away (${whole(outer.length)})`;
    lists.push(make("h4", {}, beyond), nodeList(outer, describe));
  }
  return make("details", { class: "neighbours" }, ...lists);
}

function describe(node) {
  if (nodes.predicted[node] < 0) return "";
  const known = nodes.known[node] >= 0;
  if (kind) return `${kind.words(node)}${known ? ", known" : ""}`;
  if (!nodes.confidence[node]) return known ? "known" : ""; // nothing is predicted yet
  return `${percent(nodes.confidence[node])}${known ? ", known" : ""}`;
}

function nodeList(members, remark) {
  const items = members.slice(0, LISTED).map((node) => {
    const button = make(
      "button",
      { type: "button" },
      idText(node),
      make("small", {}, remark(node)),
      className(nodes.predicted[node]),
    );
    button.addEventListener("click", () => openNode(node));
    return make("li", {}, button);
  });
  return make("ul", { class: "list" }, ...items);
}
