// Which faults keep a round from opening, whichever the game.

/** They are told, and nobody is kept from playing (docs/faults.md). */
const WARNINGS = ["wal-large"];

export const blocking = (status) => status.faults.filter((fault) => !WARNINGS.includes(fault.code));
