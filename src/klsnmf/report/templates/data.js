// What is known of the samples, unpacked. All names stay text: they are only ever set as such.
const byId = (id) => document.getElementById(id);
const all = (selector, root = document) => [...root.querySelectorAll(selector)];
const data = JSON.parse(byId("data").textContent);

function unpack(text, Kind) {
  const raw = atob(text);
  const bytes = new Uint8Array(raw.length);
  for (let i = 0; i < raw.length; i++) bytes[i] = raw.charCodeAt(i);
  return new Kind(bytes.buffer);
}

// Numbers below a count, packed in as few bytes as it needs.
const unpackBelow = (text, count) =>
  unpack(text, count <= 256 ? Uint8Array : count <= 65535 ? Uint16Array : Uint32Array);

const clusterCount = data.sizes.length;
const clusterOf = unpackBelow(data.cluster, clusterCount);
const strengthOf = unpack(data.strength, Uint16Array); // in units of 0.0001
const points = unpack(data.points, Uint32Array); // the sample of each point
const rows = data.rows && unpack(data.rows, Uint32Array);
const outliers = new Set(data.outliers);
const sampleCount = clusterOf.length;
const whole = sampleCount === data.n;
const classOf = data.classes && unpackBelow(data.classes.of, data.classes.names.length + 1);

const rowOf = (i) => (rows ? rows[i] : i) + 1;
const idOf = (i) => (data.ids ? data.ids[i] : String(rowOf(i)));
const shownId = (i) => data.shown[i] ?? idOf(i);
const labelOf = (i) => (classOf && classOf[i] ? data.classes.names[classOf[i] - 1] : null);
const pointOf = new Map(Array.from(points, (sample, point) => [sample, point]));

// Numbers as the rest of the page has them: narrow spaces between thousands, a true minus.
const counted = (count) => String(count).replace(/\B(?=(\d{3})+$)/g, "\u202f");
const plural = (count, thing) => `${counted(count)} ${thing}${count === 1 ? "" : "s"}`;
const fourDigits = (value) => String(Number(value.toPrecision(4))).replace(/-/g, "\u2212");

function element(name, text, kind) {
  const made = document.createElement(name);
  if (text !== undefined) made.textContent = text;
  if (kind) made.className = kind;
  return made;
}

// The mark of a cluster or a class: one of eight colours, and a shape.
const colours = 8;
const colourOf = (place) => `c${place % colours}`;
const shapes = all(".defs path").length;
const shapeOf = (place) => `#s${Math.floor(place / colours) % shapes}`;
