"use strict";
// Estimates with intervals by the formulas of `oochub.stats`: wilson, share_of_clusters, the mean with its skewness taken
// off, the mean that is joined with two right and two wrong rows more, and the difference of two estimates. A test holds
// them equal to Python.
// `cluster` is null, or the number of the cluster of each row; `tail` is what lies outside on either side.
oochubBrowse.intervals = (() => {
  const { normal, student, beta } = oochubBrowse.quantiles;
  const SOME_CLUSTERS = 40;
  const FEW_ROWS = 100;
  const MANY = 10000;
  const ADDED = 2;
  const PER_SKEWNESS = 160;
  const SYMMETRIC = 1e-6;

  const sum = (values) => {
    let total = 0;
    let lost = 0; // Kahan's: as exact as NumPy's sum by pairs
    for (let i = 0; i < values.length; i++) {
      const next = values[i] - lost;
      const after = total + next;
      lost = after - total - next;
      total = after;
    }
    return total;
  };
  const make = (value, low, high, n, method, reason = null) => ({ value, low, high, n, method, reason });
  const without = (value, n, method, reason) => make(value, NaN, NaN, n, method, reason);
  const join = (...reasons) => [...new Set(reasons.filter(Boolean))].join("; ") || null;

  const wilson = (ones, n, tail) => {
    if (n === 0) return without(NaN, 0, "wilson", "no rows");
    const z2 = normal(tail) ** 2;
    const middle = (ones + z2 / 2) / (n + z2);
    const half = (Math.sqrt(z2) / (n + z2)) * Math.sqrt((ones * (n - ones)) / n + z2 / 4);
    return make(ones / n, ones === 0 ? 0 : middle - half, ones === n ? 1 : middle + half, n, "wilson");
  };

  // The sums and sizes of the clusters that have rows, or null where no two rows share one.
  const units = (values, cluster) => {
    if (!cluster) return null;
    const places = new Map();
    for (const each of cluster) if (!places.has(each)) places.set(each, places.size);
    if (places.size === values.length) return null;
    const sums = new Float64Array(places.size);
    const sizes = new Float64Array(places.size);
    for (let i = 0; i < values.length; i++) {
      const place = places.get(cluster[i]);
      sums[place] += values[i];
      sizes[place] += 1;
    }
    return { sums, sizes };
  };
  // By the clusters of equal size that tell as much: (sum of sizes)^2 / sum of sizes^2.
  const warn = (sizes) => {
    const m = sizes.length;
    const effective = Math.round(sum(sizes) ** 2 / sum(sizes.map((size) => size * size)));
    if (effective >= SOME_CLUSTERS) return null;
    const few = effective === m ? `only ${m} clusters` : `${m} clusters count as ${effective} of equal size`;
    return `${few}: the interval may be too narrow`;
  };
  const alone = (values) =>
    without(sum(values) / values.length, values.length, "none",
      "one cluster only: nothing is known about differences between clusters");

  const freedomOf = (part, variance) => {
    let total = 0;
    let trace = 0;
    let ww = 0;
    let dd = 0;
    let wd = 0;
    let squares = 0;
    for (const each of variance) total += each;
    for (let i = 0; i < part.length; i++) {
      const w = part[i];
      const d = variance[i];
      const scale = 1 / (1 - w);
      const off = total * w * w - 2 * w * d;
      trace += scale * (d + off);
      ww += scale * w * w;
      dd += scale * d * d;
      wd += scale * w * d;
      squares += scale * scale * (d * d + 2 * d * off);
    }
    return trace ** 2 / (2 * ww * dd + (total * ww) ** 2 + 2 * wd ** 2 - 4 * total * ww * wd + squares);
  };
  const spreadOfUnits = ({ sums, sizes }) => {
    const total = sum(sizes);
    const mean = sum(sums) / total;
    const part = sizes.map((size) => size / total);
    const left = sums.map((each, i) => (each - mean * sizes[i]) / Math.sqrt(1 - part[i]));
    const error = Math.sqrt(sum(left.map((each) => each * each))) / total;
    const freedom = Math.min(freedomOf(part, sizes), freedomOf(part, sizes.map((size) => size * size)));
    return { mean, error, freedom, left };
  };
  const spreadOfRows = (values) => {
    const n = values.length;
    const mean = sum(values) / n;
    const left = Float64Array.from(values, (each) => each - mean);
    const squares = sum(left.map((each) => each * each));
    return { mean, error: n > 1 ? Math.sqrt(squares / (n - 1)) / Math.sqrt(n) : NaN, freedom: n - 1, squares, left };
  };
  const ends = ({ mean, error, freedom }, tail) => {
    const half = -student(freedom, tail) * error;
    return [mean - half, mean + half];
  };

  const shareOfClusters = (values, { sums, sizes }, tail) => {
    const n = values.length;
    const m = sizes.length;
    const { error, freedom } = spreadOfUnits({ sums, sizes });
    const ones = sum(sums);
    const share = ones / n;
    const alike = sum(sizes.map((size) => size * size)) / n;
    let effective = n / alike;
    if (ones !== 0 && ones !== n) {
      const factor = (student(n - 1, tail) / student(freedom, tail)) ** 2;
      effective = error === 0 ? n : Math.min(n, ((share * (1 - share)) / error ** 2) * factor);
    }
    const hits = share * effective;
    const low = ones === 0 ? 0 : beta(hits, effective - hits + 1, tail);
    const high = ones === n ? 1 : 1 - beta(effective - hits, hits + 1, tail);
    return make(share, low, high, n, `clopper-pearson of ${effective.toPrecision(3)} effective rows, ${m} clusters`,
      warn(sizes));
  };

  // The share of ones: Wilson's interval, by cluster Clopper and Pearson's with the effective number of rows.
  const share = (values, cluster, tail) => {
    if (values.length === 0) return without(NaN, 0, "wilson", "no rows");
    const of = units(values, cluster);
    if (of === null) return wilson(sum(values), values.length, tail);
    return of.sizes.length === 1 ? alone(values) : shareOfClusters(values, of, tail);
  };

  // Hall's transformation: the studentized mean that it takes to a quantile.
  const undoHall = (at, skewness) =>
    Math.abs(skewness) < SYMMETRIC ? at : (3 / skewness) * (Math.cbrt(1 + skewness * (at - skewness / 6)) - 1);

  const mean = (values, cluster, tail, within = [-Infinity, Infinity]) => {
    const n = values.length;
    if (n === 0) return without(NaN, 0, "none", "no rows");
    const of = units(values, cluster);
    if (of && of.sizes.length === 1) return alone(values);
    const method = `t interval of ${of ? `${of.sizes.length} clusters` : "rows"}`;
    if (n === 1) return without(values[0], 1, method, "one row only: nothing is known about the spread");
    const spread = of ? spreadOfUnits(of) : spreadOfRows(values);
    if (spread.error <= 1e-12 * Math.abs(spread.mean)) {
      const why = `${Number(spread.mean.toPrecision(6))} in every row or cluster: this says nothing about further rows`;
      return without(spread.mean, n, method, why);
    }
    const skewness = sum(spread.left.map((each) => each ** 3)) / sum(spread.left.map((each) => each * each)) ** 1.5;
    const quantile = -student(spread.freedom, tail);
    const [low, high] = [quantile, -quantile].map((at) => spread.mean - spread.error * undoHall(at, skewness));
    const few = n < FEW_ROWS ? `only ${n} rows: the interval may be too narrow` : null;
    const skewed = PER_SKEWNESS * skewness ** 2 > 1
      ? "a few values make most of the spread: the interval may be too narrow" : null;
    return make(spread.mean, Math.max(Math.min(low, spread.mean), within[0]),
      Math.min(Math.max(high, spread.mean), within[1]), n, `${method}, corrected for skewness`,
      join(of ? warn(of.sizes) : few, skewed));
  };

  const designEffect = (values, of, largest) => {
    const { squares } = spreadOfRows(values);
    const own = Math.sqrt(squares / values.length) / Math.sqrt(values.length);
    return own === 0 ? largest : Math.min(Math.max((spreadOfUnits(of).error / own) ** 2, 1), largest);
  };

  // A mean of numbers that depend on whether the answer is right: `right` and `wrong` are what each would be then.
  const answered = (values, right, wrong, cluster, tail, within = [-Infinity, Infinity]) => {
    const n = values.length;
    if (n === 0) return without(NaN, 0, "none", "no rows");
    const of = units(values, cluster);
    if (of && of.sizes.length === 1) return alone(values);
    if (n >= MANY) return mean(values, cluster, tail, within);
    const own = of ? spreadOfUnits(of) : spreadOfRows(values);
    const { sums, sizes } = of ?? { sums: values, sizes: new Float64Array(n).fill(1) };
    let size = 1;
    if (of) {
      const largest = sum(sizes.map((each) => each * each)) / n;
      const isRight = Float64Array.from(values, (each, i) =>
        Math.abs(each - right[i]) <= Math.abs(each - wrong[i]) ? 1 : 0);
      const counted = units(isRight, cluster);
      size = Math.max(designEffect(values, of, largest), designEffect(isRight, counted, largest));
    }
    const more = [right, wrong].flatMap((each) => Array(ADDED).fill((sum(each) / n) * size));
    const added = spreadOfUnits({
      sums: Float64Array.from([...sums, ...more]),
      sizes: Float64Array.from([...sizes, ...Array(2 * ADDED).fill(size)]),
    });
    const found = [ends({ ...added, freedom: n > 1 ? own.freedom : 1 }, tail)];
    if (n > 1) found.push(ends(own, tail));
    const low = Math.max(Math.min(...found.map((each) => each[0])), within[0]);
    const high = Math.min(Math.max(...found.map((each) => each[1])), within[1]);
    const unit = of ? `${of.sizes.length} clusters` : "rows";
    const method = `t interval of ${unit}, joined with that of two right and two wrong rows more`;
    return make(own.mean, low, high, n, method, of ? warn(of.sizes) : null);
  };

  // `first` minus `second`, of rows that share nothing: each end adds the squares of two arms.
  const difference = (first, second) =>
    make(
      first.value - second.value,
      first.value - second.value - Math.hypot(first.value - first.low, second.high - second.value),
      first.value - second.value + Math.hypot(first.high - first.value, second.value - second.low),
      first.n + second.n,
      `${[...new Set([first.method, second.method])].join(" and ")}, square-and-add difference`,
      join(first.reason, second.reason),
    );

  return Object.freeze({ wilson, share, mean, answered, difference });
})();
