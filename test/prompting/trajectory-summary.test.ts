import { describe, expect, it } from 'vitest';
import { scoreText } from '../../src/prompting/context/scores.js';
import { trajectoryRows, trajectorySummary } from '../../src/prompting/context/trajectory.js';

/** Ten steps: x goes from 0 to 1 in tenths. */
const continuous = {
  observations: Array.from({ length: 11 }, (_, t) => [t / 10, -t]),
  actions: Array.from({ length: 10 }, (_, t) => [t % 2 === 0 ? -1.23456 : 1]),
  rewards: Array.from({ length: 10 }, () => -0.1),
  terminated: false,
  truncated: true,
};

const discrete = {
  observations: [0, 4, 4, 8, 9],
  actions: [1, 0, 1, 2],
  rewards: [0, 0, 0, 1],
  terminated: true,
  truncated: false,
};

describe('trajectoryRows', () => {
  it('samples steps evenly, including the first and the last', () => {
    expect(trajectoryRows(continuous, 4, scoreText)).toEqual([
      '0 | [0, 0] | [-1.235] | -0.1',
      '3 | [0.3, -3] | [1] | -0.1',
      '6 | [0.6, -6] | [-1.235] | -0.1',
      '9 | [0.9, -9] | [1] | -0.1',
      'end | [1, -10] | cut off after 10 steps, return -1.00',
    ]);
  });

  it('shows every step once when there are few', () => {
    expect(trajectoryRows(discrete, 10, scoreText)).toEqual([
      '0 | 0 | 1 | 0',
      '1 | 4 | 0 | 0',
      '2 | 4 | 1 | 0',
      '3 | 8 | 2 | 1',
      'end | 9 | terminated after 4 steps, return 1.00',
    ]);
  });

  it('shows the first step if limited to one', () => {
    expect(trajectoryRows(discrete, 1, scoreText)).toEqual([
      '0 | 0 | 1 | 0',
      'end | 9 | terminated after 4 steps, return 1.00',
    ]);
  });
});

describe('trajectorySummary', () => {
  it('gives the ranges and means of vectors', () => {
    expect(trajectorySummary(continuous, scoreText)).toEqual([
      'cut off after 10 steps, return -1.00',
      'first observation: [0, 0]; last: [1, -10]',
      'observation[0]: min 0, mean 0.5, max 1',
      'observation[1]: min -10, mean -5, max 0',
      'action[0]: min -1.235, mean -0.1173, max 1',
    ]);
  });

  it('counts integers, the most frequent first', () => {
    expect(trajectorySummary(discrete, scoreText)).toEqual([
      'terminated after 4 steps, return 1.00',
      'first observation: 0; last: 9',
      'observation (visits): 4: 2, 0: 1, 8: 1, 9: 1',
      'action (times taken): 1: 2, 0: 1, 2: 1',
    ]);
  });

  it('lists at most a dozen counts', () => {
    const observations = Array.from({ length: 31 }, (_, t) => t);
    const actions = observations.slice(1).map(() => 0);
    const lines = trajectorySummary({ ...discrete, observations, actions, rewards: actions }, scoreText);
    expect(lines[2]).toMatch(/: 1, and 19 more$/);
  });
});
