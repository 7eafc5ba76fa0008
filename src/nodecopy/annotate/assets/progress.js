// How far it is: labels, the estimate of accuracy, classes, suspect labels, results.

const FEWEST = 5; // labels of random nodes before an estimate is shown
const WIDE = 0.2; // an interval from which on it is shown in place of the estimate
const CLASSES_AT_FIRST = 10;

function showProgress() {
  byId("folder").textContent = state.folder;
  byId("fit").textContent = fitWords();
  byId("doing").textContent = state.doing;
  showFacts();
  showHistory();
  showBalance();
  showSuspects();
  byId("finish").disabled = state.finish.state === "writing";
  byId("writing").hidden = state.finish.state !== "writing";
  byId("fitting").hidden = !isBehind();
  const done = state.finish.state === "written";
  const link = make("a", { href: "report", target: "_blank", rel: "noopener" }, "Open the report");
  byId("finished").replaceChildren(shown(state.finish.message), ...(done ? [" ", link] : []));
  byId("finished").className = state.finish.state === "failed" ? "wrong" : "";
}

function fitWords() {
  if (isBehind()) return state.fitted ? "fitting your latest answers …" : "first fit …";
  if (!state.fitted) {
    return `${words().needed} are needed before anything is fitted`;
  }
  const guesses = "guessed from descriptions of the classes, until two of them have a label";
  return state.guessed ? guesses : "fitted to all your answers";
}

function showFacts() {
  const facts = [
    ["Labels", whole(state.labels), `of ${counted(state.nodes, "node")}`],
    [words().estimated, ...(state.target === "number" ? errorFact : accuracyFact)(state.history.at(-1))],
    ...(state.forecast && !tooFew() ? [forecastFact(...state.forecast)] : []),
  ];
  const cells = facts.map(([name, value, remark]) =>
    make(
      "div",
      {},
      make("dt", {}, name),
      make("dd", { class: "value" }, value),
      make("dd", { class: "remark" }, remark),
    ),
  );
  byId("facts").replaceChildren(...cells);
}

// Suggested nodes are harder than others: before a few others are labelled, nothing is known.
const tooFew = () => state.suggested > 0 && (state.restsOn ?? 0) < FEWEST;

function errorFact(last) {
  if (!last) return ["–", words().waits];
  const [error, low, high] = last.slice(1).map((value) => String(+value.toPrecision(3)));
  return [`± ${error}`, `on average, 95% interval ${low} to ${high}. ${restsOn()}`];
}

function accuracyFact(last) {
  if (state.fitted && !state.guessed && tooFew()) {
    const few = `It takes ${FEWEST} ${words().fewest}; so far ${state.restsOn ?? 0}.`;
    return ["not yet", `${few} Every fourth question is about such a node.`];
  }
  if (!last) return ["–", words().waits];
  const [, accuracy, low, high] = last;
  const rests = `${macroWords()}${restsOn()}`;
  if (high - low <= WIDE) return [wholePercent(accuracy), `95% interval ${span(low, high)}. ${rests}`];
  return [`${wholePercent(low).replace("%", "")}–${wholePercent(high)}`, `95% interval; best guess ${wholePercent(accuracy)}. ${rests}`];
}

// Of tags: the estimate is that of all of them together.
function macroWords() {
  if (!state.macro) return "";
  const [mean, low, high] = state.macro;
  return `This is micro F1, of all tags together; macro F1, the mean over tags, is ${wholePercent(mean)}, 95% interval ${span(low, high)}. `;
}

function restsOn() {
  if (!state.suggested) return "It rests on all labels.";
  const some = counted(state.restsOn ?? 0, "label");
  return `Rests on ${some} of random nodes or your own; suggested nodes are harder.`;
}

function forecastFact(more, low, high) {
  const points = (gain) => `${gain < 0 ? "−" : "+"}${Math.abs(Math.round(100 * gain))}`;
  const words = `of accuracy, in 80 of 100 cases, going by learning curves of other graphs`;
  return [`${more} more labels`, `${points(low)} to ${points(high)} points`, words];
}

