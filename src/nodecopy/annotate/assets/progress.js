// How far it is: labels, the estimate of accuracy, classes, suspect labels, results.

function showProgress() {
  byId("folder").textContent = state.folder;
  byId("fit").textContent = fitWords();
  showFacts();
  showCurve();
  showBalance();
  showSuspects();
  byId("finish").disabled = state.finish.state === "writing";
  const done = state.finish.state === "written";
  const link = make("a", { href: "report", target: "_blank", rel: "noopener" }, "Open the report");
  byId("finished").replaceChildren(shown(state.finish.message), ...(done ? [" ", link] : []));
  byId("finished").className = state.finish.state === "failed" ? "wrong" : "";
}

function fitWords() {
  if (isBehind()) return state.fitted ? "fitting your latest answers …" : "first fit …";
  if (state.isQuick) return "probabilities of a quick fit; the full one follows";
  if (!state.fitted) return "two classes with a label are needed before anything is fitted";
  return `fitted to all your answers, in ${state.seconds.toFixed(1)} s`;
}

function showFacts() {
  const last = state.history.at(-1);
  const facts = [
    ["Labels", whole(state.labels), `of ${counted(state.nodes, "node")}`, ""],
    [
      "Estimated accuracy",
      last ? wholePercent(last[1]) : "–",
      last ? `95% interval ${span(last[2], last[3])}` : "of nodes without a label",
      "wide",
    ],
  ];
  const cells = facts.map(([name, value, remark, style]) =>
    make(
      "div",
      { class: style },
      make("dt", {}, name),
      make("dd", { class: "value" }, value),
      make("dd", { class: "remark" }, remark),
    ),
  );
  byId("facts").replaceChildren(...cells);
}

// The latest estimate for each number of labels.
function curvePoints() {
  const byCount = new Map(state.history.map((point) => [point[0], point]));
  return [...byCount.values()].sort((a, b) => a[0] - b[0]);
}

function showCurve() {
  const points = curvePoints();
  const none = points.length === 0;
  byId("no-estimate").textContent = none
    ? "An estimate takes two labels of some class, one of which can be held out."
    : "";
  byId("no-estimate").hidden = !none;
  byId("curve-figure").hidden = none;
  byId("curve-table").hidden = none;
  if (none) return;
  const label = "Estimated accuracy by number of labels; a table follows";
  draw(byId("curve"), label, () => curveOption(points));
  const rows = points.map(([n, a, low, high]) => [whole(n), percent(a), span(low, high)]);
  byId("curve-table").lastElementChild.replaceChildren(
    plainTable(["#Labels", "#Estimated", "#95% interval"], rows),
  );
}

function curveOption(points) {
  const line = { type: "line", symbol: "none", silent: true, stack: "interval" };
  const first = points[0][0];
  const clear = { lineStyle: { opacity: 0 } };
  return {
    grid: { left: 8, right: 16, top: 12, bottom: 8, outerBoundsMode: "same" },
    xAxis: across("labels", { min: first, max: Math.max(points.at(-1)[0], first + 1), minInterval: 1 }),
    yAxis: axis({ min: 0, max: 1, interval: 0.25, ...inPercent }),
    tooltip: tooltip(({ dataIndex }) => [
      counted(points[dataIndex][0], "label"),
      `${percent(points[dataIndex][1])} (95% interval ${span(points[dataIndex][2], points[dataIndex][3])})`,
    ]),
    series: [
      { ...line, ...clear, data: points.map(([n, , low]) => [n, low]) },
      {
        ...line,
        ...clear,
        data: points.map(([n, , low, high]) => [n, high - low]),
        areaStyle: { color: ink("--fill-0"), opacity: 0.15 },
      },
      {
        type: "line",
        data: points.map(([n, a]) => [n, a]),
        symbol: "circle",
        symbolSize: points.length > 30 ? 3 : 6,
        lineStyle: { color: ink("--fill-0"), width: 2 },
        itemStyle: { color: ink("--fill-0") },
      },
    ],
  };
}

function showBalance() {
  const rows = state.classes.map((_, k) => [
    className(k),
    whole(state.counts[k]),
  ]);
  const table = plainTable(["Class", "#Labels"], rows);
  const none = make("p", {}, "No class has a name yet: press n to name one.");
  byId("balance").replaceChildren(state.classes.length ? table : none);
  if (state.cannotTell) {
    const words = `${counted(state.cannotTell, "node")} that cannot be told.`;
    byId("balance").append(make("p", { class: "quiet" }, words));
  }
}

function showSuspects() {
  if (state.suspects.length === 0) {
    byId("suspects").replaceChildren(make("p", { class: "quiet" }, "No label is in doubt."));
    return;
  }
  const items = state.suspects.map(([id, given, suggested, probability], i) => {
    const button = make(
      "button",
      { type: "button" },
      oneLine(id),
      make("small", {}, `wrong with ${wholePercent(probability)}`),
      className(state.classes.indexOf(given)),
      make("small", {}, `rather ${shortened(suggested, 60)}?`),
    );
    const why = `Its label may be wrong: without it, ${shortened(suggested, 60)} is predicted.`;
    button.addEventListener("click", () => ask(id, why));
    return make("li", {}, button);
  });
  byId("suspects").replaceChildren(make("ul", { class: "list" }, ...items));
}
