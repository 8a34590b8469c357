"use strict";
(() => {
  const pairs = document.getElementById("pairs");
  const cards = [...pairs.children];
  const store = pairs.dataset.store;
  const marks = new Map(); // "image ID" or "class ID" to [scope, id, decision, time]

  const take = (rows) => {
    for (const row of rows) {
      const key = `${row[0]} ${row[1]}`;
      if (!marks.has(key) || row[3] > marks.get(key)[3]) marks.set(key, row);
    }
  };
  const decided = (scope, id) => marks.get(`${scope} ${id}`)?.[2] ?? "open";

  take(JSON.parse(pairs.dataset.marks));
  try {
    take(JSON.parse(localStorage.getItem(store) ?? "[]"));
  } catch {
    document.getElementById("lost").hidden = false;
  }

  const show = () => {
    const count = { open: 0, keep: 0, drop: 0 };
    for (const card of cards) {
      const own = decided("image", card.dataset.id);
      const whole = card.dataset.class ? decided("class", card.dataset.class) : "open";
      const state = own === "open" ? whole : own;
      card.dataset.state = state;
      count[state] += 1;
      for (const button of card.querySelectorAll("button")) {
        const on = button.dataset.do === "class" ? whole === "drop" : own === button.dataset.do;
        button.setAttribute("aria-pressed", String(on));
      }
    }
    const done = count.keep + count.drop;
    document.getElementById("count").value =
      `${done.toLocaleString("en")} of ${cards.length.toLocaleString("en")} decided: ${count.keep} kept, ${count.drop} dropped`;
  };

  const mark = (card, what) => {
    const [scope, id] = what === "class" ? ["class", card.dataset.class] : ["image", card.dataset.id];
    if (!id) return;
    const wanted = what === "class" ? "drop" : what;
    const decision = decided(scope, id) === wanted ? "open" : wanted;
    marks.set(`${scope} ${id}`, [scope, id, decision, new Date().toISOString()]);
    try {
      localStorage.setItem(store, JSON.stringify([...marks.values()]));
    } catch {
      document.getElementById("lost").hidden = false;
    }
    show();
  };

  const shown = () => cards.filter((card) => card.offsetParent !== null);
  const current = () => document.activeElement?.closest?.("#pairs > li");
  const move = (step) => {
    const seen = shown();
    const at = seen.indexOf(current());
    const next = seen[at < 0 ? 0 : Math.min(Math.max(at + step, 0), seen.length - 1)];
    next?.focus();
    next?.scrollIntoView({ block: "nearest" });
  };

  pairs.addEventListener("click", (event) => {
    const button = event.target.closest("button");
    if (button) mark(button.closest("li"), button.dataset.do);
  });
  document.getElementById("show").addEventListener("change", (event) => {
    pairs.dataset.show = event.target.value;
  });
  document.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || event.target.closest("select")) return;
    const what = { k: "keep", d: "drop", c: "class" }[event.key.toLowerCase()];
    const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
    if (step) {
      event.preventDefault();
      move(step);
    } else if (what && current()) {
      const seen = shown();
      const after = seen.slice(seen.indexOf(current()) + 1);
      const card = current();
      mark(card, what);
      const next = after.find((one) => one.dataset.state === "open");
      if (card.dataset.state !== "open" && next) {
        next.focus();
        next.scrollIntoView({ block: "nearest" });
      }
    }
  });
  document.getElementById("save").addEventListener("click", () => {
    const quoted = (text) => `"${text.replaceAll('"', '""')}"`;
    const lines = [...marks.values()].map((row) => row.map(quoted).join(","));
    const link = document.createElement("a");
    link.href = URL.createObjectURL(new Blob([["scope,id,decision,at", ...lines, ""].join("\n")], { type: "text/csv" }));
    link.download = "decisions.csv";
    link.click();
    setTimeout(() => URL.revokeObjectURL(link.href), 1000);
  });

  show();
})();
