import type { Environment, Space } from '../../src/environments/environment.js';

/** An environment that has only its spaces: for what looks at nothing else. */
export function withSpaces(observationSpace: Space, actionSpace: Space): Environment {
  const refuse = (): never => {
    throw new Error('this environment has only its spaces');
  };
  return { id: 'Spaces-v0', observationSpace, actionSpace, reset: refuse, step: refuse };
}

export const box = (dimensions: number): Space => ({
  kind: 'box',
  low: Array.from({ length: dimensions }, () => -1),
  high: Array.from({ length: dimensions }, () => 1),
});

export const discrete = (n: number, start?: number) =>
  ({ kind: 'discrete', n, ...(start && { start }) }) as const;
