// Columns that were packed into text.

// Little-endian, as every machine is that runs a browser.
function unpack(Type, text) {
  const binary = atob(text);
  const bytes = new Uint8Array(binary.length);
  for (let i = 0; i < binary.length; i++) bytes[i] = binary.charCodeAt(i);
  return new Type(bytes.buffer);
}

// The neighbours of each node, in order, and their relations. Of each link, one end was packed,
// with the other.
function unpackLinks(block, count) {
  const Index = count < 2 ** 16 ? Uint16Array : Uint32Array;
  const [degrees, ends] = [unpack(Index, block.degrees), unpack(Index, block.targets)];
  const numbers = block.relations && unpack(Uint8Array, block.relations);
  const offsets = new Int32Array(count + 1);
  eachLink(degrees, ends, (u, v) => {
    offsets[u + 1] += 1;
    offsets[v + 1] += 1;
  });
  for (let i = 0; i < count; i++) offsets[i + 1] += offsets[i];
  const [targets, filled] = [new Int32Array(2 * ends.length), offsets.slice()];
  const relations = numbers && new Uint8Array(2 * ends.length);
  const put = (from, to, at) => {
    if (relations) relations[filled[from]] = numbers[at];
    targets[filled[from]++] = to;
  };
  // Those with smaller numbers come first, as their links do.
  eachLink(degrees, ends, (u, v, at) => put(v, u, at));
  eachLink(degrees, ends, put);
  return { offsets, targets, relations };
}

function eachLink(degrees, targets, take) {
  let at = 0;
  degrees.forEach((degree, u) => {
    for (const end = at + degree; at < end; at++) take(u, targets[at], at);
  });
}
