// The map: point at a sample, or walk with the arrow keys. All words come from the table below it.
(() => {
  "use strict";
  const plot = document.getElementById("plot");
  const ring = document.getElementById("ring");
  const tip = document.getElementById("tip");
  const readout = document.getElementById("readout");
  const sheet = document.getElementById("sheet");
  const canvas = tip.querySelector("canvas");
  const marks = [...plot.querySelectorAll("use")];
  const rows = [...document.querySelectorAll("#points tbody tr")];
  const places = marks.map((mark) => [mark.x.baseVal.value, mark.y.baseVal.value]);
  let current = -1;
  let only = null;

  const visible = (i) => only === null || marks[i].parentNode.dataset.cluster === only;

  function nearest(x, y, reach) {
    let best = -1;
    let least = reach * reach;
    places.forEach(([px, py], i) => {
      const d = (px - x) ** 2 + (py - y) ** 2;
      if (d < least && visible(i)) {
        least = d;
        best = i;
      }
    });
    return best;
  }

  function show(i) {
    current = i;
    tip.hidden = i < 0;
    ring.setAttribute("visibility", i < 0 ? "hidden" : "visible");
    if (i < 0) return;
    const [x, y] = places[i];
    ring.setAttribute("cx", x);
    ring.setAttribute("cy", y);
    const [id, cluster, strength, label] = [...rows[i].cells].map((cell) => cell.textContent);
    const name = document.createElement("bdi");
    name.textContent = id;
    const rest = document.createElement("span");
    rest.textContent = `cluster ${cluster}, strength ${strength}`;
    const lines = [name, rest];
    if (label !== undefined) {
      const known = document.createElement("bdi");
      known.textContent = `label ${label}`;
      lines.push(known);
    }
    readout.replaceChildren(...lines);
    if (canvas && sheet.naturalWidth) {
      const columns = Number(sheet.dataset.columns);
      const { width, height } = canvas;
      const [column, row] = [i % columns, Math.floor(i / columns)];
      const paper = canvas.getContext("2d");
      paper.drawImage(sheet, column * width, row * height, width, height, 0, 0, width, height);
    }
    const frame = plot.parentNode.getBoundingClientRect();
    const box = plot.getBoundingClientRect();
    const scale = box.width / plot.viewBox.baseVal.width;
    const left = x * scale + box.left - frame.left;
    const top = y * scale + box.top - frame.top;
    const across = left + 14 + tip.offsetWidth > frame.width ? left - 14 - tip.offsetWidth : left + 14;
    tip.style.left = `${Math.max(0, Math.min(across, frame.width - tip.offsetWidth))}px`;
    tip.style.top = `${Math.max(0, Math.min(top + 14, frame.height - tip.offsetHeight))}px`;
  }

  function point(event) {
    const box = plot.getBoundingClientRect();
    const scale = plot.viewBox.baseVal.width / box.width;
    const reach = (event.pointerType === "touch" ? 28 : 16) * scale;
    show(nearest((event.clientX - box.left) * scale, (event.clientY - box.top) * scale, reach));
  }

  plot.addEventListener("pointermove", point);
  plot.addEventListener("pointerdown", point);
  plot.addEventListener("pointerleave", (event) => event.pointerType !== "touch" && show(-1));
  plot.addEventListener("blur", () => show(-1));
  plot.addEventListener("keydown", (event) => {
    const step = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1 }[event.key];
    if (event.key === "Escape") show(-1);
    if (!step) return;
    event.preventDefault();
    let next = current < 0 && step < 0 ? 0 : current;
    do next = (next + step + marks.length) % marks.length;
    while (!visible(next));
    show(next);
  });

  // On a phone lists of members begin short; the style sheet says where.
  document.querySelectorAll("button.more").forEach((button) =>
    button.addEventListener("click", () => {
      button.setAttribute("aria-expanded", "true");
      button.closest(".scroll").classList.add("whole");
    }),
  );

  const buttons = [...document.querySelectorAll(".legend button")];
  buttons.forEach((button) =>
    button.addEventListener("click", () => {
      only = only === button.dataset.cluster ? null : button.dataset.cluster;
      buttons.forEach((one) => one.setAttribute("aria-pressed", one.dataset.cluster === only));
      plot.querySelectorAll("[data-cluster]").forEach((part) => {
        part.classList.toggle("faded", only !== null && part.dataset.cluster !== only);
      });
      show(-1);
    }),
  );
})();
