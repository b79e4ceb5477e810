/** Reads back what an animated SVG shows at a moment: the elements of its scene, with their places in the view. */
import { elementTree, type TreeElement } from './xml-reader.js';

/** What `attributes` an element has beside its place, and its place in the view. */
export interface Seen {
  readonly look: string;
  readonly place: string;
}

export function seenAt(svg: string, moment: number, moments: number, reduced = false): readonly Seen[] {
  const scene = elementTree(svg).children.findLast(({ name }) => name === 'svg')!;
  return scene.children.flatMap((child) => seen(child, [0, 0], moment / moments, reduced));
}

function seen(
  element: TreeElement,
  [dx, dy]: readonly [number, number],
  time: number,
  reduced: boolean,
): readonly Seen[] {
  const { name, attributes, children, text } = element;
  if (attributes.class === (reduced ? 'moving' : 'still')) return [];
  const now = (attribute: string) => {
    const animation = children.find(
      (child) => child.name.startsWith('animate') && child.attributes.attributeName === attribute,
    );
    return animation === undefined || reduced
      ? attributes[attribute]?.replace(/^translate\((.*)\)$/, '$1')
      : valueAt(animation.attributes, time);
  };
  const [x = 0, y = 0] = now('transform')?.split(' ').map(Number) ?? [];
  if (name === 'g') {
    return children
      .filter((child) => !child.name.startsWith('animate'))
      .flatMap((child) => seen(child, [dx + x, dy + y], time, reduced));
  }
  if (!reduced && now('display') === 'none') return [];
  const { d: _d, transform: _transform, display: _display, ...rest } = attributes;
  const look = `${name} ${JSON.stringify(rest)} ${text}`;
  if (name === 'text') return x < -5000 ? [] : [{ look, place: `${dx + x} ${dy + y}` }];
  const paths = now('d')!.match(/M[^M]+/g)!;
  return paths.flatMap((path) => (path === 'M0 0' ? [] : [{ look, place: shifted(path, dx, dy) }]));
}

function valueAt({ values, keyTimes }: Readonly<Record<string, string>>, time: number): string {
  const all = values!.split(';');
  if (keyTimes === undefined) return all[Math.floor(time * all.length + 1e-6)]!;
  const times = keyTimes.split(';').map(Number);
  return all[times.findLastIndex((start) => start <= time + 1e-3)]!;
}

/** Path data as numbers alone, moved. */
export function shifted(path: string, dx = 0, dy = 0): string {
  let command = 'M';
  let isX = true;
  const numbers: number[] = [];
  for (const [token] of path.matchAll(/[MHVhz]|-?\d+/g)) {
    if (/[MHVhz]/.test(token)) {
      command = token;
      isX = token !== 'V';
      continue;
    }
    if (command !== 'h') numbers.push(Number(token) + (isX ? dx : dy));
    if (command === 'M') isX = !isX;
  }
  return numbers.join(' ');
}
