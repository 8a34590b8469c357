"use strict";
// A selection: what a reader asked for, as a link, as rows, in words, and its numbers. A selection of rows by whether
// they are right says nothing of how often answers are right, so numbers leave that filter out.
oochubBrowse.selection = (() => {
  const { rows, intervals } = oochubBrowse;
  const OUTCOME = "outcome";
  const RIGHT = "right";
  const SCORED = new Set(["right", "wrong", "scored"]);
  const SMALLEST = 2 ** -52;
  const orders = new Map();

  // What a link says: fields by name, `confidence=0.5..0.9`, `ids=text`, `sort`, `view`.
  const read = (fragment, about) => {
    const said = new URLSearchParams(fragment.replace(/^#/, ""));
    const asked = { fields: {}, low: 0, high: 1, map: null, ids: said.get("ids") ?? "", sort: said.get("sort"), view: said.get("view") };
    const unknown = [];
    for (const { name, values } of about.fields) {
      const value = said.get(name);
      if (value === null) continue;
      if (values.includes(value)) asked.fields[name] = value;
      else unknown.push(`${name}=${value}`);
    }
    const range = /^(\d*\.?\d+)\.\.(\d*\.?\d+)$/.exec(said.get("confidence") ?? "");
    if (range) [asked.low, asked.high] = [Math.min(Number(range[1]), 1), Math.min(Number(range[2]), 1)];
    else if (said.has("confidence")) unknown.push(`confidence=${said.get("confidence")}`);
    const ends = (said.get("map") ?? "").split(",").map(Number);
    if (about.map && said.has("map") && ends.length === 4 && ends.every((end) => end >= 0 && end <= 1)) asked.map = ends;
    else if (said.has("map")) unknown.push(`map=${said.get("map")}`);
    if (!sorts(about).some(([name]) => name === asked.sort)) asked.sort = sorts(about)[0][0];
    return { asked, unknown };
  };
  const rule = (asked, about) => {
    const said = new URLSearchParams();
    for (const { name } of about.fields) if (asked.fields[name] !== undefined) said.set(name, asked.fields[name]);
    if (asked.low > 0 || asked.high < 1) said.set("confidence", `${asked.low}..${asked.high}`);
    if (asked.map) said.set("map", asked.map.join(","));
    if (asked.ids) said.set("ids", asked.ids);
    return said;
  };
  const write = (asked, about) => {
    const said = rule(asked, about);
    if (asked.sort !== sorts(about)[0][0]) said.set("sort", asked.sort);
    if (asked.view && asked.view !== oochubBrowse.views[0].name) said.set("view", asked.view);
    return `#${said}`;
  };

  const sorts = (about) => [
    ["highest loss", "loss", -1],
    ["lowest loss", "loss", 1],
    ...(about.numbers.includes("confidence")
      ? [["highest confidence", "confidence", -1], ["lowest confidence", "confidence", 1]]
      : []),
  ];
  const order = (about, sort) => {
    if (!orders.has(sort)) {
      const [, column, sign] = sorts(about).find(([name]) => name === sort);
      const found = new Uint32Array(about.rows);
      for (let row = 0; row < about.rows; row++) found[row] = row; // stored by the highest loss
      const values = rows.columns[column];
      const known = (row) => (Number.isNaN(values[row]) ? Infinity : sign * values[row]); // without one last
      if (sort !== "highest loss") found.sort((a, b) => known(a) - known(b) || a - b);
      orders.set(sort, found);
    }
    return orders.get(sort);
  };

  // 1 for each row that fits the filters; `but` names a field that is left out.
  const mask = (asked, about, but = null) => {
    const chosen = new Uint8Array(about.rows).fill(1);
    for (const { name, values } of about.fields) {
      if (asked.fields[name] === undefined || name === but) continue;
      const code = values.indexOf(asked.fields[name]);
      const codes = rows.columns[`field ${name}`];
      for (let row = 0; row < about.rows; row++) if (codes[row] !== code) chosen[row] = 0;
    }
    const confidence = rows.columns.confidence;
    if (confidence && (asked.low > 0 || asked.high < 1)) {
      for (let row = 0; row < about.rows; row++) {
        if (!(confidence[row] >= asked.low && confidence[row] <= asked.high)) chosen[row] = 0;
      }
    }
    if (asked.map) {
      const [left, low, right, high] = asked.map;
      const { "map x": x, "map y": y } = rows.columns;
      for (let row = 0; row < about.rows; row++) {
        if (!(x[row] >= left && x[row] <= right && y[row] >= low && y[row] <= high)) chosen[row] = 0;
      }
    }
    if (asked.ids) {
      const wanted = asked.ids.toLowerCase();
      for (let row = 0; row < about.rows; row++) {
        if (chosen[row] && !rows.text(row, "id").toLowerCase().includes(wanted)) chosen[row] = 0;
      }
    }
    return chosen;
  };
  const list = (chosen, about, sort) => {
    const found = new Uint32Array(about.rows);
    let count = 0;
    for (const row of order(about, sort)) if (chosen[row]) found[count++] = row;
    return found.subarray(0, count);
  };

  // Two hashes of the rows: equal selections, however they were asked for, are one.
  const digest = (chosen) => {
    let first = 2166136261;
    let second = 5381;
    let count = 0;
    for (let row = 0; row < chosen.length; row++) {
      if (!chosen[row]) continue;
      count += 1;
      first = Math.imul(first ^ row, 16777619);
      second = (Math.imul(second, 33) + row) | 0;
    }
    return `${count} ${first} ${second}`;
  };

  const words = (asked, about) => {
    const said = about.fields
      .filter(({ name }) => asked.fields[name] !== undefined)
      .map(({ name, title }) => `${title} is ${asked.fields[name]}`);
    if (asked.low > 0 || asked.high < 1) said.push(`Confidence is ${asked.low} to ${asked.high}`);
    if (asked.map) said.push(`Place on the map is ${asked.map.join(", ")}`);
    if (asked.ids) said.push(`Id contains ${asked.ids}`);
    return said.join("; ");
  };

  // The values of the scored rows where `chosen` is 1, and what each would be if its answer were right or wrong.
  const take = (measure, chosen, outcome, right) => {
    let count = 0;
    for (let row = 0; row < chosen.length; row++) if (chosen[row] && outcome[row]) count += 1;
    const made = { values: new Float64Array(count), right: new Float64Array(count), wrong: new Float64Array(count) };
    const cluster = rows.columns.cluster ? new Int32Array(count) : null;
    const { confidence } = rows.columns;
    const column = rows.columns[measure.column];
    let at = 0;
    for (let row = 0; row < chosen.length; row++) {
      if (!chosen[row] || !outcome[row]) continue;
      const isRight = outcome[row] === right ? 1 : 0;
      if (measure.form === "share") made.values[at] = isRight;
      else if (measure.name === "overconfidence") {
        made.values[at] = confidence[row] - isRight;
        made.right[at] = confidence[row] - 1;
        made.wrong[at] = confidence[row];
      } else {
        made.values[at] = column[row];
        if (measure.form === "answered") {
          made.right[at] = -Math.log(confidence[row]);
          made.wrong[at] = -Math.log(Math.max(1 - confidence[row], SMALLEST));
        }
      }
      if (cluster) cluster[at] = rows.columns.cluster[row];
      at += 1;
    }
    return { ...made, cluster };
  };
  // Per row 0 where it is not scored, 2 where the answer is right, 1 where it is wrong.
  let scored = null;
  const outcomes = (about) => {
    if (!scored) {
      const { values } = rows.field(OUTCOME);
      const codes = rows.columns[`field ${OUTCOME}`];
      const meaning = values.map((value) => (SCORED.has(value) ? (value === RIGHT ? 2 : 1) : 0));
      scored = Uint8Array.from(codes, (code) => meaning[code]);
    }
    return scored;
  };
  const estimate = (measure, chosen, about, tail) => {
    const { values, right, wrong, cluster } = take(measure, chosen, outcomes(about), 2);
    const within = measure.within.map((end, i) => end ?? (i ? Infinity : -Infinity));
    if (measure.form === "share") return intervals.share(values, cluster, tail);
    if (measure.form === "mean") return intervals.mean(values, cluster, tail, within);
    return intervals.answered(values, right, wrong, cluster, tail, within);
  };

  // The rows that a selection is compared with: those of the same split, if one was asked for, that it leaves out.
  const others = (chosen, asked, about) => {
    const same = mask({ ...asked, fields: { split: asked.fields.split }, low: 0, high: 1, map: null, ids: "" }, about);
    return same.map((is, row) => (is && !chosen[row] ? 1 : 0));
  };
  // For each measure: the selection, the other rows, and their difference, if rows share nothing across the two.
  const measure = (asked, about, looked) => {
    const chosen = mask(asked, about, OUTCOME);
    const rest = others(chosen, asked, about);
    const tail = 0.025 / Math.max(looked, 1);
    return about.measures.map((each) => {
      const own = estimate(each, chosen, about, tail);
      const other = estimate(each, rest, about, tail);
      const apart = rows.columns.cluster || !own.n || !other.n ? null : intervals.difference(own, other);
      return { measure: each, own, other, apart };
    });
  };

  // The lines of ids.txt, as `oochub evaluate --rows` reads them: the rule as in a link and what it is of as comments,
  // then split and id of each row, divided by a tab.
  const exported = (found, asked, about, looked) => {
    const bad = /[\t\n\r\v\f\u0085\u2028\u2029]/;
    const clean = (text) => text.replace(/[\x00-\x1f\x7f-\x9f\u2028\u2029]/g, " ");
    const split = rows.field("split");
    const lines = [];
    let left = 0;
    for (const row of found) {
      const id = rows.text(row, "id");
      const name = rows.value(row, split);
      if (bad.test(id) || bad.test(name) || name.startsWith("#")) left += 1;
      else lines.push(`${name}\t${id}`);
    }
    const said = String(rule(asked, about));
    return [
      ...(said ? [`# ${said}`] : []),
      `# looked at: ${about.lookedAt}`,
      `# data: ${clean(about.dataName)}`,
      `# model: ${clean(about.madeOf.model)}`,
      `# predictions: sha256 ${clean(about.madeOf.predictions)}`,
      `# in words: ${clean(words(asked, about) || "all rows")}`,
      `# selections in that visit: ${looked}`,
      ...(left ? [`# left out: ${left} rows whose id has a line break or a tab, or whose split begins as a comment`] : []),
      ...lines,
      "",
    ].join("\n");
  };

  return Object.freeze({ read, write, sorts, mask, list, digest, words, measure, estimate, exported, OUTCOME });
})();
