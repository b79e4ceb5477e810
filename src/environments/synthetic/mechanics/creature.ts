import { largest } from '../../../statistics/descriptive.js';
import type { Plant } from '../plant.js';

/** A spring between two nodes with a rest length, which a muscle can change. */
export interface Rod {
  readonly from: number;
  readonly to: number;
  readonly length: number;
  /** Maximum change of a muscle's rest length, as a share of it; 0 for a bone. */
  readonly range: number;
}

/** Point masses in a vertical plane above a floor, connected by rods. */
export interface CreatureParts {
  readonly masses: readonly number[];
  readonly rods: readonly Rod[];
  /** Force per unit of stretch, and per unit of its rate of change. */
  readonly stiffness: number;
  readonly damping: number;
  readonly gravity: number;
  /** Friction coefficient of the floor: maximum sideways force per unit of its upward force. */
  readonly grip: number;
  readonly seconds: number;
  /** Share of the difference to the target length that a muscle covers in one step. */
  readonly quickness: number;
}

/** Number of integration substeps per step; contact is stiff. */
const parts = 5;
/** Below this sideways velocity, friction is viscous and feet creep. */
const creeping = 0.05;
const fastest = 50;

/**
 * Newton's equations by the semi-implicit Euler method. The floor at height 0 pushes like a damped spring and
 * has friction. State: x, y and their velocities for each node, then each muscle's change of length relative
 * to its range. A push is the target value of the latter.
 */
export function createCreature({
  damping,
  gravity,
  grip,
  masses,
  quickness,
  rods,
  seconds,
  stiffness,
}: CreatureParts): Plant {
  const nodes = masses.length;
  const muscles = rods.flatMap(({ range }, rod) => (range > 0 ? [rod] : []));
  const muscleOf = rods.map((_, rod) => muscles.indexOf(rod));
  const tail = 4 * nodes;
  const step = seconds / parts;
  const force = new Float64Array(2 * nodes);
  const heaviest = largest(masses);
  // As stiff as the step size allows, so that feet sink in and bounce only a little.
  const [floor, floorDamping] = [0.15 * heaviest * step ** -2, 0.3 * heaviest * step ** -1];
  return {
    dimension: tail + muscles.length,
    driven: muscles.map((_, i) => tail + i),
    angles: [],
    advance(state, push) {
      for (let i = tail; i < state.length; i++) {
        const wanted = Math.min(1, Math.max(-1, push[i]!));
        state[i]! += quickness * (wanted - state[i]!);
      }
      for (let part = 0; part < parts; part++) {
        for (let i = 0; i < nodes; i++) {
          const [y, vx, vy] = [state[4 * i + 1]!, state[4 * i + 2]!, state[4 * i + 3]!];
          const up = y < 0 ? Math.max(0, -floor * y - floorDamping * vy) : 0;
          force[2 * i] = (-grip * up * vx) / (Math.abs(vx) + creeping);
          force[2 * i + 1] = up - gravity * masses[i]!;
        }
        for (let rod = 0; rod < rods.length; rod++) {
          const { from, length, range, to } = rods[rod]!;
          const [a, b] = [4 * from, 4 * to];
          const [dx, dy] = [state[b]! - state[a]!, state[b + 1]! - state[a + 1]!];
          const apart = Math.sqrt(dx * dx + dy * dy) + 1e-9;
          const [ux, uy] = [dx / apart, dy / apart];
          const wanted = range > 0 ? length * (1 + range * state[tail + muscleOf[rod]!]!) : length;
          const parting = ux * (state[b + 2]! - state[a + 2]!) + uy * (state[b + 3]! - state[a + 3]!);
          const pull = stiffness * (apart - wanted) + damping * parting;
          force[2 * from]! += pull * ux;
          force[2 * from + 1]! += pull * uy;
          force[2 * to]! -= pull * ux;
          force[2 * to + 1]! -= pull * uy;
        }
        for (let i = 0; i < nodes; i++) {
          for (let axis = 0; axis < 2; axis++) {
            const velocity = state[4 * i + 2 + axis]! + (step * force[2 * i + axis]!) / masses[i]!;
            const bounded = Math.min(fastest, Math.max(-fastest, velocity));
            state[4 * i + 2 + axis] = bounded;
            state[4 * i + axis]! += step * bounded;
          }
        }
      }
    },
  };
}
