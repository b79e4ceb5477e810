import { expect, it } from 'vitest';
import { genericAgent } from '../../src/agents/agent.js';
import type { Space } from '../../src/environments/environment.js';

it('the generic agent shows texts unchanged and rounds numbers', () => {
  const shown = (observationSpace: Space, observation: number | number[] | string) =>
    genericAgent({ id: 'any', observationSpace, actionSpace: { kind: 'discrete', n: 2 } }).formatObservation(
      observation,
      { steps: 0 },
    );
  expect(shown({ kind: 'text' }, 'You are in a kitchen.')).toBe('You are in a kitchen.');
  expect(shown({ kind: 'discrete', n: 16 }, 7)).toBe('Observation: 7');
  expect(shown({ kind: 'box', low: [0, 0], high: [1, 1] }, [0.123456, 1])).toBe('Observation: 0.1235, 1');
});
