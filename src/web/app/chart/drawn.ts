import type { Chart, Colour } from '../../chart.js';

/** What the drawing needs of the latest props; `hidden`: labels of hidden parts. */
export interface Drawn {
  readonly chart: Chart;
  readonly hidden: ReadonlySet<string>;
}

/** A colour of the style sheet, as CSS. */
export const colourIn = (colour: Colour): string =>
  `var(${colour.startsWith('arm-') ? `--${colour}` : colour})`;

/** A colour of the style sheet, as a canvas needs it. */
export function colourOf(colour: Colour): string {
  const probe = document.createElement('i');
  probe.style.color = colourIn(colour);
  document.body.append(probe);
  const { color } = getComputedStyle(probe);
  probe.remove();
  return color;
}
