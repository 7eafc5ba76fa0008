// Columns that were packed into text.

// Little-endian, as every machine is that runs a browser.
function unpack(Type, text) {
  const binary = atob(text);
  const bytes = new Uint8Array(binary.length);
  for (let i = 0; i < binary.length; i++) bytes[i] = binary.charCodeAt(i);
  return new Type(bytes.buffer);
}

// The neighbours of each node, in order. Of each link, one end was packed, with the other.
function unpackLinks({ positions, degrees, targets }) {
  const count = unpack(Uint16Array, positions).length / 2;
  const Index = count < 2 ** 16 ? Uint16Array : Uint32Array;
  const [once, ends] = [unpack(Index, degrees), unpack(Index, targets)];
  const offsets = new Int32Array(count + 1);
  eachLink(once, ends, (u, v) => {
    offsets[u + 1] += 1;
    offsets[v + 1] += 1;
  });
  for (let i = 0; i < count; i++) offsets[i + 1] += offsets[i];
  const [all, filled] = [new Int32Array(2 * ends.length), offsets.slice()];
  // Those with smaller numbers come first, as their links do.
  eachLink(once, ends, (u, v) => {
    all[filled[v]++] = u;
  });
  eachLink(once, ends, (u, v) => {
    all[filled[u]++] = v;
  });
  return { offsets, targets: all };
}

function eachLink(degrees, targets, take) {
  let at = 0;
  degrees.forEach((degree, u) => {
    for (const end = at + degree; at < end; at++) take(u, targets[at]);
  });
}
