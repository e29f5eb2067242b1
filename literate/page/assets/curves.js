// Curves that runs have recorded of both attentions, drawn over the same axes.

const results = new URL("../results/", location.href);
const [WIDTH, HEIGHT, LEFT, BOTTOM, TOP, RIGHT] = [440, 220, 52, 40, 10, 14];
const files = new Map();

function fetchResult(name) {
  if (!files.has(name)) {
    const asked = fetch(new URL(`${name}.json`, results)).then((answer) => {
      if (!answer.ok) throw new Error(`results/${name}.json: ${answer.status}`);
      return answer.json();
    });
    asked.catch(() => files.delete(name));
    files.set(name, asked);
  }
  return files.get(name);
}

function svg(name, attributes, text = "") {
  const element = document.createElementNS("http://www.w3.org/2000/svg", name);
  for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, value);
  element.textContent = text;
  return element;
}

// From the numbers of an axis to places on the picture, and a few numbers to write beside it.
function axis({ scale }, numbers, begin, end) {
  const along = scale === "log" ? Math.log : (one) => one;
  const [low, high] = [Math.min(...numbers), Math.max(...numbers)];
  const place = (one) =>
    begin + ((along(one) - along(low)) / (along(high) - along(low) || 1)) * (end - begin);
  const known = [...new Set(numbers)].sort((one, other) => one - other);
  const between = [0, 0.25, 0.5, 0.75, 1].map(
    (share) => known[Math.round(share * (known.length - 1))],
  );
  return { place, ticks: known.length <= 7 && scale === "log" ? known : [...new Set(between)] };
}

const spelled = (number) => number.toLocaleString("en", { maximumSignificantDigits: 4 });
const titled = ({ title, unit }) => (unit ? `${title} (${unit})` : title);

function chart(figure, lines) {
  const points = lines.flatMap((line) => line.points);
  const x = axis(
    figure.x,
    points.map((point) => point[0]),
    LEFT,
    WIDTH - RIGHT,
  );
  const y = axis(
    figure.y,
    points.map((point) => point[1]),
    HEIGHT - BOTTOM,
    TOP,
  );
  const [low, high] = [
    Math.min(...points.map((one) => one[1])),
    Math.max(...points.map((one) => one[1])),
  ];
  const told = lines.map(({ name, points }) => {
    const [first, last] = [points[0], points.at(-1)];
    return `${name}: from ${spelled(first[1])} at ${first[0]} to ${spelled(last[1])} at ${last[0]}.`;
  });
  const label = `${titled(figure.y)} against ${titled(figure.x)}. ${told.join(" ")}`;
  const picture = svg("svg", {
    viewBox: `0 0 ${WIDTH} ${HEIGHT}`,
    role: "img",
    "aria-label": label,
  });
  const edge = { stroke: "currentColor", "stroke-opacity": 0.4 };
  picture.append(
    svg("path", {
      d: `M${LEFT} ${TOP}V${HEIGHT - BOTTOM}H${WIDTH - RIGHT}`,
      fill: "none",
      ...edge,
    }),
  );
  for (const tick of x.ticks) {
    const at = { x: x.place(tick), y: HEIGHT - BOTTOM + 15, "text-anchor": "middle" };
    picture.append(svg("text", at, spelled(tick)));
  }
  for (const tick of [low, high]) {
    picture.append(
      svg("text", { x: LEFT - 6, y: y.place(tick) + 4, "text-anchor": "end" }, spelled(tick)),
    );
  }
  picture.append(
    svg(
      "text",
      { x: (LEFT + WIDTH) / 2, y: HEIGHT - 6, "text-anchor": "middle" },
      titled(figure.x),
    ),
  );
  lines.forEach((line, at) => {
    const path = line.points.map(
      (point) => `${x.place(point[0]).toFixed(1)} ${y.place(point[1]).toFixed(1)}`,
    );
    const dashes = at ? { "stroke-dasharray": "6 4" } : {};
    picture.append(
      svg("path", {
        d: `M${path.join("L")}`,
        fill: "none",
        class: `stroke-line-${at + 1}`,
        ...dashes,
      }),
    );
  });
  return picture;
}

function exhibit(run, name, figure, lines) {
  const element = document.createElement("figure");
  const caption = document.createElement("figcaption");
  const title = document.createElement("strong");
  title.textContent = `${figure.title}, ${titled(figure.y)}. `;
  const link = document.createElement("a");
  link.href = new URL(`${run}/#figures.${name}`, results).href;
  link.textContent = `results/${run}.json`;
  caption.append(
    title,
    `Left, unbroken: ${lines[0].name}. Right, dashed: ${lines[1].name}. From `,
    link,
    ".",
  );
  element.append(chart(figure, lines), caption);
  return element;
}

// The figures in which both have a line. `keyOf` turns the path of a page on the site into its key.
export async function drawCurves(left, right, keyOf) {
  const { tables } = await fetchResult("compare");
  const of = (key) =>
    tables.curves.rows.filter(({ page }) => keyOf(page.replace(/^\w+\/|\.py$/g, "")) === key);
  const drawn = [];
  for (const one of of(left)) {
    const other = of(right).find(({ run, figure }) => run === one.run && figure === one.figure);
    if (!other || left === right) continue;
    const figure = (await fetchResult(one.run)).figures[one.figure];
    const lines = [one, other].map(({ line }) => figure.lines.find(({ name }) => name === line));
    drawn.push(exhibit(one.run, one.figure, figure, lines));
  }
  const nothing = document.createElement("p");
  nothing.textContent = "No run has recorded a curve of both.";
  return drawn.length ? drawn : [nothing];
}
