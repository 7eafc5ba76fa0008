// Theme, keys, and the order in which the page is built.

function currentTheme() {
  const chosen = document.documentElement.dataset.theme;
  return chosen ?? (matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light");
}

function nameTheme() {
  byId("theme").textContent = currentTheme() === "dark" ? "Light theme" : "Dark theme";
}

function switchTheme() {
  document.documentElement.dataset.theme = currentTheme() === "dark" ? "light" : "dark";
  nameTheme();
  redrawAll();
}

function start() {
  nameTheme();
  byId("theme").addEventListener("click", switchTheme);
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => {
    nameTheme();
    redrawAll();
  });
  showSummary();
  showClasses();
  showConfidence();
  showReliability();
  showSets();
  showNext();
  showSuspectLabels();
  showSuspects();
  buildTable();
  addEventListener("hashchange", route);
  addEventListener("keydown", (event) => {
    if (event.key === "Escape" && byId("panel").open) {
      event.preventDefault();
      closePanel();
    }
  });
  // A modal dialog is closed by the browser, too, for instance by the back gesture of a phone.
  byId("panel").addEventListener("cancel", (event) => {
    event.preventDefault();
    if (byId("panel").open) closePanel();
  });
  route();
}

start();
