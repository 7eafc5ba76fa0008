// The parts of the page above the table of nodes.

const LISTED_AT_FIRST = 10;
const CLASSES_AT_FIRST = 12; // those that are predicted most

function showSummary() {
  document.title = `Node labels: ${shown(data.files)}`;
  byId("files").append(shown(data.files));
  byId("method").append(shown(data.method));
  byId("answers").append(...data.answers.map(answerCard));
  for (const { name, value, remark } of data.facts) {
    const values = [make("dd", { class: "value" }, value), make("dd", { class: "remark" }, remark)];
    byId("facts").append(make("div", {}, make("dt", {}, name), ...values));
  }
  showBox("Warnings", "box warning", data.warnings);
  showBox("Notes on the files", "box", data.notes);
  showBox("What became of the columns", "box", data.columns);
  showBox("Relations", "box", data.relations);
  for (const sentence of data.summary) byId("words").append(make("p", {}, sentence));
  if (data.leftOut) {
    byId("left-out").append(data.leftOut);
    byId("left-out").hidden = false;
  }
}

// How good, where unsure, what next: the last one begins with the node to label.
function answerCard({ title, value, words }) {
  const first = data.next.nodes[0];
  const said = value ? [value] : ["Label ", nodeButton(first)];
  const unsure = data.confusion ? "#confusion" : tagged ? "#nodes" : "#trust";
  const links = { "How good?": "#trust", "Where unsure?": unsure, "What next?": "#next" };
  const more = make("a", { href: links[title] }, "More");
  return make("div", {}, make("h2", {}, title), make("p", { class: "value" }, ...said), make("p", {}, `${words} `, more));
}

function showBox(title, style, sentences) {
  if (sentences.length === 0) return;
  const items = sentences.map((sentence) =>
    make("li", {}, make("bdi", { class: "wrapped" }, shown(sentence))),
  );
  const list = make("ul", {}, ...items);
  byId("alerts").append(
    style.includes("warning")
      ? make("div", { class: style }, make("h2", {}, title), list)
      : make("details", { class: style }, make("summary", {}, `${title} (${items.length})`), list),
  );
}

function showClasses() {
  const { known, predicted, expected } = data.classes;
  const drawClasses = (some) => {
    byId("class-chart").style.height = `${36 + some.length * (manyClasses ? 40 : 56)}px`;
    draw(
      byId("class-chart"),
      "Bar chart of known, predicted and expected labels by class; a table follows",
      (width) => classOption(width, some),
    );
  };
  drawClasses(classOrder.slice(0, CLASSES_AT_FIRST));
  if (classOrder.length > CLASSES_AT_FIRST) {
    const more = make("button", { type: "button" }, `Show all ${classOrder.length} ${tagged ? "tags" : "classes"}`);
    more.addEventListener("click", () => {
      forget(byId("class-chart"));
      drawClasses(classOrder);
      more.remove();
    });
    byId("class-figure").after(more);
  }
  const further = tagged ? tagColumns() : [];
  const rows = classOrder.map((k) => [
    className(k),
    whole(known[k]),
    whole(predicted[k]),
    whole(Math.round(expected[k])),
    ...further.map(([, values]) => (values[k] == null ? "–" : percent(values[k]))),
  ]);
  const headings = [tagged ? "Tag" : "Class", "#Known labels", "#Predicted", "#Expected"];
  byId("class-table").append(plainTable([...headings, ...further.map(([title]) => title)], rows));
}

// What the table of tags has beside counts.
function tagColumns() {
  const { threshold, precision, recall } = data.classes;
  const held = precision ? [["#Precision, held out", precision], ["#Recall, held out", recall]] : [];
  return [["#Threshold", threshold], ...held];
}

// The page speaks of classes; here of tags.
function speakOfTags() {
  document.querySelector('nav a[href="#classes"]').textContent = "Tags";
  byId("classes").querySelector("h2").textContent = "Tags";
  byId("classes").querySelector("p").textContent =
    "Nodes known to have each tag beside those predicted to have it, as shares of all tags. The expected share adds up the probabilities.";
  const select = byId("class-filter");
  select.previousSibling.textContent = "Predicted tag";
  select.options[0].textContent = "all tags";
  byId("label-filter").querySelector('[value="novel"]').remove();
  byId("label-filter").querySelector('[value="differs"]').textContent = "known tags differ from predicted";
  byId("nodes").querySelector("p.quiet").textContent =
    "Arrow keys, Page Up, Page Down, Home and End move through the rows; Enter opens a node. “Doubt” is how undecided its tags are on average: 0% is certain, 100% no idea. Marks have the colour of the tag that is predicted most clearly: its probability is the largest multiple of its threshold.";
}

