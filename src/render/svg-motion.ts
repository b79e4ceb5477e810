/** Values that change from moment to moment, as SVG's own animation (SMIL): it needs no script. */

export interface Clock {
  /** Of the whole loop. */
  readonly moments: number;
  readonly seconds: number;
}

/** `animate` or `animateTransform`: the value of each moment, jumping from one to the next. */
export function motion(
  target: { readonly attribute: string } | { readonly transform: 'translate' },
  values: readonly string[],
  { moments, seconds }: Clock,
): string {
  const element =
    'attribute' in target
      ? `<animate attributeName="${target.attribute}"`
      : `<animateTransform attributeName="transform" type="${target.transform}"`;
  return `${element} calcMode="discrete" dur="${Number(seconds.toFixed(3))}s" repeatCount="indefinite" ${shortest(values, moments)}/>`;
}

/** All values at equal distances, or each change with its time: whichever is shorter. */
function shortest(values: readonly string[], moments: number): string {
  const changes = [...values.keys()].filter((i) => i === 0 || values[i] !== values[i - 1]);
  const times = changes.map(
    (i) =>
      (i / moments)
        .toFixed(4)
        .replace(/^0\./, '.')
        .replace(/\.?0+$/, '') || '0',
  );
  const sparse = `values="${changes.map((i) => values[i]).join(';')}" keyTimes="${times.join(';')}"`;
  const all = `values="${values.join(';')}"`;
  return sparse.length < all.length ? sparse : all;
}

/** What moves, and the same at the last moment for those who want no motion. */
export const movingOrStill = (moving: string, still: string) =>
  `<g class="moving">${moving}</g><g class="still" display="none">${still}</g>`;

/** The last value goes on until the loop begins anew. */
export function lasting<Value>(values: readonly Value[], { moments }: Clock): readonly Value[] {
  return Array.from({ length: moments }, (_, i) => values[Math.min(i, values.length - 1)]!);
}
