"use strict";
(() => {
  const form = document.getElementById("filters");
  const status = document.getElementById("status");
  const bodies = [...document.querySelectorAll("table.board tbody")];
  const rows = [...document.querySelectorAll("tr.row")];
  const buttons = [...document.querySelectorAll("table.board thead button")];
  const choices = [...form.querySelectorAll("select:not([name=sort])")];
  const keys = new Set(buttons.map((button) => button.dataset.k));
  const text = new Map(rows.map((row) => [row, row.querySelector("th").textContent.toLowerCase()]));
  const better = new Map(); // of a row with a rank, the places of the rows that are clearly better: [[from, to], ...]
  for (const body of bodies) {
    [...body.rows].forEach((row, place) => {
      row.place = place;
      const parts = (row.dataset.a ?? "").split(",").filter(Boolean);
      if (row.dataset.a !== undefined) better.set(row, parts.map((part) => part.split("-").map(Number)));
    });
  }
  const first = [form.dataset.key, Number(form.dataset.dir)];
  let [key, dir] = first;

  const compare = (a, b) => {
    if (key === "m") return text.get(a).localeCompare(text.get(b)) * dir;
    const [x, y] = [parseFloat(a.dataset[key]), parseFloat(b.dataset[key])];
    if (isNaN(x) || isNaN(y)) return isNaN(x) - isNaN(y); // what is unknown comes last, either way
    return (x - y) * dir;
  };
  const rank = (own, shown) => {
    const ranked = shown.filter((row) => better.has(row));
    const [seen, worse] = [new Int32Array(own.length + 1), new Int32Array(own.length + 2)];
    for (const row of ranked) seen[row.place + 1] = 1;
    for (let place = 0; place < own.length; place++) seen[place + 1] += seen[place]; // shown rows before a place
    for (const row of ranked) {
      row.best = 1;
      for (const [from, to = from] of better.get(row)) {
        row.best += seen[to + 1] - seen[from];
        worse[from] += 1;
        worse[to + 1] -= 1;
      }
    }
    for (let place = 0; place < own.length; place++) worse[place + 1] += worse[place];
    for (const row of ranked) {
      row.worst = ranked.length - worse[row.place];
      const range = row.best === row.worst ? String(row.best) : `${row.best}\u2013${row.worst}`;
      const [words, bar] = [row.querySelector(".rk"), row.querySelector(".pl rect")];
      if (words.textContent !== range) words.textContent = range;
      bar.setAttribute("x", (100 * (row.best - 1)) / ranked.length);
      bar.setAttribute("width", (100 * (row.worst - row.best + 1)) / ranked.length);
    }
    return ranked;
  };
  const tiers = (own, ranked) => { // each row above one that begins a tier is clearly better than it and each below
    const ahead = ranked.map((row) => {
      const isBehind = ({ place }) => better.get(row).some(([from, to = from]) => from <= place && place <= to);
      return ranked.findIndex((other) => !isBehind(other)); // itself at the latest
    });
    const starts = new Set();
    let least = Infinity;
    for (let place = ranked.length - 1; place > 0; place--) {
      least = Math.min(least, ahead[place]);
      if (least >= place && key === first[0] && dir === first[1]) starts.add(ranked[place]);
    }
    for (const row of own) row.classList.toggle("tier", starts.has(row));
  };
  const hash = () => {
    const parts = choices.filter((each) => each.value).map((each) => `${each.name}=${encodeURIComponent(each.value)}`);
    if (form.ver?.checked) parts.push("verified");
    if (form.q.value.trim()) parts.push(`q=${encodeURIComponent(form.q.value.trim())}`);
    if (key !== first[0] || dir !== first[1]) parts.push(`sort=${key}${dir < 0 ? "-" : ""}`);
    try {
      history.replaceState(null, "", `#${parts.join("&")}`);
    } catch {} // a page in a frame may not
  };
  const apply = () => {
    const wanted = form.q.value.trim().toLowerCase();
    let count = 0;
    for (const body of bodies) {
      const own = [...body.rows];
      const shown = own.filter(
        (row) =>
          choices.every((each) => !each.value || row.dataset[each.name] === each.value) &&
          (!form.ver?.checked || row.dataset.ver === "1") &&
          text.get(row).includes(wanted),
      );
      const kept = new Set(shown);
      for (const row of own) if (row.hidden === kept.has(row)) row.hidden = !row.hidden;
      if (form.dataset.ranks) tiers(own, rank(own, shown).sort((a, b) => a.place - b.place));
      const sorted = [...own].sort(compare);
      if (sorted.some((row, place) => row !== own[place])) body.append(...sorted);
      count += shown.length;
    }
    for (const button of buttons) {
      const head = button.closest("th");
      if (button.dataset.k === key) head.setAttribute("aria-sort", dir < 0 ? "descending" : "ascending");
      else head.removeAttribute("aria-sort");
    }
    const none = count ? "" : ". Nothing matches: clear the search, or choose another selection rule or supervision.";
    status.textContent = `${count} of ${rows.length} ${form.dataset.what}${none}`;
  };
  const sortBy = (word) => {
    const name = word.replace(/-$/, "");
    if (keys.has(name)) [key, dir] = [name, word.endsWith("-") ? -1 : 1];
  };

  for (const part of location.hash.slice(1).split("&")) {
    const [name, given] = [part.split("=", 1)[0], part.slice(part.indexOf("=") + 1)];
    let value = "";
    try {
      value = decodeURIComponent(given);
    } catch {
      continue; // %ZZ
    }
    const choice = choices.find((each) => each.name === name);
    if (choice && [...choice.options].some((option) => option.value === value)) choice.value = value;
    if (name === "verified" && form.ver) form.ver.checked = true;
    if (name === "q") form.q.value = value;
    if (name === "sort") sortBy(value);
  }
  form.hidden = false;
  form.addEventListener("input", (event) => {
    if (event.target.name === "sort") sortBy(event.target.value);
    apply();
    hash();
  });
  form.addEventListener("submit", (event) => event.preventDefault());
  for (const button of buttons) {
    button.addEventListener("click", () => {
      const chosen = button.dataset.k;
      dir = chosen === key ? -dir : Number(button.dataset.d);
      key = chosen;
      apply();
      hash();
    });
  }
  const early = document.querySelectorAll(".early"); // rows beyond the first 200 are laid out when the page is open
  addEventListener("load", () => setTimeout(() => early.forEach((table) => table.classList.remove("early"))));
  apply();
})();
