"use strict";
(() => {
  const list = document.getElementById("cards");
  const cards = [...list.children];
  const { store, file } = list.dataset;
  const choices = JSON.parse(list.dataset.choices); // {name, scope, decision, past, key, good}
  const words = choices.filter((choice) => choice.scope === "image");
  const filter = document.getElementById("show");
  const marks = new Map(); // "image ID" or "class ID" to [scope, id, decision, time]

  const take = (rows) => {
    for (const row of rows) {
      const key = `${row[0]} ${row[1]}`;
      if (!marks.has(key) || row[3] > marks.get(key)[3]) marks.set(key, row);
    }
  };
  const decided = (scope, id) => marks.get(`${scope} ${id}`)?.[2] ?? "open";

  take(JSON.parse(list.dataset.marks));
  try {
    take(JSON.parse(localStorage.getItem(store) ?? "[]"));
  } catch {
    document.getElementById("lost").hidden = false;
  }

  const show = () => {
    const count = { open: 0 };
    for (const word of words) count[word.decision] = 0;
    for (const card of cards) {
      const own = decided("image", card.dataset.id);
      const whole = card.dataset.class ? decided("class", card.dataset.class) : "open";
      const state = own === "open" ? whole : own;
      card.dataset.state = state;
      count[state] += 1;
      card.dataset.bad = String(words.some((word) => word.decision === state && !word.good));
      card.hidden = filter.value !== "all" && filter.value !== state;
      for (const button of card.querySelectorAll("button")) {
        const choice = choices.find((one) => one.name === button.dataset.do);
        button.setAttribute("aria-pressed", String((choice.scope === "image" ? own : whole) === choice.decision));
      }
    }
    const done = (cards.length - count.open).toLocaleString("en");
    const each = words.map((word) => `${count[word.decision]} ${word.past}`).join(", ");
    document.getElementById("count").value = `${done} of ${cards.length.toLocaleString("en")} decided: ${each}`;
  };

  const mark = (card, choice) => {
    const { scope } = choice;
    const id = scope === "image" ? card.dataset.id : card.dataset.class;
    if (!id) return;
    const decision = decided(scope, id) === choice.decision ? "open" : choice.decision;
    marks.set(`${scope} ${id}`, [scope, id, decision, new Date().toISOString()]);
    try {
      localStorage.setItem(store, JSON.stringify([...marks.values()]));
    } catch {
      document.getElementById("lost").hidden = false;
    }
    show();
  };

  const shown = () => cards.filter((card) => card.offsetParent !== null);
  const current = () => document.activeElement?.closest?.("#cards > li");
  const move = (step) => {
    const seen = shown();
    const at = seen.indexOf(current());
    const next = seen[at < 0 ? 0 : Math.min(Math.max(at + step, 0), seen.length - 1)];
    next?.focus();
    next?.scrollIntoView({ block: "nearest" });
  };

  list.addEventListener("click", (event) => {
    const button = event.target.closest("button");
    if (button) mark(button.closest("li"), choices.find((choice) => choice.name === button.dataset.do));
  });
  filter.addEventListener("change", show);
  document.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || event.target.closest("select")) return;
    const choice = choices.find((one) => one.key === event.key.toLowerCase());
    const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
    if (step) {
      event.preventDefault();
      move(step);
    } else if (choice && current()) {
      const seen = shown();
      const after = seen.slice(seen.indexOf(current()) + 1);
      const card = current();
      mark(card, choice);
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
    link.download = file;
    link.click();
    setTimeout(() => URL.revokeObjectURL(link.href), 1000);
  });

  show();
})();
