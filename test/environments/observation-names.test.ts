import { expect, it } from 'vitest';
import { observationNames } from '../../src/environments/catalogue/observation-names.js';
import { makeEnvironment } from '../../src/environments/catalogue/open.js';
import { dimensionsOf, symmetricBox } from '../../src/environments/environment.js';

it.each([
  ['CartPole-v1', 'cartPosition cartVelocity poleAngle poleAngularVelocity'],
  ['MountainCar-v0', 'position velocity'],
  ['MountainCarContinuous-v0', 'position velocity'],
  ['Acrobot-v1', 'cosTheta1 sinTheta1 cosTheta2 sinTheta2 angularVelocity1 angularVelocity2'],
  ['Pendulum-v1', 'cosTheta sinTheta angularVelocity'],
  ['Blackjack-v1', 'playerSum dealerCard usableAce'],
  [
    'Hopper-v5',
    'z pitch thighAngle legAngle footAngle xVelocity zVelocity pitchVelocity thighVelocity legVelocity footVelocity',
  ],
  ['FrozenLake-v1', ''],
])('observationNames names the components of %s, if it has any', async (id, names) => {
  expect(observationNames(await makeEnvironment(id)).join(' ')).toBe(names);
});

it.each([
  ...'Swimmer-v5 HalfCheetah-v5 Walker2d-v5 Reacher-v5 InvertedPendulum-v5'.split(' '),
  ...'InvertedDoublePendulum-v5 Pong-v0 NavigationTrack-v0 maze-sample-3x3-v0'.split(' '),
])('observationNames names every component of %s', async (id) => {
  const environment = await makeEnvironment(id);
  const names = observationNames(environment);
  expect(environment.observationSpace.kind).not.toBe('discrete');
  expect(new Set(names.filter((name) => name !== undefined)).size).toBe(
    dimensionsOf(environment.observationSpace as never),
  );
  environment.close?.();
});

it('observationNames names positions that are hidden by default', async () => {
  const options = { exclude_current_positions_from_observation: false };
  const names = observationNames(await makeEnvironment('Swimmer-v5', options));
  expect(names.slice(0, 3)).toEqual(['x', 'y', 'heading']);
  expect(names).toHaveLength(10);
});

it('observationNames uses the usable names of an environment, each only once', () => {
  const own = ['Pole angle (rad)', 'RPM', 'length', 'pole-angle-rad', 'θ', '2x', 'poleSpeed', 'constructor'];
  const spec = { id: 'own', observationSpace: symmetricBox(9), actionSpace: symmetricBox(1) };
  expect(observationNames({ ...spec, words: { observationNames: own } })).toEqual([
    'poleAngleRad',
    'rpm',
    undefined,
    undefined,
    undefined,
    undefined,
    'poleSpeed',
    undefined,
    undefined,
  ]);
  expect(observationNames(spec)).toEqual(Array(9).fill(undefined));
});