// Every estimate so far as a curve, and as a table, the latest first.
function showHistory() {
  const rows = state.history.map(([n, a, low, high]) => [whole(n), percent(a), span(low, high)]);
  byId("history").hidden = rows.length < 2 || tooFew() || state.target === "number";
  if (byId("history").hidden) return;
  draw(byId("history-chart"), `${words().estimated} by number of labels; a table follows`, historyOption);
  byId("history").querySelector("details div").replaceChildren(
    plainTable(["#Labels", `#${words().estimated}`, "#95% interval"], rows.reverse()),
  );
}

function historyOption() {
  const latest = new Map(state.history.map((one) => [one[0], one])); // of each number of labels
  const points = [...latest.values()].sort(([a], [b]) => a - b);
  const line = { type: "line", symbol: "none", silent: true };
  const band = { ...line, stack: "interval", lineStyle: { opacity: 0 } };
  return {
    grid: { left: 8, right: 16, top: 24, bottom: 8, outerBoundsMode: "same" },
    xAxis: across("labels", { min: "dataMin", minInterval: 1, splitLine: { show: false } }),
    yAxis: upwards(`${words().estimated.toLowerCase().replace("f1", "F1")}, 95% interval`, { min: 0, max: 1, interval: 0.25, ...inPercent }),
    series: [
      { ...band, data: points.map(([n, , low]) => [n, low]) },
      { ...band, data: points.map(([n, , low, high]) => [n, high - low]), areaStyle: { color: ink("--fill-0"), opacity: 0.18 } },
      { ...line, data: points.map(([n, a]) => [n, a]), lineStyle: { color: ink("--edge-0"), width: 2 } },
    ],
  };
}

// Classes with most labels first; of many, the others on demand.
function showBalance() {
  if (state.target === "number") return;
  const order = state.classes.map((_, k) => k).sort((a, b) => state.counts[b] - state.counts[a] || a - b);
  const rows = order.map((k) => [className(k), whole(state.counts[k])]);
  const table = (some) => plainTable([tagged ? "Tag" : "Class", "#Labels"], some);
  const none = make("p", {}, `No ${words().noun} has a name yet: press n to name one.`);
  const open = byId("balance").querySelector("details")?.open;
  byId("balance").replaceChildren(namedPlaces().length ? table(rows.slice(0, CLASSES_AT_FIRST)) : none);
  if (rows.length > CLASSES_AT_FIRST) {
    const title = make("summary", {}, `${rows.length - CLASSES_AT_FIRST} more`);
    const more = make("details", {}, title, table(rows.slice(CLASSES_AT_FIRST)));
    more.open = open ?? false;
    byId("balance").append(more);
  }
  if (state.cannotTell) {
    const words = `${counted(state.cannotTell, "node")} that cannot be told.`;
    byId("balance").append(make("p", { class: "quiet" }, words));
  }
}

function showSuspects() {
  const [changed, confirmed] = state.lookedAgain;
  const again = changed + confirmed ? ` Asked again: ${changed} changed, ${confirmed} confirmed.` : "";
  if (state.suspects.length === 0) {
    byId("suspects").replaceChildren(make("p", { class: "quiet" }, `No label is in doubt.${again}`));
    return;
  }
  const items = state.suspects.map(([id, name, known, predicted, probability]) => {
    const button = make(
      "button",
      { type: "button" },
      oneLine(name),
      make("small", {}, `wrong with ${wholePercent(probability)}`),
      state.target === "class" ? className(state.classes.indexOf(known)) : make("span", {}, shown(labelText(known))),
      make("small", {}, `rather ${shortened(labelText(predicted), 60)}?`),
    );
    const why = `Its label may be wrong: without it, ${shortened(labelText(predicted), 60)} is predicted.`;
    button.addEventListener("click", () => ask(id, why));
    return make("li", {}, button);
  });
  byId("suspects").replaceChildren(
    ...(again ? [make("p", { class: "quiet" }, again)] : []),
    make("ul", { class: "list" }, ...items),
  );
}
