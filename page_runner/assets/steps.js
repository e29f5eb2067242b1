// ---
// title: Order of steps
// summary: Which step comes next, all of them or each line once, and what a step is called.
// ---
//
// A line in a loop is a step for each pass. A reader who has seen the first head can leave out the
// others: then the next step is the next line that has not come before.

// ## The steps that are gone through
//
// Their numbers, from 0. With `once`, those of a line that came before are left out.
export function places(steps, once) {
  const seen = new Set();
  return steps.flatMap(({ line }, at) => {
    if (once && seen.has(line)) return [];
    seen.add(line);
    return [at];
  });
}

// ## The step before or after another
//
// It may itself be one of those that are left out. Null at the ends.
export function moved(order, at, by) {
  return (by > 0 ? order.find((one) => one > at) : order.findLast((one) => one < at)) ?? null;
}

// ## The step of a line
//
// Of several, the one that is nearest to where the reader is. Null if the line is no step.
export function ofLine(steps, order, line, at) {
  const found = order.filter((one) => steps[one].line === line);
  return found.sort((a, b) => Math.abs(a - at) - Math.abs(b - at))[0] ?? null;
}

// ## What a step is called
export function told(steps, at) {
  const { line, layer, pass } = steps[at];
  const within = [
    layer === undefined || layer === null || layer === "" ? "" : `layer ${layer}`,
    pass ?? "",
  ];
  return [`step ${at + 1} of ${steps.length}`, ...within, `line ${line}`]
    .filter(Boolean)
    .join(" · ");
}
