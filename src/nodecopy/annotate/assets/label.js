// What the page and the server say to each other, and the keys.

const WHY = {
  suggested: "This label would help most.",
};
const whyNext = () => WHY[state.why[0]] ?? "";
const EVERY = 500; // milliseconds between looks at the server
let state = { stamp: -1, classes: [], next: [], why: [], suspects: [], history: [], finish: {} };
let sending = false;
const waiting = []; // answers whose fit has not arrived: [version, time of the key]

// Requests that the server refused, and requests that did not arrive.
class Refused extends Error {}
class Lost extends Error {}

const get = (path) => request(path, {});

function post(path, body) {
  const headers = { "Content-Type": "application/json" };
  return request(path, { method: "POST", headers, body: JSON.stringify(body) });
}

async function request(path, how) {
  let answer;
  try {
    answer = await fetch(`api/${path}`, how);
  } catch {
    throw new Lost("The server does not answer.");
  }
  if (answer.status === 403) throw new Lost("The server was started again.");
  const content = await answer.json().catch(() => ({ error: `The server failed: ${answer.status}` }));
  if (!answer.ok) throw new Refused(content.error);
  return content;
}

// One answer at a time: a key that comes before the next node is shown was not meant for it.
async function send(path, body, words) {
  if (sending) return;
  sending = true;
  const pressed = performance.now();
  try {
    const answer = await post(path, body);
    takeState(answer.state);
    if (body.do === "label") waiting.push([state.version, pressed]);
    const why = answer.ask ? "You took its answer back." : whyNext();
    takeView(answer.view, why);
    say(words);
    byId("node").focus({ preventScroll: true });
    performance.measure("answer", { start: pressed, end: performance.now() });
  } catch (problem) {
    if (problem instanceof Lost) say(lost(words), true);
    else if (problem instanceof Refused) await refused(problem);
    else throw problem;
  } finally {
    sending = false;
  }
}

async function refused(problem) {
  if (current.id !== null) await ask(current.id, current.why, true);
  say(problem.message, true);
}

const lost = (words) =>
  `Perhaps not saved: ${words}. The server does not answer. Run nodecopy label again, and open the ` +
  "address it prints; the answers before it were saved.";

async function ask(id, why, quietly = false) {
  try {
    takeView(await get(`node?id=${encodeURIComponent(id)}`), why);
    if (!quietly) say("");
    if (!quietly) byId("node").focus({ preventScroll: true });
  } catch (problem) {
    say(told(problem), true);
  }
}

// The message of a refused or lost request; any other error is a fault of this page.
function told(problem) {
  if (problem instanceof Refused || problem instanceof Lost) return problem.message;
  throw problem;
}

function takeView(view, why) {
  const same = view !== null && view.id === current.id && view.label === current.view.label;
  if (!same) current.draft = null;
  // Tags that were guessed when the node was shown stay: Enter keeps no tag that nobody saw.
  else if (view.guesses) view = { ...view, guesses: current.view.guesses };
  current.view = view;
  current.id = view?.id ?? null;
  current.why = view ? why : nothingLeft();
  if (view) takeAround(view.around);
  showQuestion();
}

const isBehind = () => state.fittedVersion < state.version;

function nothingLeft() {
  if (isBehind()) return "Looking for the node that would help most …";
  return "No node is left to ask about. Search one to look at it, or write the results.";
}

function takeState(fresh) {
  if (!state.target) beginKind(fresh.target);
  state = fresh;
  takeClasses(fresh.classes);
  if (current.view) takeAround(current.view.around);
  showAlerts([]);
  showProgress();
  updateMap();
  while (waiting.length && state.fittedVersion >= waiting[0][0]) {
    performance.measure("refit", { start: waiting.shift()[1], end: performance.now() });
  }
}

// What labels are is known: what is for another kind of them goes.
function beginKind(target) {
  state.target = target;
  for (const part of document.querySelectorAll("[data-of]")) {
    if (!part.dataset.of.split(" ").includes(target)) part.remove();
  }
  WHY.random = `This node was drawn at random: the ${words().estimated.replace("E", "e")} rests on such answers.`;
  WHY.again = `Its label may be wrong. Press y to confirm it, or ${words().change}.`;
  tagged = target === "tags";
  document.documentElement.classList.toggle("tagged", tagged);
  if (target === "number") beginNumbers();
  showActions();
}

