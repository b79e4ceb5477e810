import { createRequire } from 'node:module';
import { expect, it } from 'vitest';
import { gifAnimation } from '../../../src/rollout/pictures/gif.js';
import { animationOf, rolling } from './frames.js';

const isInstalled = (name: string): boolean => {
  try {
    return createRequire(import.meta.url).resolve(name) !== '';
  } catch {
    return false;
  }
};

const both = isInstalled('@resvg/resvg-js') && isInstalled('gifenc');

it.skipIf(!both)(
  'a GIF has the size and the number of frames of its animation (needs @resvg/resvg-js)',
  () => {
    const bytes = Buffer.from(gifAnimation(animationOf(rolling(4)), 120));
    expect(bytes.subarray(0, 6).toString()).toBe('GIF89a');
    expect(bytes.readUInt16LE(6)).toBe(120);
    // Each frame has one graphic control extension.
    expect(bytes.toString('latin1').split('\x21\xf9\x04').length - 1).toBe(4);
  },
);

it.skipIf(both)('a GIF without its packages is refused, and the error says how to install them', () => {
  expect(() => gifAnimation(animationOf(rolling(2)), 120)).toThrow('npm install @resvg/resvg-js gifenc');
});
