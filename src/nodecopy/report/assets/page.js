// Keys, and the order in which the page is built.

function start() {
  watchTheme();
  if (tagged) speakOfTags();
  showSummary();
  showMap();
  if (kind) kind.sections();
  else {
    showClasses();
    showConfidence();
    showReliability();
    showComponents();
    showConfusion();
    showSets();
  }
  showNext();
  showSuspectLabels();
  showPairs("suspect", data.suspects, data.suspects.surprise, (s) => `${s.toFixed(1)} ×`, "#Surprise");
  showPairs("missing", data.missing, data.missing.probability, percent, "#Probability");
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
