import { describe, expect, it } from 'vitest';
import { genericAgent } from '../../src/agents/agent.js';
import type { Space } from '../../src/environments/environment.js';

const acting = (actionSpace: Space) =>
  genericAgent({ id: 'any', observationSpace: { kind: 'discrete', n: 5 }, actionSpace });

describe('the action that a reply names', () => {
  const moves = acting({ kind: 'text', choices: ['left', 'right', 'go left', 'A'] });
  it.each([
    ['left', 'left'],
    ['RIGHT!', 'right'],
    ['Not left. Right.', 'right'],
    ['right or left', 'left'],
    ['I go left', 'go left'],
    ['A', 'A'],
    ['a', 'A'],
    ['leftover', undefined],
    ['bright', undefined],
    ['left, then leftover', 'left'],
    ['', undefined],
    ['up', undefined],
  ])('for the reply %j is %s: the last listed action that appears as whole words', (reply, action) => {
    expect(moves.extractAction(reply)).toBe(action);
  });

  it('is the last number in the reply that belongs to the discrete space', () => {
    const agent = acting({ kind: 'discrete', n: 3, start: 1 });
    expect(agent.extractAction('I first thought 1, but take 3.')).toBe(3);
    expect(agent.extractAction('2 (not 7)')).toBe(2);
    expect(agent.extractAction('0')).toBeUndefined();
    expect(agent.extractAction('none')).toBeUndefined();
  });

  it('is a vector if the reply has the right number of numbers', () => {
    const box = acting({ kind: 'box', low: [-1, -1], high: [1, 1] });
    expect(box.extractAction('take [0.5, -0.25]')).toEqual([0.5, -0.25]);
    expect(box.extractAction('0.5')).toBeUndefined();
    const tuple = acting({
      kind: 'tuple',
      spaces: [
        { kind: 'discrete', n: 2 },
        { kind: 'discrete', n: 3 },
      ],
    });
    expect(tuple.extractAction('1 and 2')).toEqual([1, 2]);
    expect(tuple.extractAction('1 and 9')).toBeUndefined();
  });

  it('is the whole reply, trimmed, if the action space is free text', () => {
    const agent = acting({ kind: 'text' });
    expect(agent.extractAction(' open the door\n')).toBe('open the door');
    expect(agent.extractAction('  ')).toBeUndefined();
  });
});

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
