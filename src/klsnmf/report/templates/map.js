// The map: point at a sample, or walk with the arrow keys.
const plot = byId("plot");
const ring = byId("ring");
const tip = byId("tip");
const readout = byId("readout");
const sheet = byId("sheet");
const canvas = tip.querySelector("canvas");
const marks = all("use", plot);
const places = marks.map((mark) => [mark.x.baseVal.value, mark.y.baseVal.value]);
let painting = colouring();
let current = -1;

const isShown = (point) => selection[points[point]] === 1;

function nearest(x, y, reach) {
  let best = -1;
  let least = reach * reach;
  places.forEach(([px, py], p) => {
    const d = (px - x) ** 2 + (py - y) ** 2;
    if (d < least && isShown(p)) {
      least = d;
      best = p;
    }
  });
  return best;
}

function show(point) {
  current = point;
  tip.hidden = point < 0;
  ring.setAttribute("visibility", point < 0 ? "hidden" : "visible");
  if (point < 0) return;
  const [x, y] = places[point];
  ring.setAttribute("cx", x);
  ring.setAttribute("cy", y);
  const i = points[point];
  const lines = [
    element("bdi", shownId(i)),
    element("bdi", `cluster ${whoIs(homeOf(i))}, strength ${(strengthOf[i] / 10000).toFixed(2)}`),
  ];
  if (classOf) lines.push(element("bdi", `label ${labelOf(i) ?? "–"}`));
  if (painting.words) lines.push(element("bdi", painting.words(point)));
  readout.replaceChildren(...lines);
  if (canvas && sheet.naturalWidth) {
    const across = Number(sheet.dataset.columns);
    const { width, height } = canvas;
    const [left, top] = [(point % across) * width, Math.floor(point / across) * height];
    canvas.getContext("2d").drawImage(sheet, left, top, width, height, 0, 0, width, height);
  }
  placeTip(x, y);
}

function placeTip(x, y) {
  const frame = plot.parentNode.getBoundingClientRect();
  const box = plot.getBoundingClientRect();
  const scale = box.width / plot.viewBox.baseVal.width;
  const left = x * scale + box.left - frame.left;
  const top = y * scale + box.top - frame.top;
  const beyond = left + 14 + tip.offsetWidth > frame.width;
  const across = beyond ? left - 14 - tip.offsetWidth : left + 14;
  tip.style.left = `${Math.max(0, Math.min(across, frame.width - tip.offsetWidth))}px`;
  tip.style.top = `${Math.max(0, Math.min(top + 14, frame.height - tip.offsetHeight))}px`;
}

function pointed(event) {
  const box = plot.getBoundingClientRect();
  const scale = plot.viewBox.baseVal.width / box.width;
  const reach = (event.pointerType === "touch" ? 28 : 16) * scale;
  return nearest((event.clientX - box.left) * scale, (event.clientY - box.top) * scale, reach);
}

plot.addEventListener("pointermove", (event) => show(pointed(event)));
plot.addEventListener("pointerdown", (event) => show(pointed(event)));
plot.addEventListener("pointerleave", (event) => event.pointerType !== "touch" && show(-1));
plot.addEventListener("blur", () => show(-1));
plot.addEventListener("click", (event) => {
  if (event.pointerType === "touch") return; // a tap shows a sample, and the list picks clusters
  const point = pointed(event);
  if (point >= 0) pick([homeOf(points[point])], event);
  else pick([]);
  show(point);
});
plot.addEventListener("keydown", (event) => {
  const step = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1 }[event.key];
  if (event.key === "Escape") show(-1);
  if (event.key === "Enter" && current >= 0) {
    const stay = current;
    pick([homeOf(points[current])], event);
    show(stay);
  }
  if (!step || !marks.some((_, p) => isShown(p))) return;
  event.preventDefault();
  let next = current < 0 && step < 0 ? 0 : current;
  do next = (next + step + marks.length) % marks.length;
  while (!isShown(next));
  show(next);
});

const SHORT = 18; // letters of a name on the map

function drawMap() {
  show(-1);
  painting = colouring();
  marks.forEach((mark, p) => paint(mark, painting, p));
  drawLegend(painting);
  all(".numbers text").forEach((text) => {
    const c = Number(text.dataset.cluster);
    const name = now.names.get(c) ?? String(c);
    text.textContent = name.length > SHORT ? `${name.slice(0, SHORT - 1)}…` : name;
    text.classList.toggle("gone", now.home[c] !== c);
    text.classList.toggle("faded", focus.size > 0 && !focus.has(now.home[c]));
  });
}
