// Two dialogs: naming a class or a tag, and searching a node.

function openNaming() {
  if (current.view === null) return;
  byId("class-name").value = "";
  byId("naming-wrong").textContent = "";
  byId("class-names").replaceChildren(...namedPlaces().map((k) => state.classes[k]).map((value) => make("option", { value })));
  byId("naming").showModal();
  byId("class-name").focus();
}

// One that is there is chosen, or a tag marked; another one is added first.
async function nameClass(event) {
  event.preventDefault();
  const name = byId("class-name").value.trim();
  try {
    const { added, state: fresh } = await post("class", { name });
    takeState(fresh);
    byId("naming").close();
    const place = state.classes.indexOf(added, tagged ? 1 : 0);
    if (!tagged || !marked().has(place)) choose(place);
  } catch (problem) {
    byId("naming-wrong").textContent = told(problem);
  }
}

function openSearch() {
  byId("query").value = "";
  byId("matches").replaceChildren();
  byId("searching").showModal();
  byId("query").focus();
}

async function showMatches() {
  const sought = byId("query").value;
  const { nodes: matches } = await get(`search?q=${encodeURIComponent(sought)}`);
  if (byId("query").value !== sought) return; // a later answer is on its way
  const items = matches.map(([id, name]) => {
    const more = name === id ? [] : [" ", make("small", {}, oneLine(id))];
    const button = make("button", { type: "button" }, oneLine(name), ...more);
    button.addEventListener("click", () => goTo(id));
    return make("li", {}, button);
  });
  byId("matches").replaceChildren(...items);
}

function goTo(id) {
  byId("searching").close();
  ask(id, "You searched for this node.");
}

function prepareDialogs() {
  byId("naming").addEventListener("submit", nameClass);
  byId("query").addEventListener("input", showMatches);
  byId("searching").addEventListener("submit", (event) => {
    event.preventDefault();
    byId("matches").querySelector("button")?.click();
  });
  for (const button of document.querySelectorAll("dialog .cancel")) {
    button.addEventListener("click", () => button.closest("dialog").close());
  }
}
