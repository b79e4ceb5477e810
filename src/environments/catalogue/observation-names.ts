/** Names of an observation's components, as used in programs and prompts: `observation.poleAngle`. */
import { dimensionsOf, type EnvironmentSpec } from '../environment.js';
import { environmentName } from './facts.js';

/**
 * Returns one name per component of a vector observation (undefined if it has none); empty for other observations.
 * The names are unique identifiers, and never properties of arrays.
 */
export function observationNames({
  id,
  observationSpace,
  words,
}: EnvironmentSpec): readonly (string | undefined)[] {
  if (observationSpace.kind !== 'box' && observationSpace.kind !== 'tuple') return [];
  const dimensions = dimensionsOf(observationSpace);
  const texts = words?.observationNames ?? componentNames(id, dimensions);
  const names = Array.from({ length: dimensions }, (_, i) => toIdentifier(texts[i] ?? ''));
  return names.map((name, i) => (name !== undefined && names.indexOf(name) === i ? name : undefined));
}

/** Turns `pole angle` into `poleAngle`; undefined if the result isn't a plain identifier or is a property of arrays. */
function toIdentifier(text: string): string | undefined {
  const [first = '', ...rest] = text.split(/[^\p{L}\p{N}]+/u).filter(Boolean);
  const start = /^\p{Lu}+$/u.test(first)
    ? first.toLowerCase()
    : first.charAt(0).toLowerCase() + first.slice(1);
  const name = start + rest.map((word) => word.charAt(0).toUpperCase() + word.slice(1)).join('');
  return /^[a-z][a-zA-Z0-9]{0,39}$/.test(name) && !(name in Array.prototype) ? name : undefined;
}

/** Names the last `dimensions` components of a built-in environment (leading ones may be hidden); empty if unknown. */
export function componentNames(id: string, dimensions: number): readonly string[] {
  const names = builtInNames[environmentName(id)] ?? (id.startsWith('maze-') ? ['column', 'row'] : []);
  return names.length >= dimensions ? names.slice(names.length - dimensions) : [];
}

const carNames = ['position', 'velocity'];
const leg = (side: string, lower: string) => [`${side} thigh`, `${side} ${lower}`, `${side} foot`];

/** Lists positions, then velocities; the leading positions are hidden by default. */
const movementNames = (places: readonly string[], joints: readonly string[]) => [
  ...places,
  ...joints.map((joint) => `${joint} angle`),
  ...places.map((place) => `${place} velocity`),
  ...joints.map((joint) => `${joint} velocity`),
];

const builtInNames: Readonly<Record<string, readonly string[]>> = {
  CartPole: ['cart position', 'cart velocity', 'pole angle', 'pole angular velocity'],
  MountainCar: carNames,
  MountainCarContinuous: carNames,
  Acrobot: [
    ...['cos theta1', 'sin theta1', 'cos theta2', 'sin theta2'],
    ...['angular velocity1', 'angular velocity2'],
  ],
  Pendulum: ['cos theta', 'sin theta', 'angular velocity'],
  Blackjack: ['player sum', 'dealer card', 'usable ace'],
  Pong: ['paddle y', 'ball x', 'ball y', 'ball velocity x', 'ball velocity y'],
  NavigationTrack: ['left', 'half left', 'ahead', 'half right', 'right'],
  InvertedPendulum: ['cart position', 'pole angle', 'cart velocity', 'pole angular velocity'],
  InvertedDoublePendulum: [
    ...['cart position', 'sin theta1', 'sin theta2', 'cos theta1', 'cos theta2'],
    ...['cart velocity', 'angular velocity1', 'angular velocity2', 'rail force'],
  ],
  Reacher: [
    ...['cos theta1', 'cos theta2', 'sin theta1', 'sin theta2', 'target x', 'target y'],
    ...['angular velocity1', 'angular velocity2', 'offset x', 'offset y'],
  ],
  HalfCheetah: movementNames(['x', 'z', 'pitch'], [...leg('back', 'shin'), ...leg('front', 'shin')]),
  Hopper: movementNames(['x', 'z', 'pitch'], ['thigh', 'leg', 'foot']),
  Walker2d: movementNames(['x', 'z', 'pitch'], [...leg('right', 'leg'), ...leg('left', 'leg')]),
  Swimmer: movementNames(['x', 'y', 'heading'], ['front joint', 'back joint']),
};
