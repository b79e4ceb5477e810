import type { Plant } from '../plant.js';

/** Point masses on massless rods. Each rod is attached to the previous one, the first to a fixed joint or a cart. */
export interface ChainParts {
  /** Lengths and masses of the links, starting at the base. */
  readonly lengths: readonly number[];
  readonly masses: readonly number[];
  /** Friction of each joint: torque per unit of angular velocity. */
  readonly frictions: readonly number[];
  /** Absent for a fixed base. */
  readonly cart?: { readonly mass: number; readonly friction: number };
  /** 0 for a horizontal chain. */
  readonly gravity: number;
  readonly seconds: number;
  /** The joints with a motor; a cart is always driven. */
  readonly motors: readonly number[];
}

/** Maximum velocity, in rad/s or m/s. */
const fastest = 40;

/**
 * Lagrange's equations for a chain, M(θ)·a = forces, integrated with the semi-implicit Euler method. With S_i
 * the total mass from link i on: M_ij = l_i l_j S_max(i,j) cos(θ_i − θ_j), and with a cart M_0i = l_i S_i cos
 * θ_i. Angles are absolute and 0 is upright, so gravity's torque is S_i g l_i sin θ_i. State: position and
 * velocity of the cart, then angle and velocity of each link. A push is force or torque times seconds, on the
 * cart or at a joint, stored at the index of the velocity that it changes.
 */
export function createChain(parts: ChainParts): Plant {
  const { cart, frictions, gravity, lengths, masses, motors, seconds } = parts;
  const links = lengths.length;
  const first = cart === undefined ? 0 : 1;
  const n = first + links;
  const carried = masses.map((_, i) => masses.slice(i).reduce((total, mass) => total + mass, 0));
  const cartMass = (cart?.mass ?? 0) + carried[0]!;
  const matrix = new Float64Array(n * n);
  const impulse = new Float64Array(n);
  const [sines, cosines] = [new Float64Array(links), new Float64Array(links)];
  const velocityOf = (i: number) => 2 * (first + i) + 1;
  const torque = (i: number, state: Float64Array, push: Float64Array): number => {
    const before = i === 0 ? 0 : state[velocityOf(i - 1)]!;
    return push[velocityOf(i)]! - seconds * frictions[i]! * (state[velocityOf(i)]! - before);
  };
  return {
    dimension: 2 * n,
    driven: cart === undefined ? motors.map(velocityOf) : [1, ...motors.map(velocityOf)],
    angles: lengths.map((_, i) => 2 * (first + i)),
    advance(state, push) {
      for (let i = 0; i < links; i++) {
        const angle = state[2 * (first + i)]!;
        sines[i] = Math.sin(angle);
        cosines[i] = Math.cos(angle);
      }
      for (let i = 0; i < links; i++) {
        const row = (first + i) * n;
        const arm = lengths[i]! * carried[i]!;
        let sum = seconds * gravity * arm * sines[i]! + torque(i, state, push);
        if (i + 1 < links) sum -= torque(i + 1, state, push);
        for (let j = 0; j < links; j++) {
          const both = lengths[i]! * lengths[j]! * carried[Math.max(i, j)]!;
          matrix[row + first + j] = both * (cosines[i]! * cosines[j]! + sines[i]! * sines[j]!);
          const velocity = state[velocityOf(j)]!;
          sum -= seconds * both * (sines[i]! * cosines[j]! - cosines[i]! * sines[j]!) * velocity * velocity;
        }
        impulse[first + i] = sum;
        if (cart !== undefined) {
          matrix[row] = arm * cosines[i]!;
          matrix[first + i] = arm * cosines[i]!;
        }
      }
      if (cart !== undefined) {
        matrix[0] = cartMass;
        let sum = push[1]! - seconds * cart.friction * state[1]!;
        for (let i = 0; i < links; i++) {
          const velocity = state[velocityOf(i)]!;
          sum += seconds * lengths[i]! * carried[i]! * sines[i]! * velocity * velocity;
        }
        impulse[0] = sum;
      }
      solve(matrix, impulse, n);
      for (let i = 0; i < n; i++) {
        const velocity = state[2 * i + 1]! + impulse[i]!;
        state[2 * i + 1] = Math.min(fastest, Math.max(-fastest, velocity));
        state[2 * i]! += seconds * state[2 * i + 1]!;
      }
    },
  };
}

/** Solves M·x = b for a symmetric positive definite M, n × n and row-major. Overwrites b with x and destroys M. */
export function solve(m: Float64Array, b: Float64Array, n: number): void {
  for (let k = 0; k < n; k++) {
    for (let i = k + 1; i < n; i++) {
      const factor = m[i * n + k]! / m[k * n + k]!;
      for (let j = k + 1; j < n; j++) m[i * n + j]! -= factor * m[k * n + j]!;
      b[i]! -= factor * b[k]!;
    }
  }
  for (let i = n - 1; i >= 0; i--) {
    let sum = b[i]!;
    for (let j = i + 1; j < n; j++) sum -= m[i * n + j]! * b[j]!;
    b[i] = sum / m[i * n + i]!;
  }
}

/** Height of the tip above the base relative to the length of the chain: 1 is upright, −1 hangs down. */
export function tipHeight({ cart, lengths }: ChainParts, state: Float64Array): number {
  const first = cart === undefined ? 0 : 2;
  let [height, whole] = [0, 0];
  for (let i = 0; i < lengths.length; i++) {
    height += lengths[i]! * Math.cos(state[first + 2 * i]!);
    whole += lengths[i]!;
  }
  return height / whole;
}
