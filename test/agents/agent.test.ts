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
  ])('%j is %s of a list: the last one, as words of its own', (reply, action) => {
    expect(moves.extractAction(reply)).toBe(action);
  });

  it('is the last number of a discrete space that belongs to it', () => {
    const agent = acting({ kind: 'discrete', n: 3, start: 1 });
    expect(agent.extractAction('I first thought 1, but take 3.')).toBe(3);
    expect(agent.extractAction('2 (not 7)')).toBe(2);
    expect(agent.extractAction('0')).toBeUndefined();
    expect(agent.extractAction('none')).toBeUndefined();
  });

  it('is as many numbers as a vector has', () => {
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

  it('is the whole reply where any text may be said', () => {
    const agent = acting({ kind: 'text' });
    expect(agent.extractAction(' open the door\n')).toBe('open the door');
    expect(agent.extractAction('  ')).toBeUndefined();
  });
});

it('shows observations as they are', () => {
  const shown = (observationSpace: Space, observation: number | number[] | string) =>
    genericAgent({ id: 'any', observationSpace, actionSpace: { kind: 'discrete', n: 2 } }).formatObservation(
      observation,
      { steps: 0 },
    );
  expect(shown({ kind: 'text' }, 'You are in a kitchen.')).toBe('You are in a kitchen.');
  expect(shown({ kind: 'discrete', n: 16 }, 7)).toBe('Observation: 7');
  expect(shown({ kind: 'box', low: [0, 0], high: [1, 1] }, [0.123456, 1])).toBe('Observation: 0.1235, 1');
});
