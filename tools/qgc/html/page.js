"use strict";
(() => {
  const all = (selector, root = document) => [...root.querySelectorAll(selector)];

  // ---- sections: links in the head, the one in view marked ----
  const nav = document.querySelector("nav");
  const sections = all("section[id]");
  if (sections.length > 1)
    for (const section of sections) {
      const link = document.createElement("a");
      link.href = "#" + section.id;
      link.textContent = section.querySelector("h2").textContent;
      nav.append(link);
    }
  const markSection = () => {
    let here = 0;
    sections.forEach((section, i) => { if (section.getBoundingClientRect().top < 180) here = i; });
    all("a", nav).forEach((link, i) => link.classList.toggle("here", i === here));
  };
  addEventListener("scroll", markSection, { passive: true });
  markSection();

  // ---- tables: a click on a head sorts, a second one turns round ----
  const keyOf = (row, column) => {
    const cell = row.cells[column];
    const text = cell.dataset.key ?? cell.textContent.trim();
    return { text, number: parseFloat(text.replace(/^[^\d.+-]*(?=[\d.+-])/, "")) };
  };
  const compareKeys = (a, b, numeric) => {
    if (!numeric) return a.text.localeCompare(b.text, undefined, { numeric: true });
    if (isNaN(a.number) || isNaN(b.number)) return isNaN(a.number) - isNaN(b.number);
    return a.number - b.number;
  };
  const sortBy = (head) => {
    const body = head.closest("table").tBodies[0], column = head.cellIndex;
    const numeric = head.classList.contains("n");
    const falling = head.ariaSort ? head.ariaSort === "ascending" : numeric;
    for (const other of head.parentNode.cells) other.removeAttribute("aria-sort");
    head.ariaSort = falling ? "descending" : "ascending";
    const rows = [...body.rows].map((row) => ({ row, key: keyOf(row, column) }));
    rows.sort((a, b) => compareKeys(a.key, b.key, numeric) * (falling ? -1 : 1));
    body.append(...rows.map((entry) => entry.row));
  };

  // ---- narrow windows: a row is a paragraph, in which numbers and plots say what they are ----
  for (const table of all("table")) {
    const names = [...table.tHead.rows[0].cells].map((head) => head.textContent);
    for (const row of table.tBodies[0].rows)
      [...row.cells].forEach((cell, i) => {
        if (cell.classList.contains("n") || cell.querySelector("svg, .share")) cell.dataset.label = names[i];
      });
  }

  // ---- search: hides rows of tables that do not match, opens what is folded, goes from hit to hit ----
  const input = document.querySelector("#search input");
  const output = document.querySelector("#search output");
  const items = all("tbody tr, .row, .item");
  const opened = new Set();
  let hits = [], current = -1, texts = null;

  const highlight = (query) => {
    if (!globalThis.CSS?.highlights) return;
    CSS.highlights.delete("found");
    const ranges = [];
    for (const item of hits.slice(0, 500)) {
      const walker = document.createTreeWalker(item, NodeFilter.SHOW_TEXT);
      for (let node; (node = walker.nextNode());) {
        const at = node.data.toLowerCase().indexOf(query);
        if (at < 0) continue;
        const range = new Range();
        range.setStart(node, at);
        range.setEnd(node, at + query.length);
        ranges.push(range);
      }
    }
    if (ranges.length) CSS.highlights.set("found", new Highlight(...ranges));
  };
  const open = (item) => {
    for (let fold = item.closest("details"); fold; fold = fold.parentNode.closest("details"))
      if (!fold.open) { fold.open = true; opened.add(fold); }
  };
  const show = (index, quiet) => {
    if (hits[current]) hits[current].classList.remove("hit");
    if (!hits.length) return;
    current = (index + hits.length) % hits.length;
    open(hits[current]);
    hits[current].classList.add("hit");
    if (!quiet) hits[current].scrollIntoView({ block: "center" });
    output.textContent = current + 1 + " / " + hits.length;
  };
  const search = () => {
    const query = input.value.trim().toLowerCase();
    texts ??= items.map((item) => item.textContent.toLowerCase());
    if (hits[current]) hits[current].classList.remove("hit");
    opened.forEach((fold) => (fold.open = false));
    opened.clear();
    hits = query ? items.filter((_, i) => texts[i].includes(query)) : [];
    const found = new Set(hits);
    for (const item of items)
      if (item.tagName === "TR") item.classList.toggle("hidden", query !== "" && !found.has(item));
    output.textContent = query && !hits.length ? "none" : "";
    highlight(query);
    current = -1;
    show(0);
  };
  let timer;
  input.addEventListener("input", () => { clearTimeout(timer); timer = setTimeout(search, 120); });
  input.addEventListener("keydown", (event) => {
    if (event.key === "Enter") show(current + (event.shiftKey ? -1 : 1));
    if (event.key === "Escape") { input.value = ""; search(); input.blur(); }
  });
  addEventListener("keydown", (event) => {
    if (event.key !== "/" || event.target === input || event.ctrlKey || event.metaKey) return;
    event.preventDefault();
    input.focus();
    input.select();
  });
  const searchFor = (text) => { input.value = text; search(); };
  const searchAddress = () => {
    if (location.hash.startsWith("#q=")) searchFor(decodeURIComponent(location.hash.slice(3)));
  };
  addEventListener("hashchange", searchAddress);

  // ---- graphs side by side: what differs within a line ----
  const wordsOf = (side) => {
    const words = [], walker = document.createTreeWalker(side, NodeFilter.SHOW_TEXT);
    for (let node; (node = walker.nextNode());) {
      const isName = node.parentNode.classList.contains("v");
      for (const match of node.data.matchAll(isName ? /.+/g : /[\w.+-]+|[^\s\w]/g))
        words.push({ node, isName, text: match[0], at: match.index });
    }
    return words;
  };
  const equalWords = (a, b) => a.text === b.text || (a.isName && b.isName);
  const unequal = (left, right) => {
    const rows = left.length, columns = right.length;
    const length = Array.from({ length: rows + 1 }, () => new Uint16Array(columns + 1));
    for (let i = rows - 1; i >= 0; i--)
      for (let k = columns - 1; k >= 0; k--)
        length[i][k] = equalWords(left[i], right[k]) ? length[i + 1][k + 1] + 1
          : Math.max(length[i + 1][k], length[i][k + 1]);
    const out = [[], []];
    for (let i = 0, k = 0; i < rows || k < columns;) {
      if (i < rows && k < columns && equalWords(left[i], right[k])) { i++; k++; }
      else if (k === columns || (i < rows && length[i + 1][k] >= length[i][k + 1])) out[0].push(left[i++]);
      else out[1].push(right[k++]);
    }
    return out;
  };
  const rangeOf = (word) => {
    const range = new Range();
    range.setStart(word.node, word.at);
    range.setEnd(word.node, word.at + word.text.length);
    return range;
  };
  if (globalThis.CSS?.highlights) {
    const was = new Highlight(), is = new Highlight();
    for (const row of all(".row.changed").slice(0, 3000)) {
      const [left, right] = unequal(wordsOf(row.children[0]), wordsOf(row.children[1]));
      left.forEach((word) => was.add(rangeOf(word)));
      right.forEach((word) => is.add(rangeOf(word)));
    }
    CSS.highlights.set("was", was);
    CSS.highlights.set("is", is);
  }
  const openTarget = () => {
    const target = location.hash.length > 1 && document.getElementById(location.hash.slice(1));
    for (let fold = target && target.closest("details"); fold; fold = fold.parentNode.closest("details")) fold.open = true;
  };
  addEventListener("hashchange", openTarget);
  openTarget();

  // ---- plots along the graph: the nearest point speaks ----
  const nearest = (svg, x) => {
    let best = null, distance = Infinity;
    for (const point of all(".point", svg)) {
      const box = point.getBoundingClientRect(), d = Math.abs(box.left + box.width / 2 - x);
      if (d < distance) { best = point; distance = d; }
    }
    return best;
  };
  for (const svg of all("figure.line svg")) {
    const label = svg.closest("figure").querySelector("output");
    svg.addEventListener("pointermove", (event) => {
      all(".near", svg).forEach((point) => point.classList.remove("near"));
      const point = nearest(svg, event.clientX);
      if (!point) return;
      point.classList.add("near");
      label.textContent = point.textContent;
    });
    svg.addEventListener("click", (event) => {
      const point = nearest(svg, event.clientX);
      if (point) searchFor(point.textContent.slice(0, point.textContent.lastIndexOf(": ")));
    });
  }

  document.addEventListener("click", (event) => {
    const head = event.target.closest("th");
    if (head) return sortBy(head);
    const value = event.target.closest(".v");
    if (value && getSelection().isCollapsed) searchFor(value.textContent);
  });
  searchAddress();
})();
