// The width of what KaTeX sets, in em, from its own metrics: the text around a formula then stays
// where it is when the fonts come. What is not known here is NaN, and so is whatever holds it.
const SIZES = [0.5, 0.6, 0.7, 0.8, 0.9, 1, 1.2, 1.44, 1.728, 2.074, 2.488];

module.exports = function widths(katex) {
  const single = new Map();

  // KaTeX joins neighbours of one font, and keeps the width of the first.
  function ofOne(formula, character) {
    if (!single.has(formula)) {
      let node;
      try {
        [node] = symbolsIn(katex.__renderToDomTree(formula, { output: "html", strict: "ignore" }));
      } catch {
        // A sign that means something else in TeX when it stands alone.
      }
      single.set(formula, node?.text === character ? node.width : NaN);
    }
    return single.get(formula);
  }

  function symbolsIn(node) {
    if (node.text !== undefined) return [node];
    return (node.children ?? []).flatMap(symbolsIn);
  }

  function width(node) {
    const classes = (node.classes ?? []).flatMap((one) => one.split(" "));
    const has = (name) => classes.includes(name);
    const em = (name) => parseFloat(node.style?.[name] ?? 0);
    const around = em("marginLeft") + em("marginRight") + em("paddingLeft") + em("paddingRight");
    if (node.text !== undefined) return glyphs(node, classes) + Math.max(node.italic, 0) + around;
    if (["katex-strut", "pstrut", "vlist-s", "frac-line", "accent-body"].some(has)) return 0;
    if (has("nulldelimiter")) return 0.12;
    if (has("hide-tail")) return em("minWidth");
    if (node.style?.width) return em("width") + around;
    const inner = (node.children ?? []).map(width);
    const stacked = has("vlist") || has("vlist-t");
    const sum = stacked ? Math.max(0, ...inner) : inner.reduce((one, two) => one + two, 0);
    const [from, to] = ["reset-size", "size"].map((start) => {
      const name = classes.find((one) => new RegExp(`^${start}\\d+$`).test(one));
      return name && has("katex-sizing") ? SIZES[name.replace(start, "") - 1] : 1;
    });
    return ((sum + around) * to) / from;
  }

  function glyphs(node, classes) {
    const characters = [...node.text];
    if (characters.length === 1) return node.width;
    const fonts = classes.filter((one) => /^(text|math)/.test(one));
    const upright = (one) => `\\text{${one}}`;
    const alone = { "": upright, mathrm: upright, mathnormal: (one) => one };
    const formula = alone[fonts.join(" ")];
    if (!formula) return NaN;
    return characters.reduce((sum, one) => sum + ofOne(formula(one), one), 0);
  }

  return width;
};
