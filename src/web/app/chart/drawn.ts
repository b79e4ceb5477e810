import type { Chart, Colour } from '../../chart.js';

/** A chart to draw; `hidden`: labels of its hidden parts. */
export interface Drawn {
  readonly chart: Chart;
  readonly hidden: ReadonlySet<string>;
}

/** The CSS expression for a colour of the style sheet. */
export const colourIn = (colour: Colour): string =>
  `var(${colour.startsWith('arm-') ? `--${colour}` : colour})`;

/** The computed value of a colour, because a canvas can't use CSS properties. */
export function colourOf(colour: Colour): string {
  const probe = document.createElement('i');
  probe.style.color = colourIn(colour);
  document.body.append(probe);
  const { color } = getComputedStyle(probe);
  probe.remove();
  return color;
}
