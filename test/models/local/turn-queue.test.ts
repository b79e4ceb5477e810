import fc from 'fast-check';
import { expect, test } from 'vitest';
import { TurnQueue } from '../../../src/models/local/generation/generation.js';

const lanes = fc.constantFrom('a', 'b', 'c');

test('the queue loses nothing, keeps each lane’s order and serves no lane twice while another waits', () => {
  const steps = fc.array(fc.oneof(lanes, fc.constant('take' as const)), { maxLength: 60 });
  fc.assert(
    fc.property(steps, (script) => {
      const queue = new TurnQueue<string, { readonly lane: string; readonly place: number }>();
      const waiting = new Map<string, number[]>();
      /** By lane: those that had a turn while it waited. */
      const passed = new Map<string, string[]>();
      let place = 0;
      for (const step of [...script, ...script.map(() => 'take' as const)]) {
        if (step !== 'take') {
          queue.add(step, { lane: step, place });
          if (!waiting.has(step)) passed.set(step, []);
          waiting.set(step, [...(waiting.get(step) ?? []), place++]);
          continue;
        }
        const taken = queue.take();
        if (taken === undefined) {
          expect(waiting.size).toBe(0);
          continue;
        }
        const places = waiting.get(taken.lane)!;
        expect(places.shift()).toBe(taken.place);
        if (places.length === 0) waiting.delete(taken.lane);
        passed.set(taken.lane, []);
        for (const lane of waiting.keys()) {
          if (lane === taken.lane) continue;
          expect(passed.get(lane)).not.toContain(taken.lane);
          passed.get(lane)!.push(taken.lane);
        }
      }
      expect(queue.take()).toBeUndefined();
    }),
  );
});

test('a late lane does not wait for all jobs of an earlier one', () => {
  const queue = new TurnQueue<string, string>();
  for (const job of ['a1', 'a2', 'a3']) queue.add('a', job);
  queue.add('b', 'b1');
  expect(Array.from({ length: 5 }, () => queue.take())).toEqual(['a1', 'b1', 'a2', 'a3', undefined]);
});
