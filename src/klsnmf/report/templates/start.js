// After a change everything is drawn anew; after a look at something else, what it concerns.
function draw() {
  drawNames();
  drawStrengths();
  drawFeatures();
  drawChanges();
  look();
}

function look() {
  select();
  drawList();
  drawMap();
  drawInspector();
  drawSamples();
  drawDownloads();
}

colourBy.addEventListener("change", drawMap);

// On a phone lists of members begin short; the style sheet says where.
all("button.more").forEach((button) =>
  button.addEventListener("click", () => {
    button.setAttribute("aria-expanded", "true");
    button.closest(".scroll").classList.add("whole");
  }),
);

// What is linked to is unfolded, and so is everything on paper.
function unfold(target) {
  for (let part = target; part; part = part.parentElement?.closest("details")) {
    if (part.tagName === "DETAILS") part.open = true;
  }
  const own = target.querySelector(":scope > details");
  if (own) own.open = true;
}

function follow() {
  const target = location.hash.length > 1 && byId(decodeURIComponent(location.hash.slice(1)));
  if (target) unfold(target);
}

addEventListener("hashchange", follow);
byId("to-card").addEventListener("click", () => {
  const card = byId(byId("to-card").hash.slice(1));
  if (card) unfold(card);
});
addEventListener("beforeprint", () => all("details").forEach((one) => (one.open = true)));

const unfoldAll = byId("unfold");
unfoldAll?.addEventListener("click", () => {
  const open = unfoldAll.textContent === "Unfold all";
  all(".cluster > details").forEach((one) => (one.open = open));
  unfoldAll.textContent = open ? "Fold all" : "Unfold all";
});

follow();
all("[data-live]").forEach((part) => (part.hidden = false));
select();
drawSamples();
drawDownloads();
