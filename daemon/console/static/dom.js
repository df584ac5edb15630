// A view is a function from what is known to a tree; morph() makes the page equal to it and keeps
// focus, scroll and what is being typed.

const HANDLERS = ["onclick", "oninput", "onchange", "onkeydown", "onsubmit", "onclose", "oncancel"];
const SVG = "http://www.w3.org/2000/svg";
const SVG_TAGS = new Set(["svg", "path", "rect", "g", "title"]);

/** An element. Attributes that are false, null or undefined are left out; `on…` are handlers. */
export function h(tag, attributes = {}, ...children) {
  const element = SVG_TAGS.has(tag) ? document.createElementNS(SVG, tag) : document.createElement(tag);
  for (const [name, value] of Object.entries(attributes ?? {})) {
    if (name.startsWith("on")) element[name] = value;
    else if (value === true) element.setAttribute(name, "");
    else if (value !== false && value !== null && value !== undefined) element.setAttribute(name, value);
  }
  append(element, children);
  return element;
}

function append(element, children) {
  for (const child of children) {
    if (Array.isArray(child)) append(element, child);
    else if (child !== null && child !== undefined && child !== false && child !== "") element.append(child);
  }
}

/** Make the children of `root` equal to `tree` (one element or a list). */
export function render(root, tree) {
  morphChildren(root, [tree].flat(Infinity).filter(Boolean));
}

function same(a, b) {
  return a.nodeName === b.nodeName && (a.dataset?.key ?? "") === (b.dataset?.key ?? "");
}

function morph(old, fresh) {
  if (old.nodeType === Node.TEXT_NODE) {
    if (old.data !== fresh.data) old.data = fresh.data;
    return;
  }
  for (const { name } of [...old.attributes]) {
    // An open dialog is opened by a call, not by the tree.
    if (!fresh.hasAttribute(name) && !(name === "open" && old.nodeName === "DIALOG")) old.removeAttribute(name);
  }
  for (const { name, value } of fresh.attributes) {
    if (old.getAttribute(name) !== value) old.setAttribute(name, value);
  }
  for (const name of HANDLERS) if (old[name] !== fresh[name]) old[name] = fresh[name];
  morphChildren(old, [...fresh.childNodes]);
}

function morphChildren(parent, fresh) {
  let place = parent.firstChild;
  for (const node of fresh) {
    const match = findFrom(place, node);
    if (match === null) {
      parent.insertBefore(node, place);
      continue;
    }
    while (place !== match) place = drop(place);
    morph(match, node);
    place = match.nextSibling;
  }
  while (place) place = drop(place);
}

function findFrom(place, node) {
  for (let each = place; each; each = each.nextSibling) {
    if (same(each, node)) return each;
    // Without a key only the neighbour can be meant: looking further would shuffle texts about.
    if (!node.dataset?.key) return null;
  }
  return null;
}

function drop(node) {
  const next = node.nextSibling;
  node.remove();
  return next;
}
