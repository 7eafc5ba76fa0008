// The table of all nodes: searched, sorted, and virtual (only rows in sight are elements).

const SPARE = 8; // rows kept on either side of what is in sight
const CLASS_COLUMNS = [
  { key: "id", title: "Node", width: idWidth(), narrow: "8rem", cell: idText },
  {
    key: "predicted",
    title: "Predicted",
    width: "minmax(9.5rem, 1.2fr)",
    narrow: "8.5rem",
    cell: predictedCell,
  },
  {
    key: "confidence",
    title: "Confidence",
    number: true,
    width: "7rem",
    narrow: "6rem",
    cell: confidenceCell,
  },
  { key: "known", title: "Known label", width: "minmax(7.5rem, 1.1fr)", cell: knownCell },
  inDoubt("entropy", "Doubt", "5rem"),
  inDoubt("fromModel", "Between methods", "6.5rem"),
  inDoubt("fromGraph", "Between networks", "6.5rem"),
  inDoubt("fromWeights", "Within a network", "6.5rem"),
  inWhole("degree", "Degree", "5rem"),
  inWhole("setSize", tagged ? "Tags" : "Set size", "5rem"),
];
const shownOfClasses = ({ key }) =>
  (!/^(from|set)/.test(key) || matters(key)) && !(tagged && key === "confidence");
const COLUMNS = kind
  ? [CLASS_COLUMNS[0], ...kind.columns, inWhole("degree", "Degree", "5rem")]
  : CLASS_COLUMNS.filter(shownOfClasses);
const LABEL_FILTERS = {
  labelled: (i) => nodes.known[i] >= 0,
  unlabelled: (i) => nodes.known[i] < 0,
  novel: (i) => nodes.novelty[i] >= 500,
  differs: (i) => nodes.known[i] >= 0 && (kind ? kind.differs(i) : labelDiffers(i)),
};
const filter = { query: "", predicted: -1, labels: "", key: "id", direction: 1 };
const grid = { matches: new Uint32Array(0), active: 0, rows: new Map() };

const tracks = (kind) => COLUMNS.map((column) => column[kind] ?? column.width).join(" ");

// Whether there are sets, or a part of the doubt is at least a percent of all doubt.
function matters(key) {
  const sum = (column) => column.reduce((total, value) => total + value, 0);
  return sum(nodes[key]) > (key === "setSize" ? 0 : LEAST_PART * sum(nodes.entropy));
}

// Short ids leave their room to the names of classes.
function idWidth() {
  const longest = nodes.names.reduce((most, name) => Math.max(most, name.length), 0);
  const width = Math.max(5, Math.min(10, 2 + 0.6 * longest));
  return `minmax(${width}rem, ${width / 5}fr)`;
}

function inDoubt(key, title, width) {
  return { key, title, width, number: true, cell: (i) => percent(doubt(nodes[key][i])) };
}

function inWhole(key, title, width) {
  return { key, title, width, number: true, cell: (i) => whole(nodes[key][i]) };
}

function confidenceCell(i) {
  const bar = make("i", { style: `width: ${100 * nodes.confidence[i]}%` });
  const text = make("span", {}, percent(nodes.confidence[i]));
  return make(
    "span",
    { class: "sure" },
    make("span", { class: "track", "aria-hidden": "true" }, bar),
    text,
  );
}

function knownCell(i) {
  return nodes.known[i] < 0 ? make("span", { class: "absent" }, "–") : knownName(i);
}

function labelDiffers(i) {
  return tagged ? String(setOf(i)) !== String(setOf(i, nodes.knownTags)) : nodes.known[i] !== nodes.predicted[i];
}

function matching() {
  const query = filter.query.toLowerCase();
  const members = [];
  for (let i = 0; i < nodes.ids.length; i++) {
    if (nodes.predicted[i] < 0) continue;
    if (filter.predicted >= 0 && !isPredicted(i, filter.predicted)) continue;
    if (filter.labels && !LABEL_FILTERS[filter.labels](i)) continue;
    if (query && !nodes.searched[i].includes(query)) continue;
    members.push(i);
  }
  return Uint32Array.from(members);
}

