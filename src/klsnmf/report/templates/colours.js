// What the points are coloured by: a category each, or a share between two ends of a scale.
const colourBy = byId("colour");
const levels = data.levels.map((level) => ({ ...level, of: unpackBelow(level.of, level.count) }));
const columns = new Map(); // unpacked when they are asked for
const UNKNOWN = 65535;

function column(place) {
  if (!columns.has(place)) {
    const found = data.columns[place];
    const of = found.names
      ? unpackBelow(found.of, found.names.length + 1)
      : unpack(found.of, Uint16Array);
    columns.set(place, { ...found, of });
  }
  return columns.get(place);
}

function colouring() {
  const [kind, place] = colourBy.value.split(" ");
  if (kind === "label") {
    const names = data.classes.names;
    return { category: (p) => classOf[points[p]] - 1, names };
  }
  if (kind === "level") {
    const level = levels[place];
    return { category: (p) => level.of[p], names: [...Array(level.count).keys()].map(String) };
  }
  if (kind === "strength") {
    const share = (p) => Math.min(strengthOf[points[p]] / 10000, 1);
    return { share, low: "0", high: "1" };
  }
  if (kind === "column") {
    const { name, names, low, high, ends, of } = column(place);
    if (names) {
      const words = (p) => `${name}: ${of[p] ? names[of[p] - 1] : "not known"}`;
      return { category: (p) => of[p] - 1, names, words };
    }
    const value = (step) => low + (step / (UNKNOWN - 1)) * (high - low);
    return {
      share: (p) => (of[p] === UNKNOWN ? null : (of[p] - ends[0]) / (ends[1] - ends[0])),
      low: fourDigits(value(ends[0])),
      high: fourDigits(value(ends[1])),
      words: (p) => `${name}: ${of[p] === UNKNOWN ? "not known" : fourDigits(value(of[p]))}`,
    };
  }
  return { category: (p) => homeOf(points[p]) };
}

// A colour of the scale; the style sheet has its ends and its middle, for light and dark.
function onScale(share) {
  const at = 2 * Math.min(Math.max(share, 0), 1);
  const [from, to] = at < 1 ? ["low", "mid"] : ["mid", "high"];
  const percent = (100 * (at < 1 ? at : at - 1)).toFixed(1);
  return `color-mix(in oklab, var(--${to}) ${percent}%, var(--${from}))`;
}

const painted = []; // what each point was painted with last

// To draw a mark again takes a browser long, so only what differs is set.
function paint(mark, by, point) {
  const place = by.category ? by.category(point) : homeOf(points[point]);
  const share = by.share?.(point);
  const unknown = by.category ? place < 0 : share === null;
  const shape = shapeOf(Math.max(place, 0));
  const kind = unknown ? "unknown" : by.category ? colourOf(place) : "scaled";
  const colour = by.share && !unknown ? onScale(share) : "";
  const faded = isShown(point) ? "" : " faded";
  const before = (painted[point] ??= [mark.getAttribute("href"), "", ""]);
  if (before[0] !== shape) mark.setAttribute("href", shape);
  if (before[1] !== kind + faded) mark.setAttribute("class", kind + faded);
  if (before[2] !== colour) mark.style.setProperty("--c", colour);
  painted[point] = [shape, kind + faded, colour];
}

const LEGEND = 48;

function drawLegend(by) {
  const legend = byId("legend");
  legend.hidden = !by.names && !by.share;
  legend.replaceChildren();
  if (by.share) {
    legend.append(element("span", by.low), element("span", "", "ramp"), element("span", by.high));
  }
  (by.names ?? []).slice(0, LEGEND).forEach((name, place) => {
    const chip = element("span", undefined, "chip");
    chip.append(markOf(place), element("bdi", name));
    legend.append(chip);
  });
  if (by.names?.length > LEGEND) legend.append(`and ${by.names.length - LEGEND} more`);
}

function markOf(place) {
  const mark = document.querySelector(".mark").cloneNode(true);
  delete mark.dataset.mark;
  dress(mark, place);
  return mark;
}

function dress(mark, place) {
  mark.setAttribute("class", `mark ${colourOf(place)}`);
  mark.firstElementChild.setAttribute("href", shapeOf(place));
}
