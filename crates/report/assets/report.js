// Interaction for the report: one cursor over all plots, zoom to a span of time, and flows that can be
// hidden. The page is complete without this script. The script has no dependency and loads nothing.
"use strict";
(() => {
  const data = JSON.parse(document.getElementById("data").textContent);
  if (!data) return;
  const WIDTH = 1200; // of a plot in its own units, as in scale.rs
  const HEIGHT = 4000;
  const all = [0, data.end_s];
  let span = all;
  const hiddenFlows = new Set();
  const panels = [...document.querySelectorAll(".panel")].map((element) => ({
    element,
    plot: element.querySelector(".plot"),
    cursor: element.querySelector(".cursor"),
    xaxis: element.querySelector(".xaxis"),
    yaxis: element.querySelector(".yaxis"),
    grid: element.querySelector(".grid"),
    drawings: element.querySelectorAll(".drawing"),
    rules: element.querySelectorAll(".rulelabel"),
    key: element.dataset.panel,
    max: Number(element.dataset.max), // end of the value axis as drawn
    top: Number(element.dataset.max), // end of the value axis as shown
    // A lane has no value axis. Numbers beside a plot are at the height of their values, so the value axis of
    // these plots does not change.
    fixed: element.dataset.panel === "phase" || element.querySelector(".aside") !== null,
    texts: [...element.querySelectorAll(".readout b")].map((b) => ({ b, mean: b.textContent })),
    times: data.runs[element.dataset.run].t_s,
    readouts: data.runs[element.dataset.run].panels[element.dataset.panel] ?? [],
    flows: [...element.querySelectorAll(".readout")].map((readout) => readout.dataset.flow),
    isPhase: element.dataset.panel === "phase",
    isStacked: element.dataset.panel.startsWith("backlog"),
  }));

  // About three significant digits, as in the numbers of the page.
  function text(x) {
    if (x === null || x === undefined) return "–";
    const size = Math.abs(x);
    const digits = size < 0.0005 ? 0 : size < 0.9995 ? 3 : size < 9.995 ? 2 : size < 99.95 ? 1 : 0;
    return String(Number(x.toFixed(digits)));
  }

  // Index of the interval that contains a time; t_s holds the ends of the intervals.
  function indexAt(times, t) {
    let low = 0;
    let high = times.length - 1;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (times[middle] < t) low = middle + 1;
      else high = middle;
    }
    return low;
  }

  const output = document.getElementById("span");
  const seconds = (t) => `${text(Math.round(t * 1000) / 1000)} s`;

  // Shows the cursor at time t in all plots and the values there. With null it hides the cursor and shows
  // means.
  let cursorAt = null;
  function showCursor(t) {
    cursorAt = t;
    for (const panel of panels) {
      panel.cursor.hidden = t === null;
      if (t !== null) {
        panel.cursor.className = "cursor";
        panel.cursor.style.width = "";
        panel.cursor.style.left = `${(100 * (t - span[0])) / (span[1] - span[0])}%`;
      }
      const i = t === null || panel.times.length === 0 ? -1 : indexAt(panel.times, t);
      panel.texts.forEach(({ b, mean }, r) => {
        const values = (panel.readouts[r] ?? []).map((series) => series[i]);
        if (i < 0 || values.length === 0) b.textContent = mean;
        else if (panel.isPhase) b.textContent = `${text(values[0])} ${data.phases[values[1]] ?? ""}`;
        else b.textContent = values.map(text).join(" / ");
      });
    }
    output.textContent = t === null ? `${seconds(span[0])} to ${seconds(span[1])}` : `at ${seconds(t)}`;
  }

  // About `count` round ticks from one value to another, as in scale.rs.
  function ticks(from, to, count) {
    const rough = (to - from) / Math.max(count, 2);
    const power = 10 ** Math.floor(Math.log10(rough));
    const step = [1, 2, 5, 10].map((m) => m * power).find((s) => s >= 0.85 * rough);
    const found = [];
    for (let k = Math.ceil(from / step - 1e-9); k * step <= to + step * 1e-9; k++) found.push(k * step);
    return found;
  }

  function axisLabel(value, side, place) {
    const label = document.createElement("span");
    label.textContent = value >= 1e4 ? `${Number((value / 1e3).toPrecision(6))}k` : Number(value.toPrecision(6));
    label.style[side] = `${100 * place}%`;
    return label;
  }

  const isHidden = (flow) => hiddenFlows.has(Number(flow));

  // The largest value that a panel shows between two times. Stacked values are added.
  function largest(panel, from, to) {
    const shown = panel.readouts.filter((_, r) => !isHidden(panel.flows[r]));
    let found = 0;
    for (let i = indexAt(panel.times, from); i < panel.times.length && panel.times[i] <= to; i++) {
      const values = shown.flatMap((series) => series.map((values) => values[i] ?? 0));
      const top = panel.isStacked ? values.reduce((a, b) => a + b, 0) : Math.max(0, ...values);
      found = Math.max(found, top);
    }
    return found;
  }

  // Sets the ends of the value axes: as drawn while everything is shown, otherwise such that the remaining
  // data fills the plots. Plots of the same quantity have a common axis, so that runs stay comparable.
  function chooseHeights() {
    const whole = span === all && hiddenFlows.size === 0;
    const tops = new Map();
    for (const panel of panels) {
      if (!panel.fixed) tops.set(panel.key, Math.max(tops.get(panel.key) ?? 0, largest(panel, ...span)));
    }
    for (const panel of panels) {
      const top = 1.05 * tops.get(panel.key);
      const steps = ticks(0, top, 5);
      panel.top = whole || panel.fixed || !(top > 0) ? panel.max : Math.min(panel.max, steps.at(-1) + steps[1]);
    }
  }

  function showHeights(panel) {
    const labels = ticks(0, panel.top, 5);
    panel.yaxis.replaceChildren(...labels.map((value) => axisLabel(value, "bottom", value / panel.top)));
    const y = (value) => Math.round(HEIGHT * (1 - value / panel.max));
    panel.grid.setAttribute("d", labels.map((value) => `M0,${y(value)}h${WIDTH}`).join(""));
    for (const label of panel.rules) {
      const place = label.dataset.value / panel.top;
      label.style.bottom = `${100 * place}%`;
      label.style.display = place > 1 ? "none" : "";
    }
  }

  // The span that is shown if one is asked for: everything in place of too little.
  function limited(from, to) {
    const isAll = to - from < data.end_s / 2000 || (from <= 0 && to >= data.end_s);
    return isAll ? all : [Math.max(0, from), Math.min(data.end_s, to)];
  }

  // The first seconds, which are startup and come before the measurement window.
  const spans = { all, start: [0, Math.max(data.end_s / 12, Math.min(1, data.end_s))], window: data.window_s };

  // Shows a span of time in all plots. It stretches the drawings and does not draw them again.
  function showSpan(from, to) {
    span = limited(from, to);
    const length = span[1] - span[0];
    chooseHeights();
    for (const panel of panels) {
      const height = (HEIGHT * panel.top) / (panel.max || panel.top || 1);
      const box = [(WIDTH * span[0]) / data.end_s, HEIGHT - height, (WIDTH * length) / data.end_s, height];
      for (const drawing of panel.drawings) drawing.setAttribute("viewBox", box.join(" "));
      const times = ticks(...span, panel.plot.clientWidth / 70);
      panel.xaxis.replaceChildren(...times.map((t) => axisLabel(t, "left", (t - span[0]) / length)));
      if (!panel.fixed) showHeights(panel);
    }
    for (const button of document.querySelectorAll("[data-span]")) {
      const [start, end] = limited(...spans[button.dataset.span]);
      button.setAttribute("aria-pressed", String(start === span[0] && end === span[1]));
    }
    showCursor(null);
  }

  function timeOf(panel, event) {
    const box = panel.plot.getBoundingClientRect();
    const part = Math.min(1, Math.max(0, (event.clientX - box.left) / box.width));
    return span[0] + part * (span[1] - span[0]);
  }

  // Shows the span that is being selected with the mouse as the same band in all plots.
  function showBand(from, to) {
    const place = (t) => (100 * (t - span[0])) / (span[1] - span[0]);
    for (const { cursor } of panels) {
      cursor.hidden = false;
      cursor.className = "cursor span";
      cursor.style.left = `${place(Math.min(from, to))}%`;
      cursor.style.width = `${place(Math.max(from, to)) - place(Math.min(from, to))}%`;
    }
    output.textContent = `${seconds(Math.min(from, to))} to ${seconds(Math.max(from, to))}`;
  }

  for (const panel of panels) {
    let dragFrom = null;
    panel.plot.addEventListener("pointerdown", (event) => {
      // Touch moves the cursor and scrolls. On a touch screen the buttons select a span.
      if (event.pointerType !== "mouse" || event.button !== 0) return;
      dragFrom = { t: timeOf(panel, event), x: event.clientX, far: false };
      panel.plot.setPointerCapture(event.pointerId);
      event.preventDefault();
    });
    panel.plot.addEventListener("pointermove", (event) => {
      const t = timeOf(panel, event);
      if (dragFrom && Math.abs(event.clientX - dragFrom.x) > 4) dragFrom.far = true;
      if (dragFrom?.far) showBand(dragFrom.t, t);
      else showCursor(t);
    });
    panel.plot.addEventListener("pointerup", (event) => {
      const from = dragFrom;
      dragFrom = null;
      if (!from?.far) return;
      const t = timeOf(panel, event);
      showSpan(Math.min(from.t, t), Math.max(from.t, t));
    });
    panel.plot.addEventListener("pointercancel", () => { dragFrom = null; });
    panel.plot.addEventListener("pointerleave", () => { if (!dragFrom) showCursor(null); });
    panel.plot.addEventListener("dblclick", () => showSpan(...all));
    panel.element.addEventListener("keydown", (event) => {
      if (event.target !== panel.element) return; // Escape at a word closes its meaning
      const step = { ArrowLeft: -1, ArrowRight: 1 }[event.key];
      if (step && panel.times.length) {
        const now = cursorAt ?? (step > 0 ? span[0] : span[1]);
        const i = indexAt(panel.times, now) + step * (event.shiftKey ? 10 : 1);
        const t = panel.times[Math.min(panel.times.length - 1, Math.max(0, i))];
        showCursor(Math.min(span[1], Math.max(span[0], t)));
        event.preventDefault();
      } else if (event.key === "Escape") {
        showSpan(...all);
      }
    });
    panel.element.addEventListener("blur", () => showCursor(null));
  }

  for (const button of document.querySelectorAll("[data-toggle]")) {
    button.addEventListener("click", () => {
      const shown = button.getAttribute("aria-pressed") !== "true";
      button.setAttribute("aria-pressed", String(shown));
      for (const part of document.querySelectorAll(`.panel [data-flow="${button.dataset.toggle}"]`)) {
        part.style.visibility = shown ? "" : "hidden";
      }
      hiddenFlows[shown ? "delete" : "add"](Number(button.dataset.toggle));
      showSpan(...span);
    });
  }

  for (const button of document.querySelectorAll("[data-span]")) {
    button.addEventListener("click", () => showSpan(...spans[button.dataset.span]));
  }
  addEventListener("resize", () => showSpan(...span));

  document.getElementById("toolbar").hidden = false;
  showSpan(...all);
})();