// What does not apply to the labels of this page is not there.
function leaveOut(id, link = id) {
  byId(id).remove();
  document.querySelector(`nav a[href="#${link}"]`)?.parentElement.remove();
}

function showConfidence() {
  if (!data.confidence) {
    byId("confidence-chart").closest(".pair > div").remove();
    return;
  }
  const counts = data.confidence.counts;
  byId("confidence-words").append(data.confidence.sentence);
  draw(byId("confidence-chart"), "Histogram of confidence; a table follows", confidenceOption);
  const range = (i) => span(i / counts.length, (i + 1) / counts.length);
  const rows = counts.map((n, i) => [range(i), whole(n)]).filter((_, i) => counts[i]);
  byId("confidence-table").append(plainTable(["Confidence", "#Nodes"], rows));
}

function showReliability() {
  if (!data.reliability) {
    leaveOut("trust");
    return;
  }
  const { points = [], sentence } = data.reliability;
  byId("reliability-words").append(sentence);
  if (points.length === 0) {
    byId("reliability-chart").parentElement.remove();
    byId("reliability-table").remove();
    return;
  }
  draw(
    byId("reliability-chart"),
    "Share of right predictions by confidence, cross-validated; a table follows",
    reliabilityOption,
  );
  const rows = points.map((p) => [
    percent(p.confidence),
    percent(p.right),
    span(p.low, p.high),
    whole(p.count),
  ]);
  byId("reliability-table").append(
    plainTable([...(tagged ? ["#Mean probability", "#Have the tag"] : ["#Mean confidence", "#Right"]), "#95% interval", "#Predictions"], rows),
  );
}

function showSets() {
  if (!data.sets) {
    leaveOut("sets");
    return;
  }
  const { counts = [], coverage, sentence } = data.sets;
  byId("sets-words").append(sentence);
  if (counts.length === 0) {
    byId("sets-chart").parentElement.remove();
    byId("sets-table").remove();
    return;
  }
  draw(byId("sets-chart"), `Sizes of ${coverage} prediction sets; a table follows`, setsOption);
  const total = counts.reduce((sum, n) => sum + n, 0);
  const rows = counts.map((n, i) => [whole(i + 1), whole(n), percent(n / total)]);
  byId("sets-table").append(
    plainTable(
      ["#Classes in the set", "#Nodes", "#Share"],
      rows.filter((_, i) => counts[i]),
    ),
  );
}

function showNext() {
  const { nodes: chosen, gain, total, sentence } = data.next;
  const rows = chosen.map((i, rank) => [
    whole(rank + 1),
    nodeButton(i),
    predictedCell(i),
    ...(kind ? kind.trust(i) : tagged ? [] : [percent(nodes.confidence[i])]),
    gain[rank].toFixed(1),
  ]);
  const trust = kind ? kind.trustHeadings : tagged ? [] : ["#Confidence"];
  const headings = ["#Rank", "Node", "Predicted", ...trust, "#Gain, in nodes"];
  byId("next-list").append(make("p", {}, sentence));
  if (total) byId("next-list").append(growingTable(headings, rows, total, "next_labels.csv"));
}

function showSuspectLabels() {
  const { nodes: chosen, predicted, tag, given, probability, total, sentence } = data.suspectLabels;
  const rows = chosen.map((i, rank) => [
    nodeButton(i),
    ...(tagged
      ? [className(tag[rank]), given[rank] ? "given" : "missing"]
      : [knownName(i), kind ? kind.number(predicted[rank]) : className(predicted[rank])]),
    percent(probability[rank]),
  ]);
  const headings = tagged
    ? ["Node", "Tag", "Suspect because it is", "#That is wrong"]
    : ["Node", "Known label", "Predicted without it", "#Known one is wrong"];
  const host = byId("suspect-label-list");
  host.append(make("p", {}, sentence));
  if (total) host.append(growingTable(headings, rows, total, "suspect_labels.csv"));
}

