// Sorts and filters what stands on the page, and opens folds for print. The page is complete without it.
"use strict";
(() => {
  const all = (root, selector) => Array.from(root.querySelectorAll(selector));

  // A row group moves as one: a need and its explanation stay together.
  const units = (table) => table.tBodies.length > 1 ? Array.from(table.tBodies) : Array.from(table.tBodies[0].rows);
  const multiples = {n: 1e-9, "\u00b5": 1e-6, m: 1e-3, k: 1e3, M: 1e6, G: 1e9, T: 1e12, P: 1e15};
  const valueOf = (unit, column) => {
    const row = unit.tagName === "TBODY" ? unit.rows[0] : unit;
    const cell = row.cells[column];
    const stored = cell.dataset.sort;
    const text = (stored === undefined ? cell.textContent : stored).trim().replace("\u2212", "-").replace(/\u202f/g, "");
    if (stored !== undefined) return text !== "" && isFinite(text) ? Number(text) : text;
    const parts = /^[\u2265\u2264]?\s*(-?\d+(?:\.\d+)?)\s*(\S?)(\S*)/.exec(text);
    return parts ? Number(parts[1]) * (parts[3] && multiples[parts[2]] || 1) : text === "\u2013" ? "" : text;
  };
  const compare = (a, b) => {
    if (a === "" || b === "") return (a === "") - (b === "");  // without a value: always last
    return typeof a === "number" && typeof b === "number" ? a - b : String(a).localeCompare(String(b));
  };
  const headers = (table) => Array.from(table.tHead.rows[0].cells);  // its own: a cell may hold another table
  const sort = (table, column, header) => {
    const down = header.getAttribute("aria-sort") === "ascending";
    headers(table).forEach((other) => other.removeAttribute("aria-sort"));
    header.setAttribute("aria-sort", down ? "descending" : "ascending");
    const keyed = units(table).map((unit) => [valueOf(unit, column), unit]);
    keyed.sort(([a], [b]) => a === "" || b === "" ? compare(a, b) : down ? compare(b, a) : compare(a, b));
    const home = keyed[0][1].parentNode;
    keyed.forEach(([, unit]) => home.appendChild(unit));
  };
  all(document, "table.sortable").forEach((table) => headers(table).forEach((header, column) => {
    const button = document.createElement("button");
    button.type = "button";
    button.append(...header.childNodes);
    header.append(button);
    button.addEventListener("click", () => sort(table, column, header));
  }));

  all(document, ".controls").forEach((controls) => {
    const target = document.getElementById(controls.dataset.for);
    const items = target.tagName === "TABLE" ? Array.from(target.tBodies) : Array.from(target.children);
    const search = controls.querySelector("input");
    const apply = () => {
      const off = new Set(all(controls, '.chip[aria-pressed="false"]').map((chip) => chip.dataset.outcome));
      const words = search.value.toLowerCase().split(/\s+/).filter(Boolean);
      let shown = 0;
      items.forEach((item) => {
        const text = item.textContent.toLowerCase();
        item.hidden = off.has(item.dataset.outcome) || !words.every((word) => text.includes(word));
        shown += !item.hidden;
      });
      controls.querySelector(".shown").textContent = shown === items.length ? "" : `${shown} of ${items.length} shown`;
    };
    all(controls, ".chip").forEach((chip) => chip.addEventListener("click", () => {
      chip.setAttribute("aria-pressed", String(chip.getAttribute("aria-pressed") !== "true"));
      apply();
    }));
    search.addEventListener("input", apply);
    controls.hidden = false;
  });

  // A link to something inside a fold opens the fold.
  const reveal = () => {
    const fold = location.hash && document.getElementById(decodeURIComponent(location.hash.slice(1)));
    if (fold && fold.tagName === "DETAILS") fold.open = true;
  };
  addEventListener("hashchange", reveal);
  reveal();
  addEventListener("beforeprint", () => all(document, ".paper-full details:not([open])").forEach((fold) => {
    fold.open = true;
    fold.dataset.folded = "";
  }));
  addEventListener("afterprint", () => all(document, "details[data-folded]").forEach((fold) => {
    fold.open = false;
    delete fold.dataset.folded;
  }));
})();
