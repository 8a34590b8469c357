"use strict";
// The view of points: rows by their features on a canvas, colored by a field. A rectangle selects the rows in it, by the
// pointer or by keys; clusters of wrong answers have names, which are hypotheses.
oochubBrowse.views.push(
  (() => {
    const { rows } = oochubBrowse;
    const LARGEST = 620; // pixels of a side
    const MARGIN = 10;
    const STEP = 0.02; // of the map, for one key
    const SMALLEST = 0.01; // side of a rectangle; less is a click
    const NEAR = 12; // pixels from a point that is opened
    const MOST_COLORS = 8;
    const WHOLE = [0, 0, 1, 1];
    let about = null;
    let found = new Uint32Array(0);
    let parts = null; // the elements of the view
    let box = [0.4, 0.4, 0.6, 0.6];
    let side = LARGEST;
    let field = null;

    const element = (tag, words, kind) => {
      const made = document.createElement(tag);
      if (words !== undefined) made.textContent = words;
      if (kind) made.className = kind;
      return made;
    };
    const paint = (name) => getComputedStyle(document.documentElement).getPropertyValue(`--${name}`).trim();
    const count = (n) => n.toLocaleString("en").replaceAll(",", "\u202f");
    const percent = (share) => `${(100 * share).toFixed(1)}%`;

    // The color of each value: the most frequent have their own, the others share gray.
    const colors = () => {
      const palette = Array.from({ length: MOST_COLORS }, (_, place) => paint(`v${place}`));
      const rest = paint("vrest");
      const counts = new Uint32Array(field.values.length);
      for (const code of rows.columns[`field ${field.name}`]) counts[code] += 1;
      const order = [...counts.keys()].sort((a, b) => counts[b] - counts[a] || a - b);
      const named = order.length > MOST_COLORS ? order.slice(0, MOST_COLORS - 1) : order;
      const of = new Array(field.values.length).fill(rest);
      if (field.name === "outcome") {
        const ours = { wrong: palette[1], right: palette[0] };
        field.values.forEach((value, code) => (of[code] = ours[value] ?? rest));
        return { of, named: order, counts, rest };
      }
      named.forEach((code, place) => (of[code] = field.values[code] === "none" ? rest : palette[place]));
      return { of, named, counts, rest };
    };

    const px = (share) => MARGIN + share * (side - 2 * MARGIN);
    const py = (share) => MARGIN + (1 - share) * (side - 2 * MARGIN);
    const draw = () => {
      const { canvas } = parts;
      const ratio = devicePixelRatio || 1;
      canvas.width = Math.round(side * ratio);
      canvas.height = canvas.width;
      canvas.style.width = `${side}px`;
      canvas.style.height = `${side}px`;
      const pen = canvas.getContext("2d");
      pen.scale(ratio, ratio);
      pen.clearRect(0, 0, side, side);
      const { "map x": x, "map y": y } = rows.columns;
      const isChosen = new Uint8Array(about.rows);
      for (const row of found) isChosen[row] = 1;
      pen.fillStyle = paint("vother");
      for (let row = 0; row < about.rows; row++) {
        if (!isChosen[row] && x[row] === x[row]) pen.fillRect(px(x[row]) - 1, py(y[row]) - 1, 2, 2);
      }
      const { of } = colors();
      const codes = rows.columns[`field ${field.name}`];
      const lines = new Map([...new Set(of)].map((color) => [color, []]));
      let shown = 0;
      for (let at = found.length - 1; at >= 0; at--) {
        const row = found[at];
        if (x[row] !== x[row]) continue;
        lines.get(of[codes[row]]).push(row);
        shown += 1;
      }
      const size = shown > 20000 ? 2 : shown > 4000 || side < 450 ? 3 : 5;
      const first = paint("vrest"); // gray below the others
      const last = field.name === "outcome" ? of[field.values.indexOf("wrong")] : null;
      const rank = (color) => (color === first ? 0 : color === last ? 2 : 1);
      for (const [color, some] of [...lines].sort((a, b) => rank(a[0]) - rank(b[0]))) {
        pen.fillStyle = color;
        for (const row of some) pen.fillRect(px(x[row]) - size / 2, py(y[row]) - size / 2, size, size);
      }
      return shown;
    };

    const inside = (rectangle) => {
      const [left, low, right, high] = rectangle;
      const { "map x": x, "map y": y } = rows.columns;
      let n = 0;
      for (const row of found) if (x[row] >= left && x[row] <= right && y[row] >= low && y[row] <= high) n += 1;
      return n;
    };
    const placeBox = (rectangle, isShown) => {
      const [left, low, right, high] = rectangle;
      const { style } = parts.box;
      style.display = isShown ? "block" : "none";
      style.left = `${px(left)}px`;
      style.top = `${py(high)}px`;
      style.width = `${px(right) - px(left)}px`;
      style.height = `${py(low) - py(high)}px`;
    };
    const select = (rectangle) => oochubBrowse.choose({ map: rectangle.map((end) => Number(end.toFixed(4))) });
    const shared = (event) => {
      const { left, top } = parts.canvas.getBoundingClientRect();
      const share = (at) => Math.min(Math.max((at - MARGIN) / (side - 2 * MARGIN), 0), 1);
      return [share(event.clientX - left), 1 - share(event.clientY - top)];
    };
    const openNearest = ([sx, sy]) => {
      const { "map x": x, "map y": y } = rows.columns;
      let [best, least] = [-1, (NEAR / side) ** 2];
      for (const row of found) {
        const far = (x[row] - sx) ** 2 + (y[row] - sy) ** 2;
        if (far < least) [best, least] = [row, far];
      }
      if (best >= 0) oochubBrowse.showRow(best);
    };
    const sorted = ([x0, y0], [x1, y1]) => [Math.min(x0, x1), Math.min(y0, y1), Math.max(x0, x1), Math.max(y0, y1)];
    const pull = (down) => {
      if (down.button !== 0) return;
      down.preventDefault();
      parts.frame.focus({ preventScroll: true });
      const start = shared(down);
      parts.canvas.setPointerCapture(down.pointerId);
      const move = (event) => placeBox(sorted(start, shared(event)), true);
      const up = (event) => {
        parts.canvas.removeEventListener("pointermove", move);
        const rectangle = sorted(start, shared(event));
        placeBox(rectangle, false);
        if (event.type === "pointercancel") return;
        if (Math.max(rectangle[2] - rectangle[0], rectangle[3] - rectangle[1]) < SMALLEST) return openNearest(start);
        box = rectangle;
        select(rectangle);
      };
      parts.canvas.addEventListener("pointermove", move);
      for (const kind of ["pointerup", "pointercancel"]) parts.canvas.addEventListener(kind, up, { once: true });
    };
    const keys = (event) => {
      if (event.ctrlKey || event.metaKey || event.altKey) return;
      const steps = { ArrowLeft: [-STEP, 0], ArrowRight: [STEP, 0], ArrowUp: [0, STEP], ArrowDown: [0, -STEP] };
      const step = steps[event.key];
      const [left, low, right, high] = box;
      if (step) {
        const [dx, dy] = step;
        if (event.shiftKey) box = [left, low, Math.max(right + dx, left + STEP), Math.max(high + dy, low + STEP)];
        else box = [left + dx, low + dy, right + dx, high + dy];
        const over = [Math.max(0, -box[0]) - Math.max(0, box[2] - 1), Math.max(0, -box[1]) - Math.max(0, box[3] - 1)];
        box = event.shiftKey ? box.map((end) => Math.min(end, 1)) : box.map((end, i) => end + over[i % 2]);
        placeBox(box, true);
        parts.said.textContent = `${count(inside(box))} rows in the rectangle.`;
      } else if (event.key === "Enter") select(box);
      else if (event.key === "Escape") oochubBrowse.choose({ map: null });
      else if (event.key === " ") openNearest([(left + right) / 2, (low + high) / 2]);
      else return;
      event.preventDefault();
    };

    const makeLegend = () => {
      const { of, named, counts } = colors();
      const asked = oochubBrowse.asked().fields[field.name];
      const lines = named.map((code) => {
        const button = element("button", undefined, "swatch");
        button.type = "button";
        button.setAttribute("aria-pressed", String(asked === field.values[code]));
        const mark = element("i");
        mark.style.background = of[code];
        button.append(mark, `${field.values[code]} (${count(counts[code])})`);
        button.addEventListener("click", () => {
          const isSame = oochubBrowse.asked().fields[field.name] === field.values[code];
          oochubBrowse.choose({ fields: { ...oochubBrowse.asked().fields, [field.name]: isSame ? undefined : field.values[code] } });
        });
        return button;
      });
      const left = field.values.length - named.length;
      if (left > 0) lines.push(element("span", `${count(left)} other values are gray`, "sub"));
      parts.legend.replaceChildren(...lines);
    };
    const makeClusters = () => {
      const { clusters } = about.map;
      const place = element("section", undefined, "clusters");
      place.append(element("h2", "Clusters of wrong answers"));
      if (!clusters.length) {
        place.append(element("p", "No cluster was found: the wrong answers are few, or all alike, or lie apart."));
        return place;
      }
      place.append(
        element(
          "p",
          "Wrong answers that look alike to the model, by their features, not by this map. A name is what at least half of " +
            "the rows share, more often than the other mistakes. Each name is a hypothesis that these rows themselves gave: " +
            "use its rule, download ids.txt and test it on rows that nobody looked at.",
        ),
      );
      const table = element("table", undefined, "counted");
      table.append(element("caption", "Clusters of wrong answers", "vh"));
      const head = element("tr");
      for (const title of ["Cluster", "Wrong rows", "Wrong where its rule holds"]) {
        const cell = element("th", title);
        cell.scope = "col";
        head.append(cell);
      }
      const top = element("thead");
      top.append(head);
      const body = element("tbody");
      for (const each of clusters) {
        const line = element("tr");
        const name = element("th", each.value);
        name.scope = "row";
        name.append(element("span", each.shared.join("; "), "sub"));
        const rate = element("td", each.wrong ? percent(each.wrong[0]) : "—");
        if (each.wrong) rate.append(element("span", `[${percent(each.wrong[1])}, ${percent(each.wrong[2])}], n = ${count(each.n)}, looked at`, "sub"));
        const buttons = element("span", undefined, "buttons");
        const own = element("button", "Its rows");
        own.addEventListener("click", () => oochubBrowse.choose({ fields: { mistakes: each.value }, map: null }));
        buttons.append(own);
        if (each.rule) {
          const rule = element("button", "Its rule");
          rule.addEventListener("click", () =>
            oochubBrowse.choose({ fields: Object.fromEntries(new URLSearchParams(each.rule)), map: null }),
          );
          buttons.append(rule);
        }
        for (const button of buttons.children) {
          button.type = "button";
          button.setAttribute("aria-label", `${button.textContent}: cluster ${each.value}`);
        }
        name.append(buttons);
        line.append(name, element("td", count(each.rows)), rate);
        body.append(line);
      }
      table.append(top, body);
      const scroll = element("div", undefined, "scroll");
      scroll.tabIndex = 0;
      scroll.setAttribute("role", "region");
      scroll.setAttribute("aria-label", "Clusters of wrong answers");
      scroll.append(table);
      place.append(scroll);
      return place;
    };

    const make = (place) => {
      const view = element("div", undefined, "map");
      const choice = element("select");
      for (const each of about.fields) if (each.values.length > 1) choice.append(new Option(each.title, each.name));
      choice.value = field.name;
      choice.addEventListener("change", () => {
        field = about.fields.find(({ name }) => name === choice.value);
        renew();
      });
      const label = element("label", "Color by ");
      label.append(choice);
      const frame = element("div", undefined, "frame");
      frame.tabIndex = 0;
      frame.setAttribute("role", "application");
      frame.setAttribute("aria-label", "Map of the rows");
      frame.setAttribute("aria-describedby", "map-keys");
      const canvas = element("canvas");
      const rectangle = element("div", undefined, "brush");
      frame.append(canvas, rectangle);
      const said = element("p", undefined, "sub");
      said.setAttribute("role", "status");
      const help = element(
        "p",
        "Draw a rectangle to select the rows in it; a click opens a row. By keyboard: arrows move a rectangle, with Shift " +
          "they size it, Enter selects, Space opens the row at its middle, Escape selects all again.",
        "note",
      );
      help.id = "map-keys";
      const legend = element("div", undefined, "legend");
      legend.setAttribute("role", "group");
      legend.setAttribute("aria-label", "Colors, which are also filters");
      const notes = element("p", about.map.notes.join(" "), "note");
      view.append(label, legend, frame, said, help, notes, makeClusters());
      parts = { view, canvas, box: rectangle, frame, said, legend };
      canvas.addEventListener("pointerdown", pull);
      frame.addEventListener("keydown", keys);
      frame.addEventListener("focus", () => frame.matches(":focus-visible") && placeBox(box, true));
      frame.addEventListener("blur", () => placeBox(box, false));
      place.replaceChildren(view);
    };
    const renew = () => {
      if (!parts) return 0;
      side = Math.max(200, Math.min(LARGEST, parts.view.clientWidth));
      parts.frame.style.width = `${side}px`;
      makeLegend();
      return draw();
    };

    addEventListener("resize", () => renew());
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => renew());
    return {
      name: "map",
      title: "Map",
      show(place, selected, said) {
        about = said;
        found = selected;
        const first = ["outcome", "label", "split"].map((name) => about.fields.find((each) => each.name === name && each.values.length > 1));
        field ??= first.find(Boolean) ?? about.fields[0];
        if (!parts) make(place);
        const shown = renew();
        const [left, low, right, high] = oochubBrowse.asked().map ?? WHOLE;
        parts.said.textContent = oochubBrowse.asked().map ? `The rows between ${left} and ${right} across, ${low} and ${high} up.` : "";
        return shown < found.length ? `${count(shown)} of them are on the map.` : "";
      },
      hide() {
        parts?.view.remove();
        parts = null;
      },
    };
  })(),
);
