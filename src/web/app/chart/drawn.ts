import type { Chart, Colour } from '../../chart.js';

/** What the drawing needs of the latest props; `hidden`: labels of hidden parts. */
export interface Drawn {
  readonly chart: Chart;
  readonly hidden: ReadonlySet<string>;
}

/** Value of a style sheet's colour. */
export function colourOf(colour: Colour): string {
  const name = colour.startsWith('arm-') ? `--${colour}` : colour;
  const value = getComputedStyle(document.documentElement).getPropertyValue(name).trim();
  return /^\d/.test(value) ? `rgb(${value})` : value;
}