// Suspect or missing edges: the ends of each, their classes, and a number.
function showPairs(name, { nodes: ends, relation, total, sentence }, values, text, heading) {
  const rows = ends.map(([u, v], i) => [
    nodeButton(u),
    predictedCell(u),
    nodeButton(v),
    predictedCell(v),
    ...(relation ? [relation[i]] : []),
    text(values[i]),
  ]);
  const between = relation ? ["Relation"] : [];
  const headings = ["Node", "Predicted", "Node", "Predicted", ...between, heading];
  const host = byId(`${name}-list`);
  host.append(make("p", {}, sentence));
  if (total) host.append(growingTable(headings, rows, total, `${name}_edges.csv`));
}

function showComponents() {
  if (!data.components) {
    leaveOut("components");
    return;
  }
  const { sentence, rows = [] } = data.components;
  byId("components-words").append(sentence);
  if (rows.length === 0) return;
  const cells = rows.map(({ name, source, weight, right, low, high, error }) => [
    name,
    source,
    percent(weight),
    ...(kind ? [kind.number(error)] : right === undefined ? [] : [percent(right), span(low, high)]),
  ]);
  const shares = rows[0].right === undefined ? [] : ["#Right", "#95% interval"];
  const scores = kind ? ["#Root mean squared error"] : shares;
  const headings = ["Component", "Learns from", "#Weight", ...scores];
  byId("components-table").append(plainTable(headings, cells));
}

function showConfusion() {
  if (!data.confusion) {
    leaveOut("confusion");
    return;
  }
  const { sentence, counts, pairs = [] } = data.confusion;
  byId("confusion-words").append(sentence);
  if (counts) byId("confusion-table").append(confusionMatrix(counts));
  else if (pairs.length) {
    const rows = pairs.map(([k, l, n]) => [className(k), className(l), whole(n)]);
    byId("confusion-table").append(
      plainTable(["Known label", "Predicted without it", "#Labels"], rows),
    );
  }
}

function confusionMatrix(counts) {
  const head = classNames.map((_, k) => make("th", { scope: "col" }, className(k)));
  const body = counts.map((row, k) => {
    const total = row.reduce((sum, n) => sum + n, 0);
    const cells = row.map((n, l) => {
      const tint = k === l ? "--agrees" : "--lower";
      const share = total ? Math.round((60 * n) / total) : 0;
      const style = `background: color-mix(in srgb, var(${tint}) ${share}%, transparent)`;
      return make("td", n ? { class: "number", style } : { class: "number absent" }, whole(n));
    });
    return make("tr", {}, make("th", { scope: "row" }, className(k)), ...cells);
  });
  const corner = make("th", { scope: "col" }, "known ↓ predicted →");
  const table = make(
    "table",
    { class: "confusion" },
    make("thead", {}, make("tr", {}, corner, ...head)),
    make("tbody", {}, ...body),
  );
  return make("div", { class: "scroll", tabindex: 0 }, table);
}

// The first rows, and a button for the others; what the page does not hold is in a file.
function growingTable(headings, rows, total, file) {
  const table = plainTable(headings, rows.slice(0, LISTED_AT_FIRST));
  const plain = (cell) => (typeof cell === "string" ? cell : (cell.textContent ?? ""));
  const names = headings.map((heading) => heading.replace("#", ""));
  const written = () => [names, ...rows.map((cells) => cells.map(plain))];
  const host = make("div", {}, table, downloadButton("Download", file, written));
  if (total > rows.length) {
    host.append(
      make(
        "p",
        { class: "quiet" },
        `The first ${whole(rows.length)} of ${whole(total)}; ${file} has all.`,
      ),
    );
  }
  if (rows.length > LISTED_AT_FIRST) {
    const onPaper = `On paper the first ${LISTED_AT_FIRST} of ${whole(total)}; ${file} has all.`;
    host.append(make("p", { class: "on-paper" }, onPaper));
    const more = make("button", { type: "button" }, `Show all ${whole(rows.length)}`);
    more.addEventListener("click", () => {
      const full = plainTable(headings, rows);
      table.replaceWith(full);
      more.remove();
      full.querySelectorAll("tbody tr")[LISTED_AT_FIRST].querySelector("button").focus();
    });
    table.after(more);
  }
  return host;
}
