import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { Frame } from '../../../src/environments/frame.js';
import { layoutOf } from '../../../src/rollout/pictures/animation.js';
import { svgAnimation } from '../../../src/rollout/pictures/svg-animation.js';
import { svgShapes, tracksOf } from '../../../src/rollout/pictures/svg-tracks.js';
import { animationOf, anyFrames, followed, rolling } from './frames.js';
import { numbersIn, seenAt } from './svg-reader.js';
import { elementTree, type TreeElement } from './xml-reader.js';

const all = (element: TreeElement): readonly TreeElement[] => [element, ...element.children.flatMap(all)];
const shapesOf = (frames: readonly Frame[]) =>
  frames.map((frame) => svgShapes(frame, layoutOf(frames[0]!, 1000)));

describe('tracksOf', () => {
  it('keeps every shape of every frame, in order', () => {
    fc.assert(
      fc.property(anyFrames, (frames) => {
        const moments = shapesOf(frames);
        const tracks = tracksOf(moments);
        for (const [i, shapes] of moments.entries()) {
          expect(tracks.flatMap((track) => track[i] ?? [])).toEqual(shapes);
        }
      }),
    );
  });

  it('gives a moving shape one track', () => {
    expect(tracksOf(shapesOf(rolling(20))).length).toBe(2);
    const tracks = tracksOf(shapesOf(followed(20)));
    const names = tracks.flatMap((track) => track.find((shape) => shape?.kind === 'text')?.content ?? []);
    expect(names).toEqual(Array.from({ length: 25 }, (_, x) => `${x} m`));
    expect(tracks.length).toBe(27);
  });
});

describe('svgAnimation', () => {
  it('shows all shapes of the current frame, and nothing else', () => {
    fc.assert(
      fc.property(anyFrames, (frames) => {
        const svg = svgAnimation(animationOf(frames), 480);
        const held = 11; // 1.2 s of 0.1 s, the moment itself among them
        for (const [i, shapes] of shapesOf(frames).entries()) {
          const wanted = shapes.map(({ kind, content, place }) =>
            unescaped(`${kind} ${content} ${kind === 'path' ? numbersIn(place) : place}`),
          );
          const seen = seenAt(svg, i, frames.length + held).map(
            ({ look, place }) => `${look.split(' ')[0]} ${look.slice(look.indexOf('} ') + 2)} ${place}`,
          );
          expect(seen).toEqual(wanted);
        }
      }),
    );
  });

  it('shows the last frame if reduced motion is preferred', () => {
    for (const frames of [rolling(9), followed(9)]) {
      const svg = svgAnimation(animationOf(frames), 480);
      const looks = (reduced: boolean) =>
        seenAt(svg, 8, 9 + 11, reduced).map(({ look, place }) => `${look} ${place}`);
      const still = looks(true);
      expect(looks(false)).toEqual(expect.arrayContaining(still));
      expect(still.length).toBe(frames[8]!.shapes.length);
    }
  });

  it('is one document without scripts or references, with styles for light and dark pages', () => {
    const svg = svgAnimation(animationOf(followed(6)), 480);
    const root = elementTree(svg);
    expect(root.name).toBe('svg');
    const expected = { xmlns: 'http://www.w3.org/2000/svg', width: '480', height: '300' };
    expect(root.attributes).toMatchObject(expected);
    expect(new Set(all(root).map(({ name }) => name))).toEqual(
      new Set(['svg', 'title', 'style', 'rect', 'text', 'tspan', 'g', 'path', 'animate', 'animateTransform']),
    );
    for (const { attributes } of all(root)) {
      expect(Object.keys(attributes).filter((name) => /^on|href|^id$/.test(name))).toEqual([]);
    }
    const style = all(root).find(({ name }) => name === 'style')!.text;
    expect(style).toContain('@media(prefers-color-scheme:dark)');
    expect(style).toContain('@media(prefers-reduced-motion:reduce)');
    expect(style).not.toContain('url(');
  });

  it('runs all its animations for the same duration', () => {
    const animated = all(elementTree(svgAnimation(animationOf(followed(6)), 480))).filter(({ name }) =>
      name.startsWith('animate'),
    );
    expect(animated.length).toBeGreaterThan(3);
    for (const { attributes } of animated) {
      expect(attributes).toMatchObject({ dur: '1.7s', repeatCount: 'indefinite', calcMode: 'discrete' });
      const times = attributes.keyTimes?.split(';').map(Number) ?? [0];
      expect(times[0]).toBe(0);
      expect(times.toSorted((a, b) => a - b)).toEqual(times);
      if (attributes.keyTimes !== undefined) expect(times.length).toBe(attributes.values!.split(';').length);
    }
  });

  it('escapes text', () => {
    const text = `<b onload="x">&'\0\u{d800}`;
    const frame: Frame = {
      view: { min: [0, 0], max: [4, 4] },
      shapes: [{ kind: 'text', center: [1, 1], height: 1, text, role: 'agent' }],
    };
    const root = elementTree(svgAnimation(animationOf([frame], text), 480));
    const expected = `<b onload="x">&'\ufffd\ufffd`;
    expect(all(root).filter((element) => element.text === expected).length).toBe(3);
  });

  it('writes static shapes only once and is reproducible', () => {
    const [short, long] = [
      svgAnimation(animationOf(rolling(10)), 480),
      svgAnimation(animationOf(rolling(110)), 480),
    ];
    expect(long.length - short.length).toBeLessThan(100 * 75);
    expect(svgAnimation(animationOf(rolling(10)), 480)).toBe(short);
  });
});

function unescaped(text: string): string {
  return text
    .replaceAll('&lt;', '<')
    .replaceAll('&gt;', '>')
    .replaceAll('&quot;', '"')
    .replaceAll('&#39;', "'")
    .replaceAll('&amp;', '&');
}
