/** Pictures of charts, on pages and as separate files. */
import { type Content, childrenOf, escapeXml, Part } from '../../base/text/content.js';
import { html } from '../../base/text/html.js';
import type { Color } from '../chart.js';
import { withLightColors } from '../palette.js';

/** Shapes of samples in legends, 16 pixels wide and 12 high, with the widths of their lines; 0: filled. */
const samples = {
  line: ['M0 6h16', 2],
  steps: ['M0 6h16', 2],
  points: ['M8 6h0', 9],
  bars: ['M3 1h10v10h-10z', 0],
  band: ['M3 1h10v10h-10z', 0],
  diamond: ['M8 1l5 5l-5 5l-5-5z', 0],
  cross: ['M4.5 2.5l7 7m0-7l-7 7', 1.5],
  outline: ['M5 0h6v12h-6z', 1.5],
  boundary: ['M8 0v12', 1.5],
} as const;

export interface LegendEntry {
  readonly label: string;
  readonly draw: keyof typeof samples;
  readonly color: Color;
  readonly isDashed?: boolean;
}

export function legendSample({ color, draw, isDashed = false }: LegendEntry): Content {
  const [d, width] = samples[draw];
  const ink = `var(${color})`;
  const isLine = width > 0;
  return html`<path d=${d} fill=${isLine ? 'none' : ink} stroke=${isLine && ink} stroke-width=${width} opacity=${draw === 'band' && 0.3} stroke-dasharray=${isDashed && '5 3'} stroke-linecap=${draw === 'points' && 'round'} />`;
}

export interface Picture {
  /** Describes the picture, for screen readers. */
  readonly label: string;
  /** Pixels, without the title and the legend. */
  readonly width: number;
  readonly height: number;
  readonly content: Content;
  readonly legend: readonly LegendEntry[];
}

/** Width of saved charts in pixels, at which their text is legible in a column of a paper. */
export const savedWidth = 480;

/** Estimates the width in pixels of a text in 12-pixel type; characters from U+2E80 on have double width. */
const textWidth = (text: string) => 6.6 * text.replaceAll(/[\u2e80-\uffff]/g, '__').length;

/** Shortens text to about `maxWidth` pixels. Keeps its end, such as `…temperature`, the most specific part of a key. */
export function shortenText(text: string, maxWidth: number): string {
  const maxLength = Math.max(6, Math.floor(maxWidth / 6.6));
  return text.length <= maxLength ? text : `…${text.slice(1 - maxLength)}`;
}

const margin = 10;

/** Returns the text of an SVG file: the picture with its title and legend on white, without a style sheet. */
export function svgFile(title: string, { content, height, label, legend, width }: Picture): string {
  let [x, y] = [0, 0];
  const entries = legend.map((entry) => {
    const text = shortenText(entry.label, width - 24);
    const entryWidth = 40 + textWidth(text);
    if (x > 0 && x + entryWidth - 18 > width) [x, y] = [0, y + 19];
    x += entryWidth;
    return html`<g transform=${`translate(${x - entryWidth} ${y})`}>${legendSample(entry)}<text x="22" y="6" dy="0.35em">${text}</text></g>`;
  });
  const legendTop = height + 40;
  const size = [width + 2 * margin, legendTop + (legend.length > 0 ? y + 22 : 0) + margin];
  return `${svgText(html`<svg xmlns="http://www.w3.org/2000/svg" width=${size[0]} height=${size[1]} viewBox=${`0 0 ${size.join(' ')}`} font-family="Helvetica, Arial, sans-serif" font-size="12">
<title>${title}</title><desc>${label}</desc>
<rect width="100%" height="100%" fill="#fff" />
<g transform=${`translate(${margin} ${margin})`} fill="var(--text)">
<text y="13" font-size="15" font-weight="bold">${title}</text>
<g transform="translate(0 26)">${content}</g>
<g transform=${`translate(0 ${legendTop - margin})`}>${entries}</g></g></svg>`)}\n`;
}

function svgText(content: Content): string {
  const texts = childrenOf(content).map((child) => {
    if (!(child instanceof Part)) return escapeXml(String(child));
    const attributes = Object.entries(child.props).map(([name, value]) =>
      value === undefined || value === false ? '' : ` ${name}="${escapeXml(withLightColors(String(value)))}"`,
    );
    return `<${child.tag}${attributes.join('')}>${svgText(child.children)}</${child.tag}>`;
  });
  return texts.join('');
}
