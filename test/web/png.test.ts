import { expect, it } from 'vitest';
import { png } from '../../src/web/png.js';
import { readPng } from './png-reader.js';

const palette = [
  [255, 0, 0],
  [0, 128, 255],
];
const file = png(Uint8Array.of(0, 1, 1, 0, 0, 1), palette, { width: 3, height: 2 });

it('a PNG file contains its pixels and palette', () => {
  const read = readPng(file);
  expect([read.width, read.height]).toEqual([3, 2]);
  expect([...read.pixels]).toEqual([0, 1, 1, 0, 0, 1]);
  expect(read.palette).toEqual(palette);
});

it('the PNG reader of the tests rejects damaged files', () => {
  for (const at of [3, 20, 30, file.length - 10]) {
    const damaged = Uint8Array.from(file);
    damaged[at]! ^= 1;
    expect(() => readPng(damaged), `byte ${at}`).toThrow();
  }
});
