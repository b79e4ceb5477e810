import { describe, expect, it } from 'vitest';
import { makeEnvironment } from '../../../src/environments/catalogue/open.js';
import { requireComponents } from '../../../src/policies/program/components.js';

const cartPole = await makeEnvironment('CartPole-v1');
const check = (source: string, environment = cartPole) => requireComponents(source, environment);

describe("a component that doesn't exist", () => {
  it.each([
    'function act(o) {\n  return o.angle > 0 ? 1 : 0;\n}',
    'const act = (observation) => {\n  const { angle } = observation; return angle > 0 ? 1 : 0;\n};',
    'function act(\n  { poleAngle, angle }) { return angle > poleAngle ? 1 : 0; }',
  ])('is reported with its line: %s', (source) => {
    const reason = expect.stringMatching(/no component angle; its names are .*poleAngularVelocity/);
    expect(() => check(source)).toThrow(expect.objectContaining({ failure: { reason, line: 2 } }));
  });

  it.each([
    'function act(o) { const { poleAngle: x, length } = o; return o.map(Math.abs)[0] > x ? 1 : 0; }',
    'function act(o, memory) { const s = { o: 1 }; memory.angle = s.angle; return o[0] > 0 ? 1 : 0; }',
    'function act(o) { o.angle = o[2]; return o.angle > 0 ? 1 : 0; }',
    // Another variable of that name.
    'function act(o) { const f = (o) => o.angle; return f({ angle: 1 }); }',
  ])("isn't reported in valid code: %s", (source) => {
    expect(() => check(source)).not.toThrow();
  });

  it("isn't reported if components have no names", async () => {
    const lake = await makeEnvironment('FrozenLake-v1');
    expect(() => check('function act(o) { return o.row ? 1 : 0; }', lake)).not.toThrow();
  });
});
