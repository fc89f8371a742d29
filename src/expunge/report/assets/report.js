"use strict";
// Draws the figures' descriptions with plotly, in the page's colours; draws them again when those change or it is printed.

const drawings = JSON.parse(document.getElementById("drawings").textContent);
const root = document.documentElement;
const dark = matchMedia("(prefers-color-scheme: dark)");
const SYMBOLS = { blue: "circle", orange: "diamond", green: "square", purple: "triangle-up", sky: "cross", grey: "circle-open" };
const PRINTED = { whole: [640, 240], half: [315, 220] }; // as in the style sheet

const probe = document.createElement("i");
probe.hidden = true;
document.body.append(probe);

function colour(name) {
  probe.style.color = `var(--${name})`;
  return getComputedStyle(probe).color;
}

function axis(described, side, figure, width, across) {
  const drawn = {
    title: side === 0 ? { text: plain(described.label), standoff: 10 } : "",
    gridcolor: colour("line"), linecolor: colour("line"), zeroline: false, automargin: true, fixedrange: true,
    tickformat: described.percent ? ".0%" : "",
  };
  if (described.log) Object.assign(drawn, decades(figure.series.flatMap((one) => one.points.map((point) => point[side])), width));
  if (described.limits) drawn.range = described.log ? described.limits.map(Math.log10) : described.limits;
  if (described.places.length) {
    const places = described.places.map((_, place) => place);
    const range = [described.places.length - 0.5, -0.5];
    Object.assign(drawn, { title: "", tickvals: places, ticktext: described.places.map((name) => plain(shortened(name, across))), range, ticklabelstandoff: 8 });
  }
  return drawn;
}

// Powers of ten, as many as there is room for; 1, 2 and 5 where the values are close together.
function decades(values, width) {
  const found = values.filter((value) => value > 0).map(Math.log10);
  const [low, high] = [Math.min(...found), Math.max(...found)];
  const drawn = { type: "log", tickangle: 0, exponentformat: high - low > 4 ? "power" : "none" };
  if (high - low >= 1.2) return { ...drawn, dtick: Math.ceil((high - low) / (width / 60)) };
  const powers = Array.from({ length: Math.ceil(high) - Math.floor(low) + 1 }, (_, i) => 10 ** (Math.floor(low) + i));
  const round = powers.flatMap((power) => [1, 2, 5].map((digit) => digit * power));
  const inside = round.filter((value) => Math.log10(value) >= low && Math.log10(value) <= high);
  const tickvals = inside.length > 1 ? round : [low, high].map((power) => 10 ** power); // too close for round numbers: the ends
  return { ...drawn, tickvals, ticktext: tickvals.map((value) => Number(value.toPrecision(3)).toString()) };
}

// The ends of a long name say more than its middle; 0.4 of the width is for names.
function shortened(text, width) {
  const most = Math.max(10, Math.floor((0.4 * width) / 7));
  return text.length <= most ? text : `${text.slice(0, most / 2 - 1)}…${text.slice(-most / 2)}`;
}

// Plotly reads a little HTML in labels; names come from files.
function plain(text) {
  return text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;");
}

// A rate of 0 has no place on a log axis: it is drawn on the edge.
function within(value, axis) {
  return axis.log && axis.limits ? Math.max(value, axis.limits[0]) : value;
}

function trace(series, figure) {
  const [x, y] = [figure.x, figure.y].map((axis, side) => series.points.map((point) => within(point[side], axis)));
  const ink = colour(series.colour);
  const named = figure.y.places.length > 0;
  const value = named ? (figure.x.percent ? "%{x:.1%}" : "%{x:.4~g}") : figure.y.percent ? "%{y:.1%}" : "%{y:.4~g}";
  const place = named ? "%{text}" : `${plain(figure.x.label)} %{x:.4~g}`;
  return {
    type: "scatter", x, y, name: plain(series.name), showlegend: false,
    mode: { line: "lines", dots: "markers", both: "lines+markers", steps: "lines" }[series.shape],
    line: { color: ink, width: series.quiet ? 1 : 2, dash: series.dashed ? "dash" : "solid", shape: series.shape === "steps" ? "hv" : "linear" },
    marker: { color: ink, size: series.shape === "both" ? 6 : 10, symbol: SYMBOLS[series.colour], line: { width: series.colour === "grey" ? 2 : 0, color: ink } },
    opacity: series.quiet ? 0.4 : 1,
    text: named ? y.map((at) => plain(figure.y.places[at])) : "",
    hoverinfo: series.quiet ? "skip" : "all",
    hovertemplate: series.quiet ? null : `${place}<br>${plain(series.name)} <b>${value}</b><extra></extra>`,
    error_x: series.spread
      ? { type: "data", symmetric: false, arrayminus: series.spread.map((s) => s[0]), array: series.spread.map((s) => s[1]), color: ink, thickness: 1.5, width: 0 }
      : { visible: false },
    cliponaxis: false,
  };
}

