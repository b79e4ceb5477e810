/** Parts that charts have in common. */
import { type ComponentChildren, createContext } from 'preact';
import { useContext, useLayoutEffect, useRef, useState } from 'preact/hooks';
import type { ChartFile } from '../../drawing/chart-files.js';
import { type LegendEntry, legendSample, type Picture } from '../../drawing/picture.js';
import { html, renderShapes } from '../base/html.js';

/** Returns a reference to set on an element, and the element's width in pixels (640 until it is measured). */
export function useWidth() {
  const element = useRef<HTMLDivElement>(null);
  const [width, setWidth] = useState(640);
  useLayoutEffect(() => {
    const box = element.current;
    if (box === null) return;
    const measure = () => setWidth((last) => box.clientWidth || last);
    measure();
    const observer = new ResizeObserver(measure);
    observer.observe(box);
    return () => observer.disconnect();
  }, []);
  return [element, width] as const;
}

/** Maps the data of each chart on the page to the chart's file. */
export const ChartFiles = createContext<ReadonlyMap<object, ChartFile>>(new Map());

interface Props {
  /** Data of the chart. */
  readonly of: object;
  /** Draws the chart as the user sees it (default: as the page first shows it). */
  readonly picture?: () => Picture;
  readonly live?: 'polite';
  readonly children?: ComponentChildren;
}

/** Shows the text below a chart, and a button that saves the chart. */
export function Readout({ children, live, of, picture }: Props) {
  const file = useContext(ChartFiles).get(of);
  const save = () => {
    const href = URL.createObjectURL(new Blob([file!.svg(picture?.())], { type: 'image/svg+xml' }));
    Object.assign(document.createElement('a'), { href, download: file!.name }).click();
    // The browser may still be reading the file.
    setTimeout(() => URL.revokeObjectURL(href), 60_000);
  };
  return html`<div class="below"><p class="readout" aria-live=${live}>${children}</p>${file && html`<button type="button" class="save" title="Save as SVG" aria-label=${`Save ${file.title} as SVG`} onClick=${save}>SVG</button>`}</div>`;
}

/** Shows a label of a legend with its sample. */
export const LegendSample = ({ entry }: { readonly entry: LegendEntry }) =>
  html`<svg class="key" width="16" height="12" aria-hidden="true">${renderShapes(legendSample(entry))}</svg>${entry.label}`;
