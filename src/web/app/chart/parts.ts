/** Parts that several charts have. */
import { type ComponentChildren, createContext } from 'preact';
import { useContext, useLayoutEffect, useRef, useState } from 'preact/hooks';
import type { ChartFile } from '../../drawing/chart-files.js';
import { type Entry, type Picture, sampleOf } from '../../drawing/picture.js';
import { html, shapes } from '../base/html.js';

/** A reference to an element, and its width in pixels; 640 until it is known. */
export function useWidth() {
  const place = useRef<HTMLDivElement>(null);
  const [width, setWidth] = useState(640);
  useLayoutEffect(() => {
    const box = place.current;
    if (box === null) return;
    const measure = () => setWidth((last) => box.clientWidth || last);
    measure();
    const observer = new ResizeObserver(measure);
    observer.observe(box);
    return () => observer.disconnect();
  }, []);
  return [place, width] as const;
}

/** The files of the page's charts, by their data. */
export const ChartFiles = createContext<ReadonlyMap<object, ChartFile>>(new Map());

interface Props {
  /** Data of the chart. */
  readonly of: object;
  /** What the user sees of it (default: as the page first shows it). */
  readonly picture?: () => Picture;
  readonly live?: 'polite';
  readonly children?: ComponentChildren;
}

/** The text below a chart, and a button that saves the chart. */
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

/** A label of a legend with its sample. */
export const Sample = ({ entry }: { readonly entry: Entry }) =>
  html`<svg class="key" width="16" height="12" aria-hidden="true">${shapes(sampleOf(entry))}</svg>${entry.label}`;