function line(mark) {
  const across = mark.axis === "x" ? { x0: mark.at, x1: mark.at, y0: 0, y1: 1, yref: "paper" } : { y0: mark.at, y1: mark.at, x0: 0, x1: 1, xref: "paper" };
  return { type: "line", layer: "below", line: { color: colour("soft"), width: 1, dash: "dot" }, ...across };
}

function tag(mark) {
  const place = mark.axis === "x"
    ? { x: mark.at, y: 1, yref: "paper", yanchor: "bottom", xanchor: "left" }
    : { y: mark.at, x: 1, xref: "paper", xanchor: "left", xshift: 4, yanchor: "middle" };
  return { text: plain(mark.label), showarrow: false, font: { size: 11, color: colour("soft") }, ...place };
}

// The y axis has its label on top, where it need not be read sideways.
function heading(figure, raised) {
  const place = { x: 0, xref: "paper", xanchor: "left", y: 1, yref: "paper", yanchor: "bottom", yshift: raised ? 16 : 4 };
  return { text: plain(figure.y.label), showarrow: false, font: { size: 12, color: colour("soft") }, ...place };
}

function draw(figure, [width, height] = []) {
  const plot = document.getElementById(`plot-${figure.name}`);
  const named = figure.y.places.length > 0;
  const across = width ?? plot.clientWidth;
  const down = named ? plot.clientHeight : (height ?? plot.clientHeight);
  const marked = (side) => figure.marks.some((mark) => mark.axis === side);
  const layout = {
    width: across, height: down,
    font: { family: getComputedStyle(document.body).fontFamily, size: 12, color: colour("soft") },
    paper_bgcolor: "rgba(0,0,0,0)", plot_bgcolor: "rgba(0,0,0,0)",
    margin: { l: 8, r: marked("y") ? 62 : 14, t: marked("x") ? 40 : 26, b: 8 },
    xaxis: axis(figure.x, 0, figure, across), yaxis: axis(figure.y, 1, figure, down, across), hovermode: "closest", dragmode: false,
    hoverlabel: { bgcolor: colour("card"), bordercolor: colour("line"), font: { color: colour("ink"), size: 13 }, align: "left" },
    shapes: figure.marks.map(line), annotations: [...figure.marks.map(tag), ...(named ? [] : [heading(figure, marked("x"))])],
  };
  Plotly.react(plot, figure.series.map((series) => trace(series, figure)), layout, { displayModeBar: false, responsive: false });
}

function drawAll() {
  for (const figure of drawings) draw(figure);
  root.dataset.drawn = "yes";
}

const button = document.getElementById("theme");
const isDark = () => (root.style.colorScheme ? root.style.colorScheme === "dark" : dark.matches);

function retheme(scheme) {
  root.style.colorScheme = scheme;
  button.textContent = isDark() ? "Light" : "Dark";
  button.setAttribute("aria-label", `Switch to the ${isDark() ? "light" : "dark"} theme`);
  drawAll();
}

let chosen = "";
button.hidden = false;
button.addEventListener("click", () => retheme((chosen = isDark() ? "light" : "dark")));
dark.addEventListener("change", () => retheme(chosen));

let shown = innerWidth;
let waiting = 0;
addEventListener("resize", () => {
  if (innerWidth === shown) return; // a phone's address bar changes the height alone
  shown = innerWidth;
  clearTimeout(waiting);
  waiting = setTimeout(drawAll, 150);
});

addEventListener("beforeprint", () => {
  root.style.colorScheme = "light";
  for (const figure of drawings) {
    const place = document.getElementById(`plot-${figure.name}`).closest("figure");
    const pair = place.closest(".pair");
    const whole = !pair || (place === pair.firstElementChild && pair.children.length % 2 === 1);
    draw(figure, whole ? PRINTED.whole : PRINTED.half);
  }
});
addEventListener("afterprint", () => retheme(chosen));

retheme("");
