import { expect, it } from 'vitest';
import { type Machine, openMachine } from '../../../src/policies/program/machine.js';

const machine = await openMachine();

function result({ context, evaluate }: Machine, code: string): unknown {
  const outcome = evaluate(code, false);
  return 'value' in outcome ? outcome.value.consume(context.dump) : outcome;
}

it("the virtual machine's memory never grows", () => {
  const size = machine.memory.buffer.byteLength;
  expect(() => machine.memory.grow(1)).toThrow(RangeError);
  const start = machine.copy();
  expect(result(machine, 'const all = []; for (;;) all.push("x".repeat(1e6 + all.length))')).toHaveProperty(
    'error',
  );
  expect(machine.memory.buffer.byteLength).toBe(size);
  machine.reset(start, true);
});

it('restore and reset bring the virtual machine back to a saved state', () => {
  result(machine, 'globalThis.count = 1; globalThis.next = () => ++count;');
  const one = machine.copy();
  for (const restore of [machine.restore, machine.reset, (image: typeof one) => machine.reset(image, true)]) {
    expect([result(machine, 'next()'), result(machine, 'next()')]).toEqual([2, 3]);
    restore(one);
    expect(result(machine, 'count')).toBe(1);
  }
});

it('the virtual machine reaches its work limit at the same iteration, even if other code ran before', () => {
  const start = machine.copy();
  const iterations = () => {
    machine.restore(start);
    result(machine, 'globalThis.n = 0; for (;;) n++;');
    return result(machine, 'n');
  };
  const first = iterations();
  expect(first).toBeGreaterThan(900_000);
  result(machine, 'for (let i = 0; i < 12_345; i++);');
  expect(iterations()).toBe(first);
});

it('the virtual machine recovers from a trap', () => {
  const start = machine.copy();
  const outcome = machine.run(() => {
    throw new WebAssembly.RuntimeError('unreachable');
  });
  expect(outcome).toEqual({ limit: 'memory' });
  machine.reset(start, true);
  expect(result(machine, '1 + 1')).toBe(2);
});
