// What the page shows, as one value whose parts are replaced, never changed. Whoever listens is told what it is now and
// what it was. Switches can be undone; the rest of the view is what back and forward are for.
const MOST = 200; // steps that can be undone

const same = (one, other) => JSON.stringify(one) === JSON.stringify(other);
const switches = ({ changes, mode }) => ({ changes, mode });

export function makeStore(first) {
  let now = first;
  const [done, undone, listeners] = [[], [], []];

  // `how.step`: whether this is a place to come back to (a link of its own); `how.undo`: whether switches can be undone.
  function set(patch, how = {}) {
    const was = now;
    now = { ...was, ...patch };
    if (same(was, now)) return;
    if ((how.undo ?? true) && !same(switches(was), switches(now))) {
      done.push(switches(was));
      if (done.length > MOST) done.shift();
      undone.length = 0;
    }
    for (const listen of listeners) listen(now, was, { step: true, ...how });
  }

  function back(from, to) {
    if (!from.length) return false;
    to.push(switches(now));
    set(from.pop(), { undo: false });
    return true;
  }

  return {
    get now() { return now; },
    set,
    listen: (listener) => listeners.push(listener),
    undo: () => back(done, undone),
    redo: () => back(undone, done),
    get canUndo() { return done.length > 0; },
    get canRedo() { return undone.length > 0; },
  };
}

export const readingOf = ({ text, pair, choices }) => ({ text, pair, choices });
export const changesOf = ({ changes, mode }) => changes.map((one) => ({ off: one.off, mode, graft: one.graft }));
export const unchanged = ({ changes }) => changes.every((one) => !one.off.length && !one.graft.length);
export { same };
