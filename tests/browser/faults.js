// What is wrong with the picture, as a list of sentences: things that lie over each other, are cut off, or
// are too small for a finger. Only what can be seen counts, and of an open dialog only itself.
() => {
  const SEEN = "button, a, input, select, h1, h2, h3, p, dt, dd, th, td, small, .spot, .chip, .card, .tag, .seat-stack, .seat-number";
  const dialog = document.querySelector("dialog[open]");
  const shown = [...(dialog ?? document.body).querySelectorAll(SEEN)].filter((each) =>
    each.checkVisibility({ visibilityProperty: true }) && !each.closest(".visually-hidden, .skip") && (dialog || !each.closest("dialog")));

  /** The part of an element that no scrolling frame hides. */
  const visible = (each) => {
    let { left, top, right, bottom } = each.getBoundingClientRect();
    for (let up = each.parentElement; up; up = up.parentElement) {
      if (getComputedStyle(up).overflow === "visible") continue;
      const frame = up.getBoundingClientRect();
      [left, top] = [Math.max(left, frame.left), Math.max(top, frame.top)];
      [right, bottom] = [Math.min(right, frame.right), Math.min(bottom, frame.bottom)];
    }
    return { left, top, right, bottom };
  };
  const name = (each) => `${each.tagName.toLowerCase()}.${each.className} "${(each.innerText ?? "").trim().slice(0, 30)}"`;
  const sticky = (each) => getComputedStyle(each).position === "sticky";
  const faults = [];

  const places = shown.map((each) => [each, visible(each)]).filter(([, r]) => r.right - r.left > 1 && r.bottom - r.top > 1);
  places.forEach(([a, r], at) => places.slice(at + 1).forEach(([b, s]) => {
    if (a.contains(b) || b.contains(a) || sticky(a) || sticky(b)) return;
    const wide = Math.min(r.right, s.right) - Math.max(r.left, s.left);
    const high = Math.min(r.bottom, s.bottom) - Math.max(r.top, s.top);
    if (wide > 1.5 && high > 1.5) faults.push(`${name(a)} lies over ${name(b)}`);
  }));
  for (const each of shown.filter((e) => e.matches("button, .chip, .spot, .tag, .seat-stack, h2"))) {
    if (each.clientWidth && each.scrollWidth > each.clientWidth + 1) faults.push(`${name(each)} is cut off`);
  }
  for (const each of shown.filter((e) => e.matches("button:not(.card), .button"))) {
    const { width, height } = each.getBoundingClientRect();
    if (width < 43.5 || height < 43.5) faults.push(`${name(each)} is a small target: ${width} x ${height}`);
  }
  if (document.documentElement.scrollWidth > innerWidth) faults.push("the page is wider than the screen");
  return faults;
}