const isPredicted = (i, k) => nodes.predicted[i] === k || (tagged && setOf(i).includes(k));

// Nodes are numbered in the order of their ids, so that number breaks ties, and sorts by id.
function sorted(members) {
  const { key, direction } = filter;
  if (key === "id") return direction > 0 ? members : members.reverse();
  const column = nodes[key];
  // Last in either direction.
  const unknown = (value) => (key === "known" ? value === -1 : Number.isNaN(value));
  return members.sort((a, b) => {
    if (Object.is(column[a], column[b])) return a - b;
    if (unknown(column[a])) return 1;
    if (unknown(column[b])) return -1;
    return direction * (column[a] - column[b]);
  });
}

function buildTable() {
  grid.scroller = make("div", {
    class: "grid",
    role: "grid",
    "aria-label": "All nodes",
    "aria-colcount": COLUMNS.length,
    style: `--wide: ${tracks("width")}; --narrow: ${tracks("narrow")}`,
  });
  grid.body = make("div", { class: "rows", role: "rowgroup" });
  const head = make(
    "div",
    { class: "row head", role: "row", "aria-rowindex": 1 },
    ...COLUMNS.map(heading),
  );
  const inner = make(
    "div",
    { class: "inner", role: "presentation" },
    make("div", { class: "headings", role: "rowgroup" }, head),
    grid.body,
  );
  grid.scroller.append(inner);
  byId("table").append(grid.scroller);
  grid.scroller.addEventListener("scroll", () => requestAnimationFrame(renderRows));
  grid.body.addEventListener("keydown", moveByKey);
  grid.body.addEventListener("click", openClicked);
  new ResizeObserver(renderRows).observe(grid.scroller);
  buildControls();
  byId("table").before(
    downloadButton("Download these rows", "nodes.csv", () => nodeRows(Array.from(grid.matches))),
  );
  refresh();
}

function heading(column, index) {
  const arrow = make("span", { class: "arrow", "aria-hidden": "true" });
  const button = make("button", { type: "button" }, column.title, arrow);
  button.addEventListener("click", () => {
    filter.direction = filter.key === column.key ? -filter.direction : 1;
    filter.key = column.key;
    refresh();
  });
  column.head = make(
    "div",
    { role: "columnheader", "aria-colindex": index + 1, class: column.number ? "number" : "" },
    button,
  );
  column.arrow = arrow;
  return column.head;
}

function buildControls() {
  classNames.forEach((name, k) => {
    byId("class-filter").append(make("option", { value: k }, shortened(name, 60)));
  });
  const listen = (id, event, change) =>
    byId(id).addEventListener(event, ({ target }) => {
      change(target.value);
      refresh();
    });
  listen("query", "input", (value) => {
    filter.query = value;
  });
  listen("class-filter", "change", (value) => {
    filter.predicted = value === "" ? -1 : Number(value);
  });
  listen("label-filter", "change", (value) => {
    filter.labels = value;
  });
}

function refresh() {
  grid.matches = sorted(matching());
  grid.active = 0;
  grid.scroller.scrollTop = 0;
  grid.scroller.setAttribute("aria-rowcount", grid.matches.length + 1);
  grid.body.replaceChildren();
  grid.rows.clear();
  for (const { key, head, arrow } of COLUMNS) {
    const order = key !== filter.key ? "none" : filter.direction > 0 ? "ascending" : "descending";
    head.setAttribute("aria-sort", order);
    arrow.textContent = { none: "", ascending: "↑", descending: "↓" }[order];
  }
  byId("matches").textContent = matchWords();
  renderRows();
}

