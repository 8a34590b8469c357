"use strict";
// The rows: columns of codes and numbers as typed arrays, and the texts of 2,048 rows at a time, loaded when needed.
oochubBrowse.rows = (() => {
  const KINDS = { u1: Uint8Array, u2: Uint16Array, u4: Uint32Array, i4: Int32Array, f4: Float32Array, f8: Float64Array };
  const columns = {};
  const parts = new Map(); // number of a part to its texts, or to those that wait for it
  let about = null;

  const decode = (kind, text) => {
    let bytes;
    if (Uint8Array.fromBase64) bytes = Uint8Array.fromBase64(text);
    else {
      const raw = atob(text);
      bytes = new Uint8Array(raw.length);
      for (let i = 0; i < raw.length; i++) bytes[i] = raw.charCodeAt(i);
    }
    return new KINDS[kind](bytes.buffer, bytes.byteOffset, bytes.byteLength / KINDS[kind].BYTES_PER_ELEMENT);
  };

  // The two functions that `data/about.js` and `data/columns.js` call.
  oochubBrowse.about = (said) => {
    about = said;
  };
  oochubBrowse.columns = (encoded) => {
    for (const [name, text] of Object.entries(encoded)) columns[name] = decode(about.columns[name], text);
    oochubBrowse.open(about);
  };
  // What each file of `data/rows` calls.
  oochubBrowse.part = (number, texts) => {
    const waiting = parts.get(number);
    parts.set(number, { texts });
    for (const done of waiting?.waiting ?? []) done();
  };

  const load = (number, done) => {
    const known = parts.get(number);
    if (known?.texts) return done();
    if (known) return known.waiting.push(done);
    parts.set(number, { waiting: [done] });
    const script = document.createElement("script");
    script.src = `data/rows/${String(number).padStart(5, "0")}.js`;
    script.addEventListener("error", () => oochubBrowse.say(`${script.src} cannot be read. Make the folder again.`));
    document.head.append(script);
    return null;
  };

  const partOf = (row) => Math.floor(row / about.rowsOfPart);
  const countParts = () => Math.ceil(about.rows / about.rowsOfPart);
  const isLoaded = (row) => Boolean(parts.get(partOf(row))?.texts);
  const text = (row, name) => parts.get(partOf(row))?.texts?.[name]?.[row % about.rowsOfPart] ?? "";

  // Calls `done` when the texts of all parts are there.
  const loadAll = (done) => {
    let left = countParts();
    if (!left) done();
    for (let number = 0; number < countParts(); number++) {
      load(number, () => {
        left -= 1;
        if (left === 0) done();
      });
    }
  };

  return Object.freeze({
    columns,
    text,
    isLoaded,
    loadAll,
    load: (row, done) => load(partOf(row), done),
    field: (name) => about.fields.find((each) => each.name === name),
    value: (row, { name, values }) => values[columns[`field ${name}`][row]],
    has: (name) => about.fields.some((each) => each.name === name),
  });
})();
