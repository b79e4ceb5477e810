import fc from 'fast-check';
import { expect, test } from 'vitest';
import { KeyValueCache, type NewEntries } from '../../../src/models/local/engine/key-value-cache.js';
import { ort } from '../../../src/models/local/engine/onnx-runtime.js';

const shape = { layers: 2, kvHeads: 2, headDim: 3 };

/** Entries in which each number encodes its layer, head, row and token. */
function entries(rows: readonly number[], from: number, tokens: number): NewEntries {
  const part = (sign: number, layer: number) => {
    const numbers: number[] = [];
    for (let head = 0; head < shape.kvHeads; head++)
      for (const row of rows)
        for (let token = from; token < from + tokens; token++)
          for (let d = 0; d < shape.headDim; d++)
            numbers.push(sign * (((layer * 10 + head) * 10 + row) * 1000 + token * 10 + d + 1));
    return new ort.Tensor('float32', numbers, [shape.kvHeads, rows.length, tokens, shape.headDim]);
  };
  const layers = Array.from({ length: shape.layers }, (_, layer) => layer);
  return { keys: layers.map((l) => part(1, l)), values: layers.map((l) => part(-1, l)), tokens };
}

/** New entries of rows that hold different numbers of tokens. */
function ragged(
  rows: readonly { readonly id: number; readonly length: number }[],
  tokens: number,
): NewEntries {
  const each = rows.map(({ id, length }) => entries([id], length, tokens));
  const strip = tokens * shape.headDim;
  const merged = (part: (one: NewEntries) => readonly ort.Tensor[]) =>
    Array.from({ length: shape.layers }, (_, layer) => {
      const numbers = Array.from({ length: shape.kvHeads }, (__, head) =>
        each.map((one) => [
          ...(part(one)[layer]!.data as Float32Array).subarray(head * strip, (head + 1) * strip),
        ]),
      ).flat(2);
      return new ort.Tensor('float32', numbers, [shape.kvHeads, rows.length, tokens, shape.headDim]);
    });
  return { keys: merged(({ keys }) => keys), values: merged(({ values }) => values), tokens };
}

const change = fc.oneof(
  fc.record({
    kind: fc.constant('append' as const),
    tokens: fc.integer({ min: 1, max: 5 }),
    block: fc.constantFrom(1, 4),
  }),
  fc.record({ kind: fc.constant('truncate' as const), length: fc.integer({ min: 0, max: 12 }) }),
  fc.record({ kind: fc.constant('drop' as const), index: fc.integer({ min: 0, max: 3 }) }),
  fc.record({
    kind: fc.constant('join' as const),
    lengths: fc.array(fc.integer({ min: 1, max: 6 }), { minLength: 1, maxLength: 2 }),
  }),
);

test('every row holds its own tokens after any sequence of appends, cuts, drops and joins', () => {
  fc.assert(
    fc.property(fc.integer({ min: 1, max: 3 }), fc.array(change, { maxLength: 12 }), (count, changes) => {
      const cache = new KeyValueCache(shape);
      cache.reset(count);
      let rows = Array.from({ length: count }, (_, id) => ({ id, length: 0 }));
      let joined = count;
      for (const step of changes) {
        if (step.kind === 'append') {
          cache.append(ragged(rows, step.tokens), step.block);
          rows = rows.map(({ id, length }) => ({ id, length: length + step.tokens }));
        } else if (step.kind === 'truncate') {
          cache.truncate(step.length);
          rows = rows.map(({ id, length }) => ({ id, length: Math.min(length, step.length) }));
        } else if (step.kind === 'join') {
          const more = step.lengths.map((length) => ({ id: joined++, length }));
          cache.join(
            more.map(({ id, length }) => entries([id], 0, length)),
            4,
          );
          rows = [...rows, ...more];
        } else if (rows.length > 1) {
          const dropped = step.index % rows.length;
          cache.keepRows(rows.map((_, i) => i).filter((i) => i !== dropped));
          rows = rows.filter((_, i) => i !== dropped);
        }
      }
      expect(cache.lengths).toEqual(rows.map(({ length }) => length));
      expect(cache.capacity).toBeGreaterThanOrEqual(Math.max(1, cache.length));
      expect(cache.tensors().map(({ dims }) => dims)).toEqual(
        Array(2 * shape.layers).fill([shape.kvHeads, rows.length, cache.capacity, shape.headDim]),
      );
      const numbers = ({ keys, values }: NewEntries) => [...keys, ...values].map(({ data }) => [...data]);
      rows.forEach(({ id, length }, i) => {
        expect(numbers(cache.entries(i))).toEqual(numbers(entries([id], 0, length)));
        const from = Math.floor(length / 2);
        expect(numbers(cache.entries(i, from, length))).toEqual(numbers(entries([id], from, length - from)));
      });
    }),
  );
});

test('the tensors passed to the runtime are recreated only when their shape changes', () => {
  const cache = new KeyValueCache(shape);
  cache.reset(1);
  cache.append(entries([0], 0, 2), 4);
  const first = cache.tensors();
  cache.append(entries([0], 2, 1), 4);
  expect(cache.tensors()).toBe(first);
  cache.append(entries([0], 3, 2), 4);
  expect(cache.tensors()).not.toBe(first);
  expect(cache.tensors()[0]!.dims).toEqual([shape.kvHeads, 1, 8, shape.headDim]);
});
