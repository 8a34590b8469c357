"use strict";
// The view of images and texts: cards of one size, of which only those in sight are in the document.
oochubBrowse.views.push(
  (() => {
    const { rows } = oochubBrowse;
    const GAP = 16;
    const NARROWEST = 160;
    const IMAGE = 132;
    const LINE = 18.5; // pixels of a line of a card
    const TALLEST = 12_000_000; // pixels that every browser can scroll
    let about = null;
    let list = null;
    let found = new Uint32Array(0);
    let shown = new Map(); // place in the selection to its card
    let current = 0;
    let geometry = { across: 1, width: 200, height: 200, shown: 0 };

    const element = (tag, words, kind) => {
      const made = document.createElement(tag);
      if (words !== undefined) made.textContent = words;
      if (kind) made.className = kind;
      return made;
    };
    const isWide = () => Boolean(rows.columns["tile width"]);

    const paint = (place, row, side) => {
      const { tile, across } = about.sheet;
      const [width, height] = ["width", "height"].map((name) => rows.columns[`tile ${name}`][row]);
      if (!width) {
        place.append(element("span", "no image", "sub"));
        return;
      }
      const scale = side / Math.max(width, height); // a small image is shown larger
      const step = tile * scale;
      const picture = element("div", undefined, "tile");
      const at = row % across ** 2;
      const sheet = String(Math.floor(row / across ** 2)).padStart(5, "0");
      picture.style.width = `${width * scale}px`;
      picture.style.height = `${height * scale}px`;
      picture.style.backgroundImage = `url("sheets/${sheet}.jpg")`;
      picture.style.backgroundSize = `${step * across}px auto`;
      picture.style.backgroundPosition = `${-(at % across) * step}px ${-Math.floor(at / across) * step}px`;
      place.append(picture);
    };
    oochubBrowse.paint = paint;

    const value = (row, name) => (rows.has(name) ? rows.value(row, rows.field(name)) : "");
    const hasMarks = () => rows.field("outcome").values.some((each) => each !== "scored");
    const said = (row) => {
      const made = element("span", undefined, "said");
      const confidence = rows.columns.confidence?.[row];
      made.append(element("span", `said ${value(row, "answered") || rows.text(row, "answered")}`, "line"));
      if (confidence !== undefined) made.append(element("span", `at ${(100 * confidence).toFixed(0)}%`));
      return made;
    };
    const fill = (card, row) => {
      const outcome = value(row, "outcome");
      card.dataset.outcome = outcome;
      const head = element("b", value(row, "label") || rows.text(row, "label") || "…");
      const lines = [head, said(row)];
      if (hasMarks()) lines.push(element("span", outcome, "mark line"));
      const place = [value(row, "context"), value(row, "side")].filter(Boolean).join(" · ");
      if (place) lines.push(element("span", place, "sub line"));
      lines.push(element("span", oochubBrowse.clean(rows.text(row, "id")) || "…", "sub mono line"));
      const caption = element("div", undefined, "caption");
      caption.append(...lines);
      const body = [];
      if (isWide()) {
        const picture = element("div", undefined, "picture");
        paint(picture, row, IMAGE);
        body.push(picture);
      }
      if (about.hasText) body.push(element("p", rows.text(row, "text") || rows.text(row, "wrote"), "text"));
      card.replaceChildren(...body, caption);
    };

    const make = (place) => {
      const row = found[place];
      const card = element("div", undefined, "card");
      card.setAttribute("role", "listitem");
      card.setAttribute("aria-posinset", String(place + 1));
      card.setAttribute("aria-setsize", String(found.length));
      card.tabIndex = place === current ? 0 : -1;
      card.dataset.place = String(place);
      put(card, place);
      fill(card, row);
      if (!rows.isLoaded(row)) {
        rows.load(row, () => {
          if (card.isConnected) fill(card, row);
        });
      }
      return card;
    };
    const put = (card, place) => {
      const { across, width, height } = geometry;
      card.style.width = `${width}px`;
      card.style.height = `${height}px`;
      const x = (place % across) * (width + GAP);
      card.style.transform = `translate(${x}px, ${Math.floor(place / across) * (height + GAP)}px)`;
    };

    const draw = () => {
      const { across, height } = geometry;
      const top = -list.getBoundingClientRect().top;
      const first = Math.max(0, Math.floor(top / (height + GAP)) - 1) * across;
      const last = Math.min(geometry.shown, (Math.ceil((top + innerHeight) / (height + GAP)) + 1) * across);
      const kept = document.activeElement?.closest?.(".card") ? current : -1;
      for (const [place, card] of shown) {
        if ((place < first || place >= last) && place !== kept) {
          card.remove();
          shown.delete(place);
        }
      }
      let before = null;
      for (let place = first; place < last; place++) {
        let card = shown.get(place);
        if (!card) {
          card = make(place);
          shown.set(place, card);
          if (before) before.after(card);
          else list.prepend(card);
        }
        before = card;
      }
    };
    const lay = () => {
      const room = list.clientWidth;
      const across = Math.max(1, Math.floor((room + GAP) / (NARROWEST + GAP)));
      const width = Math.floor((room - GAP * (across - 1)) / across);
      const lines = 3 + hasMarks() + (rows.has("context") || rows.has("side"));
      const height = (isWide() ? IMAGE + 8 : 0) + (about.hasText ? 62 : 0) + LINE * lines + 8;
      const most = Math.floor(TALLEST / (height + GAP)) * across;
      geometry = { across, width, height, shown: Math.min(found.length, most) };
      list.style.height = `${Math.ceil(geometry.shown / across) * (height + GAP)}px`;
    };
    const renew = () => {
      lay();
      for (const card of shown.values()) card.remove();
      shown = new Map();
      draw();
    };

    const move = (place) => {
      const next = Math.min(Math.max(place, 0), geometry.shown - 1);
      shown.get(current)?.setAttribute("tabindex", "-1");
      current = next;
      const { across, height } = geometry;
      const top = list.getBoundingClientRect().top + Math.floor(next / across) * (height + GAP);
      const bar = document.querySelector(".bar").getBoundingClientRect().height;
      const by = top < bar ? top - bar - GAP : top + height > innerHeight ? top + height + GAP - innerHeight : 0;
      if (by) scrollBy({ top: by, behavior: "instant" });
      draw();
      const card = shown.get(next);
      card?.setAttribute("tabindex", "0");
      card?.focus({ preventScroll: true });
    };
    const keys = (event) => {
      const { across, height } = geometry;
      const page = across * Math.max(1, Math.floor(innerHeight / (height + GAP)) - 1);
      const steps = { ArrowRight: 1, ArrowLeft: -1, ArrowDown: across, ArrowUp: -across, PageDown: page, PageUp: -page };
      const ends = { Home: -current, End: found.length };
      const step = steps[event.key] ?? ends[event.key];
      if (event.ctrlKey || event.metaKey || event.altKey || !event.target.closest(".card")) return;
      if (step !== undefined) {
        event.preventDefault();
        move(current + step);
      } else if (event.key === "Enter" || event.key === " ") {
        event.preventDefault();
        oochubBrowse.showRow(found[current]);
      }
    };

    const later = (work) => {
      let isAsked = false;
      return () => {
        if (isAsked || !list) return;
        isAsked = true;
        requestAnimationFrame(() => {
          isAsked = false;
          if (list) work();
        });
      };
    };

    addEventListener("scroll", later(draw), { passive: true });
    addEventListener("resize", later(renew));

    return {
      name: "grid",
      title: "Images",
      // Shows the rows of a selection, in its order, in `place`.
      show(place, selected, said) {
        about = said;
        found = selected;
        current = 0;
        if (!list) {
          list = element("div", undefined, "cards");
          list.setAttribute("role", "list");
          list.setAttribute("aria-label", "Rows");
          list.addEventListener("keydown", keys);
          list.addEventListener("click", (event) => {
            const card = event.target.closest(".card");
            if (!card) return;
            move(Number(card.dataset.place));
            oochubBrowse.showRow(found[current]);
          });
          place.replaceChildren(list);
        }
        renew();
        return geometry.shown < found.length
          ? `The first ${geometry.shown} are shown: filter, or sort another way.`
          : "";
      },
      hide() {
        list?.remove();
        list = null;
        shown = new Map();
      },
    };
  })(),
);
