"use strict";
// The page: filters, the banner, the numbers, the link, the export, and one row at a time.
(() => {
  const { rows, selection, views } = oochubBrowse;
  const MOST_VALUES = 1000; // of one filter
  const PAUSE = 300; // ms after a key, before a text counts as asked for
  const at = (id) => document.getElementById(id);
  const looked = new Set();
  let about = null;
  let asked = null;
  let found = new Uint32Array(0);
  let store = null;

  // Control and bidi characters are shown as U+FFFD.
  const UNSAFE = /[\x00-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff\ufeff]/gu;
  oochubBrowse.clean = (text) => text.replace(UNSAFE, "\ufffd");
  oochubBrowse.say = (text) => {
    at("state").textContent = text;
  };
  const element = (tag, words, kind) => {
    const made = document.createElement(tag);
    if (words !== undefined) made.textContent = words;
    if (kind) made.className = kind;
    return made;
  };
  const count = (n) => n.toLocaleString("en").replaceAll(",", "\u202f");

  const remember = () => {
    try {
      sessionStorage.setItem(store, JSON.stringify([...looked]));
    } catch {
      // a browser that stores nothing counts from 0 when the page is loaded again
    }
  };
  const recall = () => {
    store = `oochub ${about.madeOf.predictions}`;
    try {
      for (const each of JSON.parse(sessionStorage.getItem(store) ?? "[]")) looked.add(each);
    } catch {
      looked.clear();
    }
  };

  const makeFilters = () => {
    const form = at("filters");
    const found = element("div", undefined, "filters");
    const folded = element("details", undefined, "found");
    folded.id = "found";
    folded.append(element("summary", "Contexts that were found in the images"), found);
    const label = (title, control, place = form, words = "") => {
      const made = element("label");
      made.append(element("span", title), control);
      if (words) {
        const meaning = element("span", words, "sub");
        meaning.id = `words of ${control.name}`.replaceAll(" ", "-");
        control.setAttribute("aria-describedby", meaning.id);
        made.lastChild.before(meaning);
      }
      place.append(made);
    };
    for (const field of about.fields) {
      if (field.values.length < 2) continue;
      const counts = new Uint32Array(field.values.length);
      for (const code of rows.columns[`field ${field.name}`]) counts[code] += 1;
      const choice = element("select");
      choice.name = field.name;
      choice.append(new Option("all", ""));
      const places = [...counts.keys()];
      const listed = field.values.length > MOST_VALUES
        ? places.sort((a, b) => counts[b] - counts[a]).slice(0, MOST_VALUES)
        : places;
      for (const place of listed) {
        choice.append(new Option(`${field.values[place]} (${count(counts[place])})`, field.values[place]));
      }
      const many = listed.length < field.values.length ? `, ${count(MOST_VALUES)} largest of ${count(field.values.length)}` : "";
      label(field.title + many, choice, field.is_found ? found : form, field.words);
    }
    if (rows.columns.confidence) {
      for (const [name, title] of [["low", "Confidence from, %"], ["high", "Confidence to, %"]]) {
        const number = element("input");
        Object.assign(number, { type: "number", name, min: "0", max: "100", step: "any" });
        label(title, number);
      }
    }
    const search = element("input");
    Object.assign(search, { type: "search", name: "ids", autocomplete: "off", spellcheck: false });
    label("Id contains", search);
    if (found.children.length) form.append(folded);
    const clear = element("button", "Clear filters");
    clear.type = "button";
    clear.addEventListener("click", () => choose({ ...asked, fields: {}, low: 0, high: 1, map: null, ids: "" }));
    form.append(clear);
    let waiting = 0;
    const take = () => {
      clearTimeout(waiting);
      const fields = {};
      for (const { name, values } of about.fields) {
        const control = form.elements[name];
        const kept = control ? control.value : asked.fields[name];
        if (kept && values.includes(kept)) fields[name] = kept;
      }
      const share = (name, other) => {
        const text = form.elements[name]?.value ?? "";
        const value = Number(text) / 100;
        return text === "" || Number.isNaN(value) ? other : Math.min(Math.max(value, 0), 1);
      };
      choose({ ...asked, fields, low: share("low", 0), high: share("high", 1), ids: search.value });
    };
    form.addEventListener("submit", (event) => event.preventDefault());
    form.addEventListener("change", take);
    form.addEventListener("input", (event) => {
      if (event.target.tagName !== "INPUT") return;
      clearTimeout(waiting);
      waiting = setTimeout(take, PAUSE);
    });
  };
  const fillFilters = () => {
    const { elements } = at("filters");
    for (const { name, is_found: isFound } of about.fields) {
      const value = asked.fields[name] ?? "";
      if (!elements[name]) continue;
      if (isFound && value) at("found").open = true;
      if (value && ![...elements[name].options].some((each) => each.value === value)) {
        elements[name].append(new Option(value, value)); // of a link: none of the largest
      }
      elements[name].value = value;
    }
    const percent = (share) => String(Number((100 * share).toFixed(6)));
    if (elements.low && document.activeElement !== elements.low) elements.low.value = asked.low > 0 ? percent(asked.low) : "";
    if (elements.high && document.activeElement !== elements.high) elements.high.value = asked.high < 1 ? percent(asked.high) : "";
    if (document.activeElement !== elements.ids) elements.ids.value = asked.ids;
    at("sort").value = asked.sort;
  };

  const written = (estimate, measure, sign = "") => {
    const isShare = measure.unit === "" && measure.form !== "mean";
    const cell = element("td");
    if (!estimate || !estimate.n || Number.isNaN(estimate.value)) {
      cell.textContent = "—";
      return cell;
    }
    const largest = Math.max(...[estimate.value, estimate.low, estimate.high].filter((each) => each === each).map(Math.abs));
    const decimals = isShare ? 1 : Math.min(Math.max(2 - Math.floor(Math.log10(largest || 1)), 0), 3);
    const plain = (value) => (isShare ? 100 * value : value).toFixed(decimals).replace("-", "−");
    const plus = sign && estimate.value > 0 ? "+" : "";
    const unit = isShare ? (sign || measure.name === "overconfidence" ? " points" : "%") : measure.unit ? ` ${measure.unit}` : "";
    cell.append(element("span", `${plus}${plain(estimate.value)}${unit}`, "value"));
    const ends = Number.isNaN(estimate.low) ? "no interval" : `[${plain(estimate.low)}, ${plain(estimate.high)}]`;
    cell.append(` ${ends}`, element("span", `n = ${count(estimate.n)}${estimate.reason ? `; ${estimate.reason}` : ""}`, "sub"));
    return cell;
  };
  const showNumbers = () => {
    const isAll = selection.words({ ...asked, fields: { ...asked.fields, [selection.OUTCOME]: undefined } }, about) === "";
    if (!isAll) {
      looked.add(selection.digest(selection.mask(asked, about, selection.OUTCOME)));
      remember();
    }
    const seen = Math.max(looked.size, 1);
    const level = `${Number((100 - 5 / seen).toFixed(3))}%`;
    const lines = selection.measure(asked, about, seen).map(({ measure, own, other, apart }) => {
      const line = element("tr");
      const head = element("th", measure.title);
      head.scope = "row";
      const difference = apart
        ? written(apart, measure, "+")
        : element("td", rows.columns.cluster && other.n ? "not given: rows on both sides may share a cluster" : "—");
      line.append(head, written(own, measure), written(other, measure), difference);
      return line;
    });
    at("counted").replaceChildren(...lines);
    at("others").textContent = asked.fields.split ? `Other rows of ${asked.fields.split}` : "All other rows";
    const banner = [element("b", "Chosen after looking.")];
    banner.push(
      looked.size
        ? ` ${looked.size === 1 ? "One selection was" : `${count(looked.size)} selections were`} looked at in this visit. ` +
          `Each interval has the level ${level}, so that those of one kind of number hold in all of them together 95% of ` +
          "the time (Bonferroni). What was seen elsewhere, such as in the report or among these images, is not counted. "
        : " Nothing is chosen yet: these are all rows. Each selection that you look at makes the intervals wider. ",
      "A pattern that is found here is a hypothesis. ",
      element("code", `oochub evaluate ${about.lookedAt === "half" ? "PREDICTIONS.parquet" : "OTHERS.parquet"} --rows ids.txt --unseen`),
      " tests its rule on rows that nobody has looked at.",
    );
    at("banner").replaceChildren(...banner);
    const notes = [];
    if (asked.fields[selection.OUTCOME] !== undefined) {
      notes.push(
        "The numbers are of all rows that match the other filters, right or wrong: rows that are chosen by their outcome say nothing of how often it occurs.",
      );
    }
    if (about.lookedAt === "half") notes.push("Half of the rows are kept back for a test of what is found here.");
    if (about.splits > 1 && asked.fields.split === undefined) notes.push("The rows are of several splits together.");
    if (about.clusters) notes.push(`Intervals count clusters of ${about.clusters}.`);
    if (about.missingImages) notes.push(about.missingImages);
    at("about").textContent = notes.join(" ");
  };

  const show = (note = "") => {
    const chosen = selection.mask(asked, about);
    found = selection.list(chosen, about, asked.sort);
    const fragment = selection.write(asked, about);
    history.replaceState(null, "", fragment === "#" ? location.pathname : fragment);
    at("link").href = fragment;
    at("filtered").textContent = oochubBrowse.clean(selection.words(asked, about)).slice(0, 400);
    fillFilters();
    showNumbers();
    const view = views.find((each) => each.name === asked.view) ?? views[0];
    for (const each of views) if (each !== view) each.hide();
    const more = view.show(at("shown"), found, about);
    at("count").textContent = `${count(found.length)} of ${count(about.rows)} rows. ${more ?? ""}`;
    for (const button of at("views").children) button.setAttribute("aria-pressed", String(button.dataset.view === view.name));
    oochubBrowse.say(note);
  };
  const choose = (next, note = "") => {
    asked = next;
    if (!asked.ids) return show(note);
    oochubBrowse.say("Reading the ids…");
    return rows.loadAll(() => show(note));
  };
  // What views ask for.
  oochubBrowse.choose = (some) => choose({ ...asked, ...some });
  oochubBrowse.asked = () => asked;
  const follow = () => {
    const { asked: next, unknown } = selection.read(location.hash, about);
    const names = unknown.map(oochubBrowse.clean).join(", ");
    choose(next, names ? `The link names what no row has, and this is left out: ${names}.` : "");
  };

  oochubBrowse.showRow = (row) => {
    rows.load(row, () => {
      at("row-title").textContent = oochubBrowse.clean(rows.text(row, "id")).slice(0, 400);
      at("row-image").replaceChildren();
      if (rows.columns["tile width"]) oochubBrowse.paint(at("row-image"), row, 256);
      const facts = about.fields.map((field) => [field.title, rows.value(row, field)]);
      for (const name of about.numbers) facts.push([name[0].toUpperCase() + name.slice(1).replaceAll("_", " "), String(Number(rows.columns[name][row].toPrecision(6)))]);
      for (const [name, title] of [["label", "Truth"], ["answered", "Answer"], ["text", "Text"], ["wrote", "Wrote"], ["source", "Source"]]) {
        if (rows.text(row, name)) facts.push([title, rows.text(row, name)]);
      }
      at("row-facts").replaceChildren(
        ...facts.map(([title, value]) => {
          const pair = element("div");
          pair.append(element("dt", title), element("dd", value));
          return pair;
        }),
      );
      at("row").showModal();
    });
  };

  // The link of each value of each field, and the ids of a link's rows.
  oochubBrowse.links = () =>
    about.fields.flatMap(({ name, values }) => values.map((value) => `#${new URLSearchParams([[name, value]])}`));
  oochubBrowse.rowsOf = (fragment) => {
    const { asked: said } = selection.read(fragment, about);
    return Array.from(selection.list(selection.mask(said, about), about, said.sort), (row) => rows.text(row, "id"));
  };
  // The numbers of a link, when so many selections were looked at: for other views, and for tests.
  oochubBrowse.numbers = (fragment, seen) => selection.measure(selection.read(fragment, about).asked, about, seen);

  oochubBrowse.open = (said) => {
    about = said;
    at("filtering").open = innerWidth > 760;
    recall();
    makeFilters();
    for (const [name] of selection.sorts(about)) at("sort").append(new Option(name, name));
    at("sort").addEventListener("change", () => choose({ ...asked, sort: at("sort").value }));
    if (views.length > 1) {
      for (const view of views) {
        const button = element("button", view.title);
        button.type = "button";
        button.dataset.view = view.name;
        button.addEventListener("click", () => choose({ ...asked, view: view.name }));
        at("views").append(button);
      }
    }
    at("export").addEventListener("click", () => {
      rows.loadAll(() => {
        const link = element("a");
        const text = selection.exported(found, asked, about, looked.size);
        link.href = URL.createObjectURL(new Blob([text], { type: "text/plain" }));
        link.download = "ids.txt";
        link.click();
        setTimeout(() => URL.revokeObjectURL(link.href), 1000);
      });
    });
    addEventListener("hashchange", follow);
    follow();
    performance.mark("oochub open"); // read by speed/browsing.py
  };
})();
