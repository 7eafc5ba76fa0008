// The panel of one node. The address names the node, so that a link leads to it and the browser's
// back button returns from it.

const opened = { node: -1, from: null, hops: 1 };

function openNode(i) {
  location.hash = `node=${encodeURIComponent(nodes.ids[i])}`;
}

function closePanel() {
  history.pushState(null, "", "#");
  route();
}

function route() {
  const name = location.hash.match(/^#node=(.*)$/s)?.[1];
  const node = name === undefined ? undefined : placeOfId.get(decoded(name));
  if (node !== undefined) showPanel(node);
  else hidePanel();
  if (name !== undefined && node === undefined) {
    byId("matches").textContent = `No node “${shortened(decoded(name), 60)}” on this page.`;
  }
}

function decoded(text) {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

function showPanel(node) {
  const panel = byId("panel");
  if (!panel.contains(document.activeElement)) opened.from = document.activeElement;
  if (!panel.open) {
    // Beside the page where there is room; over it, and alone, where there is not.
    if (matchMedia("(min-width: 60rem)").matches) panel.show();
    else panel.showModal();
  }
  opened.node = node;
  fillPanel(panel, node);
  markOpened();
  graphMap?.view.select(node, true);
  panel.scrollTop = 0;
  byId("panel-title").focus();
}

function hidePanel() {
  const panel = byId("panel");
  if (!panel.open) return;
  clearPanel(panel);
  panel.close();
  opened.node = -1;
  markOpened();
  graphMap?.view.select(-1);
  if (opened.from?.isConnected) opened.from.focus();
  else grid.rows.get(grid.active)?.focus();
}

function clearPanel(panel) {
  const drawing = byId("neighbourhood");
  if (drawing) forget(drawing);
  panel.replaceChildren();
}