// Ranges of like numbers are drawn as classes are.
function beginNumbers() {
  document.documentElement.classList.add("numbers");
  kind = {
    multiplies: false,
    predicted: (i) => className(nodes.predicted[i]),
    known: (i) => className(nodes.known[i]),
    words: (i) => shortened(nameOf(nodes.predicted[i]), 80),
    knownText: (i) => shortened(nameOf(nodes.known[i]), 80),
    number: (value) => String(value),
    effect(value) {
      const size = (one) => String(+one.toPrecision(3));
      if (this.multiplies) return `×${size(Math.exp(value))}`;
      return `${value < 0 ? "−" : "+"}${size(Math.abs(value))}`;
    },
    fall: (why, bars) => [
      make("p", {}, `From ${+why.mean.toPrecision(3)}, the mean of the labels, to ${+why.value.toPrecision(3)}.`),
      make("ul", { class: "waterfall" }, ...bars),
    ],
  };
}

function showAlerts(problems) {
  const all = [...problems, state.problem].filter(Boolean);
  const box = (text) => make("p", { class: "box warning" }, shown(text));
  byId("alerts").replaceChildren(...all.map(box));
}

function say(words, wrong = false) {
  byId("message").textContent = shown(words);
  byId("message").className = wrong ? "wrong" : "";
}

// New fits and other pages: the node stays, what is known of it is brought up to date.
async function look() {
  try {
    const fresh = sending ? null : await get(`state?stamp=${state.stamp}`);
    if (fresh?.stamp !== undefined && !sending) {
      takeState(fresh);
      await update();
    } else {
      if (fresh) byId("doing").textContent = fresh.doing;
      if (byId("alerts").dataset.lost) showAlerts([]);
    }
    delete byId("alerts").dataset.lost;
  } catch (problem) {
    byId("alerts").dataset.lost = "yes";
    showAlerts([`${told(problem)} Run nodecopy label again, and open the address it prints.`]);
  } finally {
    setTimeout(look, EVERY);
  }
}

async function update() {
  const { id, why, view } = current;
  if (id === null) {
    if (state.next.length) await ask(state.next[0], whyNext(), true);
    else takeView(null, "");
    return;
  }
  const fresh = await get(`node?id=${encodeURIComponent(id)}`);
  if (sending || current.id !== id) return;
  if (Object.values(WHY).includes(why) && fresh.label !== view.label) {
    const label = fresh.label === null ? "no label any more" : labelText(fresh.label);
    say(`${shortened(view.name, 40)} was changed meanwhile: ${label}`);
    if (state.next.length) await ask(state.next[0], whyNext(), true);
    else takeView(null, "");
    return;
  }
  if (JSON.stringify(fresh) !== JSON.stringify(view)) takeView(fresh, why);
}

function onKey(event) {
  const typing = document.querySelector("dialog[open]") || event.target.closest?.("input, select");
  if (typing || event.ctrlKey || event.altKey || event.metaKey || event.repeat) return;
  if (state.target === "number" && /^[-.,\d]$/.test(event.key)) {
    byId("number").select(); // the browser types the digit there
    return;
  }
  const act = actions().find(([key]) => key === event.key.toLowerCase())?.[2];
  const elsewhere = event.target.closest?.("a, summary, button:not([data-place])");
  if (state.target !== "number" && event.key.length === 1 && KEYS.includes(event.key)) choose(choicesFor(current.view)[KEYS.indexOf(event.key)]);
  else if (tagged && event.key === "Enter" && !elsewhere) keepTags(marked());
  else if (tagged && event.key === "0") keepTags(new Set());
  else if (act) act();
  else return;
  event.preventDefault();
}

async function finish() {
  try {
    takeState((await post("finish", {})).state);
  } catch (problem) {
    say(told(problem), true);
  }
}

function start() {
  watchTheme();
  prepareDialogs();
  byId("finish").addEventListener("click", finish);
  addEventListener("keydown", onKey);
  takeView(null, "");
  look();
}

start();
