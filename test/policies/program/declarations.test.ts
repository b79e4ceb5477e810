import { expect, it } from 'vitest';
import { withDeclarations } from '../../../src/policies/program/declarations.js';

const components = ['poleAngle', 'cartPosition'];
const act = (body: string) => `function act(observation, memory, constants) {${body}}`;
const declared = (body: string) => withDeclarations(act(body), components);

it.each([
  [' let { poleAngle } = observation;', ' return poleAngle > 0 ? 1 : 0; '],
  [' let { poleAngle } = observation;', ' poleAngle = 2 * poleAngle; return poleAngle > 0 ? 1 : 0; '],
  [' let action;', '\n  if (observation[0] > 0) action = 0;\n  else action = 1;\n  return action; '],
  [' let { poleAngle } = observation; let action;', ' action = poleAngle > 0 ? 1 : 0; return action; '],
])('withDeclarations adds %j to: %s', (lines, body) => {
  expect(declared(body)).toBe(act(`${lines}${body}`));
});

it.each([
  ['declared', ' const { poleAngle } = observation; return poleAngle > 0 ? 1 : 0; '],
  ['only a property', ' return observation.poleAngle > 0 ? 1 : 0; '],
  ['a key', ' const x = { poleAngle: 1, cartPosition: 2 }; return x.poleAngle; '],
  ['a parameter of another function', ' const f = (poleAngle) => poleAngle; return f(1); '],
  ['unknown', ' return poleSpeed > 0 ? 1 : 0; '],
  ['only changed', ' count += 1; return count; '],
  ['global', ' Math = 3; return 0; '],
])('withDeclarations leaves a program unchanged if the name is %s', (_name, body) => {
  expect(declared(body)).toBe(act(body));
});

it("withDeclarations doesn't declare a name that another function also uses", () => {
  const source = `let f = () => poleAngle;\n${act(' return poleAngle > f() ? 1 : 0; ')}`;
  expect(withDeclarations(source, components)).toBe(source);
});

it("withDeclarations uses the program's own name for the observation", () => {
  const source = 'const act = (o) => { return poleAngle > 0 ? 1 : 0; };';
  expect(withDeclarations(source, components)).toContain('=> { let { poleAngle } = o; return');
});
