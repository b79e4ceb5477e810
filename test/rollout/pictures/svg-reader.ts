/** Reads back what an animated SVG shows at a moment: the elements of its scene, with their places in the view. */
import { elementTree, type TreeElement } from './xml-reader.js';

/** What `attributes` an element has beside its place, and its place in the view. */
export interface Seen {
  readonly look: string;
  readonly place: string;
}

export function seenAt(svg: string, moment: number, moments: number, reduced = false): readonly Seen[] {
  const scene = elementTree(svg).children.findLast(({ name }) => name === 'svg')!;
  return scene.children.flatMap((child) => seen(child, moment / moments, reduced));
}

function seen(
  { name, attributes, children, text }: TreeElement,
  time: number,
  reduced: boolean,
): readonly Seen[] {
  if (attributes.class === (reduced ? 'moving' : 'still')) return [];
  if (name === 'g') return children.flatMap((child) => seen(child, time, reduced));
  const { d, transform = '', ...rest } = attributes;
  const animation = children.find((child) => child.name.startsWith('animate'));
  const look = `${name} ${JSON.stringify(rest)} ${text}`;
  const now =
    animation === undefined || reduced
      ? (d ?? transform.replace(/^translate\((.*)\)$/, '$1'))
      : valueAt(animation.attributes, time);
  if (name === 'text') return now.startsWith('-9999') ? [] : [{ look, place: now }];
  return now.match(/M[^M]+/g)!.flatMap((path) => (path === 'M0 0' ? [] : [{ look, place: numbersIn(path) }]));
}

function valueAt({ values, keyTimes }: Readonly<Record<string, string>>, time: number): string {
  const all = values!.split(';');
  if (keyTimes === undefined) return all[Math.floor(time * all.length + 1e-6)]!;
  const times = keyTimes.split(';').map(Number);
  return all[times.findLastIndex((start) => start <= time + 1e-3)]!;
}

/** The numbers of path data. */
export const numbersIn = (path: string): string => (path.replace('h0', '').match(/-?\d+/g) ?? []).join(' ');
