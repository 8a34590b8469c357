"use strict";
// The one name that all scripts of this page share. `views` are the ways to look at a selection: a script that adds one
// pushes {name, title, show(place, rows, about), hide()} before page.js runs: `show` draws the numbers of rows in an
// element, in their order, and returns words for the count, or "".
const oochubBrowse = { views: [] };

// Quantiles that intervals need, to about 1e-12: those of the normal, Student's t and beta laws.
oochubBrowse.quantiles = (() => {
  // What Stirling's formula leaves of the log of the gamma function, for x of 15 and more.
  const rest = (x) => {
    const y = 1 / (x * x);
    return (1 / 12 - y * (1 / 360 - y * (1 / 1260 - y * (1 / 1680 - y * (1 / 1188 - (y * 691) / 360360))))) / x;
  };
  const logGamma = (x) => {
    let shift = 0;
    while (x < 15) shift += Math.log(x++);
    return (x - 0.5) * Math.log(x) - x + 0.5 * Math.log(2 * Math.PI) + rest(x) - shift;
  };
  const logBetaOf = (a, b) => {
    const large = Math.max(a, b);
    const small = Math.min(a, b);
    if (large < 15) return logGamma(a) + logGamma(b) - logGamma(a + b);
    const both = large + small; // no large numbers are subtracted from each other
    const apart = -(large - 0.5) * Math.log1p(small / large) - small * Math.log(both) + small;
    return logGamma(small) + apart + rest(large) - rest(both);
  };

  // Lentz's continued fraction of the incomplete beta function.
  const fraction = (a, b, x) => {
    const tiny = 1e-300;
    const away = (value) => (Math.abs(value) < tiny ? tiny : value);
    let c = 1;
    let d = 1 / away(1 - ((a + b) * x) / (a + 1));
    let result = d;
    for (let m = 1; m < 100000; m++) {
      const even = (m * (b - m) * x) / ((a + 2 * m - 1) * (a + 2 * m));
      d = 1 / away(1 + even * d);
      c = away(1 + even / c);
      result *= d * c;
      const odd = (-(a + m) * (a + b + m) * x) / ((a + 2 * m) * (a + 2 * m + 1));
      d = 1 / away(1 + odd * d);
      c = away(1 + odd / c);
      result *= d * c;
      if (Math.abs(d * c - 1) < 1e-16) break;
    }
    return result;
  };

  const logDensity = (a, b, x, logBeta) => a * Math.log(x) + b * Math.log1p(-x) - logBeta;

  const betaShare = (a, b, x, logBeta) => {
    if (x <= 0) return 0;
    if (x >= 1) return 1;
    const front = Math.exp(logDensity(a, b, x, logBeta));
    return x < (a + 1) / (a + b + 2) ? (front * fraction(a, b, x)) / a : 1 - (front * fraction(b, a, 1 - x)) / b;
  };

  // x with I_x(a, b) = p: Newton's steps, halved where they leave the bracket.
  const beta = (a, b, p) => {
    if (p <= 0) return 0;
    if (p >= 1) return 1;
    const logBeta = logBetaOf(a, b);
    let low = 0;
    let high = 1;
    let x = a / (a + b);
    for (let turn = 0; turn < 300; turn++) {
      const away = betaShare(a, b, x, logBeta) - p;
      if (away === 0) return x;
      if (away < 0) low = x;
      else high = x;
      const slope = Math.exp(logDensity(a, b, x, logBeta) - Math.log(x) - Math.log1p(-x));
      let next = x - away / slope;
      if (!(next > low && next < high)) next = low > 0 && high / low > 4 ? Math.sqrt(low * high) : (low + high) / 2;
      if (Math.abs(next - x) <= 4e-16 * x) return next;
      x = next;
    }
    return x;
  };

  const student = (freedom, p) => {
    if (p > 0.5) return -student(freedom, 1 - p);
    if (p === 0.5) return 0;
    const x = beta(freedom / 2, 0.5, 2 * p);
    if (x < 0.5) return -Math.sqrt((freedom * (1 - x)) / x);
    const rest = beta(0.5, freedom / 2, 1 - 2 * p);
    return -Math.sqrt((freedom * rest) / (1 - rest));
  };

  // Wichura 1988, algorithm AS 241 (Applied Statistics 37:477-484).
  const central = [
    [2509.0809287301226727, 33430.575583588128105, 67265.770927008700853, 45921.953931549871457, 13731.693765509461125,
      1971.5909503065514427, 133.14166789178437745, 3.387132872796366608],
    [5226.495278852854561, 28729.085735721942674, 39307.89580009271061, 21213.794301586595867, 5394.1960214247511077,
      687.1870074920579083, 42.313330701600911252, 1],
  ];
  const middle = [
    [7.7454501427834140764e-4, 0.0227238449892691845833, 0.24178072517745061177, 1.27045825245236838258,
      3.64784832476320460504, 5.7694972214606914055, 4.6303378461565452959, 1.42343711074968357734],
    [1.05075007164441684324e-9, 5.475938084995344946e-4, 0.0151986665636164571966, 0.14810397642748007459,
      0.68976733498510000455, 1.6763848301838038494, 2.05319162663775882187, 1],
  ];
  const far = [
    [2.01033439929228813265e-7, 2.71155556874348757815e-5, 0.0012426609473880784386, 0.026532189526576123093,
      0.29656057182850489123, 1.7848265399172913358, 5.4637849111641143699, 6.6579046435011037772],
    [2.04426310338993978564e-15, 1.4215117583164458887e-7, 1.8463183175100546818e-5, 7.868691311456132591e-4,
      0.0148753612908506148525, 0.13692988092273580531, 0.59983220655588793769, 1],
  ];
  const ratio = ([above, below], at) => {
    const value = (factors) => factors.reduce((sum, factor) => sum * at + factor, 0);
    return value(above) / value(below);
  };
  const normal = (p) => {
    const q = p - 0.5;
    if (Math.abs(q) <= 0.425) return q * ratio(central, 0.180625 - q * q);
    const r = Math.sqrt(-Math.log(q < 0 ? p : 1 - p));
    const size = r <= 5 ? ratio(middle, r - 1.6) : ratio(far, r - 5);
    return q < 0 ? -size : size;
  };

  return Object.freeze({ normal, student, beta });
})();
