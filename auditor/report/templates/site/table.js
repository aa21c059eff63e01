(() => {
  "use strict";
  const form = document.getElementById("narrow"), table = document.getElementById("audits");
  const find = document.getElementById("find"), sort = document.getElementById("sort");
  const count = document.getElementById("count"), body = table.tBodies[0];
  const heads = [...table.tHead.rows[0].cells], filters = [...form.querySelectorAll("select[name]")];
  const first = (cell) => (cell.querySelector("bdi, .badge") || cell.firstChild || cell).textContent.trim();
  const rows = [...body.rows].map((row, place) => ({
    row, place,
    text: row.textContent.toLowerCase(),
    cells: [...row.cells].map(first),
    values: [...row.cells].map((cell) => (cell.classList.contains("n") ? parseFloat(cell.dataset.v) : null)),
  }));
  const isNumber = (column) => heads[column].classList.contains("n");
  const compare = (column, sign) => (a, b) => {
    const [x, y] = isNumber(column) ? [a.values[column], b.values[column]] : [a.cells[column], b.cells[column]];
    // What has no value stays last, whichever way the rest is turned.
    const [noX, noY] = [x === "" || Number.isNaN(x), y === "" || Number.isNaN(y)];
    if (noX || noY) return noX - noY || a.place - b.place;
    return sign * (isNumber(column) ? x - y : x.localeCompare(y, "en")) || a.place - b.place;
  };
  const order = () => {
    const column = sort.value === "" ? -1 : Math.abs(parseInt(sort.value, 10)), sign = sort.value.startsWith("-") ? -1 : 1;
    heads.forEach((head, index) => {
      if (index === column) head.setAttribute("aria-sort", sign > 0 ? "ascending" : "descending");
      else head.removeAttribute("aria-sort");
    });
    rows.sort(column < 0 ? (a, b) => a.place - b.place : compare(column, sign));
    body.append(...rows.map((one) => one.row));
  };
  const narrow = () => {
    const words = find.value.toLowerCase().split(/\s+/).filter(Boolean);
    const wanted = filters.filter((one) => one.value).map((one) => [Number(one.dataset.column), one.value]);
    let shown = 0;
    for (const one of rows) {
      const fits = words.every((word) => one.text.includes(word)) && wanted.every(([at, value]) => one.cells[at] === value);
      one.row.hidden = !fits;
      shown += fits;
    }
    count.textContent = shown === rows.length ? `${shown} shown` : `${shown} of ${rows.length} shown`;
  };
  const controls = [["find", find], ["sort", sort], ...filters.map((one) => [one.name, one])];
  const keep = () => {
    const state = new URLSearchParams(controls.filter(([, one]) => one.value).map(([name, one]) => [name, one.value]));
    history.replaceState(null, "", state.size ? `#${state}` : location.pathname + location.search);
  };
  const recall = () => {
    const state = new URLSearchParams(location.hash.slice(1));
    for (const [name, one] of controls) {
      one.value = state.get(name) || "";
      if (one.selectedIndex === -1) one.value = "";
    }
    order();
    narrow();
  };
  heads.forEach((head, index) => {
    const button = document.createElement("button");
    button.type = "button";
    button.textContent = head.textContent;
    button.addEventListener("click", () => {
      sort.value = sort.value === String(index) ? `-${index}` : String(index);
      order();
      keep();
    });
    head.replaceChildren(button);
  });
  form.addEventListener("input", (event) => {
    if (event.target === sort) order();
    else narrow();
    keep();
  });
  document.getElementById("all-again").addEventListener("click", () => {
    for (const [, one] of controls) one.value = "";
    order();
    narrow();
    keep();
  });
  form.addEventListener("submit", (event) => event.preventDefault());
  addEventListener("hashchange", recall);
  form.hidden = false;
  recall();
})();
