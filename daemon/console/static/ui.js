// What one screen remembers of itself: the view, what is selected, the open dialog.

export const ui = { view: null, box: null, amount: null, lastBet: null, stake: null, dialog: null, audit: {}, tools: {} };

let redraw = () => {};
let opener = null;

export function onRedraw(handler) {
  redraw = handler;
}

/** Something of the screen itself changed. */
export function update(change = {}) {
  Object.assign(ui, change);
  redraw();
}

/** Show `draw()` in the dialog; it is drawn anew with the page. */
export function openDialog(draw) {
  const dialog = document.getElementById("dialog");
  if (!dialog.open) opener = document.activeElement;
  update({ dialog: draw });
  if (!dialog.open) dialog.showModal();
  dialog.scrollTop = 0;
}

export function closeDialog() {
  const dialog = document.getElementById("dialog");
  if (dialog.open) dialog.close();
  update({ dialog: null });
  if (opener?.isConnected) opener.focus({ preventScroll: true });
  opener = null;
}
