import { expect, it } from 'vitest';
import { onAbort, untilAborted } from '../../src/base/abortable.js';

it('many waiters on one abort signal are each notified once, unless they gave up, and Node does not warn', async () => {
  const warnings: Error[] = [];
  const onWarning = (warning: Error) => warnings.push(warning);
  process.on('warning', onWarning);
  const { signal, ...controller } = waited();
  const told: number[] = [];
  const waits = Array.from({ length: 40 }, (_, i) => onAbort(signal, () => told.push(i)));
  const works = Array.from({ length: 40 }, () => untilAborted(new Promise<never>(() => {}), signal));
  for (const endWait of waits.slice(3)) endWait();
  controller.abort();
  expect(await Promise.allSettled(works)).toEqual(Array(40).fill({ status: 'rejected', reason: 'enough' }));
  expect(told).toEqual([0, 1, 2]);
  onAbort(signal, () => told.push(99));
  expect(told.at(-1)).toBe(99);
  await new Promise(setImmediate);
  process.off('warning', onWarning);
  expect(warnings).toEqual([]);
});

function waited() {
  const controller = new AbortController();
  return { signal: controller.signal, abort: () => controller.abort('enough') };
}