function matchWords() {
  const all = classified;
  if (grid.matches.length === all) return counted(all, "node");
  if (grid.matches.length || !data.leftOut) {
    return `${whole(grid.matches.length)} of ${counted(all, "node")}`;
  }
  return `No such node on this page. It holds ${whole(all)} of ${whole(data.total)} nodes; predictions.csv lists all.`;
}

function rowHeight() {
  return COLUMNS[0].head.parentElement.offsetHeight;
}

function renderRows() {
  const height = rowHeight();
  const count = grid.matches.length;
  const { scrollTop, clientHeight } = grid.scroller;
  const first = Math.max(0, Math.floor(scrollTop / height) - SPARE);
  const last = Math.min(count, Math.ceil((scrollTop + clientHeight) / height) + SPARE);
  grid.body.style.height = `${(count || 2) * height}px`;
  // The active row stays, even out of sight: it may have the focus.
  const kept = (at) => (at >= first && at < last) || at === grid.active;
  for (const [at, row] of grid.rows) {
    if (!kept(at)) {
      row.remove();
      grid.rows.delete(at);
    }
  }
  for (let at = first; at < last; at++) rowAt(at, height);
  if (count) rowAt(grid.active, height);
  if (count === 0 && !grid.body.firstChild) {
    grid.body.append(make("div", { class: "none" }, data.leftOut ? "No node on this page matches." : "No node matches."));
  }
}

function rowAt(at, height) {
  let row = grid.rows.get(at);
  if (!row) {
    const i = grid.matches[at];
    const cells = COLUMNS.map((column, c) =>
      make(
        "div",
        {
          role: "gridcell",
          "aria-colindex": c + 1,
          class: column.number ? "number" : "",
          title: c === 0 ? nodes.ids[i] : "",
        },
        column.cell(i),
      ),
    );
    row = make(
      "div",
      {
        class: "row",
        role: "row",
        "aria-rowindex": at + 2,
        tabindex: at === grid.active ? 0 : -1,
        style: `top: ${at * height}px`,
      },
      ...cells,
    );
    row.dataset.at = at;
    row.classList.toggle("open", i === opened.node);
    grid.rows.set(at, row);
    insertInOrder(row, at);
  }
  return row;
}

// In the document rows are in the order of the table, for readers that follow it.
function insertInOrder(row, at) {
  const next = [...grid.body.children].find((other) => Number(other.dataset.at) > at);
  grid.body.insertBefore(row, next ?? null);
}

function moveByKey(event) {
  const page = Math.max(1, Math.floor(grid.scroller.clientHeight / rowHeight()) - 2);
  const end = grid.matches.length - 1;
  const at = grid.active;
  const target = {
    ArrowDown: at + 1,
    ArrowUp: at - 1,
    PageDown: at + page,
    PageUp: at - page,
    Home: 0,
    End: end,
  }[event.key];
  if (target !== undefined && !event.ctrlKey && !event.altKey && !event.metaKey) {
    event.preventDefault();
    activate(Math.max(0, Math.min(end, target)));
  } else if (event.key === "Enter" || event.key === " ") {
    event.preventDefault();
    openNode(grid.matches[at]);
  }
}

function activate(at) {
  const height = rowHeight();
  grid.rows.get(grid.active)?.setAttribute("tabindex", -1);
  grid.active = at;
  const { scrollTop, clientHeight } = grid.scroller;
  const top = at * height;
  if (top < scrollTop) grid.scroller.scrollTop = top;
  else if (top + 2 * height > scrollTop + clientHeight)
    grid.scroller.scrollTop = top + 2 * height - clientHeight + 2;
  renderRows();
  const row = rowAt(at, height);
  row.setAttribute("tabindex", 0);
  row.focus({ preventScroll: true });
}

function openClicked(event) {
  const row = event.target.closest(".row");
  if (!row) return;
  activate(Number(row.dataset.at));
  openNode(grid.matches[grid.active]);
}

function markOpened() {
  for (const [at, row] of grid.rows) row.classList.toggle("open", grid.matches[at] === opened.node);
}
